/* attention_ref.c: Attention: plain kernel, all versions and types, by attend_ref.h. Scores and
 * chances are rounded to the type of Q, as in the body of the operator. And the rows of the
 * family. */
#include "ops/attention/fused_ref.h"
#include "ops/attention/linear_ref.h"
#include "ops/attention/rotary_ref.h"
#include "ops/attention/rotate_ref.h"

#include <math.h>

typedef struct state {
    int64_t q_heads, kv_heads; /* of inputs of rank 3 */
    int64_t mode, left, right; /* left, right: of the window; -1: no end */
    float scale, cap;
    bool scaled; /* there is a scale */
    onx_dtype soft;
    const onx_attend_vectors *vectors; /* of the tier; NULL: none */
} state;

typedef struct plan {
    int64_t batch, q_heads, kv_heads, q_len, kv_len, past, keys, head, v_head;
    size_t mask[4]; /* steps of attn_mask for batch, head, row and key */
    int64_t masked; /* keys that it knows of */
} plan;
_Static_assert(sizeof(plan) <= ONX_ATTENTION_PLAN, "ONX_ATTENTION_PLAN is too small");

static const int64_t far_away = INT64_MAX / 8;

static int64_t near(int64_t place) {
    return place > far_away ? far_away : place < -far_away ? -far_away : place;
}

onx_status onx_attention_init(onx_call *call, const onx_attend_vectors *vectors) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->vectors = vectors;
    int64_t soft = onx_call_int(call, "softmax_precision");
    st->q_heads = onx_call_int(call, "q_num_heads");
    st->kv_heads = onx_call_int(call, "kv_num_heads");
    st->mode = onx_call_int(call, "qk_matmul_output_mode");
    st->scaled = onx_op_has(call->node, "scale");
    st->scale = onx_call_float(call, "scale");
    st->cap = onx_call_float(call, "softcap");
    st->left = st->right = -1;
    if (call->op->since >= 25) {
        st->left = near(onx_call_int(call, "left_window_size"));
        st->right = near(onx_call_int(call, "right_window_size"));
    }
    if (st->left < -1 || st->right < -1)
        return onx_call_fail(call, ONX_INVALID, "the size of a window is below -1");
    if (onx_call_int(call, "is_causal") == 1) st->right = 0;
    bool given = onx_op_has(call->node, "softmax_precision");
    if (given && (soft < 0 || soft >= 32 || !(ONX_T_FLOATS >> soft & 1)))
        return onx_call_fail(call, ONX_INVALID, "softmax_precision, %lld, is not a type of floats",
                             (long long)soft);
    st->soft = given ? (onx_dtype)soft : ONX_DTYPE_NONE;
    return onx_attend_types(call, 2, (uint32_t[]){ONX_T_FLOATS, ONX_T(I64)});
}

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status bind_flat(const onx_call *call, plan *p) {
    const state *st = call->state;
    const int64_t *q = call->in[0]->dims, *k = call->in[1]->dims, *v = call->in[2]->dims;
    p->q_heads = st->q_heads;
    p->kv_heads = st->kv_heads;
    if (p->q_heads < 1 || p->kv_heads < 1)
        return onx_call_fail(call, ONX_INVALID,
                             "inputs of rank 3 need q_num_heads and kv_num_heads of at least 1");
    if (q[2] % p->q_heads || k[2] % p->kv_heads || v[2] % p->kv_heads)
        return onx_call_fail(call, ONX_INVALID,
                             "the last sizes %lld, %lld and %lld are not multiples of the numbers "
                             "of heads, %lld and %lld",
                             (long long)q[2], (long long)k[2], (long long)v[2],
                             (long long)p->q_heads, (long long)p->kv_heads);
    p->q_len = q[1], p->kv_len = k[1], p->head = q[2] / p->q_heads, p->v_head = v[2] / p->kv_heads;
    bool agree = k[0] == q[0] && v[0] == q[0] && v[1] == k[1] && k[2] / p->kv_heads == p->head;
    return agree ? ONX_OK : onx_call_fail(call, ONX_INVALID, "the sizes of Q, K and V disagree");
}

