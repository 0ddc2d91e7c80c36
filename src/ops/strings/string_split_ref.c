/* string_split_ref.c: StringSplit: strings cut at a delimiter, or at white space.
 *
 * As Python's str.split does it: a delimiter cuts wherever it stands, so that there are empty
 * parts; white space (Unicode's) is never part of a part. Delimiters are looked for as Knuth,
 * Morris and Pratt do: each byte of the text once. */
#include "base/unicode.h"
#include "base/utf8.h"
#include "ops/strings/texts_ref.h"

typedef struct split {
    onx_str delimiter; /* empty: white space */
    size_t *falls;     /* after byte i of it: how many of its bytes the text may end with, else */
    int64_t most;      /* cuts in one string */
} split;

onx_status onx_split_init(onx_call *call) {
    split *state = onx_call_state(call, sizeof *state);
    size_t bytes;
    onx_str delimiter = onx_call_string(call, "delimiter");
    if (!state || !onx_arena_str(call->arena, delimiter, &state->delimiter))
        return onx_fail_nomem(call->diag);
    int64_t most = onx_op_has(call->node, "maxsplit") ? onx_call_int(call, "maxsplit") : -1;
    state->most = most < 0 ? INT64_MAX : most;
    bool fits = onx_mul_size(delimiter.size, sizeof *state->falls, &bytes);
    state->falls = fits ? onx_call_state(call, bytes) : NULL;
    if (!state->falls) return onx_fail_nomem(call->diag);
    for (size_t i = 1, k = 0; i < delimiter.size; i++) {
        while (k && delimiter.data[i] != delimiter.data[k]) k = state->falls[k - 1];
        if (delimiter.data[i] == delimiter.data[k]) k++;
        state->falls[i] = k;
    }
    return ONX_OK;
}

/* Where the delimiter stands first; the size of the text: nowhere. */
static size_t find(const split *state, onx_str text) {
    onx_str d = state->delimiter;
    for (size_t i = 0, k = 0; i < text.size; i++) {
        while (k && text.data[i] != d.data[k]) k = state->falls[k - 1];
        if (text.data[i] == d.data[k]) k++;
        if (k == d.size) return i + 1 - k;
    }
    return text.size;
}

/* Bytes from `at` on that are white space, or are not. */
static size_t spaces(onx_str text, size_t at, bool wanted) {
    size_t first = at;
    while (at < text.size) {
        uint32_t code = 0;
        size_t n = onx_utf8_get(text.data + at, text.data + text.size, &code);
        if (onx_unicode_is_space(code) != wanted) break;
        at += n ? n : 1;
    }
    return at - first;
}

typedef struct cursor {
    onx_str rest;
    int64_t cuts; /* left */
    bool done;
} cursor;

static onx_str take(cursor *c, size_t n, size_t skip) {
    onx_str part = {c->rest.data, n};
    c->rest = (onx_str){c->rest.data + n + skip, c->rest.size - n - skip};
    c->cuts--;
    return part;
}

/* The next part; false: there is none. */
static bool next(const split *state, cursor *c, onx_str *part) {
    if (c->done) return false;
    size_t n = c->rest.size, skip = state->delimiter.size;
    if (!skip) {
        (void)take(c, 0, spaces(c->rest, 0, true));
        c->cuts++;
        if (!c->rest.size) return false;
        n = c->cuts > 0 ? spaces(c->rest, 0, false) : c->rest.size;
    } else if (c->cuts > 0)
        n = find(state, c->rest);
    c->done = n == c->rest.size;
    *part = take(c, n, c->done ? 0 : skip);
    return true;
}

/* How many parts the string with the most of them has; and how many each has, in `counts`. */
static onx_status count(onx_call *call, const onx_operand *x, char *counts, int64_t *most) {
    const split *state = call->state;
    onx_str part;
    for (int64_t i = 0; i < x->count; i++) {
        cursor c = {x->object->strings[i], state->most, false};
        int64_t n = 0;
        if (i % 1024 == 0) ONX_TRY(onx_call_check(call));
        while (next(state, &c, &part)) n++;
        if (n > *most) *most = n;
        if (counts) memcpy(counts + i * (int64_t)sizeof n, &n, sizeof n);
    }
    return ONX_OK;
}

static onx_status fill(onx_call *call, const onx_operand *x, int64_t most, onx_object *y) {
    const split *state = call->state;
    onx_str part;
    for (int64_t i = 0; i < x->count; i++) {
        cursor c = {x->object->strings[i], state->most, false};
        if (i % 1024 == 0) ONX_TRY(onx_call_check(call));
        for (int64_t k = 0; next(state, &c, &part); k++)
            ONX_TRY(onx_object_set_string(y, i * most + k, part, call->diag));
    }
    return ONX_OK;
}

onx_status onx_split_run(onx_call *call) {
    const onx_operand *x = call->in[0];
    onx_operand *z = call->n_out > 1 ? call->out[1] : NULL;
    int64_t dims[ONX_RANK_MAX + 1], most = 0;
    onx_object *y = NULL;
    if (x->rank == ONX_RANK_MAX)
        return onx_call_fail(call, ONX_LIMIT, "the result would have more than %d dimensions",
                             ONX_RANK_MAX);
    ONX_TRY(onx_call_output(call, 1, ONX_DTYPE_I64, x->rank, x->dims));
    ONX_TRY(count(call, x, z ? z->data : NULL, &most));
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[x->rank] = most;
    ONX_TRY(onx_object_tensor(call->ctx, ONX_DTYPE_STRING, x->rank + 1u, dims, &y, call->diag));
    onx_status status = fill(call, x, most, y);
    if (status == ONX_OK) return onx_call_object(call, 0, y);
    onx_object_release(y);
    return status;
}
