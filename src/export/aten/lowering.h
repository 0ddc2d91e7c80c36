/* lowering.h: what the lowerings of aten/ share: arguments as values, and nodes of any type. */
#ifndef ONX_EXPORT_LOWERING_H
#define ONX_EXPORT_LOWERING_H

#include "export/export.h"

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

/* The name of the operator that is lowered, without overload: "add". */
onx_str onx_x_op(const onx_export *x);
onx_dtype onx_xv_type(onx_export *x, const onx_xv *v); /* PyTorch's; of a number: as a tensor */
bool onx_xv_is_complex(const onx_xv *v);
bool onx_xv_true(const onx_xv *v); /* a bool that is known to be true */
bool onx_xv_is_one(onx_export *x, const onx_xv *v, double number);
/* A number that must be known: x failed otherwise. `otherwise`: what None stands for. */
double onx_xv_real(onx_export *x, const onx_xv *v, double otherwise);
int64_t onx_xv_whole(onx_export *x, const onx_xv *v, int64_t otherwise);
/* As PyTorch counts: of complex tensors, without the last axis. SIZE_MAX: failed. */
size_t onx_xv_rank(onx_export *x, const onx_xv *v);
/* The axes that a dim argument (None, a number, a list) names, counted from 0: how many. None and
 * an empty list name none, which stands for all; so does any list of a tensor of rank 0. */
size_t onx_x_axes(onx_export *x, const onx_xv *dims, size_t rank, int64_t axes[ONX_RANK_MAX]);
/* How many elements there are along these axes (n 0: all). */
onx_xv onx_x_extent(onx_export *x, onx_value *value, size_t n, const int64_t *axes);
/* The value of a tensor argument, as a float: integers as float32. Of another type where one is
 * asked for (NONE: not). */
onx_value *onx_x_floats(onx_export *x, const onx_xv *v, onx_dtype dtype);

/* ─ Nodes ────────────────────────────────────────────────────────────────────────────────────── */

/* The opset that the model is built at. */
int64_t onx_x_built(const onx_export *x);
/* As onx_emit, but where the operator does not take the type of its first input, it is computed in
 * the next wider one that it takes, and cast back. All inputs of that type are treated alike; of
 * the outputs only the first is of it. */
bool onx_emit_wide_node(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                        onx_value *const *in, size_t n_out, onx_value **out);
onx_value *onx_emit_wide_array(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                               onx_value *const *in);
#define onx_emit_wide_with(x, op, attrs, ...)                                                      \
    onx_emit_wide_array(x, op, attrs, sizeof((onx_value *[]){__VA_ARGS__}) / sizeof(onx_value *),  \
                        (onx_value *[]){__VA_ARGS__})
#define onx_emit_wide(x, op, ...) onx_emit_wide_with(x, op, NULL, __VA_ARGS__)

/* A value and a number of its type: onx_emit_number(x, "Mul", v, 0.5). */
onx_value *onx_emit_number(onx_export *x, const char *op, onx_value *value, double number);
/* Whole numbers divided, rounded down: Div of ONNX rounds to 0. */
onx_value *onx_x_floor_div(onx_export *x, onx_value *a, onx_value *b);
onx_value *onx_x_trunc(onx_export *x, onx_value *v);
onx_value *onx_x_is_minus(onx_export *x, onx_value *v); /* -0, too */
/* One place of an axis, which goes. */
onx_value *onx_x_pick(onx_export *x, onx_value *value, int64_t axis, int64_t index);
/* 0, 1 … n - 1 as int64. */
onx_value *onx_x_count(onx_export *x, const onx_xv *n);
/* A number in a shape: Expand, or nothing for rank 0. */
onx_value *onx_x_fill(onx_export *x, onx_value *number, size_t n, const onx_xv *sizes);

/* A Loop: v[0 … n) go round `trips` times, or while the turn gives true (NULL: always). `turn` is
 * its number, from 0 on. A turn may be run more than once, and must do the same each time. */
typedef onx_value *onx_xturn_fn(onx_export *x, const void *user, onx_value *turn, onx_value **v);
bool onx_x_repeat(onx_export *x, onx_xv trips, onx_xturn_fn *turn, const void *user, size_t n,
                  onx_value **v);

/* (sum |v|^p)^(1/p) over these axes (n 0: all); of complex numbers, of their sizes. */
onx_value *onx_x_norm(onx_export *x, onx_value *value, double p, size_t n, const int64_t *axes,
                      bool keep);

/* ─ Complex numbers (complex.c): real values with a last axis of 2 ───────────────────────────── */

onx_dtype onx_complex_part(onx_dtype dtype); /* complex64: float32 */
onx_dtype onx_complex_of(onx_dtype part);
/* A value with that last axis as a complex tensor. */
onx_xv onx_xv_complex(onx_export *x, onx_value *pairs);
onx_value *onx_complex_pair(onx_export *x, onx_value *re, onx_value *im);
onx_value *onx_complex_re(onx_export *x, onx_value *pairs);
onx_value *onx_complex_im(onx_export *x, onx_value *pairs);
/* A number or tensor, real or complex, as pairs of that type. */
onx_value *onx_complex_pairs(onx_export *x, const onx_xv *v, onx_dtype part);
/* Arithmetic where one of the two is complex: "Add", "Sub", "Mul", "Div". */
onx_value *onx_complex_binary(onx_export *x, const char *op, const onx_xv *a, const onx_xv *b);
/* A function of one complex tensor: "exp", "abs", "neg" …; fails where there is none. */
void onx_complex_unary(onx_export *x, onx_str op, const onx_xv *a, onx_xv *out);
bool onx_complex_has(onx_str op); /* is there one? */
onx_value *onx_complex_mul(onx_export *x, onx_value *a, onx_value *b);
onx_value *onx_x_atan2(onx_export *x, onx_value *y, onx_value *re);

/* One result. */
static inline void onx_x_give(onx_export *x, onx_xv *out, onx_value *value) {
    *out = onx_xv_tensor(x, value);
}

#endif
