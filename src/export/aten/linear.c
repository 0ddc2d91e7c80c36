/* linear.c: products of matrices and vectors of PyTorch, and what is made of them. */
#include "export/aten/nn_args.h"

#include <stdio.h>

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static onx_value *product(onx_export *x, onx_value *a, onx_value *b) {
    return a && b ? onx_emit_wide(x, "MatMul", a, b) : NULL;
}

static void lower_matmul(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, product(x, onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[1])));
}

/* With the type of the result. */
static void lower_matmul_as(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[2]);
    onx_x_give(x, out, product(x, onx_x_as(x, &a[0], dtype), onx_x_as(x, &a[1], dtype)));
}

/* (input, weight, bias): input * weightᵀ + bias. */
static void lower_linear(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *input = onx_nn_tensor(x, &a[0]), *weight = onx_nn_tensor(x, &a[1]);
    onx_value *bias = onx_nn_tensor(x, &a[2]);
    size_t rank = onx_x_rank(x, input), matrix = onx_x_rank(x, weight);
    if (rank == SIZE_MAX || matrix == SIZE_MAX) return;
    if (rank == 2 && matrix == 2) {
        onx_x_give(x, out,
                   onx_emit_with(x, "Gemm", ONX_ATTRS(ONX_AI("transB", 1)), input, weight, bias));
        return;
    }
    onx_value *y = product(x, input, matrix == 2 ? onx_x_swap(x, weight, 0, 1) : weight);
    onx_x_give(x, out, bias ? onx_emit(x, "Add", y, bias) : y);
}

/* beta * c + alpha * y; where beta is 0, c does not count whatever it is. */
static onx_value *weighted(onx_export *x, onx_value *c, onx_value *y, const onx_xv *beta,
                           const onx_xv *alpha) {
    double b = onx_xv_real(x, beta, 1), a = onx_xv_real(x, alpha, 1);
    y = onx_nn_times(x, y, a);
    return b == 0 ? y : onx_emit(x, "Add", onx_nn_times(x, c, b), y);
}

/* (self, mat1, mat2, *, beta, alpha) */
static void lower_addmm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xattr attrs[3] = {{.name = NULL}}, *at = attrs;
    double beta = onx_xv_real(x, &a[3], 1), alpha = onx_xv_real(x, &a[4], 1);
    onx_value *c = beta == 0 ? NULL : onx_nn_tensor(x, &a[0]);
    if (alpha != 1) *at++ = ONX_AF("alpha", alpha);
    if (beta != 1 && c) *at = ONX_AF("beta", beta);
    onx_x_give(
        x, out,
        onx_emit_wide_with(x, "Gemm", attrs, onx_nn_tensor(x, &a[1]), onx_nn_tensor(x, &a[2]), c));
}

static void lower_baddbmm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *y = product(x, onx_nn_tensor(x, &a[1]), onx_nn_tensor(x, &a[2]));
    onx_x_give(x, out, weighted(x, onx_nn_tensor(x, &a[0]), y, &a[3], &a[4]));
}

static void lower_addbmm(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t batch = 0;
    onx_value *y = product(x, onx_nn_tensor(x, &a[1]), onx_nn_tensor(x, &a[2]));
    y = onx_x_reduce(x, "ReduceSum", y, 1, &batch, false);
    onx_x_give(x, out, weighted(x, onx_nn_tensor(x, &a[0]), y, &a[3], &a[4]));
}

static onx_value *outer(onx_export *x, const onx_xv *a, const onx_xv *b) {
    onx_value *va, *vb;
    if (!onx_x_pair(x, a, b, &va, &vb)) return NULL;
    return onx_emit(x, "Mul", onx_x_unsqueeze(x, va, 1), vb);
}
static void lower_outer(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, outer(x, &a[0], &a[1]));
}
static void lower_addr(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, weighted(x, onx_nn_tensor(x, &a[0]), outer(x, &a[1], &a[2]), &a[3], &a[4]));
}

