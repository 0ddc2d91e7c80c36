/* conv_columns_simd.c: Conv in float32 with up to three spatial dimensions, as products of weights
 * with what the windows of some pixels see, which is gathered for that, straight into panels:
 *
 *     y[oc, pixels] = W[oc, k] columns[k, pixels] + bias      k: channels of a group * taps
 *
 * k is cut into chunks, which are gathered and multiplied in turn. It gets the volumes: conv_simd.c
 * comes first, and takes images and lines. Another tier may make the products: then it comes before
 * all. */
#include "ops/conv/conv_columns_simd.h"

#include "cpu/gemm.h"

#define GEMM ONX_TIER(onx_gemm)

enum {
    AXES = 3,
    CHUNK = ONX_GEMM_DEPTH,
    PANELS = 4,        /* of a task, unless there are few */
    FEW = 8,           /* tasks: then rows are shared out, too, */
    ROWS = 128,        /* so many to each, at least */
    NR = ONX_COLUMNS,  /* pixels of a panel */
    SEGMENTS = NR + 1, /* at most, with one for what is left */
    OTHER_DEPTH = 32,  /* below, another tier is not worth packing for, */
    OTHER_ROWS = 16,   /* and with fewer rows */
};

typedef struct plan {
    onx_images images; /* first: bound by the plain kernel */
    size_t in[AXES], out[AXES], kernel[AXES], stride[AXES], dilation[AXES], before[AXES];
    size_t k;            /* rows of the columns */
    size_t tile, tiles;  /* pixels of a task; tasks of an image's group, */
    size_t parts;        /* each of which makes a part of the rows */
    size_t packed_bytes; /* of the weights in scratch */
    size_t group_bytes;  /* of the packed weights of a group */
    const onx_conv_columns_other *other;
} plan;

/* Outputs that follow one another in a line and in a panel; positions are those of their windows,
 * modulo 2^64. */
typedef struct segment {
    size_t to, n;
    size_t z, y, x;
} segment;

typedef struct work {
    const plan *plan;
    const char *packed;
    const float *x, *bias;
    float *y;
} work;

/* ── Weights: [groups][chunks][oc × chunk, as pack_a has it], or as the other tier has them ──── */

static size_t chunks_of(size_t k) {
    return (k - 1) / CHUNK + 1;
}

static size_t group_bytes(const onx_conv_columns_other *other, size_t oc, size_t k) {
    return other ? other->weights_bytes(oc, k) : oc * k * sizeof(float);
}

typedef struct packing {
    const onx_conv_columns_other *other;
    size_t oc, k;
    const float *from;
    char *to;
    size_t parts; /* of a group */
} packing;

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const packing *j = user;
    size_t group = index / j->parts, part = index % j->parts, first = part * CHUNK;
    const char *from = (const char *)j->from + group * j->oc * j->k * sizeof(float);
    char *to = j->to + group * group_bytes(j->other, j->oc, j->k);
    (void)call, (void)scratch;
    if (j->other) {
        size_t end = (part + 1) * ROWS;
        j->other->pack((const float *)(const void *)from, j->oc, j->k, part * ROWS,
                       end < j->oc ? end : j->oc, to);
        return ONX_OK;
    }
    onx_gemm_args args = {.m = j->oc, .a = from + first * sizeof(float), .a_row = j->k, .a_col = 1};
    args.k = j->k - first < CHUNK ? j->k - first : CHUNK;
    GEMM.pack_a(&args, 0, j->oc, (float *)(void *)to + j->oc * first);
    return ONX_OK;
}

static onx_status pack_all(onx_call *call, void *to) {
    const onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    packing j = {.other = s->columns,
                 .oc = (size_t)(w->dims[0] / s->groups),
                 .k = (size_t)(w->count / w->dims[0]),
                 .from = w->data,
                 .to = to};
    j.parts = s->columns ? (j.oc - 1) / ROWS + 1 : chunks_of(j.k);
    return onx_call_parallel(call, (size_t)s->groups * j.parts, pack_task, &j);
}

