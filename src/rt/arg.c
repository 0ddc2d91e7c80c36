/* arg.c: arguments of runs: from data files and back, and objects as data.
 *
 * Values that are nested are converted by recursion, as deep as their type is nested: to
 * DEPTH_MAX. */
#include "rt/eval.h"
#include "rt/session.h"

enum { DEPTH_MAX = 32 };

/* ─ Data to objects ──────────────────────────────────────────────────────────────────────────── */

static onx_status object_at(onx_context *ctx, const onx_data *data, size_t depth, onx_object **out,
                            onx_diag *diag);

static onx_status object_of_tensor(onx_context *ctx, const onx_tensor *tensor, onx_object **out,
                                   onx_diag *diag) {
    onx_operand operand = {0};
    bool copied = false;
    ONX_TRY(onx_operand_of_tensor(ctx, tensor, &operand, &copied, diag));
    onx_status status = onx_object_of(ctx, &operand, out, diag);
    if (copied) onx_eval_clear(ctx, &operand);
    return status;
}

static onx_status object_of_list(onx_context *ctx, const onx_data *data, onx_type_kind kind,
                                 size_t depth, onx_object **out, onx_diag *diag) {
    onx_object *list = NULL;
    size_t n = onx_data_count(data);
    ONX_TRY(onx_object_list(ctx, kind, n, &list, diag));
    onx_data *element = n ? onx_data_at(data, 0) : NULL;
    onx_status status = ONX_OK;
    for (size_t i = 0; i < n && status == ONX_OK; i++) {
        onx_object *item = NULL;
        status = object_at(ctx, element, depth + 1, &item, diag);
        if (status == ONX_OK) status = onx_object_insert(list, (int64_t)i, item, diag);
        element = onx_data_next(element);
    }
    if (status == ONX_OK)
        *out = list;
    else
        onx_object_release(list);
    return status;
}

static onx_status object_of_keys(onx_context *ctx, const onx_data *data, onx_object **out,
                                 onx_diag *diag) {
    const onx_map_data *map = (const onx_map_data *)data;
    onx_dtype dtype = onx_data_key_dtype(data);
    bool named = dtype == ONX_DTYPE_STRING;
    int64_t n = (int64_t)(named ? map->string_keys.n : map->keys.n);
    onx_object *keys = NULL;
    if (!named && !(ONX_T_INTS >> dtype & 1))
        return onx_fail(diag, ONX_INVALID, "keys of a map are integers or strings, not %s",
                        onx_dtype_name(dtype));
    if (n != (int64_t)onx_data_count(data))
        return onx_fail(diag, ONX_INVALID, "a map has %lld keys for %zu values", (long long)n,
                        onx_data_count(data));
    ONX_TRY(onx_object_tensor(ctx, dtype, 1, &n, &keys, diag));
    onx_status status = ONX_OK;
    if (!named && n)
        status =
            onx_dtype_convert(ONX_DTYPE_I64, map->keys.v, dtype, keys->data, (uint64_t)n, false);
    for (int64_t i = 0; i < n && named && status == ONX_OK; i++)
        status = onx_object_set_string(keys, i, map->string_keys.v[i], diag);
    if (status == ONX_OK)
        *out = keys;
    else
        onx_object_release(keys);
    return status;
}

static bool are_scalars(const onx_object *list) {
    for (int64_t i = 0; i < list->count; i++) {
        const onx_object *item = list->items[i];
        if (item->kind != ONX_TYPE_TENSOR || item->rank || item->dtype != list->items[0]->dtype ||
            onx_dtype_bits((onx_dtype)item->dtype) % 8)
            return false;
    }
    return list->count > 0;
}

/* Scalars of one type become one tensor. Takes the reference over. */
static onx_status pack_values(onx_object *list, onx_object **out, onx_diag *diag) {
    onx_object *tensor = NULL;
    onx_operand to, from;
    *out = list;
    if (!are_scalars(list)) return ONX_OK;
    onx_status status = onx_object_tensor(list->ctx, (onx_dtype)list->items[0]->dtype, 1,
                                          &list->count, &tensor, diag);
    if (status == ONX_OK) onx_operand_show(&to, tensor);
    for (int64_t i = 0; i < list->count && status == ONX_OK; i++) {
        onx_operand_show(&from, list->items[i]);
        status = onx_operand_copy(&to, i, &from, 0, 1, diag);
    }
    onx_object_release(list);
    if (status == ONX_OK)
        *out = tensor;
    else
        onx_object_release(tensor);
    return status;
}

