/* renamed.c: operators that are others, in terms of which they are lowered: names that PyTorch uses
 * inside and that its programs hold after decompositions (prims), and small combinations. */
#include "export/aten/nn_args.h"
#include "export/aten/parts.h"

static onx_xv do_1(onx_export *x, const char *op, onx_xv a) {
    return onx_x_ok(x) ? onx_aten_do(x, op, 1, &a) : (onx_xv){.kind = ONX_X_NONE};
}
static onx_xv do_2(onx_export *x, const char *op, onx_xv a, onx_xv b) {
    onx_xv args[] = {a, b};
    return onx_x_ok(x) ? onx_aten_do(x, op, 2, args) : (onx_xv){.kind = ONX_X_NONE};
}
static onx_xv do_3(onx_export *x, const char *op, onx_xv a, onx_xv b, onx_xv c) {
    onx_xv args[] = {a, b, c};
    return onx_x_ok(x) ? onx_aten_do(x, op, 3, args) : (onx_xv){.kind = ONX_X_NONE};
}

/* ─ The same under another name ──────────────────────────────────────────────────────────────── */

static const struct other {
    const char *name, *is;
    size_t n; /* arguments */
} others[] = {
    {"_stack", "stack", 2},
    {"_lazy_clone", "clone", 1},
    {"_pin_memory", "clone", 1},
    {"pin_memory", "clone", 1},
    {"_conj_copy", "conj", 1},
    {"_neg_view", "neg", 1},
    {"_neg_view_copy", "neg", 1},
    {"_is_all_true", "all", 1},
    {"_is_any_true", "any", 1},
    {"_logcumsumexp", "logcumsumexp", 2},
    {"_saturate_weight_to_fp16", "clone", 1},
    {"prims::view_of", "clone", 1},
    {"prims::device_put", "clone", 1},
    {"prims::clone", "clone", 1},
    {"prims::rev", "flip", 2},
    {"prims::transpose", "permute", 2},
    {"prims::collapse", "flatten", 3},
    {"prims::collapse_view", "flatten", 3},
    {"prims::bessel_i0", "special_i0", 1},
    {"prims::bessel_i0e", "special_i0e", 1},
    {"prims::bessel_i1", "special_i1", 1},
    {"prims::bessel_i1e", "special_i1e", 1},
    {"prims::bessel_j0", "special_bessel_j0", 1},
    {"prims::bessel_j1", "special_bessel_j1", 1},
    {"prims::erf_inv", "erfinv", 1},
    {"prims::erfcx", "special_erfcx", 1},
    {"prims::ndtri", "special_ndtri", 1},
    {"prims::spherical_bessel_j0", "special_spherical_bessel_j0", 1},
    {"prims::zeta", "special_zeta", 2},
    {"prims::gcd", "gcd", 2},
    {"prims::igamma", "igamma", 2},
    {"prims::igammac", "igammac", 2},
    {"prims::nextafter", "nextafter", 2},
    {"prims::shift_left", "bitwise_left_shift", 2},
    {"prims::shift_right_arithmetic", "bitwise_right_shift", 2},
};

static void lower_other(onx_export *x, const onx_xv *a, onx_xv *out) {
    const struct other *o = others;
    while (o < others + ONX_COUNT(others) - 1 && !onx_str_is(onx_x_op(x), o->name)) o++;
    *out = onx_aten_do(x, o->is, o->n, a);
}

static void lower_itself(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)x;
    *out = a[0];
}

/* ─ Combinations ─────────────────────────────────────────────────────────────────────────────── */

/* (self, other, alpha) */
static void lower_add_relu(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = do_1(x, "relu", do_3(x, "add", a[0], a[1], a[2]));
}

/* (self, mat1, mat2, beta, alpha, use_gelu) */
static void lower_addmm_activation(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv sum = onx_aten_do(x, "addmm", 5, a);
    *out = do_1(x, onx_xv_true(&a[5]) ? "gelu" : "relu", sum);
}

/* 0, 1 … along an axis of a tensor. */
static void lower_dim_arange(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv size = do_2(x, "size", a[0], a[1]);
    if (onx_x_ok(x)) onx_x_give(x, out, onx_x_count(x, &size));
}

/* (self, shape): the shape is a tensor. */
static void lower_reshape_to_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *shape = onx_x_as(x, &a[1], ONX_DTYPE_I64);
    onx_x_give(x, out, onx_emit(x, "Reshape", onx_xv_value(x, &a[0]), shape));
}

