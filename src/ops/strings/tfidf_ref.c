/* tfidf_ref.c: TfIdfVectorizer: how often each n-gram of a pool stands in a row.
 *
 * The pool is a tree of items: node 0 is the root, and the child of a node by an item is what the
 * pair (node, item) has for a number. An n-gram is the node it ends at. Integers are items of eight
 * bytes, so that they and strings go the same way. */
#include "ops/strings/texts_ref.h"

typedef struct tfidf {
    int64_t least, most, skips;
    int64_t size; /* of a row of the result */
    bool capped, weighted;
    float *weights; /* of each place; NULL: all 1 */
    onx_texts tree;
    int64_t *places; /* of each node in a row; -1: no n-gram ends there */
} tfidf;

/* ── The pool ────────────────────────────────────────────────────────────────────────────────── */

typedef struct pool {
    const onx_attr *strings; /* NULL: they are integers */
    const int64_t *ints;
    size_t n;
} pool;

static onx_status pool_of(const onx_call *call, pool *out) {
    const onx_attr *ints = onx_node_attr(call->node, "pool_int64s");
    const onx_attr *strings = onx_node_attr(call->node, "pool_strings");
    size_t n_ints = ints ? onx_attr_count(ints) : 0;
    size_t n_strings = strings ? onx_attr_count(strings) : 0;
    bool text = call->in[0]->dtype == ONX_DTYPE_STRING;
    if (n_ints && n_strings)
        return onx_call_fail(call, ONX_INVALID, "there are pool_int64s and pool_strings");
    if (text ? n_ints > 0 : n_strings > 0)
        return onx_call_fail(call, ONX_INVALID, "the pool is of %s, the input of %s",
                             text ? "integers" : "strings", text ? "strings" : "integers");
    *out = (pool){text ? strings : NULL,
                  text   ? NULL
                  : ints ? onx_attr_ints(ints)
                         : NULL,
                  text ? n_strings : n_ints};
    return ONX_OK;
}

static onx_status item_of(onx_call *call, const pool *p, size_t at, onx_str *out) {
    onx_str item = p->strings ? onx_attr_string_at(p->strings, at)
                              : (onx_str){(const char *)&p->ints[at], sizeof p->ints[at]};
    return onx_arena_str(call->arena, item, out) ? ONX_OK : onx_fail_nomem(call->diag);
}

/* n-grams of `length` from `first` to `end`; *gram: how many came before. */
static onx_status add_grams(onx_call *call, const pool *p, size_t first, size_t end, size_t length,
                            const int64_t *indexes, size_t *gram) {
    tfidf *state = call->state;
    bool wanted = (int64_t)length >= state->least && (int64_t)length <= state->most;
    for (size_t at = first; at < end; ++*gram) {
        uint32_t node = 0;
        onx_str item;
        if (!wanted) {
            at += length;
            continue;
        }
        for (size_t i = 0; i < length; i++, at++) {
            ONX_TRY(item_of(call, p, at, &item));
            uint32_t before = state->tree.n;
            node = onx_texts_put(&state->tree, node, item);
            if (state->tree.n > before) state->places[node] = -1;
        }
        state->places[node] = indexes[*gram];
    }
    return ONX_OK;
}

/* ngram_counts tells where n-grams of 1, 2 … items begin in the pool. */
static onx_status read_pool(onx_call *call, const int64_t *indexes, size_t n_indexes) {
    tfidf *state = call->state;
    size_t n_counts, bytes, gram = 0;
    const int64_t *counts = onx_op_ints(call->node, "ngram_counts", &n_counts);
    pool p = {0};
    ONX_TRY(pool_of(call, &p));
    ONX_TRY(onx_texts_init(call, &state->tree, p.n));
    bool fits = onx_mul_size(p.n + 1, sizeof *state->places, &bytes);
    state->places = fits ? onx_call_state(call, bytes) : NULL;
    if (!state->places) return onx_fail_nomem(call->diag);
    for (size_t i = 0; counts && i < n_counts; i++) {
        int64_t first = counts[i], end = i + 1 < n_counts ? counts[i + 1] : (int64_t)p.n;
        if (first < 0 || first > end || end > (int64_t)p.n || (size_t)(end - first) % (i + 1))
            return onx_call_fail(call, ONX_INVALID,
                                 "ngram_counts: from %lld to %lld of a pool of %zu there are no "
                                 "n-grams of %zu",
                                 (long long)first, (long long)end, p.n, i + 1);
        if (gram + (size_t)(end - first) / (i + 1) > n_indexes)
            return onx_call_fail(call, ONX_INVALID,
                                 "the pool has more n-grams than ngram_indexes, which has %zu",
                                 n_indexes);
        ONX_TRY(add_grams(call, &p, (size_t)first, (size_t)end, i + 1, indexes, &gram));
    }
    return ONX_OK;
}

/* ── Attributes ──────────────────────────────────────────────────────────────────────────────── */

static onx_status read_mode(onx_call *call, tfidf *state) {
    onx_str mode = onx_call_string(call, "mode");
    bool tf = onx_str_is(mode, "TF"), idf = onx_str_is(mode, "IDF");
    if (!tf && !idf && !onx_str_is(mode, "TFIDF"))
        return onx_call_fail(call, ONX_INVALID, "mode is '%.*s'; it must be TF, IDF or TFIDF",
                             ONX_FMT(mode));
    state->capped = idf;
    state->weighted = !tf;
    return ONX_OK;
}

