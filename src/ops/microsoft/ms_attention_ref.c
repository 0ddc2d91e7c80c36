/* ms_attention_ref.c: Attention of com.microsoft: plain kernel. The input is multiplied with the
 * weights for query, key and value, which stand side by side; the rest is in ms_heads_ref.c. */
#include "ops/microsoft/ms_heads_ref.h"

enum { ROWS = 16, COLUMNS = 64 };

onx_status onx_ms_attention_init(onx_call *call) {
    size_t n = 0;
    ONX_TRY(onx_ms_heads_init(call));
    onx_ms_state *st = call->state;
    const int64_t *widths = onx_op_ints(call->node, "qkv_hidden_sizes", &n);
    if (widths && n != 0 && n != 3)
        return onx_call_fail(call, ONX_INVALID, "qkv_hidden_sizes has %zu elements; it needs 3", n);
    for (size_t i = 0; i < n && widths; i++) {
        if (widths[i] < 1 || widths[i] % st->heads)
            return onx_call_fail(call, ONX_INVALID,
                                 "a width of %lld cannot be shared by %lld heads",
                                 (long long)widths[i], (long long)st->heads);
        st->widths[i] = widths[i];
    }
    st->shared = onx_call_int(call, "past_present_share_buffer") == 1;
    if (st->widths[0] != st->widths[1])
        return onx_call_fail(call, ONX_INVALID, "query and key need the same width");
    if (onx_call_int(call, "do_rotary") != 0)
        return onx_call_fail(call, ONX_UNSUPPORTED,
                             "do_rotary is not possible here; turn query "
                             "and key with RotaryEmbedding");
    return onx_attend_types(call, 2, (uint32_t[]){ONX_MS_FLOATS, ONX_T(I32)});
}

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status bind_widths(const onx_call *call, onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *x = call->in[0], *w = call->in[1], *bias = onx_call_in(call, 2);
    int64_t all = w->rank == 2 ? w->dims[1] : 0, q = st->widths[0] ? st->widths[0] : all / 3;
    int64_t v = st->widths[0] ? st->widths[2] : all / 3;
    if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2])
        return onx_call_fail(call, ONX_INVALID,
                             "input needs the sizes [batch, length, width], and weights as many "
                             "rows as that width");
    if (bias && (bias->rank != 1 || bias->dims[0] != all))
        return onx_call_fail(call, ONX_INVALID, "bias needs one dimension, of %lld",
                             (long long)all);
    int64_t sum = 0;
    bool whole = onx_add_i64(q, q, &sum) && onx_add_i64(sum, v, &sum) && sum == all;
    if (!whole || q % st->heads || v % st->heads)
        return onx_call_fail(call, ONX_INVALID,
                             "weights of %lld columns are not those of query, key and value with "
                             "%lld heads",
                             (long long)all, (long long)st->heads);
    *p = (onx_ms_plan){.batch = x->dims[0], .q_len = x->dims[1], .kv_len = x->dims[1]};
    p->head = q / st->heads, p->v_head = v / st->heads;
    p->mask = 3, p->bias = 5, p->length = 6;
    return ONX_OK;
}

static onx_status bind_past(onx_call *call, onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *past = onx_call_in(call, 4);
    bool wanted = call->n_out > 1 && call->out[1];
    if ((past || wanted) && p->head != p->v_head)
        return onx_call_fail(call, ONX_INVALID,
                             "past and present need heads of one size for key and value");
    if (past) {
        const int64_t *d = past->dims;
        if (past->rank != 5 || d[0] != 2 || d[1] != p->batch || d[2] != st->heads ||
            d[4] != p->head)
            return onx_call_fail(call, ONX_INVALID,
                                 "past needs the sizes [2, batch, heads, length, size]");
        p->past = d[3];
    }
    p->shared = past && st->shared;
    if (!onx_add_i64(p->past, p->kv_len, &p->most))
        return onx_call_fail(call, ONX_LIMIT, "there are too many keys");
    if (p->shared) p->most = p->past;
    int64_t dims[5] = {2, p->batch, st->heads, p->most, p->head};
    return onx_call_shape(call, 1, (onx_dtype)call->in[0]->dtype, 5, dims);
}

