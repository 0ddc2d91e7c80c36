/* tokenizer_ref.c: Tokenizer of com.microsoft, which text vectorizers are exported with: the parts
 * of strings that match an expression, or that stand between separators, or all characters. Matches
 * are the leftmost, and of those the longest; empty ones are none. */
#include "base/regex.h"
#include "base/utf8.h"
#include "ops/strings/texts_ref.h"

typedef struct tokenizer {
    onx_str pad;
    bool mark;    /* each string's tokens stand between two marks */
    bool chars;   /* characters are tokens */
    bool cuts;    /* expressions are separators */
    size_t least; /* characters of a token */
    size_t n;
    const onx_regex **regexes;
} tokenizer;

static onx_status compile(onx_call *call, tokenizer *st, const onx_str *patterns, size_t n) {
    st->regexes = onx_arena_array(call->arena, n + 1, sizeof(onx_regex *));
    if (!st->regexes) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < n; i++)
        ONX_TRY(onx_regex_compile(call->arena, patterns[i], &st->regexes[i], call->diag));
    st->n = n;
    return ONX_OK;
}

onx_status onx_tokenizer_init(onx_call *call) {
    tokenizer *st = onx_call_state(call, sizeof *st);
    const onx_attr *separators = onx_node_attr(call->node, "separators");
    int64_t least = onx_call_int(call, "mincharnum");
    onx_str expression = onx_call_string(call, "tokenexp");
    if (!st || !onx_arena_str(call->arena, onx_call_string(call, "pad_value"), &st->pad))
        return onx_fail_nomem(call->diag);
    if (least < 1)
        return onx_call_fail(call, ONX_INVALID, "mincharnum is %lld; it must be at least 1",
                             (long long)least);
    st->least = (size_t)least;
    st->mark = onx_call_int(call, "mark") != 0;
    size_t n = separators ? separators->strings.n : 0;
    st->cuts = n > 0;
    st->chars = n == 1 && !separators->strings.v[0].size;
    if (st->chars) return ONX_OK;
    if (st->cuts) return compile(call, st, separators->strings.v, n);
    if (expression.size) return compile(call, st, &expression, 1);
    return onx_call_fail(call, ONX_INVALID, "there are neither separators nor a tokenexp");
}

onx_status onx_tokenizer_bind(onx_call *call) {
    const tokenizer *st = call->state;
    for (size_t i = 0; i < st->n; i++) {
        size_t bytes = onx_matcher_bytes(st->regexes[i]);
        if (bytes > call->scratch_bytes) call->scratch_bytes = bytes;
    }
    return ONX_OK;
}

/* ── One string ──────────────────────────────────────────────────────────────────────────────── */

static size_t char_at(onx_str text, size_t at) {
    size_t n = onx_utf8_size(text.data + at, text.data + text.size);
    return n ? n : 1;
}

static bool is_long(onx_str text, size_t least) {
    size_t n = 0;
    for (size_t at = 0; at < text.size && n < least; at += char_at(text, at)) n++;
    return n >= least;
}

static int byte_at(onx_str text, size_t at) {
    return at < text.size ? (unsigned char)text.data[at] : ONX_MATCHER_EDGE;
}

/* Bytes of the longest match that begins there. */
static size_t match_at(onx_matcher *m, onx_str text, size_t at) {
    size_t end = at;
    onx_matcher_begin_after(m, at ? byte_at(text, at - 1) : ONX_MATCHER_EDGE);
    for (size_t i = at; i < text.size && onx_matcher_feed(m, text.data + i, 1); i++)
        if (onx_matcher_ends(m, byte_at(text, i + 1))) end = i + 1;
    return end - at;
}

/* The first match from *at on; false: there is none. */
static onx_status find(const onx_call *call, onx_matcher *m, onx_str text, size_t *at, size_t *n) {
    *n = 0;
    for (size_t turn = 1; *at < text.size; *at += char_at(text, *at), turn++) {
        if (turn % 64 == 0) ONX_TRY(onx_call_check(call));
        if ((*n = match_at(m, text, *at))) return ONX_OK;
    }
    return ONX_OK;
}

static void add(const tokenizer *st, onx_buf *out, onx_str text) {
    if (is_long(text, st->least)) onx_buf_put(out, &text, sizeof text);
}

/* What matches, or what stands between matches. */
static onx_status cut(onx_call *call, const onx_regex *regex, bool between, onx_str text,
                      onx_buf *out) {
    const tokenizer *st = call->state;
    onx_matcher *m = onx_matcher_init(regex, call->scratch);
    for (size_t done = 0, at = 0, n; done < text.size; at += n, done = at) {
        ONX_TRY(find(call, m, text, &at, &n));
        if (between) add(st, out, (onx_str){text.data + done, at - done});
        if (n && !between) add(st, out, (onx_str){text.data + at, n});
    }
    return ONX_OK;
}

