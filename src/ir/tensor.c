/* tensor.c: tensors: life, shape, setting. Their payloads are the business of payload.c. */
#include "ir/edit.h"

const char *onx_tensor_name(const onx_tensor *tensor) {
    return onx_str_z(tensor->name);
}

const char *onx_tensor_doc(const onx_tensor *tensor) {
    return onx_str_z(tensor->doc_string);
}

onx_status onx_tensor_set_doc(onx_tensor *tensor, const char *doc) {
    return onx_str_set(tensor, ONX_ROW(tensor, doc_string), doc);
}

onx_dtype onx_tensor_dtype(const onx_tensor *tensor) {
    bool known = tensor->data_type > 0 && tensor->data_type < ONX_DTYPE_COUNT;
    return known ? (onx_dtype)tensor->data_type : ONX_DTYPE_NONE;
}

size_t onx_tensor_rank(const onx_tensor *tensor) {
    return tensor->dims.n;
}

int64_t onx_tensor_dim(const onx_tensor *tensor, size_t index) {
    return index < tensor->dims.n ? tensor->dims.v[index] : -1;
}

const int64_t *onx_tensor_dims(const onx_tensor *tensor) {
    return tensor->dims.v;
}

onx_tensor *onx_tensor_next(const onx_tensor *tensor) {
    return (onx_tensor *)tensor->msg.next;
}

bool onx_tensor_is_external(const onx_tensor *tensor) {
    return tensor->data_location == 1;
}

const char *onx_tensor_location(const onx_tensor *tensor) {
    const onx_entry *entry =
        onx_tensor_is_external(tensor) ? onx_entry_find(&tensor->external_data, "location") : NULL;
    return entry ? onx_str_z(entry->value) : "";
}

/* Setting. */

/* The number of elements, if the dimensions make sense. */
static onx_status check_dims(size_t rank, const int64_t *dims, uint64_t *count, onx_diag *diag) {
    if (rank && !dims) return onx_fail(diag, ONX_USAGE, "the dimensions are missing");
    const onx_tensor probe = {.dims = {(int64_t *)(uintptr_t)dims, rank, rank}};
    if (!onx_tensor_count(&probe, count, NULL)) return ONX_OK;
    return onx_fail(diag, ONX_USAGE, "a dimension is negative, or their product overflows");
}

static onx_status check_size(onx_dtype dtype, size_t rank, const int64_t *dims, const void *data,
                             size_t bytes, onx_diag *diag) {
    uint64_t count;
    size_t needed;
    if (bytes && !data) return onx_fail(diag, ONX_USAGE, "the data are missing");
    ONX_TRY(check_dims(rank, dims, &count, diag));
    if (!onx_dtype_bytes(dtype, count, &needed))
        return onx_fail(diag, ONX_USAGE, "%llu elements of type %s have no dense form",
                        (unsigned long long)count, onx_dtype_name(dtype));
    if (needed == bytes) return ONX_OK;
    return onx_fail(diag, ONX_USAGE, "%zu bytes are given, but %llu elements of %s need %zu", bytes,
                    (unsigned long long)count, onx_dtype_name(dtype), needed);
}

/* dtype and dims; a tensor that fails here is as it was. */
static onx_status set_shape(onx_tensor *tensor, onx_dtype dtype, size_t rank, const int64_t *dims,
                            onx_diag *diag) {
    onx_i64s copy = {NULL, 0, 0};
    for (size_t i = 0; i < rank; i++)
        if (!onx_i64s_push(tensor->msg.doc, &copy, dims[i])) return onx_fail_nomem(diag);
    tensor->dims = copy;
    onx_i32_set(tensor, ONX_ROW(tensor, data_type), (int32_t)dtype);
    return ONX_OK;
}

onx_status onx_tensor_set_blob(onx_tensor *tensor, onx_dtype dtype, size_t rank,
                               const int64_t *dims, struct onx_blob *blob, onx_diag *diag) {
    ONX_TRY(onx_doc_keep(tensor->msg.doc, blob, diag));
    ONX_TRY(set_shape(tensor, dtype, rank, dims, diag));
    onx_tensor_set_raw(tensor, blob->bytes);
    return ONX_OK;
}

onx_status onx_tensor_set_borrowed(onx_tensor *tensor, onx_dtype dtype, size_t rank,
                                   const int64_t *dims, const void *data, size_t bytes,
                                   onx_diag *diag) {
    onx_blob *blob;
    ONX_TRY(check_size(dtype, rank, dims, data, bytes, diag));
    ONX_TRY(onx_blob_borrow(tensor->msg.doc->ctx, (onx_str){data ? data : "", bytes}, &blob, diag));
    return onx_tensor_set_blob(tensor, dtype, rank, dims, blob, diag);
}