onx_status onx_ms_attention_bind(onx_call *call) {
    onx_ms_plan *p = call->plan;
    const onx_operand *x = call->in[0], *w = call->in[1];
    ONX_TRY(bind_widths(call, p));
    ONX_TRY(bind_past(call, p));
    const onx_ms_state *st = call->state;
    int64_t dims[3] = {p->batch, p->q_len, p->v_head * st->heads};
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, 3, dims));
    ONX_TRY(onx_ms_heads_bind(call, p));
    if (!p->batch || !p->q_len) return ONX_OK;
    size_t each, bytes;
    if (!onx_mul_size((size_t)p->batch, (size_t)p->q_len, &bytes) ||
        !onx_mul_size(bytes, (size_t)w->dims[1], &bytes) ||
        !onx_mul_size(bytes, onx_dtype_bits((onx_dtype)x->dtype) / 8, &call->scratch_bytes) ||
        !onx_mul_size((size_t)x->dims[2], ROWS * sizeof(double), &each))
        return onx_fail_nomem(call->diag);
    if (call->scratch_each < each) call->scratch_each = each;
    return ONX_OK;
}

/* ─ Query, key and value ─────────────────────────────────────────────────────────────────────── */

static onx_rows all_of(const onx_operand *x) {
    return (onx_rows){.data = x->data, .dtype = (onx_dtype)x->dtype};
}

/* Some columns of some rows of the product. */
static void project(const onx_call *call, const double *x, int64_t row, int64_t rows, int64_t at,
                    const onx_rows *to) {
    const onx_operand *bias = onx_call_in(call, 2);
    int64_t all = call->in[1]->dims[1], inner = call->in[1]->dims[0];
    int64_t n = all - at < COLUMNS ? all - at : COLUMNS;
    double sums[ROWS][COLUMNS] = {{0}}, w[COLUMNS];
    onx_rows weights = all_of(call->in[1]);
    for (int64_t l = 0; l < inner; l++) {
        onx_rows_get(&weights, (size_t)(l * all + at), n, w);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < n; j++) sums[r][j] += x[r * inner + l] * w[j];
    }
    for (int64_t j = 0; j < n; j++) w[j] = 0;
    onx_rows biases = bias ? all_of(bias) : weights;
    if (bias) onx_rows_get(&biases, (size_t)at, n, w);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < n; j++) sums[r][j] += w[j];
        onx_rows_put(to, (size_t)((row + r) * all + at), n, sums[r]);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_rows *to = user;
    const onx_operand *x = call->in[0];
    int64_t width = x->dims[2], all = call->in[1]->dims[1], row = (int64_t)index * ROWS;
    int64_t rows = x->dims[0] * x->dims[1] - row;
    onx_rows from = all_of(x);
    if (rows > ROWS) rows = ROWS;
    onx_rows_get(&from, (size_t)(row * width), rows * width, scratch);
    for (int64_t at = 0; at < all; at += COLUMNS) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        project(call, scratch, row, rows, at, to);
    }
    return ONX_OK;
}

/* Halves of past or present. */
static void get_halves(const onx_operand *x, int64_t heads, onx_rows *k, onx_rows *v) {
    const int64_t *d = x->dims;
    onx_dtype dtype = (onx_dtype)x->dtype;
    *k = *v = onx_rows_in(x->data, dtype, heads, d[3], d[4]);
    v->data += x->bytes / 2;
}

onx_status onx_ms_attention_run(onx_call *call) {
    const onx_ms_plan *p = call->plan;
    const onx_ms_state *st = call->state;
    const onx_operand *past = onx_call_in(call, 4);
    int64_t all = call->in[1]->dims[1];
    onx_dtype dtype = (onx_dtype)call->in[0]->dtype;
    size_t size = onx_dtype_bits(dtype) / 8, width = (size_t)(p->head * st->heads);
    onx_rows made = {.data = call->scratch, .dtype = dtype, .row = (size_t)all};
    made.batch = (size_t)p->q_len * made.row;
    made.head = (size_t)p->head;
    onx_ms_rows r = {.q = made, .k = {made, made}, .v = {made, made}};
    if (all && p->batch && p->q_len) {
        int64_t rows = p->batch * p->q_len;
        r.k[1].data += width * size;
        r.v[1].data += 2 * width * size;
        r.v[1].head = (size_t)p->v_head;
        ONX_TRY(onx_call_parallel(call, (size_t)((rows - 1) / ROWS + 1), task, &made));
    }
    if (past) get_halves(past, st->heads, &r.k[0], &r.v[0]);
    if (call->n_out > 1 && call->out[1] && call->out[1]->count)
        get_halves(call->out[1], st->heads, &r.present_k, &r.present_v);
    return onx_ms_heads_run(call, &r);
}
