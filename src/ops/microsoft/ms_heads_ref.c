/* ms_heads_ref.c: masks and the past of Attention and MultiHeadAttention, as ONNX Runtime has
 * them: what is hidden by a mask gets mask_filter_value added, what comes after a query the lowest
 * float. */
#include "ops/microsoft/ms_heads_ref.h"

#include <float.h>
#include <math.h>

onx_status onx_ms_heads_init(onx_call *call) {
    onx_ms_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->heads = onx_call_int(call, "num_heads");
    st->scale = onx_call_float(call, "scale");
    st->filter = -10000;
    if (onx_op_has(call->node, "mask_filter_value"))
        st->filter = onx_call_float(call, "mask_filter_value");
    st->causal = onx_call_int(call, "unidirectional") == 1;
    if (st->heads < 1)
        return onx_call_fail(call, ONX_INVALID, "num_heads is %lld; it must be at least 1",
                             (long long)st->heads);
    return ONX_OK;
}

onx_status onx_ms_heads_bind(onx_call *call, const onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *bias = onx_call_in(call, p->bias), *length = onx_call_in(call, p->length);
    bool fits =
        !bias || (bias->rank == 4 && (bias->dims[0] == p->batch || bias->dims[0] == 1) &&
                  (bias->dims[1] == st->heads || bias->dims[1] == 1) && bias->dims[2] == p->q_len);
    if (!fits)
        return onx_call_fail(call, ONX_INVALID,
                             "attention_bias does not broadcast to the scores in its first two "
                             "dimensions, or has not their others");
    if (p->shared && (!length || length->count != 1))
        return onx_call_fail(call, ONX_INVALID, "past_sequence_length needs one element");
    if (!p->batch || !p->q_len) return ONX_OK;
    return onx_attend_scratch(call, p->q_len, p->most, p->head, p->v_head);
}

/* ─ Masks ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct mask {
    const onx_operand *by;     /* NULL: none */
    bool ends, starts;         /* it says where keys end, and begin, in each batch; else: */
    size_t batch, row, before; /* steps of its elements, and the row for the first query */
    const onx_operand *bias;
} mask;

static onx_status read_mask(const onx_call *call, int64_t past, int64_t keys, mask *m) {
    const onx_ms_plan *p = call->plan;
    const onx_operand *by = onx_call_in(call, p->mask);
    m->bias = onx_call_in(call, p->bias);
    if (m->bias && m->bias->dims[3] != keys)
        return onx_call_fail(call, ONX_INVALID, "attention_bias has %lld keys; there are %lld",
                             (long long)m->bias->dims[3], (long long)keys);
    if (!by || (by->rank == 2 && by->dims[1] == 1 && keys != 1 &&
                (by->dims[0] == 1 || by->dims[0] == p->batch)))
        return ONX_OK; /* a mask of one key stands for none */
    const int64_t *d = by->dims, b = p->batch;
    m->by = by;
    m->ends = by->rank == 1 && (d[0] == b || d[0] == 2 * b || d[0] == 3 * b + 2);
    m->starts = m->ends && d[0] == 2 * b && b;
    m->batch = (size_t)keys;
    bool flat = by->rank == 2 && d[0] == b && d[1] == keys;
    bool rows = by->rank == 3 && d[0] == b && d[1] == p->q_len && d[2] == keys;
    bool square = by->rank == 4 && d[0] == b && d[1] == 1 && d[2] == d[3] && d[2] >= keys;
    if (rows || square) m->row = (size_t)d[by->rank - 1];
    if (rows || square) m->batch = (size_t)d[by->rank - 2] * m->row;
    if (square) m->before = (size_t)past;
    if (m->ends || flat || rows || square) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "a mask of that shape does not fit %lld batches, %lld "
                         "queries and %lld keys",
                         (long long)b, (long long)p->q_len, (long long)keys);
}

static bool is_hidden(const mask *m, int64_t b, int64_t s, int64_t batches, int64_t j) {
    if (m->ends && j >= onx_operand_int(m->by, b)) return true;
    if (m->starts && j < onx_operand_int(m->by, b + batches)) return true;
    if (m->ends) return false;
    size_t row = ((size_t)s + m->before) * m->row;
    return onx_operand_int(m->by, (int64_t)((size_t)b * m->batch + row) + j) <= 0;
}