static onx_status bind_heads(const onx_call *call, plan *p) {
    const int64_t *q = call->in[0]->dims, *k = call->in[1]->dims, *v = call->in[2]->dims;
    p->q_heads = q[1], p->q_len = q[2], p->head = q[3];
    p->kv_heads = k[1], p->kv_len = k[2], p->v_head = v[3];
    bool agree = k[0] == q[0] && v[0] == q[0] && v[1] == k[1] && v[2] == k[2] && k[3] == p->head;
    return agree ? ONX_OK : onx_call_fail(call, ONX_INVALID, "the sizes of Q, K and V disagree");
}

static bool has_dims(const onx_operand *x, int64_t a, int64_t b, int64_t c, int64_t d) {
    return x->rank == 4 && x->dims[0] == a && x->dims[1] == b && x->dims[2] == c && x->dims[3] == d;
}

static onx_status bind_past(const onx_call *call, plan *p) {
    const onx_operand *k = onx_call_in(call, 4), *v = onx_call_in(call, 5);
    const onx_operand *valid = onx_call_in(call, 6);
    if (!k != !v)
        return onx_call_fail(call, ONX_INVALID,
                             "past_key and past_value go together: give both or none");
    if (valid && k)
        return onx_call_fail(call, ONX_INVALID,
                             "nonpad_kv_seqlen means a cache outside: there can be no past");
    if (valid && (valid->rank != 1 || valid->dims[0] != p->batch))
        return onx_call_fail(call, ONX_INVALID, "nonpad_kv_seqlen needs one number for each batch");
    p->past = k && k->rank == 4 ? k->dims[2] : 0;
    if (k && (!has_dims(k, p->batch, p->kv_heads, p->past, p->head) ||
              !has_dims(v, p->batch, p->kv_heads, p->past, p->v_head)))
        return onx_call_fail(call, ONX_INVALID, "the sizes of the past are not those of K and V");
    if (!onx_add_i64(p->past, p->kv_len, &p->keys))
        return onx_call_fail(call, ONX_LIMIT, "there are too many keys");
    return ONX_OK;
}

/* The mask broadcasts to the scores; from version 24 on, it may know of fewer keys. */
static onx_status bind_mask(const onx_call *call, plan *p) {
    const onx_operand *mask = onx_call_in(call, 3);
    const int64_t scores[] = {p->batch, p->q_heads, p->q_len, p->keys};
    size_t step = 1;
    p->masked = p->keys;
    if (!mask) return ONX_OK;
    if (mask->rank > 4)
        return onx_call_fail(call, ONX_INVALID, "attn_mask has %u dimensions; the scores have 4",
                             (unsigned)mask->rank);
    bool shorter = call->op->since >= 24 && mask->rank && mask->dims[mask->rank - 1] <= p->keys;
    if (shorter) p->masked = mask->dims[mask->rank - 1];
    for (size_t d = 4; d-- > 0;) {
        int64_t size = d + mask->rank < 4 ? 1 : mask->dims[d + mask->rank - 4];
        bool same = size == scores[d] || (d == 3 && shorter);
        if (!same && size != 1)
            return onx_call_fail(call, ONX_INVALID,
                                 "attn_mask does not broadcast to the scores: it has %lld where "
                                 "they have %lld",
                                 (long long)size, (long long)scores[d]);
        p->mask[d] = same ? step : 0;
        step *= (size_t)size;
    }
    return ONX_OK;
}

static onx_status bind_outputs(onx_call *call, const plan *p) {
    onx_dtype q = (onx_dtype)call->in[0]->dtype, v = (onx_dtype)call->in[2]->dtype;
    const int64_t dims[4][4] = {{p->batch, p->q_heads, p->q_len, p->v_head},
                                {p->batch, p->kv_heads, p->keys, p->head},
                                {p->batch, p->kv_heads, p->keys, p->v_head},
                                {p->batch, p->q_heads, p->q_len, p->keys}};
    for (size_t i = call->in[0]->rank == 3; i < 4 && i < call->n_out; i++)
        if (call->out[i]) ONX_TRY(onx_call_shape(call, i, i == 2 ? v : q, 4, dims[i]));
    if (call->in[0]->rank == 4) return ONX_OK;
    int64_t flat[3] = {p->batch, p->q_len};
    if (!onx_mul_i64(p->q_heads, p->v_head, &flat[2]))
        return onx_call_fail(call, ONX_LIMIT, "output 0 is too large for this machine");
    return onx_call_shape(call, 0, q, 3, flat);
}

