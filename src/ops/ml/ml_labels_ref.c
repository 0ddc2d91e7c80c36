/* ml_labels_ref.c: LabelEncoder, CategoryMapper, OneHotEncoder: elements are looked up in a
 * dictionary, and what stands in the same place of another list comes out. */
#include "ops/ml/ml_ref.h"

typedef struct label_state {
    onx_ml_dict dict;
    onx_ml_values values; /* one more than the dictionary has: the default */
    bool zeros;           /* OneHotEncoder: what is in no category is no error */
} label_state;

static label_state *state_new(onx_call *call) {
    return onx_call_state(call, sizeof(label_state));
}

/* 0, 1 … n-1 */
static onx_status count_up(onx_call *call, size_t n, onx_ml_values *out) {
    int64_t *numbers = onx_arena_array(call->arena, n + 1, sizeof *numbers);
    if (!numbers) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < n; i++) numbers[i] = (int64_t)i;
    *out = (onx_ml_values){ONX_DTYPE_I64, n, (char *)numbers, NULL};
    return ONX_OK;
}

/* ── Defaults ────────────────────────────────────────────────────────────────────────────────── */

/* The attribute that goes with the type of the values. */
static onx_status default_of(onx_call *call, onx_dtype dtype, onx_ml_values *out) {
    *out = (onx_ml_values){.dtype = dtype, .n = 1};
    out->strings = onx_arena_alloc(call->arena, sizeof(onx_str));
    out->data = onx_arena_alloc(call->arena, 16);
    if (!out->strings || !out->data) return onx_fail_nomem(call->diag);
    if (dtype == ONX_DTYPE_STRING) {
        onx_str text = onx_call_string(call, "default_string");
        return onx_arena_str(call->arena, text, out->strings) ? ONX_OK : onx_fail_nomem(call->diag);
    }
    if (ONX_T_FLOATS >> dtype & 1) {
        float value = onx_call_float(call, "default_float");
        return onx_dtype_convert(ONX_DTYPE_F32, &value, dtype, out->data, 1, false);
    }
    int64_t value = onx_call_int(call, "default_int64");
    return onx_dtype_convert(ONX_DTYPE_I64, &value, dtype, out->data, 1, false);
}

static onx_status find_default(onx_call *call, onx_dtype dtype, onx_ml_values *out) {
    ONX_TRY(onx_ml_values_get(call, "default_tensor", out));
    if (!out->dtype) return default_of(call, dtype, out);
    if (out->dtype != dtype || out->n != 1)
        return onx_call_fail(call, ONX_INVALID, "default_tensor must be one element of type %s",
                             onx_dtype_name(dtype));
    return ONX_OK;
}

/* The values, with the default behind them. */
static onx_status set_values(onx_call *call, const onx_ml_values *values, label_state *st) {
    onx_ml_values last, all = {.dtype = values->dtype, .n = values->n + 1};
    size_t size = onx_dtype_bits(values->dtype) / 8;
    if (!size && values->dtype != ONX_DTYPE_STRING)
        return onx_call_fail(call, ONX_INVALID, "values are of type %s",
                             onx_dtype_name(values->dtype));
    ONX_TRY(find_default(call, values->dtype, &last));
    all.strings = onx_arena_array(call->arena, all.n, sizeof *all.strings);
    all.data = onx_arena_array(call->arena, all.n, size ? size : 1);
    if (!all.strings || !all.data) return onx_fail_nomem(call->diag);
    if (size) {
        memcpy(all.data, values->data, values->n * size);
        memcpy(all.data + values->n * size, last.data, size);
    } else {
        memcpy(all.strings, values->strings, values->n * sizeof *all.strings);
        all.strings[values->n] = last.strings[0];
    }
    st->values = all;
    return ONX_OK;
}

/* ── LabelEncoder, CategoryMapper ────────────────────────────────────────────────────────────── */

static onx_status map_labels(onx_call *call, const onx_ml_values *keys,
                             const onx_ml_values *values) {
    label_state *st = state_new(call);
    if (!st) return onx_fail_nomem(call->diag);
    if (!keys->dtype || !values->dtype)
        return onx_call_fail(call, ONX_INVALID, "there are no %s", keys->dtype ? "values" : "keys");
    if (keys->n != values->n)
        return onx_call_fail(call, ONX_INVALID, "there are %zu keys, but %zu values", keys->n,
                             values->n);
    if (keys->dtype != call->in[0]->dtype)
        return onx_call_fail(call, ONX_INVALID, "keys are of type %s, but the input of type %s",
                             onx_dtype_name(keys->dtype),
                             onx_dtype_name((onx_dtype)call->in[0]->dtype));
    ONX_TRY(onx_ml_dict_make(call, keys, keys->dtype, &st->dict));
    return set_values(call, values, st);
}

