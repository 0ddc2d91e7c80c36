/* torch_tensor.c: tensors over storages: checked, compared, and given to ONNX in place where they
 * are contiguous, gathered where they are not.
 *
 * Strides let a few bytes describe a huge tensor: what is gathered is counted against the size of
 * the archive. */
#include "export/torch_tensor.h"

#include "ir/edit.h"

onx_status onx_torch_storage_of(onx_archive *archive, onx_str record, onx_torch_storage **out,
                                onx_diag *diag) {
    onx_map *storages = onx_archive_storages(archive);
    onx_torch_storage *storage = onx_map_get(storages, NULL, record);
    if (!storage) {
        uint64_t bytes = onx_archive_record_size(archive, record);
        if (bytes == UINT64_MAX)
            return onx_fail(diag, ONX_NOT_FOUND, "the archive has no record '%.*s' for a tensor",
                            ONX_FMT(record));
        onx_arena *arena = &onx_archive_doc(archive)->arena;
        storage = onx_arena_alloc(arena, sizeof *storage);
        if (!storage || !onx_arena_str(arena, record, &storage->record) ||
            !onx_map_put(storages, NULL, storage->record, storage))
            return onx_fail_nomem(diag);
        storage->archive = archive;
        storage->bytes = bytes;
    }
    *out = storage;
    return ONX_OK;
}

/* ── Sizes ───────────────────────────────────────────────────────────────────────────────────── */

static size_t element_bytes(const onx_torch_tensor *t) {
    return onx_torch_dtype_of(t->dtype)->bytes;
}

/* How many elements a storage has room for. */
static uint64_t room_of(const onx_torch_tensor *t) {
    if (t->dtype != ONX_TORCH_QU4) return t->storage->bytes / element_bytes(t);
    return t->storage->bytes <= UINT64_MAX / 2 ? 2 * t->storage->bytes : UINT64_MAX;
}

static bool is_empty(const onx_torch_tensor *t) {
    for (size_t i = 0; i < t->rank; i++)
        if (t->dims[i] == 0) return true;
    return false;
}

/* The bytes of all elements, each by itself; false: too many to count. */
static bool dense_bytes(const onx_torch_tensor *t, size_t *out) {
    size_t bytes = is_empty(t) ? 0 : element_bytes(t);
    for (size_t i = 0; bytes && i < t->rank; i++)
        if (!onx_mul_size(bytes, (size_t)t->dims[i], &bytes)) return false;
    *out = bytes;
    return true;
}

/* Of a tensor with elements: is the last one in its storage? */
static bool ends_inside(const onx_torch_tensor *t) {
    int64_t last = t->offset, reach;
    for (size_t i = 0; i < t->rank; i++)
        if (!onx_mul_i64(t->dims[i] - 1, t->strides[i], &reach) || !onx_add_i64(last, reach, &last))
            return false;
    return (uint64_t)last < room_of(t);
}

onx_status onx_torch_tensor_check(const onx_torch_tensor *t, onx_diag *diag) {
    const int64_t most = INT64_MAX / 4; /* so that sums of two, and twice one, are numbers */
    size_t dense = 0;
    if (!onx_torch_dtype_of(t->dtype))
        return onx_fail(diag, ONX_UNSUPPORTED, "a tensor has no known element type");
    if (t->rank > ONX_TORCH_RANK)
        return onx_fail(diag, ONX_LIMIT, "a tensor has more than %d dimensions", ONX_TORCH_RANK);
    bool possible = t->offset >= 0 && t->offset <= most;
    for (size_t i = 0; i < t->rank; i++)
        possible = possible && t->dims[i] >= 0 && t->strides[i] >= 0 && t->strides[i] <= most;
    if (!possible || !dense_bytes(t, &dense) || dense > (size_t)most)
        return onx_fail(diag, ONX_MALFORMED, "a size, stride or offset of a tensor is impossible");
    if (dense && t->storage->bytes && !ends_inside(t))
        return onx_fail(diag, ONX_MALFORMED,
                        "a tensor reaches past the end of its storage, record '%.*s' of %llu bytes",
                        ONX_FMT(t->storage->record), (unsigned long long)t->storage->bytes);
    return ONX_OK;
}

