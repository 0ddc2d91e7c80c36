/* data_build.c: building sequences, maps, optionals and sparse tensors, of copies of what they
 * hold. */
#include "ir/data.h"

#include "ir/edit.h"

/* Starting one: a document of its own, with a message as its root. NULL: no memory. */
static void *begin(onx_context *ctx, const onx_desc *desc) {
    onx_doc *doc;
    if (onx_doc_new(ctx, &doc, NULL)) return NULL;
    onx_msg *root = doc->root = onx_msg_new(doc, desc);
    if (!root) onx_doc_free(doc);
    return root;
}

/* The end of it: handed out, or gone. */
static onx_status end(void *msg, onx_status status, onx_data **out) {
    if (status)
        onx_doc_free(((onx_msg *)msg)->doc);
    else
        *out = msg;
    return status;
}

static onx_status add_copy(void *parent, const onx_field *row, const void *msg, onx_diag *diag) {
    onx_msg *copy;
    ONX_TRY(onx_msg_copy(((onx_msg *)parent)->doc, msg, &copy, diag));
    onx_msg_append(parent, row, copy);
    return ONX_OK;
}

onx_status onx_data_set_name(onx_data *data, const char *name) {
    onx_tensor *tensor = onx_data_tensor(data); /* of a sparse tensor: where its name is */
    if (tensor && tensor->ref) return ONX_USAGE;
    if (tensor) return onx_str_set(tensor, ONX_ROW(tensor, name), name);
    switch (onx_data_kind_of(data)) {
    case ONX_DATA_SEQUENCE: return onx_str_set(data, ONX_ROW(sequence, name), name);
    case ONX_DATA_MAP: return onx_str_set(data, ONX_ROW(map_data, name), name);
    case ONX_DATA_OPTIONAL: return onx_str_set(data, ONX_ROW(optional, name), name);
    default: return ONX_USAGE;
    }
}

/* ── Sequences ───────────────────────────────────────────────────────────────────────────────── */

onx_status onx_sequence_new(onx_context *ctx, onx_data **out, onx_diag *diag) {
    onx_sequence *sequence = begin(ctx, &onx_desc_sequence);
    if (!sequence) return onx_fail_nomem(diag);
    onx_i32_set(sequence, ONX_ROW(sequence, elem_type), ONX_DATA_TENSOR);
    return end(sequence, ONX_OK, out);
}

onx_status onx_sequence_append_data(onx_data *sequence, const onx_data *element, onx_diag *diag) {
    onx_data_kind kind = onx_data_kind_of(element);
    const onx_field *row = onx_sequence_row((int32_t)kind);
    if (onx_data_kind_of(sequence) != ONX_DATA_SEQUENCE || !row)
        return onx_fail(diag, ONX_USAGE, "data can be appended to a sequence only");
    bool first = onx_data_count(sequence) == 0;
    if (!first && ((onx_sequence *)sequence)->elem_type != (int32_t)kind)
        return onx_fail(diag, ONX_USAGE, "all elements of a sequence are of one kind");
    ONX_TRY(add_copy(sequence, row, element, diag));
    if (first) onx_i32_set(sequence, ONX_ROW(sequence, elem_type), (int32_t)kind);
    return ONX_OK;
}

onx_status onx_sequence_append(onx_data *sequence, const char *name, const onx_tensor *tensor,
                               onx_diag *diag) {
    ONX_TRY(onx_sequence_append_data(sequence, (const onx_data *)tensor, diag));
    onx_msg *added = ((onx_sequence *)sequence)->tensor_values.last;
    if (!name || !onx_str_set(added, ONX_ROW(tensor, name), name)) return ONX_OK;
    onx_msg_remove(added);
    return onx_fail_nomem(diag);
}

