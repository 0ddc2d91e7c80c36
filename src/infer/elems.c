/* elems.c: small tensors, element by element: sizes on their way through a graph.
 *
 * The elements of integer tensors are whole; those of float tensors may be ratios (ir/sym.h). Sizes
 * are taken to be small enough for any arithmetic on them to be exact: below 2^24. */
#include "infer/infer_internal.h"

bool onx_fact_counts(const onx_fact *fact, size_t *count, int64_t dims[ONX_RANK_MAX]) {
    int64_t n = 1;
    if (!fact->ranked || fact->rank > ONX_RANK_MAX) return false;
    for (size_t i = 0; i < fact->rank; i++)
        if (!onx_sym_is_int(fact->dims[i], &dims[i]) || dims[i] < 0 ||
            !onx_mul_i64(n, dims[i], &n) || n > ONX_INFER_ELEMS)
            return false;
    *count = (size_t)n;
    return true;
}

bool onx_fact_has_elems(const onx_fact *fact) {
    return fact->elems && fact->n_elems > 0 && fact->kind == ONX_TYPE_TENSOR;
}

/* ── Element by element ──────────────────────────────────────────────────────────────────────── */

/* The place in `fact` of element `index` of a result with these sizes, which it is repeated in. */
static size_t place_in(const onx_fact *fact, const int64_t *in, size_t rank, const int64_t *out,
                       size_t index) {
    size_t place = 0, stride = 1, shift = rank - fact->rank;
    for (size_t d = rank; d-- > 0;) {
        size_t at = index % (size_t)out[d];
        index /= (size_t)out[d];
        if (d < shift) continue;
        place += at % (size_t)in[d - shift] * stride;
        stride *= (size_t)in[d - shift];
    }
    return place;
}

static bool any_known(const onx_infer *in) {
    for (size_t i = 0; i < onx_infer_n_in(in); i++)
        if (onx_fact_has_elems(onx_infer_in(in, i))) return true;
    return false;
}

onx_status onx_infer_elementwise(onx_infer *in, onx_elem_fn *fn) {
    int64_t out[ONX_RANK_MAX], dims[ONX_RANK_MAX];
    size_t n, n_in = onx_infer_n_in(in), count;
    const onx_fact *result = onx_infer_out(in, 0);
    if (!any_known(in) || n_in > ONX_INFER_ELEMS) return ONX_OK;
    if (!onx_fact_counts(result, &n, out) || n == 0) return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), n * (n_in + 1), sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    const onx_sym **operands = elems + n; /* n_in for each element */
    for (size_t i = 0; i < n_in; i++) {
        const onx_fact *fact = onx_infer_in(in, i);
        if (!onx_infer_has_in(in, i)) continue;
        if (!onx_fact_counts(fact, &count, dims) || fact->rank > result->rank) return ONX_OK;
        bool known = onx_fact_has_elems(fact) && fact->n_elems == count;
        for (size_t e = 0; known && e < n; e++)
            operands[e * n_in + i] = fact->elems[place_in(fact, dims, result->rank, out, e)];
    }
    for (size_t e = 0; e < n; e++) elems[e] = fn(in, n_in, operands + e * n_in);
    return onx_infer_elems(in, 0, n, elems);
}

onx_status onx_infer_expanded_elems(onx_infer *in) {
    int64_t out[ONX_RANK_MAX], dims[ONX_RANK_MAX];
    size_t n, count;
    const onx_fact *result = onx_infer_out(in, 0), *data = onx_infer_in(in, 0);
    if (!onx_fact_has_elems(data) || !onx_fact_counts(result, &n, out) || n == 0 ||
        !onx_fact_counts(data, &count, dims) || count != data->n_elems || data->rank > result->rank)
        return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), n, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t e = 0; e < n; e++)
        elems[e] = data->elems[place_in(data, dims, result->rank, out, e)];
    return onx_infer_elems(in, 0, n, elems);
}

/* ── Rearranged ──────────────────────────────────────────────────────────────────────────────── */

onx_status onx_infer_same_elems(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    if (!onx_fact_has_elems(data)) return ONX_OK;
    return onx_infer_elems(in, 0, data->n_elems, data->elems);
}

onx_status onx_infer_permuted_elems(onx_infer *in, const size_t *perm) {
    const onx_fact *data = onx_infer_in(in, 0);
    int64_t dims[ONX_RANK_MAX];
    size_t n, strides[ONX_RANK_MAX];
    if (!onx_fact_has_elems(data) || !onx_fact_counts(data, &n, dims) || n != data->n_elems)
        return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), n, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t d = data->rank, stride = 1; d-- > 0; stride *= (size_t)dims[d]) strides[d] = stride;
    for (size_t e = 0; e < n; e++) {
        size_t rest = e, from = 0;
        for (size_t d = data->rank; d-- > 0; rest /= (size_t)dims[perm[d]])
            from += rest % (size_t)dims[perm[d]] * strides[perm[d]];
        elems[e] = data->elems[from];
    }
    return onx_infer_elems(in, 0, n, elems);
}
