/* ml_dict_ref.c: dictionaries: open addressing, seeded, made once and then only read. */
#include "ops/ml/ml_ref.h"

#include <math.h>

enum { BLOCK = 256, TASK = 32 * BLOCK }; /* elements that are converted at once; of a task */

static bool is_float(onx_dtype dtype) {
    return ONX_T_FLOATS >> dtype & 1;
}

/* The bits of a double as a key. */
static int64_t bits_of(double x, bool truncates) {
    int64_t bits;
    if (truncates) x = trunc(x);
    if (isnan(x)) x = (double)NAN;
    if (x == 0) x = 0; /* of either sign */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* `n` elements, at most BLOCK, as keys. */
static onx_status read_keys(const onx_ml_dict *dict, onx_dtype dtype, const void *from, size_t n,
                            int64_t *out) {
    double wide[BLOCK];
    if (!dict->real) return onx_dtype_convert(dtype, from, ONX_DTYPE_I64, out, n, false);
    ONX_TRY(onx_dtype_convert(dtype, from, ONX_DTYPE_F64, wide, n, false));
    for (size_t i = 0; i < n; i++) out[i] = bits_of(wide[i], dict->truncates);
    return ONX_OK;
}

/* ── Looking up ──────────────────────────────────────────────────────────────────────────────── */

/* The slot of a key, or the free one where it would be. */
static size_t *slot_of_string(const onx_ml_dict *dict, onx_str key) {
    size_t at = (size_t)onx_hash(dict->seed, key.data, key.size) & dict->mask;
    while (dict->slots[at] && !onx_str_eq(dict->strings[dict->slots[at] - 1], key))
        at = (at + 1) & dict->mask;
    return &dict->slots[at];
}
static size_t *slot_of_number(const onx_ml_dict *dict, int64_t key) {
    size_t at = (size_t)onx_hash(dict->seed, &key, sizeof key) & dict->mask;
    while (dict->slots[at] && dict->numbers[dict->slots[at] - 1] != key) at = (at + 1) & dict->mask;
    return &dict->slots[at];
}

size_t onx_ml_dict_string(const onx_ml_dict *dict, onx_str key) {
    size_t place = *slot_of_string(dict, key);
    return place ? place - 1 : dict->n;
}
size_t onx_ml_dict_number(const onx_ml_dict *dict, int64_t key) {
    size_t place = *slot_of_number(dict, key);
    return place ? place - 1 : dict->n;
}

/* ── Making ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status take_numbers(onx_call *call, const onx_ml_values *keys, onx_ml_dict *dict) {
    size_t size = onx_dtype_bits(keys->dtype) / 8;
    bool truncates = dict->truncates;
    int64_t *numbers = onx_arena_array(call->arena, keys->n + 1, sizeof *numbers);
    if (!numbers) return onx_fail_nomem(call->diag);
    dict->truncates = false; /* keys stay as they are */
    for (size_t i = 0; i < keys->n; i += BLOCK) {
        size_t n = keys->n - i < BLOCK ? keys->n - i : BLOCK;
        ONX_TRY(read_keys(dict, keys->dtype, keys->data + i * size, n, numbers + i));
    }
    dict->truncates = truncates;
    dict->numbers = numbers;
    return ONX_OK;
}

onx_status onx_ml_dict_make(onx_call *call, const onx_ml_values *keys, onx_dtype dtype,
                            onx_ml_dict *out) {
    onx_ml_dict dict = {.n = keys->n, .seed = call->ctx->seed, .mask = 1, .strings = keys->strings};
    bool strings = keys->dtype == ONX_DTYPE_STRING;
    if (strings != (dtype == ONX_DTYPE_STRING))
        return onx_call_fail(call, ONX_INVALID, "elements of type %s are not among keys of type %s",
                             onx_dtype_name(dtype), onx_dtype_name(keys->dtype));
    dict.real = !strings && (is_float(dtype) || is_float(keys->dtype));
    dict.truncates = dict.real && !is_float(keys->dtype);
    while (dict.mask / 2 < keys->n) dict.mask = 2 * dict.mask + 1;
    dict.slots = onx_arena_array(call->arena, dict.mask + 1, sizeof *dict.slots);
    if (!dict.slots) return onx_fail_nomem(call->diag);
    if (!strings) ONX_TRY(take_numbers(call, keys, &dict));
    for (size_t i = 0; i < keys->n; i++)
        *(strings ? slot_of_string(&dict, keys->strings[i])
                  : slot_of_number(&dict, dict.numbers[i])) = i + 1;
    *out = dict;
    return ONX_OK;
}

/* ── All elements of an input ────────────────────────────────────────────────────────────────── */

typedef struct search {
    const onx_ml_dict *dict;
    size_t *places;
} search;

static onx_status find_task(void *user, onx_call *call, size_t index, void *scratch) {
    const search *s = user;
    const onx_operand *in = call->in[0];
    size_t size = onx_dtype_bits((onx_dtype)in->dtype) / 8, end = (index + 1) * TASK;
    int64_t keys[BLOCK];
    (void)scratch;
    if (end > (size_t)in->count) end = (size_t)in->count;
    for (size_t at = index * TASK; at < end; at += BLOCK) {
        size_t n = end - at < BLOCK ? end - at : BLOCK;
        if (!s->dict->strings)
            ONX_TRY(
                read_keys(s->dict, (onx_dtype)in->dtype, (char *)in->data + at * size, n, keys));
        for (size_t i = 0; i < n; i++)
            s->places[at + i] = s->dict->strings
                                    ? onx_ml_dict_string(s->dict, in->object->strings[at + i])
                                    : onx_ml_dict_number(s->dict, keys[i]);
    }
    return ONX_OK;
}

onx_status onx_ml_dict_find(onx_call *call, const onx_ml_dict *dict, size_t *places) {
    search s = {dict, places};
    size_t n = (size_t)call->in[0]->count;
    return onx_call_parallel(call, n / TASK + (n % TASK != 0), find_task, &s);
}