/* The weight of an n-gram is that of its place. */
static onx_status read_weights(onx_call *call, tfidf *state, const int64_t *indexes, size_t n) {
    size_t count = 0, bytes;
    const float *weights = onx_op_floats(call->node, "weights", &count);
    if (!weights || !count || !state->weighted) return ONX_OK;
    if (count != n)
        return onx_call_fail(call, ONX_INVALID, "there are %zu weights for %zu n-grams", count, n);
    bool fits = onx_mul_size((size_t)state->size, sizeof *weights, &bytes);
    state->weights = fits ? onx_call_state(call, bytes) : NULL;
    if (!state->weights) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < n; i++) state->weights[indexes[i]] = weights[i];
    return ONX_OK;
}

onx_status onx_tfidf_init(onx_call *call) {
    tfidf *state = onx_call_state(call, sizeof *state);
    size_t n = 0;
    const int64_t *indexes = onx_op_ints(call->node, "ngram_indexes", &n);
    if (!state) return onx_fail_nomem(call->diag);
    state->least = onx_call_int(call, "min_gram_length");
    state->most = onx_call_int(call, "max_gram_length");
    state->skips = onx_call_int(call, "max_skip_count");
    if (state->least < 1 || state->most < state->least || state->skips < 0)
        return onx_call_fail(
            call, ONX_INVALID, "n-grams of %lld to %lld items with up to %lld skips make no sense",
            (long long)state->least, (long long)state->most, (long long)state->skips);
    if (!n) return onx_call_fail(call, ONX_INVALID, "ngram_indexes is empty");
    for (size_t i = 0; i < n; i++) {
        if (indexes[i] < 0 || indexes[i] == INT64_MAX)
            return onx_call_fail(call, ONX_INVALID, "ngram_indexes has %lld",
                                 (long long)indexes[i]);
        if (indexes[i] >= state->size) state->size = indexes[i] + 1;
    }
    ONX_TRY(read_mode(call, state));
    ONX_TRY(read_weights(call, state, indexes, n));
    return read_pool(call, indexes, n);
}

/* ── Counting ────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_tfidf_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    int64_t size = ((const tfidf *)call->state)->size;
    int64_t dims[2] = {x->rank == 2 ? x->dims[0] : size, size};
    if (x->rank != 1 && x->rank != 2)
        return onx_call_fail(call, ONX_INVALID, "the input has %u dimensions; it needs 1 or 2",
                             (unsigned)x->rank);
    return onx_call_shape(call, 0, ONX_DTYPE_F32, x->rank, dims);
}

static onx_str item_at(const onx_operand *x, int64_t at, int64_t *number) {
    if (x->dtype == ONX_DTYPE_STRING) return x->object->strings[at];
    *number = onx_operand_int(x, at);
    return (onx_str){(const char *)number, sizeof *number};
}

/* The n-grams that begin at `at`, whose items are `step` apart: `least` items or more. */
static void count_from(const tfidf *state, const onx_operand *x, int64_t at, int64_t end,
                       int64_t step, int64_t least, char *row) {
    uint32_t node = 0, n;
    int64_t number;
    for (int64_t length = 1; length <= state->most; length++) {
        node = onx_texts_find(&state->tree, node, item_at(x, at, &number));
        if (!node) return;
        int64_t place = state->places[node];
        if (length >= least && place >= 0) {
            memcpy(&n, row + (size_t)place * sizeof n, sizeof n);
            n++;
            memcpy(row + (size_t)place * sizeof n, &n, sizeof n);
        }
        if (end - at <= step) return;
        at += step;
    }
}

/* Counts, where they are, become the floats of the result. */
static void weigh(const tfidf *state, char *row) {
    for (int64_t i = 0; i < state->size; i++) {
        uint32_t n;
        memcpy(&n, row + (size_t)i * sizeof n, sizeof n);
        float value = (float)(state->capped ? n > 0 : n);
        if (state->weights) value = state->capped && !n ? 0 : value * state->weights[i];
        memcpy(row + (size_t)i * sizeof value, &value, sizeof value);
    }
}

/* Single items are not affected by skips: they are counted once. */
static onx_status row_task(void *user, onx_call *call, size_t task, void *scratch) {
    const tfidf *state = call->state;
    const onx_operand *x = call->in[0];
    int64_t n = x->rank ? x->dims[x->rank - 1] : 0, first = (int64_t)task * n;
    int64_t least = state->least;
    char *row = (char *)call->out[0]->data + task * (size_t)state->size * sizeof(float);
    (void)user, (void)scratch;
    memset(row, 0, (size_t)state->size * sizeof(float));
    for (int64_t step = 1; step <= n && step - 1 <= state->skips && least <= state->most; step++) {
        for (int64_t at = 0; at < n; at++) {
            if (at % 4096 == 0 && onx_call_stopped(call)) return ONX_CANCELLED;
            if (least > 1 && (n - 1 - at) / step < least - 1) break;
            count_from(state, x, first + at, first + n, step, least, row);
        }
        if (least == 1) least = 2;
    }
    weigh(state, row);
    return ONX_OK;
}

onx_status onx_tfidf_run(onx_call *call) {
    const onx_operand *x = call->in[0], *y = call->out[0];
    size_t rows = x->rank == 2 ? (size_t)x->dims[0] : 1;
    return y->count ? onx_call_parallel(call, rows, row_task, NULL) : ONX_OK;
}
