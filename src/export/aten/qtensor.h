/* qtensor.h: quantized tensors: integers, and how they stand for numbers. */
#ifndef ONX_QTENSOR_H
#define ONX_QTENSOR_H

#include "export/aten/nn_args.h"

/* A dtype argument: PyTorch's quantized types are those of their integers. */
onx_dtype onx_quant_dtype(onx_export *x, const onx_xv *dtype);
/* The smallest type of QuantizeLinear that has lo … hi; int32: none. */
onx_dtype onx_quant_narrow(const onx_export *x, int64_t lo, int64_t hi);
/* Scale and zero point: numbers or tensors, along `axis`, or of one element (-1). */
bool onx_quant_read(onx_export *x, onx_xquant *q, const onx_xv *scale, const onx_xv *zero,
                    int64_t axis, onx_dtype dtype);
/* An axis argument of a tensor, counted from 0. */
int64_t onx_quant_axis(onx_export *x, const onx_xv *tensor, const onx_xv *axis);

/* The integers of numbers; with `float` in its name, as floats that were not cast yet. */
onx_value *onx_quantize(onx_export *x, const onx_xquant *q, onx_value *v);
onx_value *onx_quantize_float(onx_export *x, const onx_xquant *q, onx_value *v);
/* The numbers of integers, as `result` (NONE: float32): by DequantizeLinear where that will do; or
 * always by what it is made of. */
onx_value *onx_dequantize(onx_export *x, const onx_xquant *q, onx_value *v, onx_dtype result);
onx_value *onx_dequantize_parts(onx_export *x, const onx_xquant *q, onx_value *v, onx_dtype result);

/* How an argument is quantized; NULL: it is not. */
const onx_xquant *onx_xv_quant(const onx_xv *v);
/* Integers as a quantized tensor. */
onx_xv onx_xv_quantized(onx_export *x, const onx_xquant *q, onx_value *integers);
/* The numbers that an argument stands for, whether it is quantized or not; NULL of None. */
onx_value *onx_quant_numbers(onx_export *x, const onx_xv *v);
onx_xv onx_quant_plain(onx_export *x, const onx_xv *v); /* as a tensor; None as it is */
/* The only scale, and the only zero point, where they are known. */
bool onx_quant_known(onx_export *x, const onx_xquant *q, double *scale, int64_t *zero);

/* The end of a call: numbers, quantized as it says, in the type of `like`, which must be quantized
 * (quantized_layers.c). */
void onx_quant_finish(onx_export *x, onx_value *v, const onx_xv *like, const onx_xv *scale,
                      const onx_xv *zero, bool relu, onx_xv *out);
bool onx_quant_is_relu(const onx_export *x); /* "…_relu" */

/* Scales between integers and numbers in lo … hi, from those numbers: float32 and zero point, as a
 * float. Not less than eps. */
void onx_quant_choose(onx_export *x, onx_value *low, onx_value *high, double lo, double hi,
                      double eps, onx_value **scale, onx_value **zero);
/* How PyTorch quantizes numbers by what they are: to 8 bits, or 7 of them where `reduced`. */
bool onx_quant_dynamic(onx_export *x, const onx_xv *numbers, onx_dtype dtype, bool reduced,
                       onx_xquant *q);

#endif