/* The last axes are summed over. */
static void lower_inner(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *va = onx_nn_tensor(x, &a[0]), *vb = onx_nn_tensor(x, &a[1]);
    size_t ra = onx_x_rank(x, va), rb = onx_x_rank(x, vb);
    if (ra == SIZE_MAX || rb == SIZE_MAX) return;
    if (!ra || !rb)
        onx_x_give(x, out, onx_emit(x, "Mul", va, vb));
    else if (rb <= 2)
        onx_x_give(x, out, product(x, va, rb == 2 ? onx_x_swap(x, vb, 0, 1) : vb));
    else
        onx_x_fail(x, ONX_UNSUPPORTED, "an inner product with a tensor of %zu dimensions", rb);
}

/* (x, y, dim): the sum of products along an axis. */
static void lower_vecdot(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *va, *vb;
    size_t axis;
    if (!onx_x_pair(x, &a[0], &a[1], &va, &vb)) return;
    onx_value *y = onx_emit(x, "Mul", va, vb);
    if (!y || !onx_x_axis(x, onx_xv_whole(x, &a[2], -1), onx_x_rank(x, y), &axis)) return;
    int64_t along = (int64_t)axis;
    onx_x_give(x, out, onx_x_reduce(x, "ReduceSum", y, 1, &along, false));
}

static void lower_multi_dot(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (!onx_xv_is_list(&a[0]) || !a[0].list->n) return;
    onx_value *y = onx_nn_tensor(x, &a[0].list->v[0]);
    for (size_t i = 1; i < a[0].list->n; i++) y = product(x, y, onx_nn_tensor(x, &a[0].list->v[i]));
    onx_x_give(x, out, y);
}

/* Every element of one times all of the other: [a0, 1, a1, 1] * [b0, 1, b1], in one shape. */
static void lower_kron(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_xv shape[ONX_RANK_MAX];
    if (!onx_x_pair(x, &a[0], &a[1], &v[0], &v[1])) return;
    size_t r[2] = {onx_x_rank(x, v[0]), onx_x_rank(x, v[1])}, rank = r[0] > r[1] ? r[0] : r[1];
    if (r[0] == SIZE_MAX || r[1] == SIZE_MAX || 2 * rank > ONX_RANK_MAX) return;
    for (size_t i = 0; i < rank; i++) shape[i] = onx_xv_int(x, 1);
    for (size_t k = 0; k < 2; k++) {
        onx_xv spread[ONX_RANK_MAX];
        for (size_t i = 0; i < rank; i++) {
            bool has = i + r[k] >= rank;
            spread[2 * i + k] = has ? onx_x_size_of(x, v[k], i + r[k] - rank) : onx_xv_int(x, 1);
            spread[2 * i + 1 - k] = onx_xv_int(x, 1);
            shape[i] = onx_x_arith(x, "mul", shape[i], spread[2 * i + k]);
        }
        v[k] = onx_x_reshape(x, v[k], 2 * rank, spread);
    }
    onx_x_give(x, out, onx_x_reshape(x, onx_emit(x, "Mul", v[0], v[1]), rank, shape));
}

/* (self[rows, k], mat2[groups, k, n], offs[groups] …): rows up to the first of the offsets times
 * the first matrix, from there up to the second times the second … All rows are multiplied by all
 * matrices, for how many go with which is known only in the run. */
static void lower_grouped_mm(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t group = 0;
    onx_value *v = onx_nn_tensor(x, &a[0]), *w = onx_nn_tensor(x, &a[1]);
    onx_value *end = onx_nn_tensor(x, &a[2]);
    if (!v || !w || onx_x_rank(x, v) != 2 || onx_x_rank(x, w) != 3 || !end) {
        onx_x_fail(x, ONX_UNSUPPORTED, "groups that are not rows of one matrix");
        return;
    }
    onx_xv zero = onx_xv_int(x, 0), last = onx_xv_int(x, -1), rows = onx_x_size_of(x, v, 0);
    onx_value *ends = onx_x_cast(x, end, ONX_DTYPE_I64);
    onx_value *parts[] = {onx_x_ints(x, 1, &group), onx_x_slice(x, ends, 0, zero, last, 1)};
    onx_value *begins = onx_x_concat(x, 2, parts, 0), *row = onx_x_count(x, &rows);
    if (!begins || !row) return;
    onx_value *inside =
        onx_emit(x, "And", onx_emit(x, "GreaterOrEqual", row, onx_x_unsqueeze(x, begins, 1)),
                 onx_emit(x, "Less", row, onx_x_unsqueeze(x, ends, 1)));
    onx_value *all = product(x, v, w);
    all = onx_emit(x, "Where", onx_x_unsqueeze(x, inside, 2), all,
                   onx_x_number(x, onx_x_dtype(x, all), 0));
    onx_x_give(x, out, onx_x_reduce(x, "ReduceSum", all, 1, &group, false));
}

