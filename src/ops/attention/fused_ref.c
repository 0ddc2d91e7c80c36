/* fused_ref.c: onx.internal::Attend: attributes, views against real sizes, and the plain kernel, row
 * by row in double precision. */
#include "ops/attention/fused_ref.h"

#include <math.h>

/* ─ Attributes ───────────────────────────────────────────────────────────────────────────────── */

onx_status onx_fused_init(onx_call *call) {
    static const char *const names[] = {"q", "k", "v"};
    onx_fused_state *st = onx_call_state(call, sizeof *st);
    size_t n_modes, n_fills;
    if (!st) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < 3; i++)
        if (!onx_view_read(call->node, names[i], &st->in[i]) || st->in[i].n[ONX_VIEW_ROW] > 1 ||
            st->in[i].n[ONX_VIEW_COL] > 1)
            return onx_call_fail(call, ONX_INVALID, "view %s is not well formed", names[i]);
    const int64_t *order = onx_op_ints(call->node, "y", &st->rank);
    const int64_t *modes = onx_op_ints(call->node, "modes", &n_modes);
    const float *fills = onx_op_floats(call->node, "fills", &n_fills);
    bool fits = st->rank >= 1 && st->rank <= ONX_VIEW_DIMS && n_modes == n_fills &&
                n_modes <= ONX_ATTEND_BIASES && n_modes + 3 >= call->n_in;
    for (size_t i = 0; fits && i < st->rank; i++) {
        fits = order[i] >= 0 && order[i] < ONX_VIEW_DIMS;
        st->order[i] = order[i];
    }
    for (size_t i = 0; fits && i < n_modes; i++) {
        fits = modes[i] >= ONX_ATTEND_ADD && modes[i] <= ONX_ATTEND_FILL_FALSE;
        st->mode[i] = modes[i];
        st->fill[i] = fills[i];
    }
    if (!fits) return onx_call_fail(call, ONX_INVALID, "its attributes are not well formed");
    st->scale = onx_call_float(call, "scale");
    st->causal = onx_call_int(call, "causal");
    st->guard = onx_call_int(call, "guard") != 0;
    return ONX_OK;
}

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

/* The walks stay inside the tensor, also together; an empty view goes nowhere. */
static bool bind_view(const onx_view *view, const onx_operand *x, onx_strides *out) {
    size_t stride[ONX_VIEW_AXES], size = 1;
    int64_t last[ONX_VIEW_AXES], reach;
    if (x->rank > ONX_VIEW_AXES) return false;
    *out = (onx_strides){0};
    for (size_t a = x->rank; a-- > 0;) {
        stride[a] = x->count ? size : 0;
        if (x->count) size *= (size_t)x->dims[a];
        last[a] = view->start[a];
        out->start += (size_t)view->start[a] * stride[a];
    }
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
        out->dims[d].n = out->dims[d].inner = 1;
        for (size_t i = 0; i < view->n[d]; i++) {
            const onx_view_walk *walk = &view->walks[d][i];
            if ((size_t)walk->axis >= x->rank) return false;
            int64_t n = walk->size < 0 ? x->dims[walk->axis] : walk->size;
            if (!onx_mul_i64(out->dims[d].n, n, &out->dims[d].n)) return false;
            if (n > 0 && (!onx_mul_i64(n - 1, walk->step, &reach) ||
                          !onx_add_i64(last[walk->axis], reach, &last[walk->axis])))
                return false;
            if (i == 0) out->dims[d].slow = stride[walk->axis] * (size_t)walk->step;
            if (i == view->n[d] - 1) {
                out->dims[d].fast = stride[walk->axis] * (size_t)walk->step;
                out->dims[d].inner = n > 0 ? n : 1;
            }
        }
    }
    for (size_t a = 0; a < x->rank; a++)
        if (x->count && last[a] >= x->dims[a]) return false;
    return true;
}

