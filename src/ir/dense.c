/* dense.c: sparse tensors written out: their values at their indices, and zeros (or empty strings)
 * elsewhere.
 *
 * A small file can ask for much memory: what is written out is at most DENSE_MAX bytes, or as many
 * times what the sparse tensor takes as the limits of its context allow. */
#include "ir/edit.h"

#include "base/io.h"
#include "ir/dtype.h"

static const size_t DENSE_MAX = (size_t)1 << 30;

typedef struct dense {
    const onx_sparse *sparse;
    onx_context *ctx;
    onx_dtype dtype;
    uint64_t count; /* of elements */
    size_t n;       /* of values */
    int64_t *at;    /* where they stand: n numbers */
    onx_diag *diag;
} dense;

static onx_status wrong(const dense *d, const char *what) {
    return onx_fail(d->diag, ONX_INVALID, "the sparse tensor '%.200s' %s",
                    d->sparse->values ? onx_tensor_name(d->sparse->values) : "", what);
}

/* ── Looking at it ───────────────────────────────────────────────────────────────────────────── */

static onx_status check_parts(dense *d) {
    const onx_tensor *values = d->sparse->values, *indices = d->sparse->indices;
    uint64_t n = 0;
    if (!values) return wrong(d, "has no values");
    ONX_TRY(onx_tensor_check(values, d->diag));
    if (values->dims.n != 1) return wrong(d, "has values that are no list");
    ONX_TRY(onx_tensor_count(values, &n, d->diag));
    d->dtype = onx_tensor_dtype(values);
    d->n = (size_t)n;
    if (!indices) return n ? wrong(d, "has no indices") : ONX_OK;
    ONX_TRY(onx_tensor_check(indices, d->diag));
    size_t rank = d->sparse->dims.n;
    bool fits = (indices->dims.n == 1 ||
                 (indices->dims.n == 2 && rank && indices->dims.v[1] == (int64_t)rank)) &&
                (uint64_t)indices->dims.v[0] == n && onx_tensor_dtype(indices) == ONX_DTYPE_I64;
    return fits ? ONX_OK : wrong(d, "has indices that do not fit its values and its rank");
}

static onx_status count_elements(dense *d) {
    int64_t count = 1;
    for (size_t i = 0; i < d->sparse->dims.n; i++)
        if (d->sparse->dims.v[i] <= 0) count = d->sparse->dims.v[i] && count ? -1 : 0;
    for (size_t i = 0; i < d->sparse->dims.n && count > 0; i++)
        if (!onx_mul_i64(count, d->sparse->dims.v[i], &count)) count = -1;
    if (count < 0) return wrong(d, "has sizes that make no sense");
    d->count = (uint64_t)count;
    return ONX_OK;
}

static onx_status check_size(const dense *d) {
    size_t bytes = 0, most = 0;
    bool counts = d->dtype == ONX_DTYPE_STRING
                      ? onx_mul_size((size_t)d->count, sizeof(onx_str), &bytes)
                      : onx_dtype_bytes(d->dtype, d->count, &bytes);
    if (!onx_mul_size(d->n, 16 * d->ctx->limits.memory_factor, &most)) most = SIZE_MAX;
    if (counts && (bytes <= DENSE_MAX || bytes <= most)) return ONX_OK;
    return onx_fail(d->diag, ONX_LIMIT,
                    "the sparse tensor '%.200s' has %zu values, but %llu elements: too many to be "
                    "written out",
                    onx_tensor_name(d->sparse->values), d->n, (unsigned long long)d->count);
}

/* The place of a value, -1: outside. `indices`: those that were read. */
static int64_t place_of(const dense *d, const int64_t *indices, size_t i) {
    size_t rank = d->sparse->dims.n;
    if (d->sparse->indices->dims.n == 1)
        return indices[i] >= 0 && (uint64_t)indices[i] < d->count ? indices[i] : -1;
    int64_t place = 0;
    for (size_t k = 0; k < rank; k++) {
        int64_t one = indices[i * rank + k], size = d->sparse->dims.v[k];
        if (one < 0 || one >= size) return -1;
        place = place * size + one;
    }
    return place;
}

/* Indices become places, in the same memory: there is at least one number for each, or there are
 * no elements at all. */
static onx_status place_values(dense *d) {
    int64_t before = -1;
    for (size_t i = 0; i < d->n; i++) {
        int64_t place = d->count ? place_of(d, d->at, i) : -1;
        if (place < 0) return wrong(d, "has an index out of range");
        if (place <= before) return wrong(d, "has indices that do not rise");
        d->at[i] = before = place;
    }
    return ONX_OK;
}

/* ── Writing it out ──────────────────────────────────────────────────────────────────────────── */

