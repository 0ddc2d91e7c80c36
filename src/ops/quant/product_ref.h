/* product_ref.h: products of quantized tensors: what matrix products and convolutions share.
 *
 *     y = sum of (a - a_zero) * (b - b_zero), times a_scale * b_scale / y_scale, plus y_zero
 *
 * Elements less their zero points are terms: int16 for 8-bit integers, float for 8-bit floats.
 * Sums of integers are made modulo 2^32. Scales and zero points of a may be many, one for each of
 * its rows, those of b one for each of its columns (of a convolution: for each output channel). */
#ifndef ONX_PRODUCT_REF_H
#define ONX_PRODUCT_REF_H

#include "ops/conv/conv_ref.h"
#include "ops/matmul/matmul_ref.h"
#include "ops/quant/dots_ref.h"
#include "ops/quant/dynamic_ref.h"
#include "ops/quant/grid_ref.h"

/* Which inputs of an operator are what; -1: none. */
typedef struct onx_qroles {
    const char *op;
    int8_t a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero;
} onx_qroles;

typedef struct onx_qstate {
    onx_qroles roles;
    onx_conv_state *conv;
    onx_matmul_state gemm;                /* turn_a, turn_b, alpha */
    bool is_gemm, dynamic;                /* QGemm; a is quantized first */
    bool channels_last;                   /* of the images of a convolution */
    bool steady;                          /* bytes_ref.h: all parameters are constant */
    const struct onx_qgemm *tier;         /* bytes_ref.h: NULL: none */
    const struct onx_qwinograd *winograd; /* the same */
} onx_qstate;

/* The inputs by their roles; NULL: absent. */
typedef struct onx_qins {
    onx_operand *a, *a_scale, *a_zero, *b, *b_scale, *b_zero, *bias, *y_scale, *y_zero;
} onx_qins;
onx_qins onx_qins_of(const onx_call *call);
/* init: a state with the roles of the operator; NULL: no memory. */
onx_qstate *onx_qstate_new(onx_call *call) ONX_MUST_CHECK;

/* The call as Conv or MatMul would be given it: a, b and the bias. */
typedef struct onx_qview {
    onx_call call;
    onx_operand *in[3];
} onx_qview;
void onx_qview_of(const onx_call *call, onx_qview *out);

/* bind: types that rows do not tell; scale and zero point of the result are single. */
onx_status onx_qins_check(const onx_call *call, const onx_qins *in) ONX_MUST_CHECK;
/* bind: scratch for what onx_product_begin takes of it. */
onx_status onx_product_scratch(onx_call *call, size_t terms_of_b) ONX_MUST_CHECK;

typedef struct onx_product {
    onx_qins in;
    bool real; /* terms are floats */
    onx_dots_fn *dots;
    const double *a_zero, *b_zero, *a_scale, *b_scale; /* NULL: absent */
    size_t n_a_zero, n_b_zero, n_a_scale, n_b_scale;
    double alpha, y_scale, y_zero;
    onx_dtype precision; /* of the scales' arithmetic */
    onx_dtype dtype;     /* of the output */
    onx_range range;
    float codes[2][256]; /* of the 8-bit floats of a and b */
} onx_product;

/* run: reads the parameters; what is left of the scratch is for terms of b. */
void onx_product_begin(const onx_call *call, onx_dots_fn *dots, onx_product *out, char **scratch);
size_t onx_product_size(const onx_qins *in); /* bytes of a term */
/* The terms of n elements of a (side 0) or b (side 1), `step` apart from `from` on. */
void onx_product_terms(const onx_product *p, int side, const uint8_t *from, size_t step, size_t n,
                       double zero, void *to);
/* Sums of products of a row of n terms with each of `count` rows that follow one another; of
 * integers they are int32. */
void onx_product_dots(const onx_product *p, const void *x, const void *rows, size_t count, size_t n,
                      double *sums);
/* Factors for sums of one row and of columns col … col+n-1. */
void onx_product_factors(const onx_product *p, size_t row, size_t col, size_t n, double *out);
/* Sums times their factors (`step` 0: all times the first), as elements of the output; `bias`, if
 * it is not NULL, is added in between. The sums are lost. */
void onx_product_end(const onx_product *p, size_t n, double *sums, const double *factors,
                     size_t step, const double *bias, void *to);

onx_dots_fn onx_dots_plain;
/* A sum of products of floats, in double and in a fixed order. */
double onx_dot_f32(const float *a, const float *b, size_t n);

/* Kernels. */
onx_status onx_qmatmul_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qmatmul_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qmatmul_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qmatmul_run_with(onx_call *call, onx_dots_fn *dots) ONX_MUST_CHECK;
onx_status onx_qconv_init(onx_call *call) ONX_MUST_CHECK;
/* The plan is an onx_images, as if the channels were not last. */
onx_status onx_qconv_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qconv_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qconv_run_with(onx_call *call, onx_dots_fn *dots) ONX_MUST_CHECK;

#endif