/* Y is dense in the order of its dimensions; those that it does not have are 1. */
static onx_status bind_y(onx_call *call, const onx_fused_state *st, onx_fused_plan *p) {
    const int64_t sizes[] = {p->batch, p->heads, p->rows, p->v_head};
    int64_t dims[ONX_VIEW_DIMS];
    bool there[ONX_VIEW_DIMS] = {false};
    size_t stride = 1;
    for (size_t i = 0; i < st->rank; i++) dims[i] = sizes[st->order[i]];
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_F32, st->rank, dims));
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) p->y.dims[d].n = p->y.dims[d].inner = 1;
    for (size_t i = st->rank; i-- > 0;) {
        size_t d = (size_t)st->order[i];
        if (there[d]) return onx_call_fail(call, ONX_INVALID, "Y has a dimension twice");
        there[d] = true;
        p->y.dims[d].n = sizes[d];
        p->y.dims[d].inner = sizes[d] > 0 ? sizes[d] : 1;
        p->y.dims[d].slow = p->y.dims[d].fast = stride;
        if (call->out[0] && call->out[0]->count) stride *= (size_t)sizes[d];
    }
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++)
        if (!there[d] && sizes[d] != 1)
            return onx_call_fail(call, ONX_INVALID, "Y lacks a dimension");
    return ONX_OK;
}

static bool bind_bias(const onx_operand *x, const onx_fused_plan *p, onx_fused_bias *out) {
    const int64_t most[] = {p->batch, p->heads, p->rows, p->keys};
    size_t rank = x->rank, skip = rank == 5;
    if (rank > 5 || (skip && x->dims[0] != 1)) return false;
    for (size_t d = 0; d < 4; d++) {
        out->n[d] = d + rank - skip >= 4 ? x->dims[d + rank - 4] : 1;
        bool repeats = skip && d == 0 && out->n[0] > 0 && p->batch % out->n[0] == 0;
        if (out->n[d] != 1 && out->n[d] != most[d] && !repeats) return false;
    }
    return true;
}

onx_status onx_fused_bind(onx_call *call) {
    const onx_fused_state *st = call->state;
    onx_fused_plan *p = call->plan;
    onx_strides *views[] = {&p->q, &p->k, &p->v};
    for (size_t i = 0; i < 3; i++)
        if (!bind_view(&st->in[i], call->in[i], views[i]))
            return onx_call_fail(call, ONX_INVALID, "input %zu does not fit its view", i);
    p->batch = p->q.dims[ONX_VIEW_BATCH].n;
    p->heads = p->q.dims[ONX_VIEW_HEAD].n;
    p->rows = p->q.dims[ONX_VIEW_ROW].n;
    p->keys = p->k.dims[ONX_VIEW_ROW].n;
    p->head = p->q.dims[ONX_VIEW_COL].n;
    p->v_head = p->v.dims[ONX_VIEW_COL].n;
    bool fits = p->k.dims[ONX_VIEW_COL].n == p->head && p->v.dims[ONX_VIEW_ROW].n == p->keys;
    for (size_t i = 1; i < 3; i++)
        for (size_t d = ONX_VIEW_BATCH; d <= ONX_VIEW_HEAD; d++) {
            int64_t n = views[i]->dims[d].n, most = p->q.dims[d].n;
            fits = fits && (n == most || n == 1);
            if (n != 1) continue;
            views[i]->dims[d].slow = views[i]->dims[d].fast = 0;
            views[i]->dims[d].inner = 1;
        }
    if (!fits) return onx_call_fail(call, ONX_INVALID, "Q, K and V do not fit together");
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        const onx_operand *x = onx_call_in(call, 3 + i);
        p->bias[i].mode = st->mode[i];
        p->bias[i].fill = st->fill[i];
        if (x && (x->dtype == ONX_DTYPE_BOOL) != (st->mode[i] != ONX_ATTEND_ADD))
            return onx_call_fail(call, ONX_INVALID, "input %zu is of another type", 3 + i);
        if (x && !bind_bias(x, p, &p->bias[i]))
            return onx_call_fail(call, ONX_INVALID, "input %zu does not broadcast", 3 + i);
    }
    return bind_y(call, st, p);
}

/* ─ Biases ───────────────────────────────────────────────────────────────────────────────────── */

void onx_fused_biases(const onx_call *call, onx_fused_bias out[ONX_ATTEND_BIASES]) {
    const onx_fused_plan *p = call->plan;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        out[i] = p->bias[i];
        out[i].operand = onx_call_in(call, 3 + i);
    }
}