/* Real numbers are; complex ones where nothing is imaginary. */
static void lower_isreal(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    onx_value *im = onx_xv_is_complex(a) ? onx_complex_im(x, v) : NULL;
    static const uint8_t yes = 1;
    if (im)
        onx_x_give(x, out, onx_emit_number(x, "Equal", im, 0));
    else
        onx_x_give(
            x, out,
            onx_lower_expand_like(x, onx_x_constant(x, ONX_DTYPE_BOOL, 0, NULL, &yes, 1), v));
}

/* (a, b): the sizes that both broadcast to. */
static void lower_infer_size(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xlist *p = a[0].list, *q = a[1].list;
    size_t n = p->n > q->n ? p->n : q->n;
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < n && onx_x_ok(x); i++) {
        const onx_xv *u = i + p->n >= n ? &p->v[i + p->n - n] : NULL;
        const onx_xv *v = i + q->n >= n ? &q->v[i + q->n - n] : NULL;
        bool first = u && (!v || !onx_xv_is_one(x, u, 1));
        onx_xlist_add(x, out->list, first ? *u : *v);
    }
}

/* (v, pow, dim): norms of what lies along an axis; -1: of all. */
static void lower_norm_except_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    size_t rank = onx_x_rank(x, v), n = 0;
    int64_t dim = onx_xv_whole(x, &a[2], 0), axes[ONX_RANK_MAX];
    if (rank == SIZE_MAX) return;
    for (size_t i = 0; i < rank; i++)
        if ((int64_t)i != dim) axes[n++] = (int64_t)i;
    onx_x_give(x, out, onx_x_norm(x, v, onx_xv_real(x, &a[1], 2), n, axes, dim != -1));
}

/* (self, ord, dim, keepdim, dtype): the sum of |v|^ord. */
static void lower_powsum(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv power = do_2(x, "pow", do_1(x, "abs", a[0]), a[1]);
    onx_xv args[] = {power, a[2], a[3], a[4]};
    if (onx_x_ok(x)) *out = onx_aten_do(x, "sum", 4, args);
}

/* (self, mask, indices, fill): where the mask is false, the indices may be anything. */
static void lower_masked_index(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv zero = onx_xv_int(x, 0), list = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < a[2].list->n && onx_x_ok(x); i++) {
        onx_xv at = a[2].list->v[i];
        onx_xlist_add(x, list.list,
                      onx_xv_is(&at, ONX_X_NONE) ? at : do_3(x, "where", a[1], at, zero));
    }
    *out = do_3(x, "where", a[1], do_2(x, "index", a[0], list), a[3]);
}

/* (self, fill_value, wrap): places 0, n + 1, 2n + 2 … of rows of n; of the square, or again below
 * it. */
static void lower_fill_diagonal(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a), *same = NULL;
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || rank < 2) return;
    onx_xv n = onx_x_size_of(x, v, rank - 1);
    for (size_t i = 0; i + 1 < rank && onx_x_ok(x); i++) {
        onx_xv rows = onx_x_size_of(x, v, i);
        onx_value *at = onx_x_count(x, &rows);
        if (onx_xv_true(&a[2])) {
            onx_xv turn = onx_x_arith(x, "add", n, onx_xv_int(x, 1));
            at = onx_emit(x, "Mod", at, onx_x_scalar(x, &turn, ONX_DTYPE_I64));
        }
        for (size_t k = i + 1; k < rank; k++) at = onx_x_unsqueeze(x, at, -1);
        onx_value *is = onx_emit(x, "Equal", at, onx_x_count(x, &n));
        same = same ? onx_emit(x, "And", same, is) : is;
    }
    onx_value *fill = onx_x_as(x, &a[1], onx_x_dtype(x, v));
    if (onx_x_ok(x)) onx_xt_write(x, a->tensor, onx_emit(x, "Where", same, fill, v));
    *out = a[0];
}

/* ─ Prims ────────────────────────────────────────────────────────────────────────────────────── */

/* (length, start, step, dtype …) */
static void lower_iota(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[3]);
    onx_value *v = onx_x_count(x, &a[0]);
    if (!onx_xv_is_one(x, &a[2], 1))
        v = onx_emit(x, "Mul", v, onx_x_scalar(x, &a[2], ONX_DTYPE_I64));
    if (!onx_xv_is_one(x, &a[1], 0))
        v = onx_emit(x, "Add", v, onx_x_scalar(x, &a[1], ONX_DTYPE_I64));
    onx_x_give(x, out, onx_x_cast(x, v, dtype ? dtype : ONX_DTYPE_I64));
}

