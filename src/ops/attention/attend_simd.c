/* attend_simd.c: onx.internal::Attend of floats, without a matrix of scores.
 *
 * A unit is LANES rows of one head. Everything about a row is in one lane: scores lie as
 * [key][lane], chances over them and sums need no step across lanes, and are the second factor of
 * the product with the values.
 *
 *     Qᵀ [head][lane]                    packed once
 *     for each KEYS keys
 *       S [key][lane] = K Qᵀ             K is read where it lies, element by element
 *       S = exp(S + biases - largest)    what was summed up before shrinks when that grows
 *       Yᵀ [column][lane] += Vᵀ S        V, too
 *     Y = Yᵀ / sum
 *
 * One row alone, of which all lanes but one would be idle, goes along the columns instead. Sums go
 * over keys in order, so results do not depend on threads. Biases are brought into the order of the
 * scores first, once for all heads and batches that share them. */
#include "cpu/shares.h"
#include "cpu/turn.h"
#include "ops/attention/attend_product_simd.h"
#include "ops/attention/attend_ref.h"
#include "ops/attention/rotate_ref.h"

enum {
    TASK_PRODUCTS = 1 << 20, /* of numbers; small units go together into one task */
    OTHER_ROWS = 16,         /* below, packing K and V for another tier costs too much */
};

/* ─ Chances ──────────────────────────────────────────────────────────────────────────────────── */

static void add_biases(const onx_attend_block *k, float *s, size_t n, int nv) {
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        const float *bias = k->bias[i];
        int64_t mode = k->j->bias[i].mode;
        for (size_t key = 0; bias && key < n; key++, bias += k->lanes[i])
            for (int v = 0; v < nv; v++) {
                float *at = s + key * LANES + v * VF;
                vf x = k->lanes[i] > 1 ? vf_load(bias + v * VF) : vf_set(*bias);
                vf_store(at, with_bias(vf_load(at), x, mode));
            }
    }
}

/* Keys that rows do not see: `seen` of the first row, each next one sees one more. */
static void hide(float *s, size_t n, int64_t seen, int nv) {
    float lane[LANES];
    for (int i = 0; i < LANES; i++) lane[i] = (float)i;
    for (size_t key = seen > 0 ? (size_t)seen : 0; key < n; key++)
        for (int v = 0; v < nv; v++) {
            float *at = s + key * LANES + v * VF;
            vi hidden = vf_load(lane + v * VF) <= (float)((int64_t)key - seen);
            vf_store(at, vf_select(hidden, vf_set(-INFINITY), vf_load(at)));
        }
}

/* The running numbers of a unit. */
typedef struct running {
    vf max[NV], sum[NV];
} running;

/* Scores to powers; what the sums so far are to be multiplied by. */
static inline __attribute__((always_inline)) void advance(float *s, size_t n, int nv, running *r,
                                                          vf *factor) {
    vf even[NV], odd[NV], base[NV], sum[NV];
    for (int v = 0; v < nv; v++) even[v] = odd[v] = r->max[v];
    for (size_t key = 0; key < n; key += 2) /* the last one twice, where their number is odd */
        for (int v = 0; v < nv; v++) {
            const float *at = s + key * LANES + v * VF;
            even[v] = vf_max(vf_load(at), even[v]);
            odd[v] = vf_max(vf_load(at + (key + 1 < n ? LANES : 0)), odd[v]);
        }
    for (int v = 0; v < nv; v++) {
        vf most = vf_max(even[v], odd[v]);
        base[v] = vf_select(most == -INFINITY, vf_zero(), most);
        factor[v] = exp_below(r->max[v] - base[v]);
        r->max[v] = most;
        sum[v] = vf_zero();
    }
    for (size_t key = 0; key < n; key++)
        for (int v = 0; v < nv; v++) {
            float *at = s + key * LANES + v * VF;
            vf x = exp_below(vf_load(at) - base[v]);
            sum[v] += x;
            vf_store(at, x);
        }
    for (int v = 0; v < nv; v++) r->sum[v] = vf_fma(r->sum[v], factor[v], sum[v]);
}

static void shrink(float *y, size_t n, int nv, const vf *factor) {
    bool any = false;
    for (int v = 0; v < nv; v++) any = any || vf_any(factor[v] != 1.0f);
    for (size_t i = 0; any && i < n; i++)
        for (int v = 0; v < nv; v++)
            vf_store(y + i * LANES + v * VF, vf_load(y + i * LANES + v * VF) * factor[v]);
}