float onx_fused_bias_at(const onx_fused_bias *bias, int64_t batch, int64_t head, int64_t row,
                        int64_t key) {
    const int64_t at[] = {batch, head, row, key};
    int64_t index = 0;
    float x;
    for (size_t d = 0; d < 4; d++) index = index * bias->n[d] + at[d] % bias->n[d];
    if (bias->mode != ONX_ATTEND_ADD) {
        bool is = ((const uint8_t *)bias->operand->data)[index] != 0;
        return is == (bias->mode == ONX_ATTEND_FILL_TRUE) ? bias->fill : 0;
    }
    memcpy(&x, (const char *)bias->operand->data + (size_t)index * sizeof x, sizeof x);
    return x;
}

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

static double element(const onx_operand *x, size_t at) {
    float value;
    memcpy(&value, (const char *)x->data + at * sizeof value, sizeof value);
    return (double)value;
}

/* A row of the matrix of a head. */
static size_t row_at(const onx_strides *s, int64_t batch, int64_t head, int64_t row) {
    return onx_strides_head(s, batch, head) + onx_strides_at(s, ONX_VIEW_ROW, row);
}

static double score(const onx_call *call, const onx_fused_bias *biases, int64_t b, int64_t h,
                    int64_t s, int64_t j) {
    const onx_fused_plan *p = call->plan;
    const onx_fused_state *st = call->state;
    size_t q = row_at(&p->q, b, h, s), k = row_at(&p->k, b, h, j);
    double sum = 0;
    for (int64_t i = 0; i < p->head; i++)
        sum += element(call->in[0], q + onx_strides_at(&p->q, ONX_VIEW_COL, i)) *
               element(call->in[1], k + onx_strides_at(&p->k, ONX_VIEW_COL, i));
    sum *= (double)st->scale;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        if (!biases[i].operand) continue;
        double x = (double)onx_fused_bias_at(&biases[i], b, h, s, j);
        sum = biases[i].mode == ONX_ATTEND_ADD ? sum + x : x != 0 ? x : sum;
    }
    return sum;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_fused_plan *p = call->plan;
    const onx_fused_state *st = call->state;
    int64_t s = (int64_t)index % p->rows, h = (int64_t)index / p->rows % p->heads;
    int64_t b = (int64_t)index / p->rows / p->heads, n = onx_fused_seen(p, st, s);
    double *x = scratch, max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        x[j] = score(call, user, b, h, s, j);
        if (x[j] > max) max = x[j];
    }
    if (onx_call_stopped(call)) return ONX_CANCELLED;
    for (int64_t j = 0; j < n; j++) sum += x[j] = exp(x[j] - max);
    for (int64_t i = 0; i < p->v_head; i++) {
        double y = 0;
        for (int64_t j = 0; j < n && p->keys; j++)
            y += x[j] * element(call->in[2],
                                row_at(&p->v, b, h, j) + onx_strides_at(&p->v, ONX_VIEW_COL, i));
        y = p->keys == 0 || (st->guard && !(sum > 0)) ? 0 : y / sum;
        float rounded = (float)y;
        memcpy((float *)call->out[0]->data + row_at(&p->y, b, h, s) +
                   onx_strides_at(&p->y, ONX_VIEW_COL, i),
               &rounded, sizeof rounded);
    }
    return ONX_OK;
}

onx_status onx_fused_bind_plain(onx_call *call) {
    const onx_fused_plan *p = call->plan;
    ONX_TRY(onx_fused_bind(call));
    return onx_mul_size((size_t)p->keys, sizeof(double), &call->scratch_each)
               ? ONX_OK
               : onx_fail_nomem(call->diag);
}

onx_status onx_fused_run(onx_call *call) {
    const onx_fused_plan *p = call->plan;
    onx_fused_bias biases[ONX_ATTEND_BIASES];
    if (!call->out[0]->count) return ONX_OK;
    onx_fused_biases(call, biases);
    return onx_call_parallel(call, (size_t)(p->batch * p->heads * p->rows), task, biases);
}
