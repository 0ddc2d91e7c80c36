/* conv_depthwise_simd.c: convolution in groups of a few channels, in the blocked layout: as many
 * outputs as inputs, 1 (depthwise), 2, 4 … in a group, so that groups do not leave their block.
 *
 * A row of the output is cut into spans of neighbouring pixels, whose sums are held in registers.
 * With kernels of 3, 5 or 7 columns, steps of 1 or 2 and no dilation each input of the span is
 * loaded once for each row of the kernel, and used by all the pixels that see it; other depthwise
 * kernels take the same spans tap by tap. In larger groups each input is dealt to the lanes of its
 * group, channel by channel. Columns outside the image are read as zeros. Every output is summed in
 * the order of its taps. Weights are packed as [blocks][kh][kw][ic][b].
 */
#include "cpu/conv_tile.h"

#if defined(__AVX512F__) || defined(__ARM_NEON) /* 32 registers */
enum { SPAN = 14 };
#define EACH_SPAN(X) X(14) X(7) X(4) X(2) X(1)
#elif defined(__AVX2__)
enum { SPAN = 8 };
#define EACH_SPAN(X) X(8) X(7) X(4) X(2) X(1)
#else /* any processor: small rather than fast */
enum { SPAN = 4 };
#define EACH_SPAN(X) X(4) X(1)
#endif
#if defined(__clang__)
#define UNROLL_ALL _Pragma("clang loop unroll(full)")
#else
#define UNROLL_ALL _Pragma("GCC unroll 64")
#endif
#define TASK_PRODUCTS ((size_t)1 << 17)
/* A pointer in a register, whose origin is forgotten: gcc would compute each address apart. */
#define KEEP(pointer) __asm__("" : "+r"(pointer))

static const float zeros[VF];

/* One block of channels of one image. */
typedef struct plane {
    const onx_conv *c;
    const float *x;   /* [ih][iw][b] */
    const float *w;   /* [kh][kw][ic][b] */
    const float *add; /* as y, or NULL */
    float *y;         /* [oh][ow][b] */
    vf bias, lo, hi;
} plane;

/* Where column x of a row is, modulo 2^64; zeros outside. */
static inline const float *column(const onx_conv *c, const float *row, size_t x) {
    return x < c->iw ? row + x * VF : zeros;
}

/* One row of the kernel. */
TILE_INLINE void add_row_of_any(const onx_conv *c, const float *row, size_t x, const float *weights,
                                vf sum[SPAN], size_t pixels) {
    for (size_t k = 0; k < c->kw; k++, x += c->dw) {
        vf w = vf_load(weights + k * VF);
        VF_UNROLL for (size_t p = 0; p < pixels; p++) sum[p] =
            vf_fma(vf_load(column(c, row, x + p * c->sw)), w, sum[p]);
    }
}

/* The same where kw, sw and pixels are constants, and only columns at the edges of the span may be
 * outside. */
TILE_INLINE void add_row(const onx_conv *c, const float *row, size_t x, const float *weights,
                         vf sum[SPAN], size_t kw, size_t sw, size_t pixels) {
    const size_t n = (pixels - 1) * sw + kw, edge = kw / 2;
    const float *first = row + (ptrdiff_t)x * VF;
    vf w[7];
    KEEP(first);
    VF_UNROLL for (size_t k = 0; k < kw; k++) w[k] = vf_load(weights + k * VF);
    UNROLL_ALL for (size_t i = 0; i < n; i++) {
        bool inside = i >= edge && i < n - edge;
        vf in = vf_load(inside ? first + i * VF : column(c, row, x + i));
        VF_UNROLL for (size_t p = 0; p < pixels; p++) if (p * sw <= i && i < p * sw + kw) sum[p] =
            vf_fma(in, w[i - p * sw], sum[p]);
    }
}

