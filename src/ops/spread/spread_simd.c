/* spread_simd.c: ConvTranspose in float32 with up to three spatial dimensions, as a product and its
 * sums: what every element of the input gives to each tap of some output channels,
 *
 *     columns[channels * taps, elements] = W[ic, channels * taps]ᵀ x[ic, elements]
 *
 * is made in pieces that stay in the cache, and added to the image where the taps lie. A task makes
 * whole planes of the output. Numerics: the bound of cpu/gemm.h for the channels of a group, and
 * one addition for each tap that meets an element. */
#include "cpu/gemm.h"
#include "ops/spread/deform_simd.h"

#define GEMM ONX_TIER(onx_gemm)

enum {
    AXES = 3,
    ROWS = 64,      /* of columns, at a time, about: taps of a few channels */
    ELEMENTS = 512, /* of a piece */
    PACK_PANELS = 16,
};

typedef struct plan {
    onx_transpose_plan shape; /* first: bound by the plain kernel */
    size_t in[AXES], out[AXES], kernel[AXES], stride[AXES], dilation[AXES], before[AXES];
    size_t block, blocks; /* output channels of a task; tasks of a group of an image */
    size_t x_floats;      /* of such a group, packed */
    size_t w_floats;      /* of weights that are packed in scratch, before that; 0: constant */
} plan;

typedef struct work {
    const plan *plan;
    const float *w, *x, *bias; /* w, x: packed */
    float *y;
} work;

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

/* ── Weights: [groups][blocks][channels * taps × ic, as pack_a has it] ── */

typedef struct weights {
    size_t groups, ic, oc, taps, block;
} weights;

static weights weights_of(const onx_call *call) {
    const onx_operand *w = call->in[1];
    weights s = {.groups = (size_t)((const onx_transpose_state *)call->state)->groups};
    s.ic = (size_t)w->dims[0] / s.groups;
    s.oc = (size_t)w->dims[1];
    s.taps = (size_t)(w->count / w->dims[0] / w->dims[1]);
    s.block = s.taps < ROWS ? ROWS / s.taps : 1;
    if (s.block > s.oc) s.block = s.oc;
    return s;
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *to) {
    const weights s = weights_of(call);
    size_t blocks = ceil_div(s.oc, s.block), group = index / blocks;
    size_t first = index % blocks * s.block, n = s.oc - first < s.block ? s.oc - first : s.block;
    onx_gemm_args args = {.m = n * s.taps, .k = s.ic, .a_row = 1, .a_col = s.oc * s.taps};
    args.a =
        (const char *)call->in[1]->data + (group * s.ic * s.oc + first) * s.taps * sizeof(float);
    (void)to;
    GEMM.pack_a(&args, 0, args.m, (float *)user + (group * s.oc + first) * s.taps * s.ic);
    return ONX_OK;
}

static onx_status pack(onx_call *call, void *out) {
    const weights s = weights_of(call);
    return onx_call_parallel(call, s.groups * ceil_div(s.oc, s.block), pack_task, out);
}

static size_t pack_bytes(const onx_call *call) {
    const onx_operand *w = call->in[1];
    int64_t groups = ((const onx_transpose_state *)call->state)->groups;
    if (!w->constant || !w->data || w->count < 1 || w->dims[0] % groups) return 0;
    return (size_t)w->count * sizeof(float);
}

/* ── Sizes ── */

static onx_status init(onx_call *call) {
    ONX_TRY(onx_conv_transpose_init(call));
    size_t rank = call->in[1]->rank;
    if (rank < 3 || rank > AXES + 2) return ONX_UNSUPPORTED;
    call->plan_bytes = sizeof(plan);
    call->pack_format = (uint64_t)((const onx_transpose_state *)call->state)->groups;
    return ONX_OK;
}

static void place_axes(plan *p) {
    const onx_spread *s = &p->shape.spread;
    for (size_t i = 0, less = AXES - s->axes; i < AXES; i++) {
        bool there = i >= less;
        size_t axis = there ? i - less : 0;
        p->in[i] = there ? s->in[axis] : 1;
        p->out[i] = there ? s->out[axis] : 1;
        p->kernel[i] = there ? s->kernel[axis] : 1;
        p->stride[i] = there ? s->stride[axis] : 1;
        p->dilation[i] = there ? s->dilation[axis] : 1;
        p->before[i] = there ? (size_t)s->before[axis] : 0;
    }
}

