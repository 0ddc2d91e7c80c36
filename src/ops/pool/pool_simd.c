/* pool_simd.c: pooling of float32 with one or two spatial dimensions, on the algorithms of
 * cpu/pool.h. MaxPool and AveragePool pass through blocked scratch; MaxPoolBlocked,
 * AveragePoolBlocked and GlobalAveragePoolBlocked stay in the blocked layout. */
#include "ops/conv/blocks_simd.h"
#include "ops/pool/pool_lines_simd.h"
#include "ops/pool/pool_quant_simd.h"
#include "ops/reduce/row_simd.h"

typedef struct plan {
    onx_conv conv;
    onx_pool_args args;
    const onx_pool_algorithm *algorithm;
} plan;

static bool is_blocked(const onx_call *call) {
    return call->kernel->domain;
}

/* Windows that are large in both directions: lines are put together first, then the rest. */
static bool is_large(const onx_window *w) {
    return w->axes == 2 && w->kernel[0] > 5 && w->kernel[1] > 5;
}

static onx_status init_pool(onx_call *call) {
    ONX_TRY(onx_pooling_init(call));
    const onx_pooling_state *s = call->state;
    bool indices = call->n_out > 1 && call->out[1];
    if (s->window.axes > 2 || indices) return ONX_UNSUPPORTED;
    if (!is_blocked(call) && is_large(&s->window)) return ONX_UNSUPPORTED;
    if (is_blocked(call) && call->out[0]) call->out[0]->layout = VF;
    return ONX_OK;
}

static onx_status check_layout(const onx_call *call) {
    bool ours = call->n_in && call->in[0] && call->in[0]->layout == VF;
    return ours ? ONX_OK : onx_call_fail(call, ONX_INVALID, "X must be in blocks");
}

static blocks blocks_in(const onx_conv *c) {
    return (blocks){.images = c->n, .channels = c->groups, .pixels = c->ih * c->iw};
}
static blocks blocks_out(const onx_conv *c) {
    return (blocks){.images = c->n, .channels = c->groups, .pixels = c->oh * c->ow};
}

static onx_conv conv_of(const onx_images *m) {
    size_t x = m->window.axes - 1; /* the axis of the width; before it, of the height */
    return (onx_conv){.n = m->batch,
                      .groups = m->groups,
                      .ic = 1,
                      .oc = 1,
                      .ih = x ? m->in[0] : 1,
                      .iw = m->in[x],
                      .oh = x ? m->out[0] : 1,
                      .ow = m->out[x],
                      .kh = x ? (size_t)m->window.kernel[0] : 1,
                      .kw = (size_t)m->window.kernel[x],
                      .sh = x ? (size_t)m->window.stride[0] : 1,
                      .sw = (size_t)m->window.stride[x],
                      .dh = x ? (size_t)m->window.dilation[0] : 1,
                      .dw = (size_t)m->window.dilation[x],
                      .top = x ? (size_t)m->span[0].before : 0,
                      .left = (size_t)m->span[x].before};
}

static onx_status bind_pool(onx_call *call, const onx_pool_algorithm *algorithm) {
    const onx_pooling_state *s = call->state;
    plan *p = call->plan;
    onx_images m;
    if (is_blocked(call)) ONX_TRY(check_layout(call));
    ONX_TRY(onx_pooling_bind(call, &m));
    if (!blocks_fit(m.batch, 1, m.groups, m.in_pixels) ||
        !blocks_fit(m.batch, 1, m.groups, m.out_pixels))
        return onx_call_fail(call, ONX_LIMIT, "the images are too large for this kernel");
    size_t x = m.window.axes - 1;
    p->conv = conv_of(&m);
    p->algorithm = algorithm;
    p->args = (onx_pool_args){.count_padding = s->count_padding,
                              .bottom = x ? (size_t)m.span[0].after : 0,
                              .right = (size_t)m.span[x].after};
    blocks in = blocks_in(&p->conv), out = blocks_out(&p->conv);
    if (is_blocked(call)) return onx_call_layout(call, 0, VF);
    call->scratch_bytes = (blocks_floats(&in) + blocks_floats(&out)) * sizeof(float);
    return ONX_OK;
}
static onx_status bind_max(onx_call *call) {
    return bind_pool(call, &ONX_TIER(onx_pool_max));
}
static onx_status bind_average(onx_call *call) {
    return bind_pool(call, &ONX_TIER(onx_pool_average));
}

static onx_status pool_task(void *user, onx_call *call, size_t index, void *scratch) {
    const plan *p = call->plan;
    p->algorithm->run(&p->conv, user, index);
    (void)scratch;
    return ONX_OK;
}

static onx_status run_blocked(onx_call *call) {
    const plan *p = call->plan;
    onx_pool_args a = p->args;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    a.y = call->out[0]->data;
    a.x = call->in[0]->count ? call->in[0]->data : a.y; /* of an empty one nothing is read */
    return onx_call_parallel(call, p->algorithm->tasks(&p->conv), pool_task, &a);
}

static onx_status run_plain(onx_call *call) {
    const plan *p = call->plan;
    onx_pool_args a = p->args;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    blocks in = blocks_in(&p->conv);
    float *x = call->scratch, *y = x + blocks_floats(&in);
    a.x = x;
    a.y = y;
    if (call->in[0]->count) ONX_TRY(blocks_to(call, in, call->in[0]->data, x));
    ONX_TRY(onx_call_parallel(call, p->algorithm->tasks(&p->conv), pool_task, &a));
    return blocks_from(call, blocks_out(&p->conv), y, call->out[0]->data);
}

/* ── Global ── */

