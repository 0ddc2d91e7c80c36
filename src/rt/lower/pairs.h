/* pairs.h: what the rewrite of quantized models (pairs.c, pair_table.c) asks about values: how
 * bytes stand for numbers. */
#ifndef ONX_PAIRS_H
#define ONX_PAIRS_H

#include "rt/lower/lower.h"

/* x = (bytes - zero) * scale: the inputs of a DequantizeLinear, or of a QuantizeLinear, whose
 * parameters are constant. */
typedef struct onx_coded {
    onx_node *node;
    onx_value *x, *scale, *zero; /* x: bytes or numbers; zero may be NULL */
    onx_dtype dtype;             /* U8 or I8; of biases: I32 */
    bool single;                 /* one scale for all */
    int64_t axis;                /* of the scales */
} onx_coded;

/* Is `value` made by a DequantizeLinear to float32? */
bool onx_coded_of(const onx_pass_ctx *ctx, const onx_value *value, onx_coded *out);
/* Is `node` a QuantizeLinear of float32 to bytes, with one scale? */
bool onx_coded_by(const onx_pass_ctx *ctx, onx_node *node, onx_coded *out);
/* Have both one scale, and the same one, with the same zero point and type? */
bool onx_coded_same(const onx_pass_ctx *ctx, const onx_coded *a, const onx_coded *b);
/* The only scale and zero point. */
bool onx_coded_numbers(const onx_pass_ctx *ctx, const onx_coded *c, float *scale, int *zero);
/* The zero point, made where it is not written. */
onx_status onx_coded_zero(onx_pass_ctx *ctx, onx_coded *c) ONX_MUST_CHECK;
/* A bias of n elements in units of a's scale times b's: an int32 constant. *out NULL: it cannot be
 * one. */
onx_status onx_coded_bias(onx_pass_ctx *ctx, const onx_value *bias, const onx_coded *a,
                          const onx_coded *b, int64_t n, onx_value **out) ONX_MUST_CHECK;

/* pair_table.c: a node whose bytes are a function of bytes becomes a QTable: a QuantizeLinear, or
 * what maps bytes to bytes. */
onx_status onx_pairs_table(onx_pass_ctx *ctx, onx_node *node, bool *done) ONX_MUST_CHECK;
bool onx_pairs_maps_bytes(const onx_pass_ctx *ctx, const onx_node *node);

#endif