static size_t weights_bytes(const onx_call *call) {
    const onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    if (w->count < 1 || w->dims[0] % s->groups) return 0;
    return (size_t)s->groups * group_bytes(s->columns, (size_t)(w->dims[0] / s->groups),
                                           (size_t)(w->count / w->dims[0]));
}

size_t ONX_TIER(onx_conv_columns_pack_bytes)(const onx_call *call) {
    const onx_operand *w = call->in[1];
    return w->constant && w->data ? weights_bytes(call) : 0;
}

onx_status ONX_TIER(onx_conv_columns_pack)(onx_call *call, void *out) {
    return pack_all(call, out);
}

/* ── Sizes ───────────────────────────────────────────────────────────────────────────────────── */

onx_status ONX_TIER(onx_conv_columns_init)(onx_call *call) {
    ONX_TRY(onx_conv_init(call));
    size_t rank = call->in[1]->rank;
    if (rank < 3 || rank > AXES + 2) return ONX_UNSUPPORTED;
    call->plan_bytes = sizeof(plan);
    call->pack_format = (uint64_t)((const onx_conv_state *)call->state)->groups;
    return ONX_OK;
}

onx_status ONX_TIER(onx_conv_columns_init_other)(onx_call *call,
                                                 const onx_conv_columns_other *other) {
    const onx_operand *w = call->in[1];
    ONX_TRY(ONX_TIER(onx_conv_columns_init)(call));
    onx_conv_state *s = call->state;
    bool small = w->constant && (w->count < 1 || w->dims[0] / s->groups < OTHER_ROWS ||
                                 w->count / w->dims[0] < OTHER_DEPTH);
    if (small) return ONX_UNSUPPORTED;
    s->columns = other;
    return ONX_OK;
}

/* The first row of a part; of the part after the last: that after all. */
static size_t row_at(const plan *p, size_t part) {
    size_t oc = p->images.oc, unit = p->other ? p->other->unit : 1;
    size_t units = p->other ? (oc + unit - 1) / unit : onx_gemm_groups(&GEMM, oc);
    size_t at = onx_part_at(units, p->parts, part);
    if (!p->other) return onx_gemm_group_at(&GEMM, oc, at);
    return at * unit < oc ? at * unit : oc;
}

static size_t sums_floats(const plan *p) {
    size_t unit = p->other ? p->other->unit : 1;
    return (p->images.oc + unit - 1) / unit * unit * NR;
}

/* Panels are shared out, and, when there are few, rows: then columns are gathered again. */
static void cut(plan *p) {
    const onx_images *m = &p->images;
    size_t panels = (m->out_pixels + NR - 1) / NR, all = m->batch * m->groups * panels;
    p->tile = (all < FEW * PANELS ? 1 : PANELS) * NR;
    p->tiles = (m->out_pixels + p->tile - 1) / p->tile;
    size_t wanted = all && all < FEW ? (FEW - 1) / all + 1 : 1;
    size_t most = (m->oc + ROWS - 1) / ROWS, groups = onx_gemm_groups(&GEMM, m->oc);
    if (most > groups) most = groups;
    p->parts = wanted < most ? wanted : most;
}