/* In lanes first, then over lanes. */
static float sum_of(const float *x, size_t n) {
    vf sum[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    size_t i = 0;
    for (; i + 4 * VF <= n; i += 4 * VF)
        for (size_t k = 0; k < 4; k++) sum[k] += vf_load(x + i + k * VF);
    for (; i + VF <= n; i += VF) sum[0] += vf_load(x + i);
    if (i < n) sum[1] += vf_load_n(x + i, n - i);
    return vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Planes in a task: of about 64K elements. */
static size_t planes_in_task(const onx_planes *p) {
    return ((size_t)1 << 16) / (p->pixels + 1) + 1;
}

static onx_status global_task(onx_call *call, const onx_planes *p, size_t index, bool max) {
    size_t each = planes_in_task(p), first = index * each;
    size_t last = p->count - first < each ? p->count : first + each;
    for (size_t i = first; i < last; i++) {
        const float *x = call->in[0]->data;
        if (p->pixels) x += i * p->pixels;
        float v = max ? row_max(x, p->pixels) : sum_of(x, p->pixels) / (float)p->pixels;
        memcpy((char *)call->out[0]->data + i * sizeof v, &v, sizeof v);
    }
    return ONX_OK;
}
static onx_status average_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    return global_task(call, user, index, false);
}
static onx_status max_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    return global_task(call, user, index, true);
}

static onx_status run_global(onx_call *call, onx_task *task) {
    onx_planes p = onx_planes_of(call->in[0]);
    size_t each = planes_in_task(&p);
    if (!call->out[0]) return ONX_OK;
    return onx_call_parallel(call, p.count / each + (p.count % each != 0), task, &p);
}
static onx_status run_global_average(onx_call *call) {
    return run_global(call, average_task);
}
static onx_status run_global_max(onx_call *call) {
    return run_global(call, max_task);
}

/* One window over the whole image. */
static onx_status init_global_blocked(onx_call *call) {
    if (call->out[0]) call->out[0]->layout = VF;
    return ONX_OK;
}
static onx_status bind_global_blocked(onx_call *call) {
    const onx_operand *x = call->in[0];
    plan *p = call->plan;
    ONX_TRY(check_layout(call));
    ONX_TRY(onx_global_bind(call));
    ONX_TRY(onx_call_layout(call, 0, VF));
    size_t pixels = onx_planes_of(x).pixels;
    p->algorithm = &ONX_TIER(onx_pool_average);
    p->conv = (onx_conv){.n = (size_t)x->dims[0],
                         .groups = (size_t)x->dims[1],
                         .ic = 1,
                         .oc = 1,
                         .ih = 1,
                         .iw = pixels,
                         .oh = 1,
                         .ow = 1,
                         .kh = 1,
                         .kw = pixels,
                         .sh = 1,
                         .sw = 1,
                         .dh = 1,
                         .dw = 1};
    return ONX_OK;
}
static onx_status run_global_blocked(onx_call *call) {
    const onx_operand *y = call->out[0];
    if (call->in[0]->count || !y) return run_blocked(call);
    for (size_t i = 0; i < y->bytes / sizeof(float); i++) ((float *)y->data)[i] = NAN;
    return ONX_OK;
}

#define F32 .first = 1, .types = {ONX_T(F32)}
#define PLAN .plan_bytes = sizeof(plan)
extern onx_kernel_rows ONX_TIER(onx_kernels_pool);
onx_kernel_rows ONX_TIER(onx_kernels_pool) = {
    {.op = "MaxPool",
     F32,
     .name = "max_pool_f32",
     PLAN,
     .init = init_pool,
     .bind = bind_max,
     .run = run_plain},
    {.op = "AveragePool",
     F32,
     .name = "average_pool_f32",
     PLAN,
     .init = init_pool,
     .bind = bind_average,
     .run = run_plain},
    {.op = "MaxPool",
     F32,
     .name = "max_pool_lines_f32",
     .init = ONX_TIER(onx_pool_lines_init),
     .bind = ONX_TIER(onx_pool_lines_bind),
     .run = ONX_TIER(onx_pool_lines_max)},
    {.op = "AveragePool",
     F32,
     .name = "average_pool_lines_f32",
     .init = ONX_TIER(onx_pool_lines_init),
     .bind = ONX_TIER(onx_pool_lines_bind),
     .run = ONX_TIER(onx_pool_lines_average)},
    {.op = "GlobalMaxPool",
     F32,
     .name = "global_max_pool_f32",
     .bind = onx_global_bind,
     .run = run_global_max},
    {.op = "GlobalAveragePool",
     F32,
     .name = "global_average_pool_f32",
     .bind = onx_global_bind,
     .run = run_global_average},
    {.op = "MaxPoolBlocked",
     F32,
     .name = "max_pool_blocked_f32",
     PLAN,
     .domain = "onx.internal",
     .init = init_pool,
     .bind = bind_max,
     .run = run_blocked},
    {.op = "AveragePoolBlocked",
     F32,
     .name = "average_pool_blocked_f32",
     PLAN,
     .domain = "onx.internal",
     .init = init_pool,
     .bind = bind_average,
     .run = run_blocked},
    {.op = "GlobalAveragePoolBlocked",
     F32,
     .name = "global_average_pool_blocked_f32",
     PLAN,
     .domain = "onx.internal",
     .init = init_global_blocked,
     .bind = bind_global_blocked,
     .run = run_global_blocked},
    {.op = "QLinearAveragePool",
     .first = 1,
     .types = {ONX_T(U8) | ONX_T(I8), ONX_T(F32), ONX_T(U8) | ONX_T(I8), ONX_T(F32),
               ONX_T(U8) | ONX_T(I8)},
     .name = "qlinear_average_pool_bytes",
     .domain = "com.microsoft",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qpool_init,
     .bind = onx_qpool_bind,
     .run = ONX_TIER(onx_qpool_run)},
    {0},
};