bool onx_torch_tensor_same(const onx_torch_tensor *a, const onx_torch_tensor *b) {
    if (a->storage != b->storage || a->dtype != b->dtype || a->rank != b->rank ||
        a->offset != b->offset || !a->quant != !b->quant)
        return false;
    for (size_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] || a->strides[i] != b->strides[i]) return false;
    return true;
}

/* How many of the last dimensions lie dense, one element after the other. */
static size_t dense_tail(const onx_torch_tensor *t) {
    size_t first = t->rank;
    for (int64_t step = 1; first > 0; first--) {
        int64_t dim = t->dims[first - 1];
        if (dim != 1 && t->strides[first - 1] != step) break;
        step *= dim;
    }
    return t->rank - first;
}

bool onx_torch_tensor_is_contiguous(const onx_torch_tensor *t) {
    return is_empty(t) || dense_tail(t) == t->rank;
}

bool onx_torch_tensor_has_data(const onx_torch_tensor *t) {
    return is_empty(t) || t->storage->bytes > 0;
}

onx_status onx_torch_tensor_real(onx_arena *arena, const onx_torch_tensor *t, onx_torch_tensor *out,
                                 onx_diag *diag) {
    static const onx_torch_dtype real[] = {
        [ONX_TORCH_C32] = ONX_TORCH_F16,
        [ONX_TORCH_C64] = ONX_TORCH_F32,
        [ONX_TORCH_C128] = ONX_TORCH_F64,
    };
    onx_torch_tensor view = *t;
    if (t->dtype == ONX_TORCH_C32 || t->dtype == ONX_TORCH_C64 || t->dtype == ONX_TORCH_C128) {
        int64_t *dims = onx_arena_array(arena, 2 * (t->rank + 1), sizeof *dims);
        if (!dims) return onx_fail_nomem(diag);
        int64_t *strides = dims + t->rank + 1;
        for (size_t i = 0; i < t->rank; i++) dims[i] = t->dims[i], strides[i] = 2 * t->strides[i];
        dims[t->rank] = 2;
        strides[t->rank] = 1;
        view.dtype = real[t->dtype];
        view.dims = dims;
        view.strides = strides;
        view.offset = 2 * t->offset;
        view.rank++;
        ONX_TRY(onx_torch_tensor_check(&view, diag));
    }
    *out = view;
    return ONX_OK;
}

/* ── Elements ────────────────────────────────────────────────────────────────────────────────── */

/* Runs of `run` bytes each, in the order of the first `rank` dimensions. */
static void gather(const onx_torch_tensor *t, size_t rank, size_t run, const char *in, char *out,
                   size_t bytes) {
    size_t element = element_bytes(t);
    int64_t index[ONX_TORCH_RANK] = {0}, at = t->offset;
    for (const char *end = out + bytes; out < end; out += run) {
        memcpy(out, in + (size_t)at * element, run);
        for (size_t i = rank; i-- > 0;) {
            at += t->strides[i];
            if (++index[i] < t->dims[i]) break;
            at -= t->strides[i] * t->dims[i];
            index[i] = 0;
        }
    }
}

/* Of a complex number each half. */
static void swap_bytes(char *p, size_t bytes, size_t number) {
    for (const char *end = p + bytes; p < end; p += number)
        for (size_t i = 0; i < number / 2; i++) {
            char c = p[i];
            p[i] = p[number - 1 - i];
            p[number - 1 - i] = c;
        }
}

static size_t number_bytes(const onx_torch_tensor *t) {
    bool complex = t->dtype >= ONX_TORCH_C32 && t->dtype <= ONX_TORCH_C128;
    return complex ? element_bytes(t) / 2 : element_bytes(t);
}

static onx_status gather_new(onx_doc *doc, const onx_torch_tensor *t, size_t bytes, onx_str *out,
                             onx_diag *diag) {
    onx_blob *blob;
    if (!onx_archive_spend(t->storage->archive, bytes))
        return onx_fail(diag, ONX_LIMIT,
                        "the tensors that must be copied are far larger than the archive");
    ONX_TRY(onx_blob_new(doc->ctx, bytes, &blob, diag));
    char *data = (char *)(uintptr_t)blob->bytes.data;
    size_t tail = dense_tail(t), run = element_bytes(t);
    for (size_t i = t->rank - tail; i < t->rank; i++) run *= (size_t)t->dims[i];
    gather(t, t->rank - tail, run, t->storage->data.data, data, bytes);
    if (onx_archive_is_big_endian(t->storage->archive)) swap_bytes(data, bytes, number_bytes(t));
    *out = blob->bytes;
    return onx_doc_keep(doc, blob, diag);
}

