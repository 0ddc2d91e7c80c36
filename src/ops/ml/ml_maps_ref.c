/* ml_maps_ref.c: ZipMap, rows to maps; CastMap and DictVectorizer, maps to rows. */
#include "ops/ml/ml_ref.h"

#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>

/* ── ZipMap ──────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_ml_zip_map_init(onx_call *call) {
    onx_ml_model *labels = onx_call_state(call, sizeof *labels);
    if (!labels) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ml_model_init(call, labels, "classlabels_int64s"));
    if (labels->labels.n) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "there are no labels");
}

/* The labels, which all maps share. */
static onx_status make_keys(const onx_call *call, const onx_ml_values *labels, onx_object **out) {
    int64_t n = (int64_t)labels->n;
    onx_object *keys = NULL;
    onx_status status = onx_object_tensor(call->ctx, labels->dtype, 1, &n, &keys, call->diag);
    if (status == ONX_OK && labels->data) memcpy(keys->data, labels->data, keys->bytes);
    for (int64_t i = 0; i < n && status == ONX_OK && labels->strings; i++)
        status = onx_object_set_string(keys, i, labels->strings[i], call->diag);
    if (status == ONX_OK)
        *out = keys;
    else
        onx_object_release(keys);
    return status;
}

static onx_status add_map(const onx_call *call, onx_object *list, onx_object *keys,
                          const char *row) {
    onx_object *values = NULL, *map = NULL;
    ONX_TRY(onx_object_tensor(call->ctx, ONX_DTYPE_F32, 1, &keys->count, &values, call->diag));
    if (values->bytes) memcpy(values->data, row, values->bytes);
    ONX_TRY(onx_object_map(onx_object_retain(keys), values, &map, call->diag));
    return onx_object_insert(list, list->count, map, call->diag);
}

onx_status onx_ml_zip_map_run(onx_call *call) {
    const onx_ml_model *st = call->state;
    size_t rows, columns;
    onx_object *keys = NULL, *list = NULL;
    ONX_TRY(onx_ml_table(call, 0, &rows, &columns));
    if (columns != st->labels.n)
        return onx_call_fail(call, ONX_INVALID, "there are %zu columns for %zu labels", columns,
                             st->labels.n);
    ONX_TRY(make_keys(call, &st->labels, &keys));
    onx_status status = onx_object_list(call->ctx, ONX_TYPE_SEQUENCE, rows, &list, call->diag);
    for (size_t i = 0; i < rows && status == ONX_OK; i++) {
        if (i % 256 == 0) status = onx_call_check(call);
        const char *row = (const char *)call->in[0]->data + i * columns * sizeof(float);
        if (status == ONX_OK) status = add_map(call, list, keys, row);
    }
    onx_object_release(keys);
    if (status == ONX_OK) return onx_call_object(call, 0, list);
    onx_object_release(list);
    return status;
}

/* ── Maps that come in ───────────────────────────────────────────────────────────────────────── */

/* Value `i`: the tensor that it is in, and where. NULL: it is not a single number or string. */
static const onx_object *value_at(const onx_object *map, int64_t i, int64_t *at) {
    const onx_object *values = map->items[1];
    bool packed = values->kind == ONX_TYPE_TENSOR;
    const onx_object *value = packed ? values : values->items[i];
    *at = packed ? i : 0;
    return value->kind == ONX_TYPE_TENSOR && (packed || value->count == 1) ? value : NULL;
}

/* The map in input 0: are all its keys and values of these types? */
static onx_status take_map(const onx_call *call, onx_dtype key, onx_dtype value,
                           const onx_object **out) {
    const onx_object *map = call->in[0]->object;
    if (call->in[0]->kind != ONX_TYPE_MAP || !map)
        return onx_call_fail(call, ONX_INVALID, "the input is not a map");
    if (map->items[0]->dtype != key)
        return onx_call_fail(call, ONX_INVALID, "keys of the map are of type %s, not %s",
                             onx_dtype_name((onx_dtype)map->items[0]->dtype), onx_dtype_name(key));
    for (int64_t i = 0; i < map->items[0]->count; i++) {
        int64_t at;
        const onx_object *item = value_at(map, i, &at);
        if (!item || (value && item->dtype != value))
            return onx_call_fail(call, ONX_INVALID, "values of the map are of the wrong type");
    }
    *out = map;
    return ONX_OK;
}

/* The type of the values; of an empty map it is not known. */
static onx_dtype value_type(const onx_object *map, onx_dtype otherwise) {
    int64_t at;
    const onx_object *item = map->items[0]->count ? value_at(map, 0, &at) : NULL;
    return item ? (onx_dtype)item->dtype : otherwise;
}

