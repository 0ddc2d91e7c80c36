/* conv_simd.c: Conv of float32 with one or two spatial dimensions, on the algorithms of cpu/conv.h.
 *
 * Conv itself is plain on both sides: input and output pass through blocked scratch. ConvBlocked has
 * a blocked output, and a blocked input or (few channels) a plain one; it exists where channels are
 * whole blocks. Constant weights are packed once, others in scratch.
 *
 * ConvBlocked uses Winograd's algorithm where that is faster; its packed weights then are
 *
 *     [b: 1 if they fit, or 0] [weights for direct sums] [weights for Winograd's algorithm]
 */
#include "ops/conv/blocks_simd.h"
#include "ops/conv/conv_ref.h"

typedef struct plan {
    onx_conv conv;
    const onx_conv_algorithm *algorithm;
    size_t x_floats, y_floats, w_floats; /* in scratch; 0: not there */
    bool winograd;
} plan;

#define WINOGRAD ONX_TIER(onx_conv_winograd)
enum { TILES_MIN = 8 }; /* with fewer, reading four times the weights takes longer */

/* ── Which algorithm ── */

static bool is_depthwise(const onx_conv *c) {
    return c->groups > 1 && c->ic == 1 && c->oc == 1;
}
static bool may_be_plain(const onx_conv *c) {
    return c->dh == 1 && c->dw == 1 && c->kh * c->kw <= 4096;
}

static const onx_conv_algorithm *choose(const onx_conv *c) {
    if (is_depthwise(c)) return &ONX_TIER(onx_conv_depthwise);
    return c->ic < VF && may_be_plain(c) ? &ONX_TIER(onx_conv_plain) : &ONX_TIER(onx_conv_direct);
}

/* What weights and attributes say: enough for `choose` and for packing. False: not for this file, or
 * wrong, which the plain kernel will say. */
static bool weights_conv(const onx_call *call, onx_conv *c) {
    const onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    if (w->rank != 3 && w->rank != 4) return false;
    for (size_t i = 0; i < w->rank; i++)
        if (w->dims[i] < 1 || w->dims[i] > INT32_MAX) return false;
    if (w->dims[0] % s->groups || (size_t)w->count > BLOCKS_MAX / (VF * VF)) return false;
    size_t x = (size_t)w->rank - 3; /* the axis of the width; before it, of the height */
    *c = (onx_conv){.groups = (size_t)s->groups,
                    .ic = (size_t)w->dims[1],
                    .oc = (size_t)(w->dims[0] / s->groups),
                    .kh = x ? (size_t)w->dims[2] : 1,
                    .kw = (size_t)w->dims[x + 2],
                    .sh = x ? (size_t)s->window.stride[0] : 1,
                    .sw = (size_t)s->window.stride[x],
                    .dh = x ? (size_t)s->window.dilation[0] : 1,
                    .dw = (size_t)s->window.dilation[x]};
    return true;
}

static onx_status init_conv(onx_call *call) {
    onx_conv c;
    ONX_TRY(onx_conv_init(call));
    if (!weights_conv(call, &c)) return ONX_UNSUPPORTED;
    const onx_conv_algorithm *algorithm = choose(&c);
    call->pack_format = c.groups * 4 + (algorithm == &ONX_TIER(onx_conv_plain)) * 2 +
                        (algorithm == &ONX_TIER(onx_conv_depthwise));
    return ONX_OK;
}

/* ── Packing ── */

static size_t pack_bytes(const onx_call *call) {
    const onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    onx_conv c;
    if (!w->constant || !w->data || !weights_conv(call, &c)) return 0;
    size_t floats = choose(&c)->weights(&c);
    if (s->winograd) floats += VF + WINOGRAD.weights(&c);
    return floats * sizeof(float);
}

static onx_status pack(onx_call *call, void *out) {
    const onx_conv_state *s = call->state;
    onx_conv c;
    float *to = out;
    if (!weights_conv(call, &c)) return ONX_OK;
    if (s->winograd) {
        bool fit = WINOGRAD.pack(&c, call->in[1]->data, to + VF + choose(&c)->weights(&c));
        vf_store(to, vf_set(fit));
        to += VF;
    }
    for (size_t g = 0; g < c.groups; g++) choose(&c)->pack(&c, call->in[1]->data, g, to);
    return ONX_OK;
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const plan *p = call->plan;
    p->algorithm->pack(&p->conv, call->in[1]->data, index, user);
    (void)scratch;
    return ONX_OK;
}