/* ─ A unit ───────────────────────────────────────────────────────────────────────────────────── */

/* Qᵀ, scaled; lanes beyond the rows are 0. */
static void pack_q(const onx_attend_job *j, const float *q, size_t rows, size_t width, float *to) {
    const onx_strides *s = &j->plan->p.q;
    size_t row = s->dims[ONX_VIEW_ROW].fast, col = s->dims[ONX_VIEW_COL].fast;
    size_t head = (size_t)j->plan->p.head;
    if (col == 1 && rows == width)
        onx_turn(to, LANES, q, row, rows, head);
    else
        for (size_t l = 0; l < head; l++)
            for (size_t i = 0; i < width; i++)
                to[l * LANES + i] = i < rows ? load(q + i * row + l * col) : 0;
    for (size_t l = 0; l < head; l++)
        for (size_t i = 0; i < width; i += VF) {
            float *at = to + l * LANES + i;
            vf_store(at, vf_load(at) * j->state->scale);
        }
}

/* Y from Yᵀ and the sums. */
static void finish(const onx_attend_job *j, float *turned, const running *r, size_t rows, int nv,
                   float *y) {
    const onx_strides *s = &j->plan->p.y;
    size_t row = s->dims[ONX_VIEW_ROW].fast, col = s->dims[ONX_VIEW_COL].fast;
    size_t n = (size_t)j->plan->p.v_head;
    for (int v = 0; v < nv; v++) {
        vf inverse = 1.0f / r->sum[v];
        vi good = j->state->guard == 1   ? r->sum[v] > 0.0f
                  : j->state->guard == 2 ? r->sum[v] != 0.0f
                                         : vi_set(-1);
        for (size_t i = 0; i < n; i++) {
            float *at = turned + i * LANES + v * VF;
            vf_store(at, vf_select(good, vf_load(at) * inverse, vf_zero()));
        }
    }
    if (col == 1)
        onx_turn(y, row, turned, LANES, n, rows);
    else
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < rows; k++)
                memcpy(y + k * row + i * col, turned + i * LANES + k, sizeof *y);
}

/* Scores of a block of keys, changed by the biases; `seen` by the first row. */
static void change_scores(const onx_attend_job *j, const onx_attend_unit *u, int64_t first,
                          int64_t key, size_t n, int64_t seen, int nv) {
    onx_attend_block at_key = bias_of(j, u->batch, u->head, key, first);
    add_biases(&at_key, u->s, n, nv);
    if (key + (int64_t)n > seen) hide(u->s, n, seen - key, nv);
}

static void run_keys(const onx_attend_job *j, const onx_attend_unit *u, int64_t first, int64_t end,
                     int64_t seen, int nv, running *r) {
    const onx_fused_plan *p = u->p;
    product scores = {.depth = (size_t)p->head, .b = u->q, .c = u->s};
    scores.row = p->k.dims[ONX_VIEW_ROW].fast;
    scores.col = p->k.dims[ONX_VIEW_COL].fast;
    product values = {.rows = (size_t)p->v_head, .b = u->s, .c = u->y, .add = true};
    values.row = p->v.dims[ONX_VIEW_COL].fast;
    values.col = p->v.dims[ONX_VIEW_ROW].fast;
    const float *k = j->k + onx_strides_head(&p->k, u->batch, u->head);
    const float *v = j->v + onx_strides_head(&p->v, u->batch, u->head);
    for (int64_t key = 0; key < end; key += KEYS) {
        size_t n = least(KEYS, (size_t)(end - key));
        vf factor[NV];
        scores.rows = values.depth = n;
        scores.a = k + (size_t)key * scores.row;
        values.a = v + (size_t)key * values.col;
        multiply(scores, nv);
        change_scores(j, u, first, key, n, seen, nv);
        if (nv == NV)
            advance(u->s, n, NV, r, factor);
        else
            advance(u->s, n, 1, r, factor);
        shrink(u->y, (size_t)p->v_head, nv, factor);
        multiply(values, nv);
    }
}

static void run_keys_other(const onx_attend_job *j, const onx_attend_unit *u, int64_t first,
                           int64_t end, int64_t seen) {
    j->other->begin(u);
    for (int64_t key = 0; key < end; key += ONX_ATTEND_OTHER_KEYS) {
        size_t n = least(ONX_ATTEND_OTHER_KEYS, (size_t)(end - key));
        j->other->scores(u, key, n);
        change_scores(j, u, first, key, n, seen, NV);
        j->other->values(u, key, n);
    }
    j->other->end();
}