/* An output of one row: of strings an object, which `finish` hands over. */
static onx_status start(onx_call *call, onx_dtype dtype, int64_t n, onx_object **strings) {
    int64_t dims[2] = {1, n};
    *strings = NULL;
    if (dtype == ONX_DTYPE_STRING)
        return onx_object_tensor(call->ctx, dtype, 2, dims, strings, call->diag);
    ONX_TRY(onx_call_output(call, 0, dtype, 2, dims));
    if (call->out[0]->bytes) memset(call->out[0]->data, 0, call->out[0]->bytes);
    return ONX_OK;
}

static onx_status finish(onx_call *call, onx_object *strings, onx_status status) {
    if (status == ONX_OK && strings) return onx_call_object(call, 0, strings);
    onx_object_release(strings);
    return status;
}

/* ── DictVectorizer ──────────────────────────────────────────────────────────────────────────── */

typedef struct vocabulary {
    onx_ml_dict dict;
    onx_dtype dtype;
    onx_dtype values; /* of the output, as far as init knows */
} vocabulary;

onx_status onx_ml_dict_vectorizer_init(onx_call *call) {
    static const char *const names[] = {"string_vocabulary", "int64_vocabulary", NULL};
    vocabulary *st = onx_call_state(call, sizeof *st);
    onx_ml_values keys;
    if (!st) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ml_values_one(call, names, &keys));
    if (!keys.dtype) return onx_call_fail(call, ONX_INVALID, "there is no vocabulary");
    st->dtype = keys.dtype;
    st->values = (onx_dtype)call->out[0]->dtype;
    return onx_ml_dict_make(call, &keys, keys.dtype, &st->dict);
}

static onx_status put_value(const onx_call *call, const onx_object *map, int64_t i, size_t place,
                            onx_object *strings) {
    int64_t at;
    const onx_object *item = value_at(map, i, &at);
    size_t size = onx_dtype_bits((onx_dtype)item->dtype) / 8;
    if (strings)
        return onx_object_set_string(strings, (int64_t)place, item->strings[at], call->diag);
    memcpy((char *)call->out[0]->data + place * size, (char *)item->data + (size_t)at * size, size);
    return ONX_OK;
}

/* Keys that are not in the vocabulary are left out. */
onx_status onx_ml_dict_vectorizer_run(onx_call *call) {
    const vocabulary *st = call->state;
    const onx_object *map = NULL;
    onx_object *strings = NULL;
    ONX_TRY(take_map(call, st->dtype, ONX_DTYPE_NONE, &map));
    onx_dtype dtype = value_type(map, st->values ? st->values : ONX_DTYPE_F32);
    ONX_TRY(take_map(call, st->dtype, dtype, &map));
    if (dtype != ONX_DTYPE_STRING && onx_dtype_bits(dtype) % 8)
        return onx_call_fail(call, ONX_INVALID, "values of the map are of the wrong type");
    ONX_TRY(start(call, dtype, (int64_t)st->dict.n, &strings));
    const onx_object *keys = map->items[0];
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < keys->count && status == ONX_OK; i++) {
        int64_t number = 0;
        if (!keys->strings) memcpy(&number, (char *)keys->data + (size_t)i * sizeof number, 8);
        size_t place = keys->strings ? onx_ml_dict_string(&st->dict, keys->strings[i])
                                     : onx_ml_dict_number(&st->dict, number);
        if (place < st->dict.n) status = put_value(call, map, i, place, strings);
    }
    return finish(call, strings, status);
}

/* ── CastMap ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct cast_state {
    onx_dtype to;
    bool sparse;
    int64_t size; /* of the output, if it is sparse */
} cast_state;

onx_status onx_ml_cast_map_init(onx_call *call) {
    static const struct {
        const char *name;
        onx_dtype dtype;
    } targets[] = {
        {"TO_FLOAT", ONX_DTYPE_F32}, {"TO_INT64", ONX_DTYPE_I64}, {"TO_STRING", ONX_DTYPE_STRING}};
    cast_state *st = onx_call_state(call, sizeof *st);
    onx_str to = onx_call_string(call, "cast_to"), form = onx_call_string(call, "map_form");
    if (!st) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < ONX_COUNT(targets); i++)
        if (onx_str_is(to, targets[i].name)) st->to = targets[i].dtype;
    if (!st->to)
        return onx_call_fail(call, ONX_INVALID,
                             "cast_to is '%.*s'; it can be TO_FLOAT, TO_INT64 or TO_STRING",
                             ONX_FMT(to));
    st->sparse = onx_str_is(form, "SPARSE");
    st->size = onx_call_int(call, "max_map");
    if (!st->sparse && !onx_str_is(form, "DENSE"))
        return onx_call_fail(call, ONX_INVALID, "map_form is '%.*s'; it can be DENSE or SPARSE",
                             ONX_FMT(form));
    if (st->sparse && st->size < 1)
        return onx_call_fail(call, ONX_INVALID, "max_map is %lld", (long long)st->size);
    return ONX_OK;
}