static onx_status bind(onx_call *call) {
    plan *p = call->plan;
    const onx_transpose_plan *t = &p->shape;
    size_t floats;
    ONX_TRY(onx_conv_transpose_bind(call));
    call->scratch_bytes = call->scratch_each = 0;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    place_axes(p);
    const onx_operand *w = call->in[1];
    p->block = w->count ? weights_of(call).block : 1;
    p->blocks = ceil_div(t->oc, p->block);
    p->w_floats = pack_bytes(call) ? 0 : (size_t)w->count;
    call->scratch_each =
        ROWS * ELEMENTS * sizeof(float) +
        onx_gemm_scratch(&GEMM, &(onx_gemm_args){.k = t->ic, .a_packed = true}, ROWS);
    if (onx_gemm_packed_size(&GEMM, t->ic, t->spread.in_pixels, &p->x_floats) &&
        onx_mul_size((size_t)call->in[0]->dims[0] * t->groups, p->x_floats, &floats) &&
        onx_add_size(floats, p->w_floats, &floats) &&
        onx_mul_size(floats, sizeof(float), &call->scratch_bytes))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory is too large");
}

/* ── The input, packed ── */

static onx_status pack_input(void *user, onx_call *call, size_t index, void *scratch) {
    const work *j = user;
    const plan *p = j->plan;
    size_t k = p->shape.ic, n = p->shape.spread.in_pixels, panels = onx_gemm_panels(&GEMM, n);
    size_t parts = ceil_div(panels, PACK_PANELS), image = index / parts;
    size_t first = index % parts * PACK_PANELS;
    size_t count = panels - first < PACK_PANELS ? panels - first : PACK_PANELS;
    const char *from = (const char *)call->in[0]->data + image * k * n * sizeof(float);
    (void)scratch;
    GEMM.pack_b(k, n, (const float *)(const void *)from, n, 1, first, count,
                (float *)call->scratch + p->w_floats + image * p->x_floats + first * GEMM.nr * k);
    return ONX_OK;
}

/* ── Sums ── */

/* Elements that follow one another in a line of the input; where tap 0 of the first one goes,
 * modulo 2^64. */
typedef struct segment {
    size_t at, n;
    size_t z, y, x;
} segment;

/* The segments of elements first … first+n-1. */
static size_t segments_of(const plan *p, size_t first, size_t n, segment to[ELEMENTS]) {
    size_t count = 0, width = p->in[2];
    for (size_t at = 0, len; at < n; at += len) {
        size_t x = (first + at) % width, line = (first + at) / width;
        len = n - at < width - x ? n - at : width - x;
        to[count++] = (segment){.at = at,
                                .n = len,
                                .z = line / p->in[1] * p->stride[0] - p->before[0],
                                .y = line % p->in[1] * p->stride[1] - p->before[1],
                                .x = x * p->stride[2] - p->before[2]};
    }
    return count;
}

/* to[i * stride] += from[i] */
static void add_run(char *to, const float *from, size_t n, size_t stride) {
    size_t i = 0;
    float sum;
    for (; stride == 1 && i + VF <= n; i += VF) {
        float *at = (float *)(void *)(to + i * sizeof(float));
        vf_store(at, vf_load(at) + vf_load(from + i));
    }
    for (to += i * stride * sizeof sum; i < n; i++, to += stride * sizeof sum) {
        memcpy(&sum, to, sizeof sum);
        sum += from[i];
        memcpy(to, &sum, sizeof sum);
    }
}

/* A row of columns: tap `tap` of elements, to a plane of the image. */
static void add_row(const plan *p, const float *from, const segment *segments, size_t count,
                    size_t tap, char *plane) {
    size_t kx = tap % p->kernel[2] * p->dilation[2], stride = p->stride[2], width = p->out[2];
    size_t ky = tap / p->kernel[2] % p->kernel[1] * p->dilation[1];
    size_t kz = tap / p->kernel[2] / p->kernel[1] * p->dilation[0];
    for (size_t i = 0; i < count; i++) {
        const segment s = segments[i];
        size_t z = s.z + kz, y = s.y + ky, x = s.x + kx, skip = 0;
        if (z >= p->out[0] || y >= p->out[1]) continue;
        if (x > SIZE_MAX / 2) skip = ceil_div(0 - x, stride); /* it begins before the image */
        x += skip * stride;
        if (skip >= s.n || x >= width) continue;
        size_t fit = ceil_div(width - x, stride), n = s.n - skip < fit ? s.n - skip : fit;
        add_run(plane + ((z * p->out[1] + y) * width + x) * sizeof(float), from + s.at + skip, n,
                stride);
    }
}

