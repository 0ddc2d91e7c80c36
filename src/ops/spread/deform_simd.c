/* deform_simd.c: DeformConv of float32 images, as products of the weights with what some pixels of
 * the output see: where a tap lies for each of them is found once, in double, then read for all
 * channels of its offset group, in float. Numerics: the bound of cpu/gemm.h for what is read.
 * Elements of weight 0 do not count. Lines and volumes are left to the plain kernel. */
#include "ops/spread/deform_simd.h"

#include "cpu/gemm.h"

#include <math.h>

#define GEMM ONX_TIER(onx_gemm)

enum { CORNERS = 4, NR = 2 * VF /* pixels of a panel */ };

typedef struct plan {
    onx_deform_plan shape; /* first: bound by the plain kernel */
    bool other;            /* … which runs */
    size_t panels;         /* of an image */
    size_t w_floats;       /* of weights that are packed in scratch; 0: constant */
} plan;

typedef struct work {
    const plan *plan;
    const float *w; /* packed */
    const char *x, *offset, *bias, *mask;
    char *y;
} work;

/* Where a tap lies for some pixels. */
typedef struct places {
    int32_t at[CORNERS][NR];
    float weight[CORNERS][NR];
} places;

static float float_at(const char *data, size_t at) {
    float x;
    memcpy(&x, data + at * sizeof x, sizeof x);
    return x;
}

/* ── Weights: [groups][oc × ic * taps, as pack_a has it] ── */

size_t ONX_TIER(onx_deform_pack_bytes)(const onx_call *call) {
    const onx_operand *w = call->in[1];
    int64_t groups = ((const onx_deform_state *)call->state)->conv.groups;
    if (!w->constant || !w->data || w->count < 1 || w->dims[0] % groups) return 0;
    return (size_t)w->count * sizeof(float);
}

static onx_status pack_task(void *user, onx_call *call, size_t group, void *scratch) {
    const onx_operand *w = call->in[1];
    size_t groups = (size_t)((const onx_deform_state *)call->state)->conv.groups;
    size_t oc = (size_t)w->dims[0] / groups, k = (size_t)(w->count / w->dims[0]);
    onx_gemm_args args = {.m = oc, .k = k, .a_row = k, .a_col = 1};
    args.a = (const char *)w->data + group * oc * k * sizeof(float);
    (void)scratch;
    GEMM.pack_a(&args, 0, oc, (float *)user + group * oc * k);
    return ONX_OK;
}

onx_status ONX_TIER(onx_deform_pack)(onx_call *call, void *out) {
    size_t groups = (size_t)((const onx_deform_state *)call->state)->conv.groups;
    return onx_call_parallel(call, groups, pack_task, out);
}

/* ── Sizes ── */

onx_status ONX_TIER(onx_deform_init)(onx_call *call) {
    ONX_TRY(onx_deform_conv_init(call));
    if (call->in[1]->rank != 4) return ONX_UNSUPPORTED;
    call->plan_bytes = sizeof(plan);
    call->pack_format = (uint64_t)((const onx_deform_state *)call->state)->conv.groups;
    return ONX_OK;
}

onx_status ONX_TIER(onx_deform_bind)(onx_call *call) {
    plan *p = call->plan;
    const onx_images *m = &p->shape.images;
    size_t each, sums;
    ONX_TRY(onx_deform_conv_bind(call));
    p->other = !call->out[0] || !call->out[0]->count || !call->in[0]->count ||
               !call->in[1]->count || m->window.axes != 2 || m->in_pixels > INT32_MAX;
    if (p->other) return ONX_OK;
    p->panels = (m->out_pixels - 1) / NR + 1;
    p->w_floats = ONX_TIER(onx_deform_pack_bytes)(call) ? 0 : (size_t)call->in[1]->count;
    call->scratch_bytes = p->w_floats * sizeof(float);
    if (onx_mul_size(p->shape.products, NR * sizeof(float), &each) &&
        onx_mul_size(m->oc, NR * sizeof(float), &sums) && onx_add_size(each, sums, &each) &&
        onx_add_size(each,
                     onx_gemm_scratch(
                         &GEMM, &(onx_gemm_args){.k = m->ic * m->taps, .a_packed = true}, m->oc),
                     &call->scratch_each))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory is too large");
}

/* ── Taps ── */

/* Place i: the corners of the cell around (y, x), times `scale`. */
static void set_place(const onx_images *m, double y, double x, float scale, size_t i, places *to) {
    bool inside = y > -1 && y < (double)m->in[0] && x > -1 && x < (double)m->in[1];
    int64_t top = inside ? (int64_t)floor(y) : 0, left = inside ? (int64_t)floor(x) : 0;
    double down = y - (double)top, right = x - (double)left;
    for (int64_t c = 0; c < CORNERS; c++) {
        int64_t r = top + c / 2, s = left + c % 2;
        double weight = (c / 2 ? down : 1 - down) * (c % 2 ? right : 1 - right) * (double)scale;
        bool there = inside && r >= 0 && r < (int64_t)m->in[0] && s >= 0 && s < (int64_t)m->in[1];
        to->at[c][i] = there ? (int32_t)(r * (int64_t)m->in[1] + s) : 0;
        to->weight[c][i] = there ? (float)weight : 0;
    }
}