/* The packed weights; `room` is scratch for them when they are not constant. */
static onx_status get_weights(onx_call *call, float *room, const float **out) {
    const plan *p = call->plan;
    const onx_conv_state *s = call->state;
    const float *packed = call->packed;
    *out = !packed ? room : s->winograd ? packed + VF : packed;
    if (packed) return ONX_OK;
    return onx_call_parallel(call, p->conv.groups, pack_task, room);
}

/* ── Sizes ── */

static onx_status bind_common(onx_call *call, plan *p) {
    onx_images m;
    ONX_TRY(onx_conv_bind(call, &m));
    onx_conv *c = &p->conv;
    if (!weights_conv(call, c) || !blocks_fit(m.batch, c->groups, c->ic, m.in_pixels) ||
        !blocks_fit(m.batch, c->groups, c->oc, m.out_pixels))
        return onx_call_fail(call, ONX_LIMIT, "the images are too large for this kernel");
    size_t last = m.window.axes - 1;
    c->n = m.batch;
    c->ih = last ? m.in[0] : 1;
    c->iw = m.in[last];
    c->oh = last ? m.out[0] : 1;
    c->ow = m.out[last];
    c->top = last ? (size_t)m.span[0].before : 0;
    c->left = (size_t)m.span[last].before;
    p->algorithm = choose(c);
    p->w_floats = pack_bytes(call) ? 0 : p->algorithm->weights(c);
    call->scratch_each = c->oh && c->ow ? p->algorithm->scratch(c) : 0;
    return ONX_OK;
}

/* Depthwise, a block holds channels of VF groups; else each group begins one. */
static blocks blocks_in(const onx_conv *c) {
    bool each = is_depthwise(c);
    return (blocks){.images = each ? c->n : c->n * c->groups,
                    .channels = each ? c->groups : c->ic,
                    .pixels = c->ih * c->iw};
}
static blocks blocks_out(const onx_conv *c) {
    bool each = is_depthwise(c);
    return (blocks){.images = each ? c->n : c->n * c->groups,
                    .channels = each ? c->groups : c->oc,
                    .pixels = c->oh * c->ow};
}

/* Scratch: the input and the output in blocks, where the tensors are plain. */
static void plan_scratch(onx_call *call, bool y_plain) {
    plan *p = call->plan;
    blocks in = blocks_in(&p->conv), out = blocks_out(&p->conv);
    bool reads_plain = p->algorithm == &ONX_TIER(onx_conv_plain);
    p->x_floats = !call->in[0]->layout && !reads_plain ? blocks_floats(&in) : 0;
    p->y_floats = y_plain ? blocks_floats(&out) : 0;
    call->scratch_bytes = (p->x_floats + p->y_floats + p->w_floats) * sizeof(float);
}

static onx_status bind_conv(onx_call *call) {
    ONX_TRY(bind_common(call, call->plan));
    plan_scratch(call, true);
    return ONX_OK;
}

/* ── Running ── */

/* The tasks [first, last). */
typedef struct part {
    const onx_conv_args *args;
    size_t first;
} part;

static onx_status part_task(void *user, onx_call *call, size_t index, void *scratch) {
    const part *some = user;
    const plan *p = call->plan;
    p->algorithm->run(&p->conv, some->args, some->first + index, scratch);
    return ONX_OK;
}
static onx_status run_part(onx_call *call, const onx_conv_args *a, size_t first, size_t last) {
    return onx_call_parallel(call, last - first, part_task, &(part){a, first});
}

/* Without any input there are only bias and residual. */
static void run_empty(const onx_call *call, const onx_conv_args *a) {
    const onx_operand *y = call->out[0];
    size_t pixels = 1, block = y->layout ? y->layout : 1;
    for (size_t i = 2; i < y->rank; i++) pixels *= (size_t)y->dims[i];
    for (size_t i = 0; i < (size_t)y->count; i++) {
        size_t channel = i / (pixels * block) % ((size_t)y->dims[1] / block) * block + i % block;
        float v = (a->bias ? load_any(a->bias + channel) : 0) + (a->residual ? a->residual[i] : 0);
        v = v < a->lo ? a->lo : v;
        v = v > a->hi ? a->hi : v;
        memcpy((void *)(a->y + i), &v, sizeof v);
    }
}

static onx_conv_args args_of(const onx_call *call) {
    const onx_conv_state *s = call->state;
    onx_conv_args a = {.x = call->in[0]->data, .y = call->out[0]->data, .lo = s->lo, .hi = s->hi};
    if (call->n_in > 2 && call->in[2]) a.bias = call->in[2]->data;
    if (call->n_in > 3 && call->in[3]) a.residual = call->in[3]->data;
    return a;
}

