/* rotate_ref.c: onx.internal::Rotate: sizes, and the plain kernel. */
#include "ops/attention/rotate_ref.h"

onx_status onx_rotate_init(onx_call *call) {
    onx_view *view = onx_call_state(call, sizeof *view);
    if (!view) return onx_fail_nomem(call->diag);
    if (!onx_view_read(call->node, "x", view) || view->n[ONX_VIEW_ROW] > 1 ||
        view->n[ONX_VIEW_COL] > 1)
        return onx_call_fail(call, ONX_INVALID, "its view is not well formed");
    return ONX_OK;
}

/* The size of a factor along a dimension of X. */
static int64_t size_of(const onx_operand *factor, size_t d) {
    return d + factor->rank < ONX_VIEW_DIMS ? 1 : factor->dims[d + factor->rank - ONX_VIEW_DIMS];
}

static bool meet(const onx_call *call, onx_rotate_plan *p) {
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
        p->dims[d] = p->x.dims[d].n;
        for (size_t i = 1; i < 3; i++) {
            int64_t n = size_of(call->in[i], d);
            bool same = n == p->dims[d];
            if (!same && (d == ONX_VIEW_COL || (n != 1 && p->dims[d] != 1))) return false;
            if (p->dims[d] == 1) p->dims[d] = n;
        }
        if (p->x.dims[d].n != 1) continue;
        p->x.dims[d].slow = p->x.dims[d].fast = 0;
        p->x.dims[d].inner = 1;
    }
    return p->dims[ONX_VIEW_COL] % 2 == 0;
}

onx_status onx_rotate_bind(onx_call *call) {
    onx_rotate_plan *p = call->plan;
    bool fits = onx_view_bind(call->state, call->in[0], &p->x);
    for (size_t i = 1; i < 3; i++) fits = fits && call->in[i]->rank <= ONX_VIEW_DIMS;
    if (!fits || !meet(call, p))
        return onx_call_fail(call, ONX_INVALID, "its inputs do not fit together");
    for (size_t i = 0; i < 2; i++) {
        size_t step = 1;
        for (size_t d = ONX_VIEW_DIMS; d-- > 0 && call->in[1 + i]->count;) {
            int64_t n = size_of(call->in[1 + i], d);
            if (d != ONX_VIEW_COL) p->factors[i][d] = n == 1 ? 0 : step;
            step *= (size_t)n;
        }
    }
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_F32, ONX_VIEW_DIMS, p->dims));
    const onx_operand *y = call->out[0];
    p->rows = y && y->count ? p->dims[0] * p->dims[1] * p->dims[2] : 0;
    return ONX_OK;
}

onx_rotate_row onx_rotate_at(const onx_call *call, int64_t row) {
    const onx_rotate_plan *p = call->plan;
    int64_t s = row % p->dims[ONX_VIEW_ROW], at = row / p->dims[ONX_VIEW_ROW];
    int64_t h = at % p->dims[ONX_VIEW_HEAD], b = at / p->dims[ONX_VIEW_HEAD];
    const size_t index[] = {(size_t)b, (size_t)h, (size_t)s};
    size_t f[2] = {0};
    for (size_t i = 0; i < 2; i++)
        for (size_t d = 0; d < ONX_VIEW_COL; d++) f[i] += index[d] * p->factors[i][d];
    return (onx_rotate_row){
        .x = (const float *)call->in[0]->data + onx_strides_head(&p->x, b, h) +
             onx_strides_at(&p->x, ONX_VIEW_ROW, s),
        .cos = (const float *)call->in[1]->data + f[0],
        .sin = (const float *)call->in[2]->data + f[1],
        .y = (float *)call->out[0]->data + row * p->dims[ONX_VIEW_COL],
    };
}

static double element(const float *from) {
    float x;
    memcpy(&x, from, sizeof x);
    return (double)x;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_rotate_plan *p = call->plan;
    size_t n = (size_t)p->dims[ONX_VIEW_COL], step = p->x.dims[ONX_VIEW_COL].fast;
    int64_t row = (int64_t)index * onx_rotate_grain(p), end = row + onx_rotate_grain(p);
    for (; row < end && row < p->rows; row++) {
        onx_rotate_row r = onx_rotate_at(call, row);
        for (size_t i = 0; i < n; i++) {
            bool first = i < n / 2;
            double x = element(r.x + i * step);
            double other = element(r.x + (first ? i + n / 2 : i - n / 2) * step);
            float y =
                (float)(x * element(r.cos + i) + (first ? -other : other) * element(r.sin + i));
            memcpy(r.y + i, &y, sizeof y);
        }
    }
    return ONX_OK;
}

onx_status onx_rotate_run(onx_call *call) {
    const onx_rotate_plan *p = call->plan;
    int64_t grain = p->rows ? onx_rotate_grain(p) : 1;
    return onx_call_parallel(call, (size_t)((p->rows + grain - 1) / grain), task, NULL);
}