/* Halves of bytes, as bytes. */
static onx_status spread_new(onx_doc *doc, const onx_torch_tensor *t, size_t n, onx_str *out,
                             onx_diag *diag) {
    onx_blob *blob;
    if (!onx_torch_tensor_is_contiguous(t))
        return onx_fail(diag, ONX_UNSUPPORTED, "a tensor of 4 bits that is not contiguous");
    if (!onx_archive_spend(t->storage->archive, n))
        return onx_fail(diag, ONX_LIMIT, "the tensors of 4 bits are far larger than the archive");
    ONX_TRY(onx_blob_new(doc->ctx, n, &blob, diag));
    char *data = (char *)(uintptr_t)blob->bytes.data;
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)t->offset + i;
        data[i] = (char)((unsigned char)t->storage->data.data[at / 2] >> (at % 2 * 4) & 15);
    }
    *out = blob->bytes;
    return onx_doc_keep(doc, blob, diag);
}

/* The payload, in memory that `doc` keeps. */
static onx_status take_payload(onx_doc *doc, const onx_torch_tensor *t, onx_str *out,
                               onx_diag *diag) {
    onx_torch_storage *storage = t->storage;
    size_t bytes = 0;
    *out = (onx_str){"", 0};
    if (!dense_bytes(t, &bytes) || bytes == 0) return ONX_OK;
    if (!onx_torch_tensor_has_data(t))
        return onx_fail(diag, ONX_INVALID, "the file gives the type of the tensor, but no data");
    if (!storage->data.data)
        ONX_TRY(onx_archive_read(storage->archive, storage->record, &storage->data, diag));
    if (t->dtype == ONX_TORCH_QU4) return spread_new(doc, t, bytes, out, diag);
    if (!onx_torch_tensor_is_contiguous(t) || onx_archive_is_big_endian(storage->archive))
        return gather_new(doc, t, bytes, out, diag);
    onx_str span = {storage->data.data + (size_t)t->offset * element_bytes(t), bytes};
    if (!onx_doc_share(doc, onx_archive_doc(storage->archive), span, out))
        return onx_fail_nomem(diag);
    return ONX_OK;
}

onx_status onx_torch_tensor_load(onx_doc *doc, const onx_torch_tensor *t, onx_tensor **out,
                                 onx_diag *diag) {
    const onx_torch_dtype_info *info = onx_torch_dtype_of(t->dtype);
    onx_str payload;
    if (info->onx == ONX_DTYPE_NONE)
        return onx_fail(diag, ONX_UNSUPPORTED, "ONNX has no tensors of %s", info->name.data);
    ONX_TRY(take_payload(doc, t, &payload, diag));
    onx_tensor *tensor = onx_msg_new(doc, &onx_desc_tensor);
    if (!tensor) return onx_doc_fail(doc, diag);
    for (size_t i = 0; i < t->rank; i++)
        if (!onx_i64s_push(doc, &tensor->dims, t->dims[i])) return onx_doc_fail(doc, diag);
    onx_i32_set(tensor, ONX_ROW(tensor, data_type), (int32_t)info->onx);
    onx_tensor_set_raw(tensor, payload);
    *out = tensor;
    return ONX_OK;
}

onx_status onx_torch_tensor_add(onx_graph *graph, const char *name, const onx_torch_tensor *t,
                                onx_value **out, onx_diag *diag) {
    onx_doc *doc = graph->model->msg.doc;
    onx_tensor *tensor;
    ONX_TRY(onx_torch_tensor_load(doc, t, &tensor, diag));
    onx_value *value = onx_graph_add_tensor(graph, name, tensor);
    if (!value) {
        if (diag) *diag = doc->error;
        return doc->error.status ? doc->error.status : onx_fail_nomem(diag);
    }
    *out = value;
    return ONX_OK;
}