/* ─ Sums of products ─────────────────────────────────────────────────────────────────────────── */

static onx_value *einsum(onx_export *x, const char *equation, size_t n, onx_value *const *in) {
    return onx_emit_wide_array(x, "Einsum", ONX_ATTRS(ONX_AS("equation", equation)), n, in);
}

/* "ijk->kij" of one tensor is a Transpose: its order; false: it is more than that. */
static bool is_permutation(const char *equation, size_t rank, int64_t *perm) {
    if (rank > ONX_RANK_MAX || strlen(equation) != 2 * rank + 2 ||
        memcmp(equation + rank, "->", 2) != 0)
        return false;
    for (size_t i = 0; i < rank; i++) {
        int letter = equation[rank + 2 + i];
        const char *from = memchr(equation, letter, rank);
        if (!from || memchr(from + 1, letter, rank - 1 - (size_t)(from - equation))) return false;
        perm[i] = from - equation;
    }
    return true;
}

/* (equation, tensors, path) */
static void lower_einsum(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (!onx_xv_is(&a[0], ONX_X_STR) || !onx_xv_is_list(&a[1])) return;
    char *equation = onx_x_alloc(x, a[0].str.size + 1), *to = equation;
    onx_value **in = onx_x_array(x, a[1].list->n + 1, sizeof *in);
    int64_t perm[ONX_RANK_MAX];
    if (!equation || !in) return;
    for (size_t i = 0; i < a[0].str.size; i++)
        if (a[0].str.data[i] != ' ') *to++ = a[0].str.data[i];
    for (size_t i = 0; i < a[1].list->n; i++) in[i] = onx_nn_tensor(x, &a[1].list->v[i]);
    size_t rank = a[1].list->n == 1 ? onx_x_rank(x, in[0]) : SIZE_MAX;
    onx_x_give(x, out,
               is_permutation(equation, rank, perm) ? onx_x_transpose(x, in[0], rank, perm)
                                                    : einsum(x, equation, a[1].list->n, in));
}

/* (self, other, dims_self, dims_other): letters of the axes that are summed over are the same. */
static void lower_tensordot(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *in[] = {onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[1])};
    size_t rank[] = {onx_x_rank(x, in[0]), onx_x_rank(x, in[1])};
    char letters[2][ONX_RANK_MAX + 1] = {{0}}, result[2 * ONX_RANK_MAX + 1] = {0}, next = 'a';
    int64_t axes[2][ONX_RANK_MAX];
    if (rank[0] == SIZE_MAX || rank[1] == SIZE_MAX || rank[0] + rank[1] > 26) return;
    size_t n = onx_x_axes(x, &a[2], rank[0], axes[0]);
    if (n != onx_x_axes(x, &a[3], rank[1], axes[1])) return;
    for (size_t i = 0; i < n; i++) letters[0][axes[0][i]] = letters[1][axes[1][i]] = next++;
    for (size_t k = 0, at = 0; k < 2; k++)
        for (size_t i = 0; i < rank[k]; i++)
            if (!letters[k][i]) letters[k][i] = result[at++] = next++;
    char equation[4 * ONX_RANK_MAX + 8];
    snprintf(equation, sizeof equation, "%s,%s->%s", letters[0], letters[1], result);
    onx_x_give(x, out, einsum(x, equation, 2, in));
}