static void fill_plane(const work *j, size_t channel, char *plane, size_t n) {
    float b = 0;
    size_t i = 0;
    if (j->bias) memcpy(&b, (const char *)j->bias + channel * sizeof b, sizeof b);
    for (; i + VF <= n; i += VF) vf_store((float *)(void *)(plane + i * sizeof b), vf_set(b));
    for (; i < n; i++) memcpy(plane + i * sizeof b, &b, sizeof b);
}

/* Elements first … first+n-1 of an image, through all taps of `channels` planes. */
static void add_piece(const plan *p, onx_gemm_args *args, size_t channels, size_t first, size_t n,
                      char *planes, float *scratch) {
    const onx_spread *s = &p->shape.spread;
    size_t rows = channels * s->taps, groups = onx_gemm_groups(&GEMM, rows), each = ROWS / GEMM.mr;
    segment segments[ELEMENTS];
    size_t count = segments_of(p, first, n, segments);
    args->c_col = first;
    args->c = scratch;
    for (size_t g = 0; g < groups; g += each) {
        size_t row = onx_gemm_group_at(&GEMM, rows, g);
        size_t end = onx_gemm_group_at(&GEMM, rows, groups - g < each ? groups : g + each);
        args->c_row = row;
        GEMM.run(args, (onx_gemm_part){row, end, first / GEMM.nr, ceil_div(first + n, GEMM.nr)},
                 scratch + ROWS * ELEMENTS);
        for (size_t r = row; r < end; r++)
            add_row(p, scratch + (r - row) * ELEMENTS, segments, count, r % s->taps,
                    planes + r / s->taps * s->out_pixels * sizeof(float));
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *j = user;
    const plan *p = j->plan;
    const onx_transpose_plan *t = &p->shape;
    size_t image = index / p->blocks, first = index % p->blocks * p->block; /* image: and group */
    size_t channels = t->oc - first < p->block ? t->oc - first : p->block;
    size_t channel = image % t->groups * t->oc + first, elements = t->spread.in_pixels;
    size_t pixels = t->spread.out_pixels;
    char *planes = (char *)j->y + (image * t->oc + first) * pixels * sizeof(float);
    for (size_t c = 0; c < channels; c++)
        fill_plane(j, channel + c, planes + c * pixels * sizeof(float), pixels);
    onx_gemm_args args = {.m = channels * t->spread.taps, .n = elements, .k = t->ic, .alpha = 1};
    args.a = j->w + channel * t->spread.taps * t->ic;
    args.a_packed = true;
    args.b = j->x + image * p->x_floats;
    args.ldc = ELEMENTS;
    for (size_t at = 0; at < elements && t->ic; at += ELEMENTS) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        add_piece(p, &args, channels, at, elements - at < ELEMENTS ? elements - at : ELEMENTS,
                  planes, scratch);
    }
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const plan *p = call->plan;
    const onx_operand *bias = onx_call_in(call, 2);
    work j = {.plan = p, .w = call->packed, .y = call->out[0]->data};
    if (!call->out[0]->count) return ONX_OK;
    if (bias) j.bias = bias->data;
    if (p->w_floats) {
        ONX_TRY(pack(call, call->scratch));
        j.w = call->scratch;
    }
    j.x = (const float *)call->scratch + p->w_floats;
    size_t images = (size_t)call->in[0]->dims[0] * p->shape.groups;
    size_t parts = ceil_div(onx_gemm_panels(&GEMM, p->shape.spread.in_pixels), PACK_PANELS);
    if (call->in[0]->count) ONX_TRY(onx_call_parallel(call, images * parts, pack_input, &j));
    return onx_call_parallel(call, images * p->blocks, task, &j);
}

#define F32 ONX_T(F32)

extern onx_kernel_rows ONX_TIER(onx_kernels_spread);
onx_kernel_rows ONX_TIER(onx_kernels_spread) = {
    {.op = "ConvTranspose",
     .first = 1,
     .types = {F32, F32, F32},
     .name = "conv_transpose_f32",
     .packs = 1 << 1,
     .init = init,
     .pack_bytes = pack_bytes,
     .pack = pack,
     .bind = bind,
     .run = run},
    {.op = "DeformConv",
     .first = 19,
     .types = {F32, F32, F32, F32, F32},
     .name = "deform_conv_f32",
     .packs = 1 << 1,
     .init = ONX_TIER(onx_deform_init),
     .pack_bytes = ONX_TIER(onx_deform_pack_bytes),
     .pack = ONX_TIER(onx_deform_pack),
     .bind = ONX_TIER(onx_deform_bind),
     .run = ONX_TIER(onx_deform_run)},
    {0},
};