static onx_status fill_strings(const dense *d, onx_tensor *out) {
    const char **texts = onx_mem_alloc(d->ctx, d->count * sizeof *texts);
    onx_arena arena;
    onx_arena_init(&arena, d->ctx);
    onx_status status = texts ? ONX_OK : onx_fail_nomem(d->diag);
    for (uint64_t i = 0; i < d->count && !status; i++) texts[i] = "";
    for (size_t i = 0; i < d->n && !status; i++) {
        onx_str text = {NULL, 0};
        status = onx_tensor_string_at(d->sparse->values, i, &text, d->diag);
        if (!status && !onx_arena_str(&arena, text, &text)) status = onx_fail_nomem(d->diag);
        if (!status) texts[d->at[i]] = text.data;
    }
    if (!status)
        status = onx_tensor_set_strings(out, d->sparse->dims.n, d->sparse->dims.v, texts, d->diag);
    onx_arena_fini(&arena);
    onx_mem_free(d->ctx, texts, d->count * sizeof *texts);
    return status;
}

/* Elements of whole bytes; packed ones go through bytes of their own. */
static void scatter(const dense *d, size_t width, const char *values, char *out) {
    for (size_t i = 0; i < d->n; i++)
        memcpy(out + (size_t)d->at[i] * width, values + i * width, width);
}

static onx_status scatter_packed(const dense *d, unsigned bits, const char *values, char *out) {
    uint8_t *from = onx_mem_alloc(d->ctx, d->n), *to = onx_mem_alloc(d->ctx, (size_t)d->count);
    bool ok = from && to;
    if (ok) {
        memset(to, 0, (size_t)d->count);
        onx_dtype_unpack(bits, values, from, d->n);
        scatter(d, 1, (const char *)from, (char *)to);
        onx_dtype_pack(bits, to, out, (size_t)d->count);
    }
    onx_mem_free(d->ctx, from, d->n);
    onx_mem_free(d->ctx, to, (size_t)d->count);
    return ok ? ONX_OK : onx_fail_nomem(d->diag);
}

static onx_status fill_blob(const dense *d, char *out, size_t bytes) {
    unsigned bits = onx_dtype_bits(d->dtype);
    size_t size = 0;
    ONX_TRY(onx_tensor_bytes(d->sparse->values, &size, d->diag));
    char *values = onx_mem_alloc(d->ctx, size);
    if (!values) return onx_fail_nomem(d->diag);
    onx_status status = onx_tensor_read(d->sparse->values, values, size, d->diag);
    if (bytes) memset(out, 0, bytes);
    if (!status && bits % 8)
        status = scatter_packed(d, bits, values, out);
    else if (!status)
        scatter(d, bits / 8, values, out);
    onx_mem_free(d->ctx, values, size);
    return status;
}

static onx_status fill(const dense *d, onx_tensor *out) {
    size_t bytes = 0;
    onx_blob *blob = NULL;
    if (d->dtype == ONX_DTYPE_STRING) return fill_strings(d, out);
    if (!onx_dtype_bytes(d->dtype, d->count, &bytes)) return wrong(d, "has no element type");
    ONX_TRY(onx_blob_new(d->ctx, bytes, &blob, d->diag));
    onx_status status = fill_blob(d, (char *)(uintptr_t)blob->bytes.data, bytes);
    if (status) {
        onx_blob_release(blob);
        return status;
    }
    return onx_tensor_set_blob(out, d->dtype, d->sparse->dims.n, d->sparse->dims.v, blob, d->diag);
}

onx_status onx_sparse_check(const onx_sparse *sparse, onx_diag *diag) {
    dense d = {.sparse = sparse, .diag = diag};
    ONX_TRY(check_parts(&d));
    return count_elements(&d);
}

onx_status onx_sparse_dense(onx_doc *doc, const onx_sparse *sparse, onx_tensor **out,
                            onx_diag *diag) {
    dense d = {.sparse = sparse, .ctx = doc->ctx, .diag = diag};
    ONX_TRY(check_parts(&d));
    ONX_TRY(count_elements(&d));
    ONX_TRY(check_size(&d));
    size_t bytes = 0;
    if (sparse->indices) ONX_TRY(onx_tensor_bytes(sparse->indices, &bytes, diag));
    d.at = onx_mem_alloc(d.ctx, bytes);
    onx_tensor *tensor = d.at ? onx_msg_new(doc, &onx_desc_tensor) : NULL;
    onx_status status = tensor ? ONX_OK : onx_fail_nomem(diag);
    if (!status && bytes) status = onx_tensor_read(sparse->indices, d.at, bytes, diag);
    if (!status) status = place_values(&d);
    if (!status) status = fill(&d, tensor);
    onx_mem_free(d.ctx, d.at, bytes);
    if (!status) *out = tensor;
    return status;
}