/* ── Maps ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status read_strings(onx_map_data *map, const onx_tensor *keys, onx_diag *diag) {
    for (size_t i = 0; i < keys->string_data.n; i++) {
        onx_str key;
        if (!onx_doc_share(map->msg.doc, keys->msg.doc, keys->string_data.v[i], &key) ||
            !onx_strs_push(map->msg.doc, &map->string_keys, key))
            return onx_fail_nomem(diag);
    }
    return ONX_OK;
}

static onx_status read_integers(onx_map_data *map, const onx_tensor *keys, uint64_t count,
                                onx_diag *diag) {
    int64_t *all = onx_arena_array(&map->msg.doc->arena, (size_t)count, sizeof *all);
    if (!all) return onx_fail_nomem(diag);
    map->keys = (onx_i64s){all, (size_t)count, (size_t)count};
    return onx_tensor_read_as(keys, ONX_DTYPE_I64, all, (size_t)count * sizeof *all, diag);
}

static bool can_be_key(onx_dtype dtype) {
    static const onx_dtype keys[] = {ONX_DTYPE_U8,  ONX_DTYPE_I8,  ONX_DTYPE_U16,
                                     ONX_DTYPE_I16, ONX_DTYPE_I32, ONX_DTYPE_I64,
                                     ONX_DTYPE_U32, ONX_DTYPE_U64, ONX_DTYPE_STRING};
    for (size_t i = 0; i < ONX_COUNT(keys); i++)
        if (keys[i] == dtype) return true;
    return false;
}

static onx_status fill_map(onx_map_data *map, const onx_tensor *keys, uint64_t count,
                           const onx_data *values, onx_diag *diag) {
    onx_i32_set(map, ONX_ROW(map_data, key_type), keys->data_type);
    ONX_TRY(keys->data_type == ONX_DTYPE_STRING ? read_strings(map, keys, diag)
                                                : read_integers(map, keys, count, diag));
    return add_copy(map, ONX_ROW(map_data, values), values, diag);
}

onx_status onx_map_new(onx_context *ctx, const onx_tensor *keys, const onx_data *values,
                       onx_data **out, onx_diag *diag) {
    uint64_t count = 0;
    if (!keys || onx_data_kind_of(values) != ONX_DATA_SEQUENCE)
        return onx_fail(diag, ONX_USAGE, "a map needs a tensor of keys and a sequence of values");
    ONX_TRY(onx_tensor_check(keys, diag));
    ONX_TRY(onx_tensor_count(keys, &count, diag));
    if (!can_be_key(onx_tensor_dtype(keys)) || keys->dims.n != 1)
        return onx_fail(diag, ONX_USAGE, "keys are integers or strings, in a tensor of rank 1");
    if (count != onx_data_count(values))
        return onx_fail(diag, ONX_USAGE, "%llu keys for %zu values", (unsigned long long)count,
                        onx_data_count(values));
    onx_map_data *map = begin(ctx, &onx_desc_map_data);
    if (!map) return onx_fail_nomem(diag);
    return end(map, fill_map(map, keys, count, values, diag), out);
}

/* ── Optionals, sparse tensors ───────────────────────────────────────────────────────────────── */

onx_status onx_optional_new(onx_context *ctx, const onx_data *content, onx_data **out,
                            onx_diag *diag) {
    int32_t kind = (int32_t)onx_data_kind_of(content);
    onx_optional *optional = begin(ctx, &onx_desc_optional);
    if (!optional) return onx_fail_nomem(diag);
    onx_i32_set(optional, ONX_ROW(optional, elem_type), kind);
    onx_status status =
        content ? add_copy(optional, onx_optional_row(kind), content, diag) : ONX_OK;
    return end(optional, status, out);
}

static onx_status check_sparse(const onx_tensor *values, const onx_tensor *indices, size_t rank,
                               const int64_t *dims, onx_diag *diag) {
    if (!values || !indices || (rank && !dims))
        return onx_fail(diag, ONX_USAGE, "a sparse tensor needs values, indices and dimensions");
    ONX_TRY(onx_tensor_check(values, diag));
    ONX_TRY(onx_tensor_check(indices, diag));
    bool one_each = indices->dims.n == 1 || (indices->dims.n == 2 && rank <= INT64_MAX &&
                                             indices->dims.v[1] == (int64_t)rank);
    if (values->dims.n != 1 || !one_each || indices->dims.v[0] != values->dims.v[0] ||
        indices->data_type != ONX_DTYPE_I64)
        return onx_fail(diag, ONX_USAGE,
                        "values have rank 1; indices are int64, and one number or row for each");
    return ONX_OK;
}

onx_status onx_sparse_new(onx_context *ctx, const onx_tensor *values, const onx_tensor *indices,
                          size_t rank, const int64_t *dims, onx_data **out, onx_diag *diag) {
    ONX_TRY(check_sparse(values, indices, rank, dims, diag));
    onx_sparse *sparse = begin(ctx, &onx_desc_sparse);
    if (!sparse) return onx_fail_nomem(diag);
    onx_status status = add_copy(sparse, ONX_ROW(sparse, values), values, diag);
    if (!status) status = add_copy(sparse, ONX_ROW(sparse, indices), indices, diag);
    for (size_t i = 0; !status && i < rank; i++)
        if (!onx_i64s_push(sparse->msg.doc, &sparse->dims, dims[i])) status = onx_fail_nomem(diag);
    return end(sparse, status, out);
}