/* Version 1: names and their places, either way. */
static onx_status encode_classes(onx_call *call) {
    onx_ml_values classes, places;
    ONX_TRY(onx_ml_values_get(call, "classes_strings", &classes));
    ONX_TRY(count_up(call, classes.n, &places));
    bool named = call->in[0]->dtype == ONX_DTYPE_STRING;
    return named ? map_labels(call, &classes, &places) : map_labels(call, &places, &classes);
}

onx_status onx_ml_label_encoder_init(onx_call *call) {
    static const char *const from[] = {"keys_tensor", "keys_strings", "keys_int64s", "keys_floats",
                                       NULL};
    static const char *const to[] = {"values_tensor", "values_strings", "values_int64s",
                                     "values_floats", NULL};
    onx_ml_values keys, values;
    if (call->op->since < 2) return encode_classes(call);
    ONX_TRY(onx_ml_values_one(call, from, &keys));
    ONX_TRY(onx_ml_values_one(call, to, &values));
    return map_labels(call, &keys, &values);
}

onx_status onx_ml_category_mapper_init(onx_call *call) {
    onx_ml_values numbers, names;
    ONX_TRY(onx_ml_values_get(call, "cats_int64s", &numbers));
    ONX_TRY(onx_ml_values_get(call, "cats_strings", &names));
    bool named = call->in[0]->dtype == ONX_DTYPE_STRING;
    return named ? map_labels(call, &names, &numbers) : map_labels(call, &numbers, &names);
}

onx_status onx_ml_labels_bind(onx_call *call) {
    const label_state *st = call->state;
    return onx_ml_pick_bind(call, st->values.dtype, call->in[0]->rank, call->in[0]->dims);
}

onx_status onx_ml_labels_run(onx_call *call) {
    const label_state *st = call->state;
    size_t *places = call->scratch;
    if (call->in[0]->count) ONX_TRY(onx_ml_dict_find(call, &st->dict, places));
    return onx_ml_pick(call, &st->values, places);
}

/* ── OneHotEncoder ───────────────────────────────────────────────────────────────────────────── */

onx_status onx_ml_one_hot_encoder_init(onx_call *call) {
    static const char *const names[] = {"cats_int64s", "cats_strings", NULL};
    label_state *st = state_new(call);
    onx_ml_values cats;
    if (!st) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ml_values_one(call, names, &cats));
    if (!cats.dtype) return onx_call_fail(call, ONX_INVALID, "there are no categories");
    st->zeros = onx_call_int(call, "zeros") != 0;
    return onx_ml_dict_make(call, &cats, (onx_dtype)call->in[0]->dtype, &st->dict);
}

onx_status onx_ml_one_hot_encoder_bind(onx_call *call) {
    const label_state *st = call->state;
    const onx_operand *in = call->in[0];
    int64_t dims[ONX_RANK_MAX + 1];
    memcpy(dims, in->dims, in->rank * sizeof *dims);
    dims[in->rank] = (int64_t)st->dict.n;
    if (!onx_mul_size((size_t)in->count, sizeof(size_t), &call->scratch_bytes))
        return onx_call_fail(call, ONX_LIMIT, "the table is too large for this machine");
    return onx_call_shape(call, 0, ONX_DTYPE_F32, in->rank + 1u, dims);
}

onx_status onx_ml_one_hot_encoder_run(onx_call *call) {
    const label_state *st = call->state;
    size_t n = st->dict.n, *places = call->scratch;
    char *out = call->out[0]->data;
    const float one = 1;
    ONX_TRY(onx_ml_dict_find(call, &st->dict, places));
    if (call->out[0]->bytes) memset(out, 0, call->out[0]->bytes);
    for (size_t i = 0; i < (size_t)call->in[0]->count; i++) {
        if (i % 4096 == 0) ONX_TRY(onx_call_check(call));
        if (places[i] < n)
            memcpy(out + (i * n + places[i]) * sizeof one, &one, sizeof one);
        else if (!st->zeros)
            return onx_call_fail(call, ONX_INVALID, "element %zu is in no category", i);
    }
    return ONX_OK;
}
