/* quant.c: numbers of few bits for real numbers: QuantizeLinear, DequantizeLinear,
 * DynamicQuantizeLinear, and the products of quantized tensors: meaning. */
#include "ops/op.h"

#define REAL "float16|bfloat16|float"
#define INT8 "int8|uint8"
#define INT16 "int8|uint8|int16|uint16"

/* QuantizeLinear: x / y_scale + y_zero_point. */
#define QUANTIZE10 "(x:T1, y_scale:float, y_zero_point?:T2) -> (y:T2) "
#define QUANTIZE13 QUANTIZE10 "{axis:int=1} "
#define QUANTIZE19                                                                                 \
    "(x:T1, y_scale:T1, y_zero_point?:T2) -> (y:T2) {axis:int=1, saturate:int=1} [T1:" REAL "|int" \
                                                                                            "32"
#define QUANTIZE21                                                                                 \
    "(x:T1, y_scale:T1, y_zero_point?:T2) -> (y:T2) {axis:int=1, block_size:int=0, "               \
    "output_dtype:int=0, saturate:int=1} [T1:" REAL "|int32"
#define QUANTIZE23                                                                                 \
    "(x:T1, y_scale:T2, y_zero_point?:T3) -> (y:T3) {axis:int=1, block_size:int=0, "               \
    "output_dtype:int=0, precision:int=0, saturate:int=1} [T1:" REAL "|int32, T2:" REAL "|int32"

/* DequantizeLinear: (x - x_zero_point) * x_scale. */
#define DEQUANTIZE10 "(x:T, x_scale:float, x_zero_point?:T) -> (y:float) "
#define DEQUANTIZE13 DEQUANTIZE10 "{axis:int=1} "
#define DEQUANTIZE19                                                                               \
    "(x:T1, x_scale:T2, x_zero_point?:T1) -> (y:T2) {axis:int=1} [T2:" REAL ", T1:int32"
#define DEQUANTIZE21                                                                               \
    "(x:T1, x_scale:T2, x_zero_point?:T1) -> (y:T2) {axis:int=1, block_size:int=0} [T2:" REAL      \
    ", T1:int32"
#define DEQUANTIZE23(scales)                                                                       \
    "(x:T1, x_scale:T2, x_zero_point?:T1) -> (y:T3) {axis:int=1, block_size:int=0, "               \
    "output_dtype:int=0} [T2:" scales ", T3:" REAL ", T1:int32"

#define MATMUL_INTEGER                                                                             \
    "(A:T1, B:T2, a_zero_point?:T1, b_zero_point?:T2) -> (Y:T3) [T1:" INT8 ", T2:" INT8            \
    ", T3:int32]"
#define QLINEAR_MATMUL(scale)                                                                      \
    "(a:T1, a_scale:" scale ", a_zero_point:T1, b:T2, b_scale:" scale ", b_zero_point:T2, "        \
    "y_scale:" scale ", y_zero_point:T3) -> (y:T3) "
#define CONV_ATTRS                                                                                 \
    " {auto_pad:string=\"NOTSET\", dilations?:ints, group:int=1, kernel_shape?:ints, pads?:ints, " \
    "strides?:ints} "
#define CONV_INTEGER                                                                               \
    "(x:T1, w:T2, x_zero_point?:T1, w_zero_point?:T2) -> (y:T3)" CONV_ATTRS "[T1:" INT8            \
    ", T2:" INT8 ", T3:int32]"
#define QLINEAR_CONV                                                                               \
    "(x:T1, x_scale:float, x_zero_point:T1, w:T2, w_scale:float, w_zero_point:T2, "                \
    "y_scale:float, y_zero_point:T3, B?:T4) -> (y:T3)" CONV_ATTRS "[T1:" INT8 ", T2:" INT8         \
    ", T3:" INT8 ", T4:int32]"

extern onx_op_rows onx_ops_quant;
onx_op_rows onx_ops_quant = {
    {"QuantizeLinear", 10, QUANTIZE10 "[T1:float|int32, T2:" INT8 "]", .infer = NULL},
    {"QuantizeLinear", 13, QUANTIZE13 "[T1:float|int32, T2:" INT8 "]", .infer = NULL},
    {"QuantizeLinear", 19, QUANTIZE19 ", T2:" INT8 "|f8]", .infer = NULL},
    {"QuantizeLinear", 21, QUANTIZE21 ", T2:" INT16 "|f8|i4]", .infer = NULL},
    {"QuantizeLinear", 23, QUANTIZE23 ", T3:" INT16 "|f8|i4|float4e2m1]", .infer = NULL},
    {"QuantizeLinear", 24, QUANTIZE23 "|float8e8m0, T3:" INT16 "|f8|i4|float4e2m1]", .infer = NULL},
    {"QuantizeLinear", 25, QUANTIZE23 "|float8e8m0, T3:" INT16 "|f8|i4|i2|float4e2m1]",
     .infer = NULL},
    {"QuantizeLinear", 28, QUANTIZE23 "|float8e8m0, T3:" INT16 "|f8|f6|i4|i2|float4e2m1]",
     .infer = NULL},
    {"DequantizeLinear", 10, DEQUANTIZE10 "[T:int32|" INT8 "]", .infer = NULL},
    {"DequantizeLinear", 13, DEQUANTIZE13 "[T:int32|" INT8 "]", .infer = NULL},
    {"DequantizeLinear", 19, DEQUANTIZE19 "|" INT8 "|f8]", .infer = NULL},
    {"DequantizeLinear", 21, DEQUANTIZE21 "|" INT16 "|f8|i4]", .infer = NULL},
    {"DequantizeLinear", 23, DEQUANTIZE23(REAL) "|" INT16 "|f8|i4|float4e2m1]", .infer = NULL},
    {"DequantizeLinear", 24, DEQUANTIZE23(REAL "|float8e8m0") "|" INT16 "|f8|i4|float4e2m1]",
     .infer = NULL},
    {"DequantizeLinear", 25, DEQUANTIZE23(REAL "|float8e8m0") "|" INT16 "|f8|i4|i2|float4e2m1]",
     .infer = NULL},
    {"DequantizeLinear", 28, DEQUANTIZE23(REAL "|float8e8m0") "|" INT16 "|f8|f6|i4|i2|float4e2m1]",
     .infer = NULL},
    {"DynamicQuantizeLinear", 11,
     "(x:T1) -> (y:T2, y_scale:float, y_zero_point:T2) [T1:float, T2:uint8]", .infer = NULL},
    {"MatMulInteger", 10, MATMUL_INTEGER, .infer = NULL},
    {"ConvInteger", 10, CONV_INTEGER, .infer = NULL},
    {"QLinearMatMul", 10, QLINEAR_MATMUL("float") "[T1:" INT8 ", T2:" INT8 ", T3:" INT8 "]",
     .infer = NULL},
    {"QLinearMatMul", 21,
     QLINEAR_MATMUL("TS") "[TS:" REAL ", T1:" INT8 "|f8, T2:" INT8 "|f8, T3:" INT8 "|f8]",
     .infer = NULL},
    {"QLinearConv", 10, QLINEAR_CONV, .infer = NULL},
    {0},
};