/* (a, shape, broadcast_dimensions): axis i becomes axis dims[i]. */
static void lower_broadcast_in_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    int64_t axes[ONX_RANK_MAX], added[ONX_RANK_MAX];
    size_t n = onx_x_axes(x, &a[2], a[1].list->n, axes), k = 0, m = 0;
    if (!v) return;
    for (size_t i = 0; i < a[1].list->n && i < ONX_RANK_MAX; i++)
        if (k < n && axes[k] == (int64_t)i)
            k++;
        else
            added[m++] = (int64_t)i;
    if (m) v = onx_emit(x, "Unsqueeze", v, onx_x_ints(x, m, added));
    onx_x_give(x, out, onx_x_fill(x, v, a[1].list->n, a[1].list->v));
}

/* (a, dim, outer_length) */
static void lower_split_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv sizes[] = {a[2], onx_xv_int(x, -1)};
    *out = do_3(x, "unflatten", a[0], a[1], onx_xv_list(x, ONX_X_LIST, 2, sizes));
}

static void lower_cbrt(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    onx_value *root = onx_emit_number(x, "Pow", onx_emit(x, "Abs", v), 1.0 / 3);
    onx_x_give(x, out, onx_emit(x, "Mul", onx_emit(x, "Sign", v), root));
}

#define OTHER(name, args)                                                                          \
    { name args, lower_other, NULL }
#define ONE(name) OTHER(name, "(Tensor self)")
#define TWO(name) OTHER(name, "(Tensor self, Tensor other)")
const onx_aten onx_aten_renamed[] = {
    {"positive(Tensor self)", lower_itself, NULL},
    OTHER("_stack", "(Tensor[] tensors, int dim=0)"),
    ONE("_lazy_clone"),
    OTHER("_pin_memory", "(Tensor self, Device? device=None)"),
    OTHER("pin_memory", "(Tensor self, Device? device=None)"),
    ONE("_conj_copy"),
    ONE("_neg_view"),
    ONE("_neg_view_copy"),
    ONE("_is_all_true"),
    ONE("_is_any_true"),
    OTHER("_logcumsumexp", "(Tensor self, int dim)"),
    OTHER("_saturate_weight_to_fp16", "(Tensor weight)"),
    {"_add_relu(Any self, Any other, Scalar alpha=1)", lower_add_relu, NULL},
    {"_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
     "bool use_gelu=False)",
     lower_addmm_activation, NULL},
    {"_dim_arange(Tensor like, int dim)", lower_dim_arange, NULL},
    {"_reshape_from_tensor(Tensor self, Tensor shape)", lower_reshape_to_tensor, NULL},
    {"isreal(Tensor self)", lower_isreal, NULL},
    {"_infer_size(int[] a, int[] b) -> int[]", lower_infer_size, NULL},
    {"norm_except_dim(Tensor v, int pow=2, int dim=0)", lower_norm_except_dim, NULL},
    {"linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None)",
     lower_powsum, NULL},
    {"_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill)",
     lower_masked_index, NULL},
    {"fill_diagonal_(Tensor self, Scalar fill_value, bool wrap=False)", lower_fill_diagonal, NULL},
    OTHER("prims::view_of", "(Tensor a)"),
    OTHER("prims::device_put", "(Tensor a, Device device, bool non_blocking=False)"),
    OTHER("prims::clone", "(Tensor self, *, MemoryFormat? memory_format=None)"),
    OTHER("prims::rev", "(Tensor a, int[] dims)"),
    OTHER("prims::transpose", "(Tensor a, int[] permutation)"),
    OTHER("prims::collapse", "(Tensor a, int start, int end)"),
    OTHER("prims::collapse_view", "(Tensor a, int start, int end)"),
    {"prims::iota(int length, *, int start, int step, ScalarType dtype, Device? device, "
     "bool requires_grad)",
     lower_iota, NULL},
    {"prims::broadcast_in_dim(Tensor a, int[] shape, int[] broadcast_dimensions)",
     lower_broadcast_in_dim, NULL},
    {"prims::split_dim(Tensor a, int dim, int outer_length)", lower_split_dim, NULL},
    {"prims::cbrt(Tensor self)", lower_cbrt, NULL},
    ONE("prims::bessel_i0"),
    ONE("prims::bessel_i0e"),
    ONE("prims::bessel_i1"),
    ONE("prims::bessel_i1e"),
    ONE("prims::bessel_j0"),
    ONE("prims::bessel_j1"),
    ONE("prims::erf_inv"),
    ONE("prims::erfcx"),
    ONE("prims::ndtri"),
    ONE("prims::spherical_bessel_j0"),
    TWO("prims::zeta"),
    TWO("prims::gcd"),
    TWO("prims::igamma"),
    TWO("prims::igammac"),
    TWO("prims::nextafter"),
    TWO("prims::shift_left"),
    TWO("prims::shift_right_arithmetic"),
    {NULL, NULL, NULL},
};