onx_status ONX_TIER(onx_conv_columns_bind)(onx_call *call) {
    plan *p = call->plan;
    onx_images *m = &p->images;
    ONX_TRY(onx_conv_bind(call, m));
    for (size_t i = 0, less = AXES - m->window.axes; i < AXES; i++) {
        bool there = i >= less;
        size_t axis = there ? i - less : 0;
        p->in[i] = there ? m->in[axis] : 1;
        p->out[i] = there ? m->out[axis] : 1;
        p->kernel[i] = there ? (size_t)m->window.kernel[axis] : 1;
        p->stride[i] = there ? (size_t)m->window.stride[axis] : 1;
        p->dilation[i] = there ? (size_t)m->window.dilation[axis] : 1;
        p->before[i] = there ? (size_t)m->span[axis].before : 0;
    }
    p->k = m->ic * m->taps;
    cut(p);
    p->other = ((const onx_conv_state *)call->state)->columns;
    p->group_bytes = group_bytes(p->other, m->oc, p->k);
    p->packed_bytes = ONX_TIER(onx_conv_columns_pack_bytes)(call) ? 0 : weights_bytes(call);
    call->scratch_bytes = p->packed_bytes;
    call->scratch_each =
        (CHUNK * NR + VF + sums_floats(p)) * sizeof(float) +
        (p->other ? p->other->panel_bytes(p->k)
                  : onx_gemm_scratch(&GEMM, &(onx_gemm_args){.k = CHUNK, .a_packed = true}, 1));
    return ONX_OK;
}

/* ── Gathering ───────────────────────────────────────────────────────────────────────────────── */

/* The segments of pixels first … first+n-1, and one in the padding for what is left of the
 * panel. */
static size_t segments_of(const plan *p, size_t first, size_t n, segment to[SEGMENTS]) {
    size_t count = 0, width = p->out[2];
    for (size_t at = 0, len; at < n; at += len) {
        size_t pixel = first + at, x = pixel % width, line = pixel / width;
        len = n - at < width - x ? n - at : width - x;
        to[count++] = (segment){.to = at,
                                .n = len,
                                .z = line / p->out[1] * p->stride[0] - p->before[0],
                                .y = line % p->out[1] * p->stride[1] - p->before[1],
                                .x = x * p->stride[2] - p->before[2]};
    }
    if (n < NR) to[count++] = (segment){.to = n, .n = NR - n, .z = SIZE_MAX / 2};
    return count;
}

/* Whole vectors: what is written beyond n is written again, or lies behind the panel. */
static inline void put(float *to, const float *from, size_t n) {
    size_t i = 0;
    for (; i + VF <= n; i += VF) vf_store(to + i, vf_load(from + i));
    if (i < n) vf_store(to + i, vf_load_n(from + i, n - i));
}
static inline void put_zeros(float *to, size_t n) {
    for (size_t i = 0; i < n; i += VF) vf_store(to + i, vf_zero());
}

static inline void put_strided(float *to, const float *from, size_t stride, size_t n) {
    for (size_t i = 0; i < n; i++, from += stride) memcpy(to + i, from, sizeof *to);
}

/* n elements of a line of `width` from x on, `stride` apart; zeros beyond its ends. */
static inline void put_line(float *to, const float *line, size_t x, size_t stride, size_t n,
                            size_t width) {
    size_t first = 0;
    if (x >= width || (n - 1) * stride >= width - x) {
        put_zeros(to, n);
        for (; first < n && x >= width; first++) x += stride; /* before the line x is large */
        if (first == n) return;
        size_t there = (width - x - 1) / stride + 1;
        n = there < n - first ? there : n - first;
    }
    if (stride == 1)
        put(to + first, line + x, n);
    else
        put_strided(to + first, line + x, stride, n);
}

/* Rows k … k+depth-1 of the columns of a group, as a panel [depth][NR] with room after it. */
static void gather(const plan *p, const float *x, size_t k, size_t depth, const segment *segments,
                   size_t count, float *to) {
    const size_t taps = p->images.taps, width = p->in[2], stride = p->stride[2];
    const size_t height = p->in[1], layers = p->in[0], *dilation = p->dilation;
    const float *channel = x + k / taps * p->images.in_pixels;
    size_t kx = k % p->kernel[2], ky = k / p->kernel[2] % p->kernel[1];
    size_t kz = k % taps / p->kernel[2] / p->kernel[1];
    for (size_t l = 0; l < depth; l++, to += NR) {
        for (size_t i = 0; i < count; i++) {
            const segment s = segments[i];
            size_t z = s.z + kz * dilation[0], y = s.y + ky * dilation[1];
            if (z < layers && y < height)
                put_line(to + s.to, channel + (z * height + y) * width, s.x + kx * dilation[2],
                         stride, s.n, width);
            else
                put_zeros(to + s.to, s.n);
        }
        if (++kx < p->kernel[2]) continue;
        kx = 0;
        if (++ky < p->kernel[1]) continue;
        ky = 0;
        if (++kz < p->kernel[0]) continue;
        kz = 0;
        channel += p->images.in_pixels;
    }
}

