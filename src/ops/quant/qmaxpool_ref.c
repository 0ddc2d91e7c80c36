/* qmaxpool_ref.c: see qmaxpool_ref.h: plain kernel. A window that sees nothing: the least byte. */
#include "ops/quant/qmaxpool_ref.h"

onx_status onx_qmaxpool_init(onx_call *call) {
    onx_window *window = onx_call_state(call, sizeof *window);
    if (!window) return onx_fail_nomem(call->diag);
    return onx_window_read(call->op, call->node, window, call->diag);
}

onx_status onx_qmaxpool_bind(onx_call *call) {
    onx_images *m = call->plan;
    onx_operand x = *call->in[0], *in = &x;
    onx_call view = *call;
    int64_t dims[ONX_RANK_MAX];
    if (x.rank != 4)
        return onx_call_fail(call, ONX_INVALID, "the input has %u dimensions; it needs 4",
                             (unsigned)x.rank);
    x.dims[1] = call->in[0]->dims[3];
    x.dims[2] = call->in[0]->dims[1];
    x.dims[3] = call->in[0]->dims[2];
    view.in = &in;
    view.n_in = 1;
    m->window = *(const onx_window *)call->state;
    ONX_TRY(onx_window_fit(&m->window, x.rank, call->diag));
    ONX_TRY(onx_images_place(&view, m, dims));
    m->batch = (size_t)x.dims[0];
    m->ic = (size_t)x.dims[1];
    dims[0] = x.dims[0];
    dims[1] = dims[2];
    dims[2] = dims[3];
    dims[3] = x.dims[1];
    return onx_call_shape(call, 0, (onx_dtype)x.dtype, 4, dims);
}

typedef struct job {
    const onx_images *m;
    onx_larger_fn *larger;
    uint8_t flip;
    size_t pixels; /* of a task */
} job;

/* Output (oy, ox) of an image. */
static void make_pixel(const job *j, const uint8_t *x, size_t oy, size_t ox, uint8_t *y) {
    enum { SOME = 16 };
    const onx_images *m = j->m;
    const onx_window *w = &m->window;
    const uint8_t *seen[SOME];
    size_t y0 = oy * (size_t)w->stride[0] - (size_t)m->span[0].before, n = 0;
    size_t x0 = ox * (size_t)w->stride[1] - (size_t)m->span[1].before;
    memset(y, j->flip, m->ic);
    for (size_t ky = 0; ky < (size_t)w->kernel[0]; ky++)
        for (size_t kx = 0; kx < (size_t)w->kernel[1]; kx++) {
            size_t iy = y0 + ky * (size_t)w->dilation[0], ix = x0 + kx * (size_t)w->dilation[1];
            if (iy < m->in[0] && ix < m->in[1]) seen[n++] = x + (iy * m->in[1] + ix) * m->ic;
            if (n == SOME) j->larger(y, n, seen, m->ic, j->flip), n = 0;
        }
    j->larger(y, n, seen, m->ic, j->flip);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_images *m = j->m;
    const uint8_t *x = call->in[0]->data;
    uint8_t *y = call->out[0]->data;
    size_t first = index * j->pixels, all = m->batch * m->out_pixels;
    size_t end = all - first < j->pixels ? all : first + j->pixels;
    size_t image = first / m->out_pixels, oy = first % m->out_pixels / m->out[1];
    size_t ox = first % m->out[1];
    (void)scratch;
    for (size_t i = first; i < end; i++) {
        make_pixel(j, x + image * m->in_pixels * m->ic, oy, ox, y + i * m->ic);
        if (++ox < m->out[1]) continue;
        ox = 0;
        if (++oy == m->out[0]) oy = 0, image++;
    }
    return ONX_OK;
}

onx_status onx_qmaxpool_run_with(onx_call *call, onx_larger_fn *larger) {
    const onx_images *m = call->plan;
    job j = {m, larger, call->in[0]->dtype == ONX_DTYPE_I8 ? 128 : 0, 0};
    if (!call->out[0]->count) return ONX_OK;
    size_t work = m->ic * (m->taps < m->in_pixels ? m->taps : m->in_pixels);
    j.pixels = ((size_t)1 << 18) / (work + 1) + 1;
    return onx_call_parallel(call, (m->batch * m->out_pixels - 1) / j.pixels + 1, task, &j);
}

static void larger(uint8_t *to, size_t count, const uint8_t *const *x, size_t n, uint8_t flip) {
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < n; i++) to[i] = (to[i] ^ flip) > (x[j][i] ^ flip) ? to[i] : x[j][i];
}

onx_status onx_qmaxpool_run(onx_call *call) {
    return onx_qmaxpool_run_with(call, larger);
}