static onx_status object_of_map(onx_context *ctx, const onx_data *data, size_t depth,
                                onx_object **out, onx_diag *diag) {
    onx_object *keys = NULL, *values = NULL;
    ONX_TRY(object_of_keys(ctx, data, &keys, diag));
    onx_status status = object_of_list(ctx, data, ONX_TYPE_SEQUENCE, depth, &values, diag);
    if (status == ONX_OK) status = pack_values(values, &values, diag);
    if (status == ONX_OK) return onx_object_map(keys, values, out, diag);
    onx_object_release(keys);
    return status;
}

static onx_status object_at(onx_context *ctx, const onx_data *data, size_t depth, onx_object **out,
                            onx_diag *diag) {
    if (depth > DEPTH_MAX) return onx_fail(diag, ONX_LIMIT, "values are nested too deep");
    switch (onx_data_kind_of(data)) {
    case ONX_DATA_TENSOR: return object_of_tensor(ctx, onx_data_tensor(data), out, diag);
    case ONX_DATA_SEQUENCE: return object_of_list(ctx, data, ONX_TYPE_SEQUENCE, depth, out, diag);
    case ONX_DATA_OPTIONAL: return object_of_list(ctx, data, ONX_TYPE_OPTIONAL, depth, out, diag);
    case ONX_DATA_MAP: return object_of_map(ctx, data, depth, out, diag);
    default: return onx_fail(diag, ONX_UNSUPPORTED, "an input of this kind cannot be used");
    }
}

onx_status onx_object_of_data(onx_context *ctx, const onx_data *data, onx_object **out,
                              onx_diag *diag) {
    return object_at(ctx, data, 0, out, diag);
}

/* ─ Objects to data ──────────────────────────────────────────────────────────────────────────── */

static onx_status data_of_strings(onx_context *ctx, const onx_object *object, onx_tensor **out,
                                  onx_diag *diag) {
    size_t bytes = 0;
    if (!onx_mul_size((size_t)object->count + 1, sizeof(char *), &bytes))
        return onx_fail_nomem(diag);
    const char **texts = onx_mem_alloc(ctx, bytes);
    if (!texts) return onx_fail_nomem(diag);
    for (int64_t i = 0; i < object->count; i++)
        texts[i] = object->strings[i].data ? object->strings[i].data : "";
    onx_status status =
        onx_tensor_new_strings(ctx, "", object->rank, object->dims, texts, out, diag);
    onx_mem_free(ctx, texts, bytes);
    return status;
}

static onx_status data_at(onx_context *ctx, const onx_object *object, size_t depth, onx_data **out,
                          onx_diag *diag);

static onx_status data_of_sequence(onx_context *ctx, const onx_object *object, size_t depth,
                                   onx_data **out, onx_diag *diag) {
    onx_data *sequence = NULL;
    ONX_TRY(onx_sequence_new(ctx, &sequence, diag));
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < object->count && status == ONX_OK; i++) {
        onx_data *element = NULL;
        status = data_at(ctx, object->items[i], depth + 1, &element, diag);
        if (status == ONX_OK) status = onx_sequence_append_data(sequence, element, diag);
        onx_data_free(element);
    }
    if (status == ONX_OK)
        *out = sequence;
    else
        onx_data_free(sequence);
    return status;
}

static onx_status data_of_optional(onx_context *ctx, const onx_object *object, size_t depth,
                                   onx_data **out, onx_diag *diag) {
    onx_data *content = NULL;
    if (object->count) ONX_TRY(data_at(ctx, object->items[0], depth + 1, &content, diag));
    onx_status status = onx_optional_new(ctx, content, out, diag);
    onx_data_free(content);
    return status;
}

/* Element `i` of a tensor, as a scalar. */
static onx_status scalar_at(const onx_object *tensor, int64_t i, onx_object **out, onx_diag *diag) {
    onx_object *scalar = NULL;
    onx_operand to, from;
    ONX_TRY(onx_object_tensor(tensor->ctx, (onx_dtype)tensor->dtype, 0, NULL, &scalar, diag));
    onx_operand_show(&to, scalar);
    onx_operand_show(&from, (onx_object *)(uintptr_t)tensor);
    onx_status status = onx_operand_copy(&to, 0, &from, i, 1, diag);
    if (status == ONX_OK)
        *out = scalar;
    else
        onx_object_release(scalar);
    return status;
}

static onx_status list_of_tensor(const onx_object *tensor, onx_object **out, onx_diag *diag) {
    onx_object *list = NULL;
    ONX_TRY(onx_object_list(tensor->ctx, ONX_TYPE_SEQUENCE, (size_t)tensor->count, &list, diag));
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < tensor->count && status == ONX_OK; i++) {
        onx_object *scalar = NULL;
        status = scalar_at(tensor, i, &scalar, diag);
        if (status == ONX_OK) status = onx_object_insert(list, i, scalar, diag);
    }
    if (status == ONX_OK)
        *out = list;
    else
        onx_object_release(list);
    return status;
}