/* What lane each lane reads for input `channel` of its group; ic is a power of 2. */
static inline vi lanes_of(size_t channel, size_t ic) {
    static const int32_t all[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    vi lane;
    memcpy(&lane, all, sizeof lane);
    return (lane & -(int32_t)ic) | (int32_t)channel;
}

TILE_INLINE void add_row_of_groups(const onx_conv *c, const float *row, size_t x,
                                   const float *weights, vf sum[SPAN], size_t pixels) {
    for (size_t k = 0; k < c->kw; k++, x += c->dw) {
        vf in[SPAN];
        VF_UNROLL for (size_t p = 0; p < pixels; p++) in[p] =
            vf_load(column(c, row, x + p * c->sw));
        for (size_t i = 0; i < c->ic; i++, weights += VF) {
            vf w = vf_load(weights);
            vi lanes = lanes_of(i, c->ic);
            VF_UNROLL for (size_t p = 0; p < pixels; p++) {
                sum[p] = vf_fma(vf_permute(in[p], lanes), w, sum[p]);
            }
        }
    }
}

/* `pixels` outputs from (oy, ox). kw is 0 for any depthwise kernel, 1 for groups. */
TILE_INLINE void run_span(const plane *f, size_t oy, size_t ox, size_t kw, size_t sw,
                          size_t pixels) {
    const onx_conv *c = f->c;
    size_t out = (oy * c->ow + ox) * VF, x = ox * c->sw - c->left;
    vf sum[SPAN];
    VF_UNROLL for (size_t p = 0; p < pixels; p++) {
        sum[p] = f->bias;
        if (f->add) sum[p] += vf_load(f->add + out + p * VF);
    }
    for (size_t k = 0; k < c->kh; k++) {
        size_t y = oy * c->sh + k * c->dh - c->top; /* modulo 2^64 */
        if (y >= c->ih) continue;
        const float *row = f->x + y * c->iw * VF, *w = f->w + k * c->kw * c->ic * VF;
        if (kw == 1)
            add_row_of_groups(c, row, x, w, sum, pixels);
        else if (kw)
            add_row(c, row, x, w, sum, kw, sw, pixels);
        else
            add_row_of_any(c, row, x, w, sum, pixels);
    }
    VF_UNROLL for (size_t p = 0; p < pixels; p++)
        vf_store(f->y + out + p * VF, vf_min(f->hi, vf_max(f->lo, sum[p])));
}

/* Whether all columns but those at the edges are inside, as they are with the usual padding. */
static inline bool is_usual(const onx_conv *c, size_t ox, size_t kw, size_t sw, size_t pixels) {
    size_t x = ox * sw + kw / 2 - c->left; /* modulo 2^64 */
    return x < c->iw && (pixels - 1) * sw < c->iw - x;
}

#define SPAN_OF_ANY(pixels)                                                                        \
    static __attribute__((noinline)) void any_##pixels(const plane *f, size_t oy, size_t ox) {     \
        run_span(f, oy, ox, 0, 0, pixels);                                                         \
    }
EACH_SPAN(SPAN_OF_ANY)

/* A function for each kind of kernel: rows [first, last) of the output. Rows of whole
 * sevens, but not eights, are cut into sevens: many images are 7, 14 or 28 wide. */
#define SPANS(pixels)                                                                              \
    for (; ox + pixels <= f->c->ow && (pixels != 8 || eights); ox += pixels)                       \
        if (kw == 0 || (kw > 1 && !is_usual(f->c, ox, kw, sw, pixels)))                            \
            any_##pixels(f, oy, ox);                                                               \
        else                                                                                       \
            run_span(f, oy, ox, kw, sw, pixels);