onx_status onx_attention_bind(onx_call *call) {
    plan *p = call->plan;
    const onx_operand *q = call->in[0];
    if ((q->rank != 3 && q->rank != 4) || call->in[1]->rank != q->rank ||
        call->in[2]->rank != q->rank)
        return onx_call_fail(call, ONX_INVALID, "Q, K and V need 3 or 4 dimensions, all as many");
    *p = (plan){.batch = q->dims[0]};
    ONX_TRY(q->rank == 3 ? bind_flat(call, p) : bind_heads(call, p));
    if (p->kv_heads < 1 ? p->q_heads != p->kv_heads : p->q_heads % p->kv_heads != 0)
        return onx_call_fail(call, ONX_INVALID,
                             "%lld query heads cannot share %lld heads of key and value evenly",
                             (long long)p->q_heads, (long long)p->kv_heads);
    ONX_TRY(bind_past(call, p));
    ONX_TRY(bind_mask(call, p));
    ONX_TRY(bind_outputs(call, p));
    if (!p->batch || !p->q_heads || !p->q_len) return ONX_OK;
    return onx_attend_scratch(call, p->q_len, p->keys, p->head, p->v_head);
}

/* ─ Masks and places ─────────────────────────────────────────────────────────────────────────── */

/* Adds attn_mask; false: it hides every key. */
static bool add_mask(const onx_attend *of, int64_t b, int64_t h, int64_t s, onx_seen seen,
                     double *scores) {
    const plan *p = of->more;
    const onx_operand *mask = onx_call_in(of->call, 3);
    bool is_bool = mask->dtype == ONX_DTYPE_BOOL, sees = false;
    onx_rows rows = {.data = mask->data, .dtype = (onx_dtype)mask->dtype};
    size_t at = (size_t)b * p->mask[0] + (size_t)h * p->mask[1] + (size_t)s * p->mask[2];
    double some[64];
    for (int64_t j = 0; j < of->keys; j += 64) {
        int64_t n = of->keys - j < 64 ? of->keys - j : 64, known = p->masked - j;
        known = known < 0 ? 0 : known > n ? n : known;
        if (p->mask[3]) onx_rows_get(&rows, at + (size_t)j, known, some);
        for (int64_t i = 0; i < known && !p->mask[3]; i++) onx_rows_get(&rows, at, 1, some + i);
        for (int64_t i = 0; i < known && is_bool; i++) some[i] = some[i] != 0 ? 0 : -INFINITY;
        onx_dtype_round(of->stage, some, known);
        for (int64_t i = known; i < n; i++) some[i] = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            bool here = j + i >= seen.first && j + i < seen.end;
            scores[j + i] += some[i];
            sees |= here && !(some[i] == -INFINITY);
        }
    }
    return sees;
}