static void run_unit(const onx_attend_job *j, int64_t b, int64_t h, int64_t first, float *scratch) {
    const onx_fused_plan *p = &j->plan->p;
    size_t rows = least(LANES, (size_t)(p->rows - first));
    int nv = rows > VF || j->other ? NV : 1;
    float *q = scratch, *y = q + p->head * LANES, *s = y + p->v_head * LANES;
    running r = {0};
    for (int v = 0; v < NV; v++) r.max[v] = vf_set(-INFINITY);
    size_t at = onx_strides_head(&p->q, b, h) + onx_strides_at(&p->q, ONX_VIEW_ROW, first);
    pack_q(j, j->q + at, rows, (size_t)nv * VF, q);
    int64_t past = j->state->causal == 2 ? p->keys - p->rows : 0;
    int64_t seen = j->state->causal ? first + 1 + past : p->keys; /* of the first row */
    int64_t end = onx_fused_seen(p, j->state, first + (int64_t)rows - 1);
    memset(y, 0, (size_t)p->v_head * LANES * sizeof *y);
    onx_attend_unit u = {p, b, h, q, s, y, (float *)r.sum, (float *)r.max, j->shared, NULL};
    u.own = (char *)scratch + j->plan->other_each;
    if (j->other)
        run_keys_other(j, &u, first, end, seen);
    else
        run_keys(j, &u, first, end, seen, nv, &r);
    at = onx_strides_head(&p->y, b, h) + onx_strides_at(&p->y, ONX_VIEW_ROW, first);
    finish(j, y, &r, rows, nv, j->y + at);
}

/* ─ The rows ─────────────────────────────────────────────────────────────────────────────────── */

static bool place_bias(onx_call *call, onx_attend_plan *plan, size_t i) {
    const onx_fused_bias *bias = &plan->p.bias[i];
    size_t floats, end;
    plan->bias_lanes[i] = bias->n[2] > 1 ? (size_t)plan->blocks * LANES : 1;
    plan->bias_at[i] = call->scratch_bytes / sizeof(float);
    if (!onx_mul_size((size_t)(bias->n[0] * bias->n[1]), (size_t)plan->p.keys, &floats) ||
        !onx_mul_size(floats, plan->bias_lanes[i], &floats) || !onx_add_size(floats, VF, &floats) ||
        !onx_mul_size(floats, sizeof(float), &end))
        return false;
    return onx_add_size(call->scratch_bytes, end, &call->scratch_bytes);
}

/* What the other tier needs, after what is taken already. */
static bool place_other(onx_call *call, onx_attend_plan *plan, const onx_attend_other *other) {
    size_t shared, each;
    if (!onx_add_size(call->scratch_bytes, ONX_ALIGN, &plan->other_at) ||
        !onx_add_size(call->scratch_each, ONX_ALIGN, &plan->other_each))
        return false;
    plan->other_at -= plan->other_at % ONX_ALIGN;
    plan->other_each -= plan->other_each % ONX_ALIGN;
    return other->bind(&plan->p, &shared, &each) &&
           onx_add_size(plan->other_at, shared, &call->scratch_bytes) &&
           onx_add_size(plan->other_each, each, &call->scratch_each);
}

onx_status ONX_TIER(onx_attend_bind)(onx_call *call, const onx_attend_other *other) {
    onx_attend_plan *plan = call->plan;
    ONX_TRY(onx_fused_bind(call));
    const onx_fused_plan *p = &plan->p;
    size_t width, bytes;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    plan->blocks = (p->rows - 1) / LANES + 1;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++)
        if (onx_call_in(call, 3 + i) && !place_bias(call, plan, i))
            return onx_fail_nomem(call->diag);
    if (!onx_add_size((size_t)p->head, (size_t)p->v_head, &width) ||
        !onx_add_size(width, other ? ONX_ATTEND_OTHER_KEYS : KEYS, &width) ||
        !onx_mul_size(width, LANES * sizeof(float), &bytes))
        return onx_fail_nomem(call->diag);
    call->scratch_each = bytes;
    double products = (double)(p->head + p->v_head) * (double)p->keys *
                      (p->rows == 1 ? 1 : (double)least(LANES, (size_t)p->rows));
    plan->units = 1 + (size_t)(TASK_PRODUCTS / (products + 1));
    plan->ahead = 0;
    if (!other || p->rows < OTHER_ROWS) return ONX_OK;
    if (other->by_rows(p)) plan->ahead = (int64_t)onx_share_at((size_t)p->rows / LANES, 2, 1);
    return place_other(call, plan, other) ? ONX_OK : onx_fail_nomem(call->diag);
}

