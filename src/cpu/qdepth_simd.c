/* qdepth_simd.c: depthwise convolutions of bytes, by products of 16 bits.
 *
 * Two rows of the image are interleaved, so that a product of pairs is two taps of a column of the
 * window; and kept for all windows that see them, also those of the next line of outputs, whose
 * weights lie further down. Columns lie one after the other, as windows see them; where windows
 * have gaps within or between them, those of each window. */
#include "cpu/qbytes.h"
#include "cpu/qgemm.h"
#include "cpu/vec_pairs.h"

enum { GROUP = 2, OUTPUTS = 4 /* at a time */ };

static size_t groups_of(size_t kh) {
    return (kh + GROUP - 1) / GROUP;
}

static size_t lines(size_t kh) {
    return groups_of(kh) * GROUP - kh + 1;
}

/* int16: [lines][blocks][kw][groups][VF channels][2 taps]. */
static size_t block_length(size_t kh, size_t kw) {
    return kw * groups_of(kh) * VF * GROUP;
}
static size_t blocks_of(size_t channels) {
    return (channels + VF - 1) / VF;
}
static size_t depth_bytes(size_t channels, size_t kh, size_t kw) {
    return lines(kh) * blocks_of(channels) * block_length(kh, kw) * sizeof(int16_t);
}

static void depth_pack(const int16_t *w, size_t channels, size_t kh, size_t kw, void *packed) {
    size_t groups = groups_of(kh);
    int16_t *to = packed;
    for (size_t line = 0; line < lines(kh); line++)
        for (size_t block = 0; block < blocks_of(channels); block++, to += block_length(kh, kw))
            for (size_t i = 0; i < block_length(kh, kw); i++) {
                size_t c = block * VF + i / GROUP % VF, tap = i / GROUP / VF;
                size_t ky = tap % groups * GROUP + i % GROUP - line, kx = tap / groups;
                to[i] = c < channels && ky < kh ? w[(c * kh + ky) * kw + kx] : 0;
            }
}

/* Columns that are kept, and from output to output. */
typedef struct columns {
    size_t n, step;
    bool dense;
} columns;

static columns columns_of(const onx_qdepth_row *r) {
    if (r->dilation == 1 && r->stride <= r->kw)
        return (columns){(r->n - 1) * r->stride + r->kw, r->stride, true};
    return (columns){r->n * r->kw, r->kw, false};
}

static size_t depth_scratch(const onx_qdepth_row *r) {
    return columns_of(r).n * groups_of(r->kh) * VF_BYTES;
}

/* VF channels, or `left`, at a pixel of a row that may be in the padding. */
static inline __attribute__((always_inline)) vi pixel(const onx_qdepth_row *r, const uint8_t *row,
                                                      size_t at, size_t left, bool whole) {
    if (!row || at >= r->iw) return vi_set(r->zero);
    return vi_load_bytes(row + at * r->channels, whole ? VF : left) ^ r->flip;
}

static inline __attribute__((always_inline)) void gather(const onx_qdepth_row *r, const columns *cs,
                                                         size_t c, bool whole) {
    size_t groups = groups_of(r->kh), rows = r->kh + r->lines - 1, left = r->channels - c;
    for (size_t g = 0; g < groups; g++) {
        const uint8_t *row[GROUP];
        for (size_t i = 0; i < GROUP; i++) {
            row[i] = g * GROUP + i < rows ? r->rows[g * GROUP + i] : NULL;
            if (row[i]) row[i] += c;
        }
        char *to = (char *)r->scratch + g * VF_BYTES;
        for (size_t i = 0; i < cs->n; i++, to += groups * VF_BYTES) {
            size_t at = (size_t)r->first + i; /* before the image: large */
            if (!cs->dense)
                at = (size_t)r->first + i / r->kw * r->stride + i % r->kw * r->dilation;
            vi x = pixel(r, row[0], at, left, whole) | pixel(r, row[1], at, left, whole) << 16;
            memcpy(to, &x, sizeof x);
        }
    }
}

/* Some outputs of one line; `known` taps stay in registers. */
static inline __attribute__((always_inline)) void outputs(const onx_qdepth_row *r,
                                                          const columns *cs, size_t line, size_t c,
                                                          bool whole, size_t known) {
    const size_t groups = groups_of(r->kh), taps = known ? known : r->kw * groups;
    const size_t step = cs->step * groups * VF_BYTES, next = r->channels;
    const char *w = (const char *)r->weights +
                    (line * blocks_of(next) + c / VF) * block_length(r->kh, r->kw) * sizeof(int16_t);
    const char *x = r->scratch;
    const vq q = vq_of(r->end);
    const vf factors = vf_load(r->end->factors + c);
    uint8_t *y = r->y + line * r->y_line + c;
    vu offsets;
    memcpy(&offsets, r->end->offsets + c, sizeof offsets);
    for (size_t i = 0; i < r->n; i += OUTPUTS, x += OUTPUTS * step) {
        size_t some = r->n - i < OUTPUTS ? r->n - i : OUTPUTS;
        const char *at[OUTPUTS];
        vu acc[OUTPUTS];
        VF_UNROLL
        for (size_t o = 0; o < OUTPUTS; o++) {
            at[o] = x + (o < some ? o : 0) * step;
            acc[o] = offsets;
        }
        VF_UNROLL
        for (size_t t = 0; t < taps; t++)
            VF_UNROLL
        for (size_t o = 0; o < OUTPUTS; o++)
            acc[o] += v16_pairs(v16_load(at[o] + t * VF_BYTES), v16_load(w + t * VF_BYTES));
        vi all[OUTPUTS];
        VF_UNROLL
        for (size_t o = 0; o < OUTPUTS; o++) all[o] = vq_round(&q, (vi)acc[o], factors);
        vo bytes = vq_bytes(&q, all[0], all[1], all[2], all[3]);
        for (size_t o = 0; o < some; o++, y += next)
            memcpy(y, (const char *)&bytes + o * VF, whole ? VF : next - c);
    }
}

/* All lines of VF channels from c on. */
static inline __attribute__((always_inline)) void block(const onx_qdepth_row *r, size_t c,
                                                        bool whole) {
    const columns cs = columns_of(r);
    gather(r, &cs, c, whole);
    for (size_t line = 0; line < r->lines; line++)
        if (r->kw * groups_of(r->kh) == 6)
            outputs(r, &cs, line, c, whole, 6);
        else
            outputs(r, &cs, line, c, whole, 0);
}

static void depth(const onx_qdepth_row *r) {
    size_t c = 0;
    for (; r->channels - c >= VF; c += VF) block(r, c, true);
    if (c < r->channels) block(r, c, false);
}

static size_t channel_at(size_t place) {
    return place;
}
static bool depth_fits(int low, int high) {
    (void)low, (void)high;
    return true;
}

const onx_qdepth ONX_TIER(onx_qdepth) = {
    .block = VF,
    .bytes = depth_bytes,
    .pack = depth_pack,
    .lines = lines,
    .scratch = depth_scratch,
    .run = depth,
    .channel_at = channel_at,
    .fits = depth_fits,
};