/* Element `place` of the output from a value. Numbers become strings as C prints them. */
static onx_status cast(const onx_call *call, const onx_object *map, int64_t i, size_t place,
                       onx_object *strings) {
    int64_t at;
    const onx_object *item = value_at(map, i, &at);
    char *to = (char *)call->out[0]->data, text[64];
    float number = 0;
    double real = 0;
    if (item->strings && strings)
        return onx_object_set_string(strings, (int64_t)place, item->strings[at], call->diag);
    if (!item->strings) memcpy(&number, (char *)item->data + (size_t)at * sizeof number, 4);
    if (strings) {
        int n = snprintf(text, sizeof text, "%f", (double)number);
        return onx_object_set_string(strings, (int64_t)place, (onx_str){text, (size_t)n},
                                     call->diag);
    }
    const cast_state *st = call->state;
    to += place * (onx_dtype_bits(st->to) / 8);
    if (!item->strings) return onx_dtype_convert(ONX_DTYPE_F32, &number, st->to, to, 1, false);
    int64_t whole = 0;
    if (st->to == ONX_DTYPE_I64 && onx_parse_i64(item->strings[at], &whole)) {
        memcpy(to, &whole, sizeof whole);
        return ONX_OK;
    }
    if (!onx_parse_f64(item->strings[at], &real))
        return onx_call_fail(call, ONX_INVALID, "'%.*s' is not a number",
                             ONX_FMT(item->strings[at]));
    return onx_dtype_convert(ONX_DTYPE_F64, &real, st->to, to, 1, false);
}

/* A key and where it is. */
typedef struct map_entry {
    int64_t key, at;
} map_entry;

static int by_key(const void *a, const void *b) {
    int64_t x = ((const map_entry *)a)->key, y = ((const map_entry *)b)->key;
    return (x > y) - (x < y);
}

/* By rising key, which in the sparse form is also the place. */
static onx_status cast_entries(onx_call *call, const onx_object *map, const map_entry *entries,
                               onx_object *strings) {
    const cast_state *st = call->state;
    for (int64_t i = 0; i < map->items[0]->count; i++) {
        int64_t key = entries[i].key;
        if (i && key == entries[i - 1].key)
            return onx_call_fail(call, ONX_INVALID, "the map has key %lld twice", (long long)key);
        if (st->sparse && (key < 0 || key >= st->size))
            return onx_call_fail(call, ONX_INVALID, "key %lld is not below max_map, %lld",
                                 (long long)key, (long long)st->size);
        ONX_TRY(cast(call, map, entries[i].at, (size_t)(st->sparse ? key : i), strings));
    }
    return ONX_OK;
}

/* What is in no entry is 0; as a string, "0.f", as runtimes have it. */
static onx_status fill_up(const onx_call *call, onx_object *strings) {
    const cast_state *st = call->state;
    for (int64_t i = 0; strings && st->sparse && i < strings->count; i++)
        ONX_TRY(onx_object_set_string(strings, i, ONX_LIT("0.f"), call->diag));
    return ONX_OK;
}

onx_status onx_ml_cast_map_run(onx_call *call) {
    const cast_state *st = call->state;
    const onx_object *map = NULL;
    onx_object *strings = NULL;
    ONX_TRY(take_map(call, ONX_DTYPE_I64, ONX_DTYPE_NONE, &map));
    onx_dtype from = value_type(map, ONX_DTYPE_F32);
    ONX_TRY(take_map(call, ONX_DTYPE_I64, from, &map));
    if (from != ONX_DTYPE_F32 && from != ONX_DTYPE_STRING)
        return onx_call_fail(call, ONX_INVALID, "values of the map are of type %s",
                             onx_dtype_name(from));
    size_t n = (size_t)map->items[0]->count, bytes = n * sizeof(map_entry);
    map_entry *entries = onx_mem_alloc(call->ctx, bytes + 1);
    if (!entries) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < n; i++) {
        memcpy(&entries[i].key, (char *)map->items[0]->data + i * 8, 8);
        entries[i].at = (int64_t)i;
    }
    if (n) qsort(entries, n, sizeof *entries, by_key);
    onx_status status = start(call, st->to, st->sparse ? st->size : (int64_t)n, &strings);
    if (status == ONX_OK) status = fill_up(call, strings);
    if (status == ONX_OK) status = cast_entries(call, map, entries, strings);
    onx_mem_free(call->ctx, entries, bytes + 1);
    return finish(call, strings, status);
}