/* Separators one after the other: each cuts what the one before has left. */
static onx_status cut_all(onx_call *call, onx_str text, onx_buf *spare, onx_buf *out) {
    const tokenizer *st = call->state;
    spare->size = 0;
    onx_buf_put(spare, &text, sizeof text);
    for (size_t i = 0; i < st->n; i++) {
        size_t n = spare->size / sizeof text, first = out->size;
        for (size_t k = 0; k < n; k++) {
            memcpy(&text, spare->data + k * sizeof text, sizeof text);
            ONX_TRY(cut(call, st->regexes[i], st->cuts, text, out));
        }
        if (i + 1 == st->n || out->failed) break;
        spare->size = 0;
        onx_buf_put(spare, out->data + first, out->size - first);
        out->size = first;
    }
    return spare->failed ? onx_fail_nomem(call->diag) : ONX_OK;
}

static onx_status tokenize(onx_call *call, onx_str text, onx_buf *spare, onx_buf *out) {
    const tokenizer *st = call->state;
    if (!st->chars) return cut_all(call, text, spare, out);
    for (size_t at = 0, n; at < text.size; at += n) {
        n = char_at(text, at);
        add(st, out, (onx_str){text.data + at, n});
    }
    return ONX_OK;
}

/* ── All strings ─────────────────────────────────────────────────────────────────────────────── */

typedef struct tokens {
    onx_buf all, ends, spare; /* of onx_str; of size_t, where those of a string end */
    size_t most;              /* of one string */
} tokens;

static onx_status take_tokens(onx_call *call, tokens *t) {
    const onx_operand *x = call->in[0];
    size_t begin = 0;
    for (int64_t i = 0; i < x->count; i++) {
        if (i % 64 == 0) ONX_TRY(onx_call_check(call));
        ONX_TRY(tokenize(call, x->object->strings[i], &t->spare, &t->all));
        size_t end = t->all.size / sizeof(onx_str);
        onx_buf_put(&t->ends, &end, sizeof end);
        if (t->all.failed || t->ends.failed) return onx_fail_nomem(call->diag);
        if (end - begin > t->most) t->most = end - begin;
        begin = end;
    }
    return ONX_OK;
}

static onx_status fill(const onx_call *call, const tokens *t, size_t width, onx_object *y) {
    const tokenizer *st = call->state;
    size_t begin = 0, end;
    for (size_t i = 0; i < t->ends.size / sizeof end && width; i++, begin = end) {
        memcpy(&end, t->ends.data + i * sizeof end, sizeof end);
        size_t n = end - begin, shift = st->mark;
        for (size_t k = 0; k < width; k++) {
            onx_str text = st->pad;
            if (st->mark && k == 0) text = ONX_LIT("\x02");
            if (st->mark && k == n + 1) text = ONX_LIT("\x03");
            if (k >= shift && k < n + shift)
                memcpy(&text, t->all.data + (begin + k - shift) * sizeof text, sizeof text);
            ONX_TRY(onx_object_set_string(y, (int64_t)(i * width + k), text, call->diag));
        }
    }
    return ONX_OK;
}

static onx_status put_tokens(onx_call *call, const tokens *t) {
    const tokenizer *st = call->state;
    const onx_operand *x = call->in[0];
    size_t width = t->most ? t->most + (st->mark ? 2 : 0) : 0;
    int64_t dims[3] = {0};
    onx_object *y = NULL;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[x->rank] = (int64_t)width;
    ONX_TRY(onx_object_tensor(call->ctx, ONX_DTYPE_STRING, x->rank + 1u, dims, &y, call->diag));
    onx_status status = fill(call, t, width, y);
    if (status == ONX_OK) return onx_call_object(call, 0, y);
    onx_object_release(y);
    return status;
}

onx_status onx_tokenizer_run(onx_call *call) {
    tokens t = {.most = 0};
    if (call->in[0]->rank != 1 && call->in[0]->rank != 2)
        return onx_call_fail(call, ONX_INVALID, "the input has %u dimensions; it needs 1 or 2",
                             (unsigned)call->in[0]->rank);
    onx_buf_init(&t.all, call->ctx);
    onx_buf_init(&t.ends, call->ctx);
    onx_buf_init(&t.spare, call->ctx);
    onx_status status = take_tokens(call, &t);
    if (status == ONX_OK) status = put_tokens(call, &t);
    onx_buf_fini(&t.all);
    onx_buf_fini(&t.ends);
    onx_buf_fini(&t.spare);
    return status;
}
