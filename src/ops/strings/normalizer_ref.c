/* normalizer_ref.c: StringNormalizer: stop words go, what is left changes its case.
 *
 * Case is that of Unicode's simple mapping, one character to one, in every locale; bytes that are
 * no UTF-8 stay as they are. Where case does not matter, words are compared in the case that was
 * asked for, else in lower case. */
#include "base/unicode.h"
#include "base/utf8.h"
#include "ops/strings/texts_ref.h"

typedef uint32_t mapping(uint32_t code);

typedef struct normalizer {
    mapping *result;  /* NULL: as it is */
    mapping *compare; /* likewise */
    onx_texts stop;
} normalizer;

/* `text` in another case, at the end of `out`. */
static void put_mapped(onx_buf *out, mapping *map, onx_str text) {
    if (!text.size) return;
    const char *end = text.data + text.size;
    for (const char *p = text.data; p < end;) {
        uint32_t code = 0;
        char now[4];
        size_t n = onx_utf8_get(p, end, &code), size = n ? onx_utf8_put(map(code), now) : 0;
        onx_buf_put(out, size ? now : p, size ? size : 1);
        p += n ? n : 1;
    }
}

/* `text` in another case, or itself: in `out`, which it overwrites. */
static onx_str mapped(onx_buf *out, mapping *map, onx_str text) {
    if (!map) return text;
    out->size = 0;
    put_mapped(out, map, text);
    return (onx_str){out->data, out->size};
}

static onx_status read_stopwords(onx_call *call, normalizer *state, onx_buf *buf) {
    const onx_attr *words = onx_node_attr(call->node, "stopwords");
    size_t n = words ? onx_attr_count(words) : 0;
    ONX_TRY(onx_texts_init(call, &state->stop, n));
    for (size_t i = 0; i < n; i++) {
        onx_str word = mapped(buf, state->compare, onx_attr_string_at(words, i)), copy;
        if (buf->failed || !onx_arena_str(call->arena, word, &copy))
            return onx_fail_nomem(call->diag);
        (void)onx_texts_put(&state->stop, 0, copy);
    }
    return ONX_OK;
}

onx_status onx_string_normalizer_init(onx_call *call) {
    normalizer *state = onx_call_state(call, sizeof *state);
    onx_str action = onx_call_string(call, "case_change_action");
    onx_buf buf;
    if (!state) return onx_fail_nomem(call->diag);
    if (onx_str_is(action, "LOWER"))
        state->result = onx_unicode_lower;
    else if (onx_str_is(action, "UPPER"))
        state->result = onx_unicode_upper;
    else if (!onx_str_is(action, "NONE"))
        return onx_call_fail(call, ONX_INVALID,
                             "case_change_action is '%.*s'; it must be LOWER, UPPER or NONE",
                             ONX_FMT(action));
    if (!onx_call_int(call, "is_case_sensitive"))
        state->compare = state->result ? state->result : onx_unicode_lower;
    onx_buf_init(&buf, call->ctx);
    onx_status status = read_stopwords(call, state, &buf);
    onx_buf_fini(&buf);
    return status;
}

/* What is left of the words: `kept` are their places. */
static onx_status choose(const onx_call *call, onx_buf *buf, int64_t *kept, int64_t *n) {
    const normalizer *state = call->state;
    const onx_operand *x = call->in[0];
    for (int64_t i = 0; i < x->count; i++) {
        if (i % 1024 == 0) ONX_TRY(onx_call_check(call));
        onx_str word = x->object->strings[i];
        if (state->stop.n) word = mapped(buf, state->compare, word);
        if (buf->failed) return onx_fail_nomem(call->diag);
        if (!state->stop.n || !onx_texts_find(&state->stop, 0, word)) kept[(*n)++] = i;
    }
    return ONX_OK;
}

static onx_status fill(const onx_call *call, onx_buf *buf, const int64_t *kept, int64_t n,
                       onx_object *y) {
    const normalizer *state = call->state;
    for (int64_t i = 0; i < n; i++) {
        if (i % 1024 == 0) ONX_TRY(onx_call_check(call));
        onx_str word = mapped(buf, state->result, call->in[0]->object->strings[kept[i]]);
        if (buf->failed) return onx_fail_nomem(call->diag);
        ONX_TRY(onx_object_set_string(y, i, word, call->diag));
    }
    return ONX_OK;
}

static onx_status normalize(onx_call *call, onx_buf *buf, int64_t *kept) {
    const onx_operand *x = call->in[0];
    int64_t dims[2] = {1, 1}, n = 0;
    onx_object *y = NULL;
    ONX_TRY(choose(call, buf, kept, &n));
    dims[x->rank - 1] = n ? n : 1; /* of nothing, one empty string is left */
    ONX_TRY(onx_object_tensor(call->ctx, ONX_DTYPE_STRING, x->rank, dims, &y, call->diag));
    onx_status status = fill(call, buf, kept, n, y);
    if (status == ONX_OK) return onx_call_object(call, 0, y);
    onx_object_release(y);
    return status;
}

onx_status onx_string_normalizer_run(onx_call *call) {
    const onx_operand *x = call->in[0];
    size_t bytes;
    onx_buf buf;
    if (x->rank != 1 && !(x->rank == 2 && x->dims[0] == 1))
        return onx_call_fail(call, ONX_INVALID, "the input must be [C] or [1,C]");
    if (!onx_mul_size((size_t)x->count, sizeof(int64_t), &bytes)) return onx_fail_nomem(call->diag);
    int64_t *kept = onx_mem_alloc(call->ctx, bytes ? bytes : 1);
    if (!kept) return onx_fail_nomem(call->diag);
    onx_buf_init(&buf, call->ctx);
    onx_status status = normalize(call, &buf, kept);
    onx_buf_fini(&buf);
    onx_mem_free(call->ctx, kept, bytes ? bytes : 1);
    return status;
}