/* (input1, input2, weight, bias) */
static void lower_bilinear(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *in[] = {onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[2]), onx_nn_tensor(x, &a[1])};
    onx_value *bias = onx_nn_tensor(x, &a[3]);
    onx_value *y = einsum(x, "...i,oij,...j->...o", 3, in);
    onx_x_give(x, out, bias ? onx_emit(x, "Add", y, bias) : y);
}

/* (i1, i2, i3, expand1, expand2, expand3, sumdim …): axes of size 1 at `expand`, then the sum. */
static void lower_trilinear(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *y = NULL;
    int64_t axes[ONX_RANK_MAX];
    size_t n = 0;
    for (size_t i = 0; i < 3; i++) {
        onx_value *v = onx_nn_tensor(x, &a[i]);
        size_t rank = onx_x_rank(x, v);
        if (rank == SIZE_MAX || !onx_xv_is_list(&a[3 + i])) return;
        n = onx_x_axes(x, &a[3 + i], rank + a[3 + i].list->n, axes);
        if (n) v = onx_emit(x, "Unsqueeze", v, onx_x_ints(x, n, axes));
        y = y ? onx_emit(x, "Mul", y, v) : v;
    }
    if (y) n = onx_x_axes(x, &a[6], onx_x_rank(x, y), axes);
    onx_x_give(x, out, n ? onx_x_reduce(x, "ReduceSum", y, n, axes, false) : y);
}

#define SCALED "*, Scalar beta=1, Scalar alpha=1)"

const onx_aten onx_aten_linear[] = {
    {"linear(Tensor input, Tensor weight, Tensor? bias=None)", lower_linear, NULL},
    {"matmul(Tensor self, Tensor other)", lower_matmul, NULL},
    {"linalg_matmul(Tensor self, Tensor other)", lower_matmul, NULL},
    {"mm(Tensor self, Tensor mat2)", lower_matmul, NULL},
    {"mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype)", lower_matmul_as, NULL},
    {"bmm(Tensor self, Tensor mat2)", lower_matmul, NULL},
    {"bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype)", lower_matmul_as, NULL},
    {"mv(Tensor self, Tensor vec)", lower_matmul, NULL},
    {"dot(Tensor self, Tensor tensor)", lower_matmul, NULL},
    {"vdot(Tensor self, Tensor other)", lower_matmul, NULL},
    {"inner(Tensor self, Tensor other)", lower_inner, NULL},
    {"outer(Tensor self, Tensor vec2)", lower_outer, NULL},
    {"ger(Tensor self, Tensor vec2)", lower_outer, NULL},
    {"addmm(Tensor self, Tensor mat1, Tensor mat2, " SCALED, lower_addmm, NULL},
    {"baddbmm(Tensor self, Tensor batch1, Tensor batch2, " SCALED, lower_baddbmm, NULL},
    {"addbmm(Tensor self, Tensor batch1, Tensor batch2, " SCALED, lower_addbmm, NULL},
    {"addmv(Tensor self, Tensor mat, Tensor vec, " SCALED, lower_baddbmm, NULL},
    {"addr(Tensor self, Tensor vec1, Tensor vec2, " SCALED, lower_addr, NULL},
    {"linalg_vecdot(Tensor x, Tensor y, *, int dim=-1)", lower_vecdot, NULL},
    {"linalg_multi_dot(Tensor[] tensors)", lower_multi_dot, NULL},
    {"chain_matmul(Tensor[] matrices)", lower_multi_dot, NULL},
    {"_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
     "ScalarType? out_dtype=None)",
     lower_grouped_mm, NULL},
    {"transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs)",
     lower_grouped_mm, NULL},
    {"kron(Tensor self, Tensor other)", lower_kron, NULL},
    {"einsum(str equation, Tensor[] tensors, *, int[]? path=None)", lower_einsum, NULL},
    {"tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)", lower_tensordot,
     NULL},
    {"bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", lower_bilinear,
     NULL},
    {"_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, "
     "int[] sumdim, int unroll_dim=1)",
     lower_trilinear, NULL},
    {.schema = NULL},
};
