/* ml_lists_ref.c: lists of numbers and strings from attributes, and outputs made of their
 * elements. */
#include "ops/ml/ml_ref.h"

static onx_status take(onx_call *call, onx_dtype dtype, size_t n, onx_ml_values *out) {
    size_t bytes = 0;
    *out = (onx_ml_values){.dtype = dtype, .n = n};
    if (dtype == ONX_DTYPE_STRING) {
        out->strings = onx_arena_array(call->arena, n + 1, sizeof *out->strings);
        return out->strings ? ONX_OK : onx_fail_nomem(call->diag);
    }
    if (!onx_dtype_bytes(dtype, n, &bytes)) return onx_fail_nomem(call->diag);
    out->data = onx_arena_alloc(call->arena, bytes + 1);
    return out->data ? ONX_OK : onx_fail_nomem(call->diag);
}

static onx_status copy_numbers(onx_call *call, onx_dtype dtype, const void *from, size_t n,
                               onx_ml_values *out) {
    ONX_TRY(take(call, dtype, n, out));
    if (n) memcpy(out->data, from, n * (onx_dtype_bits(dtype) / 8));
    return ONX_OK;
}

static onx_status copy_strings(onx_call *call, const onx_strs *from, onx_ml_values *out) {
    ONX_TRY(take(call, ONX_DTYPE_STRING, from->n, out));
    for (size_t i = 0; i < from->n; i++)
        if (!onx_arena_str(call->arena, from->v[i], &out->strings[i]))
            return onx_fail_nomem(call->diag);
    return ONX_OK;
}

static onx_status read_tensor(onx_call *call, const onx_tensor *tensor, onx_ml_values *out) {
    uint64_t n = 0;
    size_t bytes = 0;
    onx_dtype dtype = onx_tensor_dtype(tensor);
    ONX_TRY(onx_tensor_check(tensor, call->diag));
    ONX_TRY(onx_tensor_count(tensor, &n, call->diag));
    ONX_TRY(take(call, dtype, (size_t)n, out));
    if (dtype != ONX_DTYPE_STRING) {
        if (!onx_dtype_bytes(dtype, n, &bytes)) return onx_fail_nomem(call->diag);
        return onx_tensor_read(tensor, out->data, bytes, call->diag);
    }
    for (size_t i = 0; i < n; i++) {
        onx_str text;
        ONX_TRY(onx_tensor_string_at(tensor, i, &text, call->diag));
        if (!onx_arena_str(call->arena, text, &out->strings[i])) return onx_fail_nomem(call->diag);
    }
    return ONX_OK;
}

onx_status onx_ml_values_get(onx_call *call, const char *name, onx_ml_values *out) {
    const onx_attr *attr = onx_node_attr(call->node, name);
    *out = (onx_ml_values){ONX_DTYPE_NONE, 0, NULL, NULL};
    if (!attr || attr->ref_attr_name.size) return ONX_OK;
    switch (onx_attr_type_of(attr)) {
    case ONX_ATTR_INTS: return copy_numbers(call, ONX_DTYPE_I64, attr->ints.v, attr->ints.n, out);
    case ONX_ATTR_FLOATS:
        return copy_numbers(call, ONX_DTYPE_F32, attr->floats.v, attr->floats.n, out);
    case ONX_ATTR_STRINGS: return copy_strings(call, &attr->strings, out);
    case ONX_ATTR_TENSOR: return attr->t ? read_tensor(call, attr->t, out) : ONX_OK;
    default: return onx_call_fail(call, ONX_INVALID, "%s is not a list, nor a tensor", name);
    }
}

onx_status onx_ml_values_one(onx_call *call, const char *const *names, onx_ml_values *out) {
    const char *first = NULL;
    *out = (onx_ml_values){ONX_DTYPE_NONE, 0, NULL, NULL};
    for (; *names; names++) {
        onx_ml_values values;
        ONX_TRY(onx_ml_values_get(call, *names, &values));
        if (!values.dtype) continue;
        if (first)
            return onx_call_fail(call, ONX_INVALID, "%s and %s exclude each other", first, *names);
        first = *names;
        *out = values;
    }
    return ONX_OK;
}

onx_status onx_ml_doubles(onx_call *call, const char *name, const double **out, size_t *n) {
    onx_ml_values values;
    ONX_TRY(onx_ml_values_get(call, name, &values));
    *n = values.n;
    if (values.dtype == ONX_DTYPE_STRING)
        return onx_call_fail(call, ONX_INVALID, "%s are not numbers", name);
    double *wide = onx_arena_array(call->arena, values.n + 1, sizeof *wide);
    if (!wide) return onx_fail_nomem(call->diag);
    *out = wide;
    if (!values.n) return ONX_OK;
    return onx_dtype_convert(values.dtype, values.data, ONX_DTYPE_F64, wide, values.n, false);
}

/* ── Elements that are picked ────────────────────────────────────────────────────────────────── */

onx_status onx_ml_pick_bind(onx_call *call, onx_dtype dtype, size_t rank, const int64_t *dims) {
    ONX_TRY(onx_call_shape(call, 0, dtype, rank, dims));
    if (!onx_mul_size((size_t)call->out[0]->count, sizeof(size_t), &call->scratch_bytes))
        return onx_call_fail(call, ONX_LIMIT, "the table is too large for this machine");
    return ONX_OK;
}

enum { CHECK_EVERY = 4096 }; /* elements until the deadline is looked at */

static onx_status pick_strings(onx_call *call, const onx_ml_values *values, const size_t *picks) {
    const onx_operand *out = call->out[0];
    onx_object *object = NULL;
    ONX_TRY(
        onx_object_tensor(call->ctx, ONX_DTYPE_STRING, out->rank, out->dims, &object, call->diag));
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < object->count && status == ONX_OK; i++) {
        if (i % CHECK_EVERY == 0) status = onx_call_check(call);
        if (status == ONX_OK)
            status = onx_object_set_string(object, i, values->strings[picks[i]], call->diag);
    }
    if (status == ONX_OK) return onx_call_object(call, 0, object);
    onx_object_release(object);
    return status;
}

onx_status onx_ml_pick(onx_call *call, const onx_ml_values *values, const size_t *picks) {
    const onx_operand *out = call->out[0];
    if (values->dtype == ONX_DTYPE_STRING) return pick_strings(call, values, picks);
    size_t size = onx_dtype_bits(values->dtype) / 8;
    char *to = out->data;
    for (size_t i = 0; i < (size_t)out->count; i++) {
        if (i % CHECK_EVERY == 0) ONX_TRY(onx_call_check(call));
        memcpy(to + i * size, values->data + picks[i] * size, size);
    }
    return ONX_OK;
}