/* ── Running ─────────────────────────────────────────────────────────────────────────────────── */

/* What memory holds of the bias; 0: there is none. */
static float bias_at(const work *j, size_t channel) {
    float b = 0;
    if (j->bias) memcpy(&b, j->bias + channel, sizeof b);
    return b;
}

/* Rows row … end-1 of n pixels from `first` on; `image`: of all groups of all images. Sums stay in
 * scratch, where they are near one another, up to the end. */
static void make_panel(const work *j, size_t image, size_t row, size_t end, size_t first, size_t n,
                       float *scratch) {
    const plan *p = j->plan;
    const onx_images *m = &p->images;
    size_t group = image % m->groups;
    float *columns = scratch, *sums = columns + CHUNK * NR + VF, *rest = sums + sums_floats(p);
    const char *weights = p->k ? j->packed + group * p->group_bytes : NULL;
    segment segments[SEGMENTS];
    size_t count = segments_of(p, first, n, segments);
    onx_gemm_args args = {.m = m->oc, .n = NR, .a_packed = true, .b = columns, .alpha = 1};
    args.c = sums;
    args.ldc = args.ldd = NR;
    if (!p->k) memset(sums, 0, m->oc * NR * sizeof *sums);
    for (size_t k = 0; k < p->k; k += CHUNK, args.d = sums) {
        args.k = p->k - k < CHUNK ? p->k - k : CHUNK;
        args.a = weights + m->oc * k * sizeof(float);
        gather(p, j->x + image * m->ic * m->in_pixels, k, args.k, segments, count, columns);
        if (p->other)
            p->other->put(columns, k, args.k, rest);
        else
            GEMM.run(&args, (onx_gemm_part){row, end, 0, 1}, rest);
    }
    if (p->other && p->k) p->other->multiply(weights, rest, p->k, row, end, sums);
    for (size_t i = row; i < end; i++) {
        float *y = j->y + (image * m->oc + i) * m->out_pixels + first;
        vf b = vf_set(bias_at(j, group * m->oc + i));
        for (size_t at = 0; at < n; at += VF)
            vf_store_n(y + at, vf_load(sums + i * NR + at) + b, n - at < VF ? n - at : VF);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *j = user;
    const plan *p = j->plan;
    const onx_images *m = &p->images;
    size_t part = index % p->parts, tile = index / p->parts % p->tiles;
    size_t row = row_at(p, part), end = row_at(p, part + 1), left = m->out_pixels - tile * p->tile;
    if (left > p->tile) left = p->tile;
    if (p->other) p->other->begin();
    for (size_t at = 0; at < left && !onx_call_stopped(call); at += NR)
        make_panel(j, index / p->parts / p->tiles, row, end, tile * p->tile + at,
                   left - at < NR ? left - at : NR, scratch);
    if (p->other) p->other->end();
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

onx_status ONX_TIER(onx_conv_columns_run)(onx_call *call) {
    const plan *p = call->plan;
    const onx_operand *bias = onx_call_in(call, 2);
    work j = {.plan = p, .packed = call->packed, .x = call->in[0]->data, .y = call->out[0]->data};
    if (!call->out[0]->count) return ONX_OK;
    if (bias) j.bias = bias->data;
    if (!call->packed && p->packed_bytes) {
        ONX_TRY(pack_all(call, call->scratch));
        j.packed = call->scratch;
    }
    return onx_call_parallel(call, p->images.batch * p->images.groups * p->tiles * p->parts, task,
                             &j);
}