static void add_bias(const onx_operand *bias, int64_t b, int64_t h, int64_t s, int64_t keys,
                     double *scores) {
    onx_rows rows = onx_rows_of(bias, 0);
    size_t at = onx_rows_at(&rows, bias->dims[0] == 1 ? 0 : b, bias->dims[1] == 1 ? 0 : h, s);
    double some[64];
    for (int64_t j = 0; j < keys; j += 64) {
        int64_t n = keys - j < 64 ? keys - j : 64;
        onx_rows_get(&rows, at + (size_t)j, n, some);
        for (int64_t i = 0; i < n; i++) scores[j + i] += some[i];
    }
}

static onx_seen hide(const onx_attend *of, int64_t b, int64_t h, int64_t s, int64_t keys,
                     double *scores) {
    const onx_ms_state *st = of->call->state;
    const mask *m = of->more;
    int64_t end = st->causal && s + 1 < of->q_len ? of->past + s + 1 : keys;
    if (!scores) return (onx_seen){0, keys};
    if (m->bias) add_bias(m->bias, b, h, s, keys, scores);
    for (int64_t j = 0; j < keys; j++) {
        if (j >= end)
            scores[j] += (double)-FLT_MAX;
        else if (m->by && is_hidden(m, b, s, of->batch, j))
            scores[j] += (double)st->filter;
    }
    return (onx_seen){0, keys};
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* The present: the past, then what is new; if they share their size, the rest stays. */
static onx_status keep(onx_call *call, const onx_rows parts[2], const onx_rows *to, int64_t past,
                       int64_t size) {
    const onx_ms_plan *p = call->plan;
    const onx_ms_state *st = call->state;
    int64_t heads = st->heads;
    if (!to->data) return ONX_OK;
    if (p->past) ONX_TRY(onx_rows_copy(call, &parts[0], to, 0, p->batch, heads, p->past, size));
    return onx_rows_copy(call, &parts[1], to, past, p->batch, heads, p->kv_len, size);
}

onx_status onx_ms_heads_past(const onx_call *call, int64_t *past) {
    const onx_ms_plan *p = call->plan;
    *past = p->past;
    if (!p->shared) return ONX_OK;
    *past = onx_operand_int(onx_call_in(call, p->length), 0);
    if (*past >= 0 && *past <= p->past - p->kv_len) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "past_sequence_length is %lld; %lld more do not fit into %lld",
                         (long long)*past, (long long)p->kv_len, (long long)p->past);
}

onx_status onx_ms_heads_run(onx_call *call, const onx_ms_rows *rows) {
    const onx_ms_plan *p = call->plan;
    const onx_ms_state *st = call->state;
    mask m = {0};
    onx_attend of = {.call = call, .batch = p->batch, .q_heads = st->heads, .kv_heads = st->heads};
    of.q_len = p->q_len, of.head = p->head, of.v_head = p->v_head;
    ONX_TRY(onx_ms_heads_past(call, &of.past));
    of.keys = of.past + p->kv_len;
    ONX_TRY(keep(call, rows->k, &rows->present_k, of.past, p->head));
    ONX_TRY(keep(call, rows->v, &rows->present_v, of.past, p->v_head));
    if (!call->out[0]->count && !rows->shown) return ONX_OK;
    ONX_TRY(read_mask(call, of.past, of.keys, &m));
    of.stage = of.soft = ONX_DTYPE_F32;
    of.root = 1;
    of.scale = (double)(st->scale != 0 ? st->scale : 1.0f / sqrtf((float)p->head));
    of.q = rows->q;
    of.y = onx_rows_of(call->out[0], st->heads);
    memcpy(of.k, rows->k, sizeof of.k);
    memcpy(of.v, rows->v, sizeof of.v);
    if (rows->beam_k.data) of.k[0] = rows->beam_k, of.v[0] = rows->beam_v;
    of.bias = hide;
    of.hides = !m.bias && !m.by && !st->causal;
    of.more = &m;
    of.shown = rows->shown;
    of.show = 2;
    of.vectors = st->vectors;
    return onx_attend_run(call, &of, p->most);
}