/* Tap `tap` of an offset group for n pixels from `first` on; those that are missing see nothing. */
static void find_places(const work *j, size_t image, size_t group, size_t tap, size_t first,
                        size_t n, places *to) {
    const onx_images *m = &j->plan->shape.images;
    const onx_window *w = &m->window;
    size_t at = (image * j->plan->shape.offset_groups + group) * m->taps + tap;
    size_t ky = tap / (size_t)w->kernel[1] * (size_t)w->dilation[0];
    size_t kx = tap % (size_t)w->kernel[1] * (size_t)w->dilation[1];
    for (size_t i = 0; i < NR; i++) {
        size_t pixel = first + i, oy = pixel / m->out[1], ox = pixel % m->out[1];
        double y = -1, x = -1;
        float scale = 1;
        if (i < n) {
            y = (double)(oy * (size_t)w->stride[0] + ky) - (double)m->span[0].before +
                (double)float_at(j->offset, 2 * at * m->out_pixels + pixel);
            x = (double)(ox * (size_t)w->stride[1] + kx) - (double)m->span[1].before +
                (double)float_at(j->offset, (2 * at + 1) * m->out_pixels + pixel);
            if (j->mask) scale = float_at(j->mask, at * m->out_pixels + pixel);
        }
        set_place(m, y, x, scale, i, to);
    }
}

/* to[0 … NR-1]: what a plane has there. */
static void read_places(const places *p, const char *plane, float *to) {
    float x[CORNERS][NR];
    for (size_t i = 0; i < NR; i++)
        VF_UNROLL for (size_t k = 0; k < CORNERS; k++) x[k][i] =
            float_at(plane, (size_t)p->at[k][i]);
    for (size_t i = 0; i < NR; i += VF) {
        vf sum = vf_zero();
        for (size_t k = 0; k < CORNERS; k++) {
            vf w = vf_load(p->weight[k] + i);
            sum += vf_select(w != 0, vf_load(x[k] + i) * w, vf_zero());
        }
        vf_store(to + i, sum);
    }
}

/* Rows of the panel for all channels of an offset group. */
static void see(const work *j, size_t image, size_t group, size_t first, size_t n, float *panel) {
    const onx_images *m = &j->plan->shape.images;
    size_t channels = m->groups * m->ic, each = channels / j->plan->shape.offset_groups;
    places p;
    for (size_t tap = 0; tap < m->taps; tap++) {
        find_places(j, image, group, tap, first, n, &p);
        for (size_t c = group * each; c < (group + 1) * each; c++) {
            const char *plane = j->x + (image * channels + c) * m->in_pixels * sizeof(float);
            read_places(&p, plane, panel + (c * m->taps + tap) * NR);
        }
    }
}

/* ── Pixels ── */

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *j = user;
    const plan *p = j->plan;
    const onx_images *m = &p->shape.images;
    size_t image = index / p->panels, first = index % p->panels * NR, k = m->ic * m->taps;
    size_t n = m->out_pixels - first < NR ? m->out_pixels - first : NR;
    float *panel = scratch, *sums = panel + p->shape.products * NR, *rest = sums + m->oc * NR;
    if (onx_call_stopped(call)) return ONX_CANCELLED;
    for (size_t group = 0; group < p->shape.offset_groups; group++)
        see(j, image, group, first, n, panel);
    for (size_t group = 0; group < m->groups; group++) {
        onx_gemm_args args = {.m = m->oc, .n = NR, .k = k, .a_packed = true, .alpha = 1};
        args.a = j->w + group * m->oc * k;
        args.b = panel + group * k * NR;
        args.c = sums;
        args.ldc = NR;
        GEMM.run(&args, (onx_gemm_part){0, m->oc, 0, 1}, rest);
        for (size_t i = 0; i < m->oc; i++) {
            size_t channel = group * m->oc + i;
            float *y = (float *)(void *)j->y +
                       (image * m->groups * m->oc + channel) * m->out_pixels + first;
            vf b = vf_set(j->bias ? float_at(j->bias, channel) : 0);
            for (size_t at = 0; at < n; at += VF)
                vf_store_n(y + at, vf_load(sums + i * NR + at) + b, n - at < VF ? n - at : VF);
        }
    }
    return ONX_OK;
}

static const char *data_of(const onx_call *call, size_t index) {
    const onx_operand *in = onx_call_in(call, index);
    return in ? in->data : NULL;
}

onx_status ONX_TIER(onx_deform_run)(onx_call *call) {
    const plan *p = call->plan;
    if (p->other) return onx_deform_conv_run(call);
    work j = {.plan = p,
              .w = call->packed,
              .x = data_of(call, 0),
              .offset = data_of(call, 2),
              .bias = data_of(call, 3),
              .mask = data_of(call, 4),
              .y = call->out[0]->data};
    if (p->w_floats) {
        ONX_TRY(ONX_TIER(onx_deform_pack)(call, call->scratch));
        j.w = call->scratch;
    }
    return onx_call_parallel(call, p->shape.images.batch * p->panels, task, &j);
}