static onx_seen hide(const onx_attend *of, int64_t b, int64_t h, int64_t s, int64_t keys,
                     double *scores) {
    const state *st = of->call->state;
    const onx_operand *valid = onx_call_in(of->call, 6);
    onx_seen seen = {0, keys};
    int64_t place = s + of->past, end = valid ? near(onx_operand_int(valid, b)) : keys;
    if (valid) place = s + end - of->q_len;
    if (st->left >= 0 && place - st->left > seen.first) seen.first = place - st->left;
    if (st->right >= 0 && place + st->right < end) end = place + st->right + 1;
    if (end < keys) seen.end = end;
    if (seen.end <= seen.first) seen = (onx_seen){0, 0};
    if (!scores) return seen;
    bool sees = !onx_call_in(of->call, 3) || add_mask(of, b, h, s, seen, scores);
    for (int64_t j = 0; j < keys; j++)
        if (j < seen.first || j >= seen.end) scores[j] += -INFINITY;
    return sees ? seen : (onx_seen){0, 0};
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

static double rounded(onx_dtype dtype, float x) {
    double wide = (double)x;
    onx_dtype_round(dtype, &wide, 1);
    return wide;
}

/* The root of the scale, in float as the body of the function has it; but for double. */
static double root_of(onx_dtype dtype, const state *st, int64_t head) {
    if (dtype == ONX_DTYPE_F64)
        return sqrt(st->scaled ? (double)st->scale : 1 / sqrt((double)head));
    return rounded(dtype, sqrtf(st->scaled ? st->scale : 1.0f / sqrtf((float)head)));
}

/* The present: the past, then what is new. */
static onx_status keep(onx_call *call, size_t index, const onx_rows parts[2], int64_t size) {
    const plan *p = call->plan;
    onx_operand *out = index < call->n_out ? call->out[index] : NULL;
    if (!out || !out->count) return ONX_OK;
    onx_rows to = onx_rows_of(out, p->kv_heads);
    if (p->past)
        ONX_TRY(onx_rows_copy(call, &parts[0], &to, 0, p->batch, p->kv_heads, p->past, size));
    return onx_rows_copy(call, &parts[1], &to, p->past, p->batch, p->kv_heads, p->kv_len, size);
}

onx_status onx_attention_run(onx_call *call) {
    const plan *p = call->plan;
    const state *st = call->state;
    onx_dtype dtype = (onx_dtype)call->in[0]->dtype;
    onx_attend of = {.call = call, .batch = p->batch, .q_heads = p->q_heads};
    of.kv_heads = p->kv_heads, of.q_len = p->q_len, of.head = p->head, of.v_head = p->v_head;
    of.past = p->past, of.keys = p->keys;
    of.stage = dtype;
    of.soft = st->soft ? st->soft : dtype;
    of.root = root_of(dtype, st, p->head);
    of.scale = 1;
    of.cap = rounded(dtype, st->cap);
    of.q = onx_rows_of(call->in[0], p->q_heads);
    of.y = onx_rows_of(call->out[0], p->q_heads);
    for (size_t i = 0; i < 2; i++) {
        onx_rows *parts = i ? of.v : of.k;
        parts[1] = onx_rows_of(call->in[1 + i], p->kv_heads);
        if (p->past) parts[0] = onx_rows_of(call->in[4 + i], p->kv_heads);
        ONX_TRY(keep(call, 1 + i, parts, i ? p->v_head : p->head));
    }
    of.bias = hide;
    of.hides = !onx_call_in(call, 3);
    of.shown = call->n_out > 3 ? call->out[3] : NULL;
    of.show = st->mode >= 0 && st->mode < 4 ? st->mode : 0;
    of.more = p;
    of.vectors = st->vectors;
    return onx_attend_run(call, &of, p->keys);
}

static onx_status init(onx_call *call) {
    return onx_attention_init(call, NULL);
}

#define MASK (ONX_T_NUMBERS | ONX_T(BOOL))

#define F32 (ONX_T(F32) | ONX_T(F16) | ONX_T(BF16))

extern onx_kernel_rows onx_kernels_attention_ref;
onx_kernel_rows onx_kernels_attention_ref = {
    {.op = "Attend",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32), ONX_T(F32) | ONX_T(BOOL)},
     .name = "attend",
     .plan_bytes = sizeof(onx_fused_plan),
     .domain = "onx.internal",
     .init = onx_fused_init,
     .bind = onx_fused_bind_plain,
     .run = onx_fused_run},
    {.op = "Attention",
     .first = 23,
     .types = {ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, MASK, ONX_T_FLOATS, 0},
     .name = "attention",
     .plan_bytes = sizeof(plan),
     .init = init,
     .bind = onx_attention_bind,
     .run = onx_attention_run},
    {.op = "CausalConvWithState",
     .first = 27,
     .types = {F32, F32, F32, F32},
     .name = "causal_conv",
     .init = onx_causal_conv_init,
     .bind = onx_causal_conv_bind,
     .run = onx_causal_conv_run},
    {.op = "LinearAttention",
     .first = 27,
     .types = {F32, F32, F32, F32, F32, F32},
     .name = "linear_attention",
     .plan_bytes = sizeof(onx_linear_plan),
     .init = onx_linear_init,
     .bind = onx_linear_bind,
     .run = onx_linear_run},
    {.op = "Rotate",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32)},
     .name = "rotate",
     .plan_bytes = sizeof(onx_rotate_plan),
     .domain = "onx.internal",
     .init = onx_rotate_init,
     .bind = onx_rotate_bind,
     .run = onx_rotate_run},
    {.op = "RotaryEmbedding",
     .first = 23,
     .types = {F32, F32, F32, ONX_T(I64)},
     .name = "rotary",
     .overwrite = 1,
     .plan_bytes = sizeof(onx_rotary_plan),
     .init = onx_rotary_init,
     .bind = onx_rotary_bind,
     .run = onx_rotary_run_rows},
    {0},
};
