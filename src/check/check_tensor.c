/* check_tensor.c: tensors, dense and sparse, wherever they are. */
#include "check/checker.h"
#include "ir/edit.h"

/* ── Dense ───────────────────────────────────────────────────────────────────────────────────── */

/* An entry of int32_data holds 6 bits; bits after the last element are zero. */
static bool is_clean_f6(const onx_tensor *t) {
    const char *p = t->int32_data.data, *end = p ? p + t->int32_data.size : NULL;
    uint64_t v, count;
    for (size_t n; p != end && (n = onx_varint_get(p, end, &v)); p += n)
        if (v > 63) return false;
    onx_str raw = t->raw_data;
    if (!raw.size || onx_tensor_count(t, &count, NULL)) return true;
    unsigned used = (unsigned)(count % 4 * 6 % 8);
    return !used || (unsigned char)raw.data[raw.size - 1] >> used == 0;
}

static void check_payload(onx_checker *c, const onx_tensor *t) {
    onx_diag diag = ONX_INIT(onx_diag);
    bool f6 = t->data_type == ONX_DTYPE_F6E2M3 || t->data_type == ONX_DTYPE_F6E3M2;
    if (onx_tensor_check(t, &diag))
        onx_check_tell(c, ONX_RULE_TENSOR_PAYLOAD, t, diag.hint, "tensor '%.*s': %s",
                       ONX_FMT(t->name), diag.message);
    else if (f6 && !is_clean_f6(t))
        onx_check_tell(c, ONX_RULE_TENSOR_PAYLOAD, t, NULL,
                       "tensor '%.*s': bits that belong to no element are not zero",
                       ONX_FMT(t->name));
}

void onx_check_tensor(onx_checker *c, const onx_tensor *t) {
    onx_diag diag = ONX_INIT(onx_diag);
    uint64_t count;
    bool known = t->data_type > 0 && t->data_type < ONX_DTYPE_COUNT;
    onx_check_dtype(c, ONX_RULE_TENSOR_TYPE, t, t->data_type);
    if (onx_tensor_count(t, &count, &diag))
        onx_check_tell(c, ONX_RULE_TENSOR_DIMS, t, NULL, "tensor '%.*s': %s", ONX_FMT(t->name),
                       diag.message);
    else if (known && onx_tensor_is_external(t))
        onx_check_external(c, t);
    else if (known)
        check_payload(c, t);
    onx_check_metadata(c, &t->msg, &t->metadata_props);
}

/* ── Sparse ──────────────────────────────────────────────────────────────────────────────────── */

static const char *sparse_name(const onx_sparse *s) {
    return s->values ? onx_tensor_name(s->values) : "";
}

/* The next index, from place `at` on: linear, or -1 when it is out of range. */
static int64_t index_at(const onx_sparse *s, const int64_t *indices, size_t rank, size_t at) {
    int64_t linear = rank == 1 ? indices[at] : 0;
    for (size_t i = 0; rank == 2 && i < s->dims.n; i++) {
        int64_t one = indices[at * s->dims.n + i];
        if (one < 0 || one >= s->dims.v[i]) return -1;
        linear = linear * s->dims.v[i] + one;
    }
    return linear;
}

static void check_order(onx_checker *c, const onx_sparse *s, const int64_t *indices, size_t n,
                        int64_t elements) {
    int64_t before = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t at = index_at(s, indices, onx_tensor_rank(s->indices), i);
        if (at < 0 || at >= elements) {
            onx_check_tell(c, ONX_RULE_SPARSE_INDICES, s, NULL,
                           "index %zu of the sparse tensor '%.200s' is out of range", i,
                           sparse_name(s));
            return;
        }
        if (at <= before) {
            onx_check_tell(c, ONX_RULE_SPARSE_INDICES, s, "sort values and indices",
                           "index %zu of the sparse tensor '%.200s' is not after the one before it",
                           i, sparse_name(s));
            return;
        }
        before = at;
    }
}

/* Read the indices, if they can be, and go through them. */
static void check_indices(onx_checker *c, const onx_sparse *s, uint64_t nnz, int64_t elements) {
    const onx_tensor *t = s->indices;
    uint64_t count;
    size_t bytes, rank = onx_tensor_rank(t);
    bool fits = (rank == 1 || (rank == 2 && t->dims.v[1] == (int64_t)s->dims.n)) &&
                t->data_type == ONX_DTYPE_I64 && (uint64_t)t->dims.v[0] == nnz;
    if (!fits) {
        onx_check_tell(c, ONX_RULE_SPARSE_INDICES, s, "they are int64[NNZ] or int64[NNZ, rank]",
                       "the indices of the sparse tensor '%.200s' do not fit %llu values of rank"
                       " %zu",
                       sparse_name(s), (unsigned long long)nnz, s->dims.n);
        return;
    }
    if (onx_tensor_check(t, NULL) || onx_tensor_count(t, &count, NULL) || !count ||
        !onx_dtype_bytes(ONX_DTYPE_I64, count, &bytes))
        return; /* told elsewhere */
    int64_t *indices = onx_mem_alloc(c->ctx, bytes);
    if (!indices) c->no_memory = true;
    if (indices && !onx_tensor_read(t, indices, bytes, NULL))
        check_order(c, s, indices, (size_t)nnz, elements);
    onx_mem_free(c->ctx, indices, bytes);
}

/* The number of elements when dense; 0 when the shape makes no sense. */
static int64_t dense_count(const onx_sparse *s) {
    int64_t n = 1;
    for (size_t i = 0; i < s->dims.n; i++)
        if (s->dims.v[i] <= 0 || !onx_mul_i64(n, s->dims.v[i], &n)) return 0;
    return s->dims.n ? n : 0;
}

void onx_check_sparse(onx_checker *c, const onx_sparse *s) {
    const onx_tensor *values = s->values;
    int64_t elements = dense_count(s);
    uint64_t nnz;
    if (!values || onx_tensor_rank(values) != 1)
        onx_check_tell(c, ONX_RULE_SPARSE_VALUES, s, "give it values, in a list",
                       "a sparse tensor has no list of values");
    else if (!elements)
        onx_check_tell(c, ONX_RULE_SPARSE_VALUES, s, "give it a shape of positive sizes",
                       "the shape of the sparse tensor '%.200s' makes no sense", sparse_name(s));
    else if (onx_tensor_count(values, &nnz, NULL))
        return; /* told with the tensor */
    else if (s->indices)
        check_indices(c, s, nnz, elements);
    else if (nnz)
        onx_check_tell(c, ONX_RULE_SPARSE_INDICES, s, "give it indices",
                       "the sparse tensor '%.200s' has %llu values, but no indices", sparse_name(s),
                       (unsigned long long)nnz);
}