TILE_INLINE void run_rows(const plane *f, size_t first, size_t last, size_t kw, size_t sw) {
    const bool eights = f->c->ow % 7 || f->c->ow % 8 == 0;
    for (size_t oy = first; oy < last; oy++) {
        size_t ox = 0;
        EACH_SPAN(SPANS)
    }
}
#define EACH_KIND(X) X(3, 1) X(3, 2) X(5, 1) X(5, 2) X(7, 1) X(7, 2) X(1, 0) X(0, 0)
#define KIND(kw, sw)                                                                               \
    static void rows_##kw##_##sw(const plane *f, size_t first, size_t last) {                      \
        run_rows(f, first, last, kw, sw);                                                          \
    }
EACH_KIND(KIND)
static const struct {
    size_t kw, sw;
    void (*run)(const plane *f, size_t first, size_t last);
} kinds[] = {
#define KIND_ENTRY(kw, sw) {kw, sw, rows_##kw##_##sw},
    EACH_KIND(KIND_ENTRY)};

static size_t blocks_of(const onx_conv *c) {
    return ceil_div(c->groups * c->ic, VF);
}

static onx_shares shares_of(const onx_conv *c) {
    size_t blocks = blocks_of(c), products = c->kh * c->kw * c->ic * VF * blocks * c->oh * c->ow;
    return onx_shares_of(c->ih * c->iw, c->oh, blocks, onx_tasks_worth(products, TASK_PRODUCTS));
}
static size_t depthwise_tasks(const onx_conv *c) {
    onx_shares s = shares_of(c);
    return c->n * s.pieces * s.parts;
}

static size_t kind_of(const onx_conv *c) {
    size_t i = 0, kw = c->ic > 1 ? 1 : c->dw > 1 || c->kw == 1 ? 0 : c->kw, sw = kw > 1 ? c->sw : 0;
    while (kinds[i].kw && (kinds[i].kw != kw || kinds[i].sw != sw)) i++;
    return i;
}

/* Rows [first, last) of a block. */
static void run_block(const onx_conv *c, const onx_conv_args *a, size_t block, size_t first,
                      size_t last) {
    size_t channel = block % blocks_of(c) * VF, out = block * c->oh * c->ow * VF;
    plane f = {.c = c,
               .x = a->x + block * c->ih * c->iw * VF,
               .w = a->w + channel * c->kh * c->kw * c->ic,
               .add = a->residual ? a->residual + out : NULL,
               .y = a->y + out,
               .lo = vf_set(a->lo),
               .hi = vf_set(a->hi)};
    if (a->bias) f.bias = vf_load_n(a->bias + channel, smaller(VF, c->groups * c->ic - channel));
    kinds[kind_of(c)].run(&f, first, last);
    if (a->then) a->then(a->user, f.y + first * c->ow * VF, (last - first) * c->ow * VF);
}

static void depthwise_run(const onx_conv *c, const onx_conv_args *a, size_t task, void *scratch) {
    onx_shares all = shares_of(c);
    onx_share s = onx_share_of(&all, task);
    for (size_t i = s.block; i < s.block_end; i++)
        run_block(c, a, s.image * all.blocks + i, s.row, s.row_end);
    (void)scratch;
}

static size_t depthwise_scratch(const onx_conv *c) {
    (void)c;
    return 0;
}
static size_t depthwise_weights(const onx_conv *c) {
    return blocks_of(c) * VF * c->kh * c->kw * c->ic;
}

/* A part: a block. */
static void depthwise_pack(const onx_conv *c, const float *w, size_t block, float *packed) {
    size_t taps = c->kh * c->kw;
    packed += block * VF * taps * c->ic;
    for (size_t k = 0; k < taps; k++)
        for (size_t i = 0; i < c->ic; i++)
            for (size_t oc = block * VF; oc < (block + 1) * VF; oc++)
                *packed++ = oc < c->groups * c->oc ? load_any(w + (oc * c->ic + i) * taps + k) : 0;
}

const onx_conv_algorithm ONX_TIER(onx_conv_depthwise) = {
    VF,
    depthwise_weights,
    blocks_of,
    depthwise_pack,
    depthwise_tasks,
    depthwise_scratch,
    depthwise_run,
};