/* Where unit number `unit` is; those of one head follow each other, or those of its first rows. */
typedef struct place {
    int64_t batch, head, row;
} place;
static place place_of(const onx_attend_plan *plan, int64_t unit) {
    int64_t pairs = plan->p.batch * plan->p.heads, first = 0, n = plan->blocks;
    if (unit < plan->ahead * pairs) {
        n = plan->ahead;
    } else {
        unit -= plan->ahead * pairs;
        first = plan->ahead;
        n -= first;
    }
    int64_t pair = unit / n;
    return (place){pair / plan->p.heads, pair % plan->p.heads, (first + unit % n) * LANES};
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_attend_job *j = user;
    const onx_fused_plan *p = &j->plan->p;
    int64_t unit = (int64_t)(index * j->plan->units), end = unit + (int64_t)j->plan->units;
    int64_t all = p->batch * p->heads * j->plan->blocks;
    bool alone =
        p->rows == 1 && p->k.dims[ONX_VIEW_COL].fast <= 1 && p->v.dims[ONX_VIEW_COL].fast <= 1;
    for (; unit < end && unit < all; unit++) {
        place at = place_of(j->plan, unit);
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        if (alone)
            ONX_TIER(onx_attend_row)(j, at.batch, at.head, scratch);
        else
            run_unit(j, at.batch, at.head, at.row, scratch);
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_attend_run)(onx_call *call, const onx_attend_other *other) {
    const onx_attend_plan *plan = call->plan;
    const onx_fused_plan *p = &plan->p;
    onx_operand *y = call->out[0];
    if (!y->count) return ONX_OK;
    if (!p->keys) {
        memset(y->data, 0, y->bytes);
        return ONX_OK;
    }
    onx_attend_job j = {.plan = plan, .state = call->state, .y = y->data};
    j.q = call->in[0]->data;
    j.k = call->in[1]->data;
    j.v = call->in[2]->data;
    onx_fused_biases(call, j.bias);
    ONX_TRY(ONX_TIER(onx_attend_turn)(call, &j));
    if (other && p->rows >= OTHER_ROWS) {
        char *shared = (char *)call->scratch + plan->other_at;
        ONX_TRY(other->pack(call, p, shared));
        j.other = other;
        j.shared = shared;
    }
    size_t units = (size_t)(p->batch * p->heads * plan->blocks);
    return onx_call_parallel(call, (units - 1) / plan->units + 1, task, &j);
}

static onx_status bind(onx_call *call) {
    return ONX_TIER(onx_attend_bind)(call, NULL);
}
static onx_status run(onx_call *call) {
    return ONX_TIER(onx_attend_run)(call, NULL);
}

extern const onx_attend_vectors ONX_TIER(onx_attend_vectors); /* attend_rows_simd.c */
static onx_status attention_init(onx_call *call) {
    return onx_attention_init(call, &ONX_TIER(onx_attend_vectors));
}

extern onx_status ONX_TIER(onx_rotate_vectors)(onx_call *call); /* rotate_simd.c */
extern onx_kernel_rows ONX_TIER(onx_kernels_attention);
onx_kernel_rows ONX_TIER(onx_kernels_attention) = {
    {.op = "Attend",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32), ONX_T(F32) | ONX_T(BOOL)},
     .name = "attend_f32",
     .plan_bytes = sizeof(onx_attend_plan),
     .domain = "onx.internal",
     .init = onx_fused_init,
     .bind = bind,
     .run = run},
    {.op = "Attention",
     .first = 23,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32), ONX_T_NUMBERS | ONX_T(BOOL), ONX_T_FLOATS, 0},
     .name = "attention_f32",
     .plan_bytes = ONX_ATTENTION_PLAN,
     .init = attention_init,
     .bind = onx_attention_bind,
     .run = onx_attention_run},
    {.op = "Rotate",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32)},
     .name = "rotate_f32",
     .plan_bytes = sizeof(onx_rotate_plan),
     .domain = "onx.internal",
     .init = onx_rotate_init,
     .bind = onx_rotate_bind,
     .run = ONX_TIER(onx_rotate_vectors)},
    {0},
};
