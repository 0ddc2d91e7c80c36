/* fused_ref.c: onx.internal::Attend: attributes, views against real sizes, and the plain kernel,
 * row by row in double precision. */
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
    st->guard = onx_call_int(call, "guard");
    return ONX_OK;
}

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

/* How many elements a walk goes over. */
static bool walk_size(const onx_view_walk *walk, const onx_operand *x, int64_t *out) {
    *out = walk->size;
    if ((size_t)walk->axis >= x->rank) return false;
    if (walk->size >= 0) return true;
    *out = 1;
    for (int64_t a = walk->first; a <= walk->axis; a++)
        if (!onx_mul_i64(*out, x->dims[a], out)) return false;
    return true;
}

/* The last element that is walked to is one of the tensor's; an empty view goes nowhere. */
bool onx_view_bind(const onx_view *view, const onx_operand *x, onx_strides *out) {
    int64_t stride[ONX_VIEW_AXES], size = 1, last = 0, n, far;
    bool empty = false;
    if (x->rank > ONX_VIEW_AXES) return false;
    *out = (onx_strides){0};
    for (size_t a = x->rank; a-- > 0; size *= x->count ? x->dims[a] : 1) {
        stride[a] = x->count ? size : 0;
        if (!onx_mul_i64(view->start[a], stride[a], &far) || !onx_add_i64(last, far, &last))
            return false;
    }
    out->start = (size_t)last;
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
        out->dims[d].n = out->dims[d].inner = 1;
        for (size_t i = 0; i < view->n[d]; i++) {
            const onx_view_walk *walk = &view->walks[d][i];
            if (!walk_size(walk, x, &n) || !onx_mul_i64(out->dims[d].n, n, &out->dims[d].n) ||
                !onx_mul_i64(stride[walk->axis], walk->step, &far))
                return false;
            empty = empty || n == 0;
            if (i == 0) out->dims[d].slow = (size_t)far;
            out->dims[d].fast = (size_t)far;
            out->dims[d].inner = n > 0 ? n : 1;
            if (!onx_mul_i64(far, out->dims[d].inner - 1, &far) || !onx_add_i64(last, far, &last))
                return false;
        }
    }
    return empty || last < x->count;
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

/* Two sizes as one; false: they do not broadcast. */
static bool meet(int64_t *size, int64_t other) {
    bool fits = *size == other || *size == 1 || other == 1;
    if (*size == 1) *size = other;
    return fits;
}

/* Sizes of batch, heads, rows and keys, from all that takes part. */
static bool meet_all(const onx_call *call, onx_fused_plan *p, int64_t sizes[4]) {
    const onx_strides *views[] = {&p->q, &p->k, &p->v};
    bool fits = true;
    for (size_t d = 0; d < 3; d++) sizes[d] = p->q.dims[d].n;
    sizes[3] = p->k.dims[ONX_VIEW_ROW].n;
    for (size_t i = 1; i < 3; i++)
        for (size_t d = 0; d < ONX_VIEW_ROW; d++)
            fits = meet(&sizes[d], views[i]->dims[d].n) && fits;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        const onx_operand *x = onx_call_in(call, 3 + i);
        size_t skip = x && x->rank == 5;
        if (!x) continue;
        if (x->rank > 5 || (skip && x->dims[0] != 1)) return false;
        for (size_t d = 0; d < 4; d++) {
            int64_t n = d + x->rank >= 4 ? x->dims[d + x->rank - 4] : 1;
            p->bias[i].n[d] = n;
            if (!(skip && d == 0)) fits = meet(&sizes[d], n) && fits;
        }
    }
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) { /* a batch that repeats */
        const onx_operand *x = onx_call_in(call, 3 + i);
        int64_t n = p->bias[i].n[0];
        if (x && x->rank == 5) fits = fits && n > 0 && sizes[0] % n == 0;
    }
    return fits && sizes[3] == p->v.dims[ONX_VIEW_ROW].n &&
           p->q.dims[ONX_VIEW_COL].n == p->k.dims[ONX_VIEW_COL].n;
}

/* What has one element along a dimension that has more stays where it is. */
static void stay(onx_strides *view, size_t d) {
    if (view->dims[d].n != 1) return;
    view->dims[d].slow = view->dims[d].fast = 0;
    view->dims[d].inner = 1;
}

onx_status onx_fused_bind(onx_call *call) {
    const onx_fused_state *st = call->state;
    onx_fused_plan *p = call->plan;
    onx_strides *views[] = {&p->q, &p->k, &p->v};
    int64_t sizes[4];
    for (size_t i = 0; i < 3; i++)
        if (!onx_view_bind(&st->in[i], call->in[i], views[i]))
            return onx_call_fail(call, ONX_INVALID, "input %zu does not fit its view", i);
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        const onx_operand *x = onx_call_in(call, 3 + i);
        p->bias[i].mode = st->mode[i];
        p->bias[i].fill = st->fill[i];
        if (x && (x->dtype == ONX_DTYPE_BOOL) != (st->mode[i] != ONX_ATTEND_ADD))
            return onx_call_fail(call, ONX_INVALID, "input %zu is of another type", 3 + i);
    }
    if (!meet_all(call, p, sizes))
        return onx_call_fail(call, ONX_INVALID, "its inputs do not fit together");
    for (size_t i = 0; i < 3; i++)
        for (size_t d = 0; d < ONX_VIEW_COL; d++) stay(views[i], d);
    p->batch = sizes[0];
    p->heads = sizes[1];
    p->rows = sizes[2];
    p->keys = sizes[3];
    p->head = p->q.dims[ONX_VIEW_COL].n;
    p->v_head = p->v.dims[ONX_VIEW_COL].n;
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
    if (max == -INFINITY) max = 0; /* no key is seen: all chances are 0 */
    for (int64_t j = 0; j < n; j++) sum += x[j] = exp(x[j] - max);
    for (int64_t i = 0; i < p->v_head; i++) {
        double y = 0;
        for (int64_t j = 0; j < n && p->keys; j++)
            y += x[j] * element(call->in[2],
                                row_at(&p->v, b, h, j) + onx_strides_at(&p->v, ONX_VIEW_COL, i));
        y = p->keys == 0 || onx_fused_guards(st, sum) ? 0 : y / sum;
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