static onx_status data_of_map(onx_context *ctx, const onx_object *object, size_t depth,
                              onx_data **out, onx_diag *diag) {
    onx_object *values = object->items[1], *list = NULL;
    onx_data *keys = NULL, *sequence = NULL;
    if (values->kind == ONX_TYPE_TENSOR)
        ONX_TRY(list_of_tensor(values, &list, diag));
    else
        list = onx_object_retain(values);
    onx_status status = data_at(ctx, object->items[0], depth + 1, &keys, diag);
    if (status == ONX_OK) status = data_of_sequence(ctx, list, depth, &sequence, diag);
    if (status == ONX_OK) status = onx_map_new(ctx, onx_data_tensor(keys), sequence, out, diag);
    onx_object_release(list);
    onx_data_free(keys);
    onx_data_free(sequence);
    return status;
}

static onx_status data_at(onx_context *ctx, const onx_object *object, size_t depth, onx_data **out,
                          onx_diag *diag) {
    onx_tensor *tensor = NULL;
    if (depth > DEPTH_MAX) return onx_fail(diag, ONX_LIMIT, "values are nested too deep");
    if (object->kind == ONX_TYPE_SEQUENCE) return data_of_sequence(ctx, object, depth, out, diag);
    if (object->kind == ONX_TYPE_OPTIONAL) return data_of_optional(ctx, object, depth, out, diag);
    if (object->kind == ONX_TYPE_MAP) return data_of_map(ctx, object, depth, out, diag);
    if (object->kind != ONX_TYPE_TENSOR)
        return onx_fail(diag, ONX_UNSUPPORTED, "an output of this kind cannot be given yet");
    if (object->dtype == ONX_DTYPE_STRING)
        ONX_TRY(data_of_strings(ctx, object, &tensor, diag));
    else
        ONX_TRY(onx_tensor_new(ctx, "", (onx_dtype)object->dtype, object->rank, object->dims,
                               object->data, object->bytes, &tensor, diag));
    *out = onx_tensor_data(tensor);
    return ONX_OK;
}

onx_status onx_data_of_object(onx_context *ctx, const onx_object *object, onx_data **out,
                              onx_diag *diag) {
    return data_at(ctx, object, 0, out, diag);
}

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_arg_from_data(onx_data *data, onx_arg *out, onx_diag *diag) {
    onx_arg made = {0};
    if (!data || !out) return onx_fail(diag, ONX_USAGE, "data and a place for the argument");
    const onx_tensor *tensor =
        onx_data_kind_of(data) == ONX_DATA_TENSOR ? onx_data_tensor(data) : NULL;
    if (!tensor || onx_tensor_dtype(tensor) == ONX_DTYPE_STRING) {
        made.value = data;
        *out = made;
        return ONX_OK;
    }
    onx_context *ctx = tensor->msg.doc->ctx;
    onx_operand operand = {0};
    bool copied = false;
    ONX_TRY(onx_operand_of_tensor(ctx, tensor, &operand, &copied, diag));
    made.dtype = (onx_dtype)operand.dtype;
    made.rank = operand.rank;
    memcpy(made.dims, operand.dims, sizeof made.dims);
    made.data = operand.data;
    made.bytes = operand.bytes;
    if (copied) {
        made.owned = ctx;
        onx_context_retain(ctx);
    }
    *out = made;
    return ONX_OK;
}

onx_status onx_arg_to_data(onx_context *ctx, const onx_arg *arg, onx_data **out, onx_diag *diag) {
    onx_tensor *tensor = NULL;
    ctx = onx_context_or_default(ctx);
    if (arg->value) {
        onx_object *object = NULL;
        ONX_TRY(onx_object_of_data(ctx, arg->value, &object, diag));
        onx_status status = onx_data_of_object(ctx, object, out, diag);
        onx_object_release(object);
        return status;
    }
    size_t bytes = 0;
    onx_operand shape = {0};
    if (arg->rank > ONX_RANK_MAX || !onx_operand_shape(&shape, arg->dtype, arg->rank, arg->dims))
        return onx_fail(diag, ONX_USAGE, "the type or the sizes of the argument make no sense");
    bytes = shape.bytes;
    if (bytes > arg->bytes) return onx_fail(diag, ONX_USAGE, "the argument holds too few bytes");
    ONX_TRY(onx_tensor_new(ctx, arg->name ? arg->name : "", arg->dtype, arg->rank, arg->dims,
                           arg->data, bytes, &tensor, diag));
    *out = onx_tensor_data(tensor);
    return ONX_OK;
}

void onx_arg_clear(onx_arg *arg) {
    if (!arg) return;
    if (arg->owned && arg->value)
        onx_data_free(arg->value);
    else if (arg->owned)
        onx_mem_free(arg->owned, arg->data, arg->bytes);
    if (arg->owned) onx_context_free(arg->owned);
    *arg = (onx_arg){0};
}