static onx_status run_conv(onx_call *call) {
    const plan *p = call->plan;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    onx_conv_args a = args_of(call);
    if (!call->in[0]->count) return run_empty(call, &a), ONX_OK;
    float *x = call->scratch, *y = x + p->x_floats, *w = y + p->y_floats;
    ONX_TRY(get_weights(call, w, &a.w));
    if (p->x_floats) {
        ONX_TRY(blocks_to(call, blocks_in(&p->conv), a.x, x));
        a.x = x;
    }
    if (p->y_floats) a.y = y;
    ONX_TRY(run_part(call, &a, 0, p->algorithm->tasks(&p->conv)));
    return p->y_floats ? blocks_from(call, blocks_out(&p->conv), y, call->out[0]->data) : ONX_OK;
}

/* ── ConvBlocked ── */

typedef struct winograd_job {
    const onx_conv_args *args; /* of one image */
    float *shared;
    unsigned char *fit; /* [in_tasks] */
} winograd_job;

static onx_status winograd_in_task(void *user, onx_call *call, size_t index, void *scratch) {
    const winograd_job *j = user;
    const plan *p = call->plan;
    j->fit[index] = WINOGRAD.in(&p->conv, j->args->x, j->shared, index);
    (void)scratch;
    return ONX_OK;
}
static onx_status winograd_out_task(void *user, onx_call *call, size_t index, void *scratch) {
    const winograd_job *j = user;
    const plan *p = call->plan;
    WINOGRAD.out(&p->conv, j->args, j->shared, index, scratch);
    return ONX_OK;
}

/* Image by image; *done: how many were made, for the next one has numbers that are too large. */
static onx_status run_winograd(onx_call *call, onx_conv_args a, size_t *done) {
    const plan *p = call->plan;
    const float *packed = call->packed;
    size_t n = WINOGRAD.in_tasks(&p->conv), shared = WINOGRAD.shared(&p->conv);
    winograd_job j = {&a, call->scratch, (unsigned char *)((float *)call->scratch + shared)};
    size_t x_step = p->conv.ic * p->conv.ih * p->conv.iw;
    size_t y_step = p->conv.oc * p->conv.oh * p->conv.ow;
    a.w = packed + VF + p->algorithm->weights(&p->conv);
    for (*done = 0; *done < p->conv.n && *packed == 1; ++*done) {
        ONX_TRY(onx_call_parallel(call, n, winograd_in_task, &j));
        for (size_t i = 0; i < n; i++)
            if (!j.fit[i]) return ONX_OK;
        ONX_TRY(onx_call_parallel(call, WINOGRAD.out_tasks(&p->conv), winograd_out_task, &j));
        a.x += x_step;
        a.y += y_step;
        if (a.residual) a.residual += y_step;
    }
    return ONX_OK;
}

static onx_status run_blocked(onx_call *call) {
    const plan *p = call->plan;
    if (!p->winograd || !call->out[0] || !call->out[0]->count || !call->in[0]->count)
        return run_conv(call);
    onx_conv_args a = args_of(call);
    size_t done = 0, each = p->algorithm->tasks(&p->conv) / p->conv.n;
    ONX_TRY(run_winograd(call, a, &done));
    if (done == p->conv.n) return ONX_OK;
    ONX_TRY(get_weights(call, NULL, &a.w));
    return run_part(call, &a, done * each, p->conv.n * each);
}

/* Is Winograd's algorithm faster? Where sizes are not known yet, they are taken to be large for
 * kernels with few channels. */
static bool wants_winograd(const onx_call *call, const onx_conv *c) {
    const onx_operand *x = call->in[0], *w = call->in[1];
    if (!w->constant || !w->data || !x->layout || !WINOGRAD.fits(c) || w->rank != 4) return false;
    if (x->rank == 4 && x->dims[2] >= 0 && x->dims[3] >= 0)
        return (x->dims[2] / 4 + 1) * (x->dims[3] / 4 + 1) >= TILES_MIN;
    return c->ic * c->oc <= (size_t)1 << 16;
}

static onx_status init_blocked(onx_call *call) {
    onx_conv c;
    ONX_TRY(init_conv(call));
    onx_conv_state *s = call->state;
    s->lo = onx_call_float(call, "lo");
    s->hi = onx_call_float(call, "hi");
    if (!weights_conv(call, &c)) return ONX_UNSUPPORTED;
    bool blocked = call->in[0]->layout;
    size_t in = is_depthwise(&c) ? c.groups : c.ic, out = is_depthwise(&c) ? c.groups : c.oc;
    if (out % VF || (blocked && (call->in[0]->layout != VF || in % VF))) return ONX_UNSUPPORTED;
    if (call->out[0]) call->out[0]->layout = VF;
    s->winograd = wants_winograd(call, &c);
    call->pack_format = call->pack_format * 2 + s->winograd;
    return ONX_OK;
}

