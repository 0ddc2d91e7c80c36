/* foreach.c: one operator on each tensor of a list: _foreach_add and the others of its kind are the
 * operator of that name, once for each place of the lists. */
#include "export/aten/lowering.h"

enum { ARGS = 4 }; /* at most; the last one is by name */

/* The argument of place i: an element of a list, or what is given for all. */
static onx_xv part(const onx_xv *v, size_t i) {
    return onx_xv_is_list(v) && i < v->list->n ? v->list->v[i] : *v;
}

static void each(onx_export *x, const char *op, size_t n_args, const onx_xv *a, onx_xv *out) {
    const onx_xv *list = onx_xv_is_list(&a[0]) ? &a[0] : &a[1];
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < list->list->n && onx_x_ok(x); i++) {
        onx_xarg args[ARGS];
        onx_xv results[ONX_X_OUTS];
        size_t n;
        for (size_t k = 0; k < n_args; k++) args[k] = (onx_xarg){.v = part(&a[k], i)};
        if (n_args == ARGS) args[ARGS - 1].name = onx_str_of("value");
        if (onx_aten_call(x, onx_str_of(op), (onx_str){NULL, 0}, n_args, args, results, &n))
            onx_xlist_add(x, out->list, results[0]);
    }
}

/* "add" of _foreach_add */
static void lower_each(onx_export *x, size_t n_args, const onx_xv *a, onx_xv *out) {
    onx_str name = onx_x_op(x), copy = {NULL, 0};
    size_t skip = strlen("_foreach_");
    name = (onx_str){name.data + skip, name.size - skip};
    if (!onx_arena_str(&x->arena, name, &copy))
        onx_x_nomem(x);
    else
        each(x, copy.data, n_args, a, out);
}
static void lower_one(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_each(x, 1, a, out);
}
static void lower_two(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_each(x, 2, a, out);
}
static void lower_three(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_each(x, 3, a, out);
}
static void lower_four(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_each(x, 4, a, out);
}
/* (self, ord, dtype) */
static void lower_each_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    each(x, "linalg_vector_norm", 2, a, out);
}

#define ONE(name)                                                                                  \
    { "_foreach_" name "(Tensor[] self) -> Tensor[]", lower_one, NULL }
#define TWO(name)                                                                                  \
    {"_foreach_" name "(Tensor[] self, Any scalar) -> Tensor[]", lower_two, NULL},                 \
        {"_foreach_" name ".List(Tensor[] self, Tensor[] other) -> Tensor[]", lower_two, NULL}, {  \
        "_foreach_" name ".ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", lower_two,    \
            NULL                                                                                   \
    }
#define SUM(name)                                                                                  \
    {"_foreach_" name "(Tensor[] self, Any scalar, *, Scalar alpha=1) -> Tensor[]", lower_three,   \
     NULL},                                                                                        \
        {"_foreach_" name ".List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",   \
         lower_three, NULL},                                                                       \
    {                                                                                              \
        "_foreach_" name ".ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", lower_two,    \
            NULL                                                                                   \
    }
#define ADDC(name)                                                                                 \
    {"_foreach_" name "(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) "       \
     "-> Tensor[]",                                                                                \
     lower_four, NULL},                                                                            \
    {                                                                                              \
        "_foreach_" name                                                                           \
        ".ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] "                 \
        "scalars) -> Tensor[]",                                                                    \
            lower_four, NULL                                                                       \
    }
const onx_aten onx_aten_foreach[] = {
    ONE("abs"),
    ONE("acos"),
    ONE("asin"),
    ONE("atan"),
    ONE("ceil"),
    ONE("cos"),
    ONE("cosh"),
    ONE("erf"),
    ONE("erfc"),
    ONE("exp"),
    ONE("expm1"),
    ONE("floor"),
    ONE("frac"),
    ONE("lgamma"),
    ONE("log"),
    ONE("log10"),
    ONE("log1p"),
    ONE("log2"),
    ONE("max"),
    ONE("neg"),
    ONE("reciprocal"),
    ONE("round"),
    ONE("rsqrt"),
    ONE("sigmoid"),
    ONE("sign"),
    ONE("sin"),
    ONE("sinh"),
    ONE("sqrt"),
    ONE("tan"),
    ONE("tanh"),
    ONE("trunc"),
    SUM("add"),
    SUM("sub"),
    TWO("mul"),
    TWO("div"),
    TWO("clamp_max"),
    TWO("clamp_min"),
    TWO("maximum"),
    TWO("minimum"),
    TWO("pow"),
    {"_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", lower_two, NULL},
    ADDC("addcmul"),
    ADDC("addcdiv"),
    {"_foreach_lerp(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]", lower_three,
     NULL},
    {"_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]",
     lower_three, NULL},
    {"_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]",
     lower_three, NULL},
    {"_foreach_norm(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
     lower_each_norm, NULL},
    {NULL, NULL, NULL},
};