onx_status onx_tensor_set(onx_tensor *tensor, onx_dtype dtype, size_t rank, const int64_t *dims,
                          const void *data, size_t bytes, onx_diag *diag) {
    onx_blob *blob;
    ONX_TRY(check_size(dtype, rank, dims, data, bytes, diag));
    ONX_TRY(onx_blob_new(tensor->msg.doc->ctx, bytes, &blob, diag));
    if (bytes) memcpy((char *)(uintptr_t)blob->bytes.data, data, bytes);
    return onx_tensor_set_blob(tensor, dtype, rank, dims, blob, diag);
}

onx_status onx_tensor_set_strings(onx_tensor *tensor, size_t rank, const int64_t *dims,
                                  const char *const *strings, onx_diag *diag) {
    onx_doc *doc = tensor->msg.doc;
    onx_strs copies = {NULL, 0, 0};
    uint64_t count;
    ONX_TRY(check_dims(rank, dims, &count, diag));
    if (count && !strings) return onx_fail(diag, ONX_USAGE, "the strings are missing");
    for (uint64_t i = 0; i < count; i++) {
        onx_str copy;
        if (!onx_doc_str(doc, onx_str_of(strings[i]), &copy) || !onx_strs_push(doc, &copies, copy))
            return onx_fail_nomem(diag);
    }
    ONX_TRY(set_shape(tensor, ONX_DTYPE_STRING, rank, dims, diag));
    onx_tensor_clear(tensor);
    tensor->string_data = copies;
    onx_msg_touch(tensor);
    return ONX_OK;
}

/* Life. */

static bool copy_external(onx_doc *doc, const onx_tensor *from, onx_tensor *to) {
    onx_str bytes;
    if (!onx_tensor_is_external(from) || !from->external.data) return true;
    if (!onx_doc_share(doc, from->msg.doc, from->external, &bytes)) return false;
    onx_tensor_set_raw(to, bytes);
    return true;
}

onx_status onx_msg_copy(onx_doc *doc, const void *msg, void *out, onx_diag *diag) {
    const onx_msg *a;
    onx_msg *copy, *b;
    ONX_TRY(onx_msg_clone(doc, msg, &copy, diag));
    onx_walk u = onx_walk_begin(msg), v = onx_walk_begin(copy);
    while ((a = onx_walk_next(&u)) && (b = onx_walk_next(&v))) {
        if (a->desc != &onx_desc_tensor) continue;
        if (!copy_external(doc, (const onx_tensor *)a, (onx_tensor *)b))
            return onx_fail_nomem(diag);
        onx_walk_skip(&u); /* the copy may have fewer parts now */
        onx_walk_skip(&v);
    }
    memcpy(out, &copy, sizeof copy);
    return ONX_OK;
}

static onx_status new_tensor(onx_context *ctx, const char *name, onx_tensor **out, onx_diag *diag) {
    onx_doc *doc;
    ONX_TRY(onx_doc_new(ctx, &doc, diag));
    onx_tensor *tensor = onx_msg_new(doc, &onx_desc_tensor);
    if (!tensor || (name && onx_str_set(tensor, ONX_ROW(tensor, name), name))) {
        onx_doc_free(doc);
        return onx_fail_nomem(diag);
    }
    doc->root = &tensor->msg;
    *out = tensor;
    return ONX_OK;
}

onx_status onx_tensor_new(onx_context *ctx, const char *name, onx_dtype dtype, size_t rank,
                          const int64_t *dims, const void *data, size_t bytes, onx_tensor **out,
                          onx_diag *diag) {
    onx_tensor *tensor = NULL;
    ONX_TRY(new_tensor(ctx, name, &tensor, diag));
    onx_status status = onx_tensor_set(tensor, dtype, rank, dims, data, bytes, diag);
    if (status)
        onx_tensor_free(tensor);
    else
        *out = tensor;
    return status;
}

onx_status onx_tensor_new_strings(onx_context *ctx, const char *name, size_t rank,
                                  const int64_t *dims, const char *const *strings, onx_tensor **out,
                                  onx_diag *diag) {
    onx_tensor *tensor = NULL;
    ONX_TRY(new_tensor(ctx, name, &tensor, diag));
    onx_status status = onx_tensor_set_strings(tensor, rank, dims, strings, diag);
    if (status)
        onx_tensor_free(tensor);
    else
        *out = tensor;
    return status;
}

void onx_tensor_free(onx_tensor *tensor) {
    if (tensor && tensor->msg.doc->root == &tensor->msg) onx_doc_free(tensor->msg.doc);
}