static void plan_winograd(onx_call *call) {
    const onx_conv_state *s = call->state;
    plan *p = call->plan;
    p->winograd = s->winograd && WINOGRAD.tiles(&p->conv) >= TILES_MIN;
    if (!p->winograd) return;
    size_t each = WINOGRAD.scratch(&p->conv);
    call->scratch_bytes = WINOGRAD.shared(&p->conv) * sizeof(float) + WINOGRAD.in_tasks(&p->conv);
    if (call->scratch_each < each) call->scratch_each = each;
}

static onx_status bind_blocked(onx_call *call) {
    const onx_operand *r = call->n_in > 3 ? call->in[3] : NULL;
    ONX_TRY(bind_common(call, call->plan));
    plan_scratch(call, false);
    plan_winograd(call);
    onx_operand *y = call->out[0];
    if (!y) return ONX_OK;
    y->layout = VF;
    if (r && (r->rank != y->rank || r->layout != VF ||
              memcmp(r->dims, y->dims, y->rank * sizeof *y->dims)))
        return onx_call_fail(call, ONX_INVALID, "R must have shape and layout of the result");
    return ONX_OK;
}

/* ── ToBlocked, FromBlocked ── */

static onx_status bind_reorder(onx_call *call, bool to) {
    const onx_operand *x = call->in[0];
    if (x->rank < 2 || x->layout != (to ? ONX_LAYOUT_PLAIN : VF) || x->dims[1] % VF)
        return onx_call_fail(call, ONX_INVALID, "the layout of the input cannot be changed so");
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_F32, x->rank, x->dims));
    if (call->out[0]) call->out[0]->layout = to ? VF : ONX_LAYOUT_PLAIN;
    return ONX_OK;
}
static onx_status init_to(onx_call *call) {
    if (call->out[0]) call->out[0]->layout = VF;
    return ONX_OK;
}
static onx_status bind_to(onx_call *call) {
    return bind_reorder(call, true);
}
static onx_status bind_from(onx_call *call) {
    return bind_reorder(call, false);
}

static blocks blocks_whole(const onx_operand *x) {
    blocks b = {.images = (size_t)x->dims[0], .channels = (size_t)x->dims[1], .pixels = 1};
    for (size_t i = 2; i < x->rank; i++) b.pixels *= (size_t)x->dims[i];
    return b;
}
static onx_status run_to(onx_call *call) {
    const onx_operand *x = call->in[0], *y = call->out[0];
    return y && x->count ? blocks_to(call, blocks_whole(x), x->data, y->data) : ONX_OK;
}
static onx_status run_from(onx_call *call) {
    const onx_operand *x = call->in[0], *y = call->out[0];
    return y && x->count ? blocks_from(call, blocks_whole(x), x->data, y->data) : ONX_OK;
}

#define F32 ONX_T(F32)
extern onx_kernel_rows ONX_TIER(onx_kernels_conv);
onx_kernel_rows ONX_TIER(onx_kernels_conv) = {
    {.op = "Conv",
     .first = 1,
     .types = {F32, F32, F32},
     .name = "conv_f32",
     .packs = 1 << 1,
     .plan_bytes = sizeof(plan),
     .init = init_conv,
     .pack_bytes = pack_bytes,
     .pack = pack,
     .bind = bind_conv,
     .run = run_conv},
    {.op = "ConvBlocked",
     .first = 1,
     .types = {F32, F32, F32, F32},
     .name = "conv_blocked_f32",
     .overwrite = 1 << 3,
     .packs = 1 << 1,
     .plan_bytes = sizeof(plan),
     .domain = "onx.internal",
     .init = init_blocked,
     .pack_bytes = pack_bytes,
     .pack = pack,
     .bind = bind_blocked,
     .run = run_blocked},
    {.op = "ToBlocked",
     .first = 1,
     .types = {F32},
     .name = "to_blocked_f32",
     .domain = "onx.internal",
     .init = init_to,
     .bind = bind_to,
     .run = run_to},
    {.op = "FromBlocked",
     .first = 1,
     .types = {F32},
     .name = "from_blocked_f32",
     .domain = "onx.internal",
     .bind = bind_from,
     .run = run_from},
    {0},
};
