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

/* Columns that are kept: `spans` of n, which are `apart` in the image, as columns within are; and
 * from output to output. */
typedef struct columns {
    size_t spans, n, step, apart;
} columns;

static columns columns_of(const onx_qdepth_row *r) {
    if (r->dilation == 1 && r->stride <= r->kw)
        return (columns){1, (r->n - 1) * r->stride + r->kw, r->stride, 1};
    return (columns){r->n, r->kw, r->kw, r->dilation};
}

static size_t depth_scratch(const onx_qdepth_row *r) {
    columns cs = columns_of(r);
    return cs.spans * cs.n * groups_of(r->kh) * VF_BYTES;
}

/* Two rows of some pixels of VF channels, or `left`. */
typedef struct source {
    const uint8_t *a, *b;
    size_t a_next, b_next; /* bytes from column to column; 0: in the padding */
    size_t left;
    int32_t flip;
} source;

static inline __attribute__((always_inline)) char *interleave(source s, size_t n, size_t step,
                                                              bool whole, char *to) {
    const vi flip = vi_set(s.flip);
    const size_t some = whole ? VF : s.left;
    for (size_t i = 0; i < n; i++, to += step, s.a += s.a_next, s.b += s.b_next) {
        vi x = vi_load_bytes(s.a, some) | vi_load_bytes(s.b, some) << 16;
        x ^= flip;
        memcpy(to, &x, sizeof x);
    }
    return to;
}

/* Columns that lie `apart` from pixel `first` on: those before, in and behind the image. */
static inline __attribute__((always_inline)) char *gather_span(const onx_qdepth_row *r,
                                                               const columns *cs, source s,
                                                               const uint8_t *pad, ptrdiff_t first,
                                                               size_t step, bool whole, char *to) {
    const source outside = {pad, pad, 0, 0, s.left, s.flip};
    size_t before = first < 0 ? ((size_t)-first - 1) / cs->apart + 1 : 0;
    before = before < cs->n ? before : cs->n;
    size_t at = (size_t)first + before * cs->apart; /* behind the image, if none is in it */
    size_t in = at < r->iw ? (r->iw - at - 1) / cs->apart + 1 : 0;
    in = in < cs->n - before ? in : cs->n - before;
    to = interleave(outside, before, step, whole, to);
    if (in) {
        s.a += at * s.a_next, s.a_next *= cs->apart;
        s.b += at * s.b_next, s.b_next *= cs->apart;
        to = interleave(s, in, step, whole, to);
    }
    return interleave(outside, cs->n - before - in, step, whole, to);
}

/* Row y of those that are there, from channel c on; or of the padding. */
static inline const uint8_t *row_at(const onx_qdepth_row *r, size_t y, size_t c, const uint8_t *pad,
                                    size_t *next) {
    bool there = y < r->kh + r->lines - 1 && r->rows[y];
    *next = there ? r->channels : 0;
    return there ? r->rows[y] + c : pad;
}

static inline __attribute__((always_inline)) void gather(const onx_qdepth_row *r, const columns *cs,
                                                         size_t c, bool whole) {
    size_t groups = groups_of(r->kh);
    uint8_t pad[VF];
    memset(pad, r->zero ^ r->flip, sizeof pad);
    for (size_t g = 0; g < groups; g++) {
        source s = {.left = r->channels - c, .flip = r->flip * 0x10001};
        s.a = row_at(r, g * GROUP, c, pad, &s.a_next);
        s.b = row_at(r, g * GROUP + 1, c, pad, &s.b_next);
        char *to = (char *)r->scratch + g * VF_BYTES;
        for (size_t i = 0; i < cs->spans; i++)
            to = gather_span(r, cs, s, pad, r->first + (ptrdiff_t)(i * r->stride),
                             groups * VF_BYTES, whole, to);
    }
}

/* Outputs of one line. */
static inline __attribute__((always_inline)) void outputs(const onx_qdepth_row *r,
                                                          const columns *cs, size_t line, size_t c,
                                                          bool whole) {
    const size_t groups = groups_of(r->kh), taps = r->kw * groups, next = r->channels;
    const size_t step = cs->step * groups * VF_BYTES;
    const char *w = (const char *)r->weights + (line * blocks_of(next) + c / VF) *
                                                   block_length(r->kh, r->kw) * sizeof(int16_t);
    const char *x = r->scratch;
    const vq q = vq_of(r->end);
    const vf factors = vf_load(r->end->factors + c);
    uint8_t *y = r->y + line * r->y_line + c;
    vu offsets;
    memcpy(&offsets, r->end->offsets + c, sizeof offsets);
    for (size_t i = 0; i < r->n; i += OUTPUTS, x += OUTPUTS * step, y += OUTPUTS * next) {
        size_t some = r->n - i < OUTPUTS ? r->n - i : OUTPUTS;
        const char *at[OUTPUTS];
        vu acc[OUTPUTS];
        VF_UNROLL
        for (size_t o = 0; o < OUTPUTS; o++) {
            at[o] = x + (o < some ? o : 0) * step;
            acc[o] = offsets;
        }
        for (size_t t = 0; t < taps * VF_BYTES; t += VF_BYTES) {
            v16 tap = v16_load(w + t);
            VF_UNROLL
            for (size_t o = 0; o < OUTPUTS; o++) acc[o] += v16_pairs(v16_load(at[o] + t), tap);
        }
        vi all[OUTPUTS];
        VF_UNROLL
        for (size_t o = 0; o < OUTPUTS; o++) all[o] = vq_round(&q, (vi)acc[o], factors);
        vo bytes = vq_bytes(&q, all[0], all[1], all[2], all[3]);
        if (whole && some == OUTPUTS)
            vo_store_quarters(y, next, bytes);
        else
            for (size_t o = 0; o < some; o++)
                memcpy(y + o * next, (const char *)&bytes + o * VF, whole ? VF : next - c);
    }
}

/* All lines of VF channels from c on. */
static inline __attribute__((always_inline)) void block(const onx_qdepth_row *r, size_t c,
                                                        bool whole) {
    const columns cs = columns_of(r);
    gather(r, &cs, c, whole);
    for (size_t line = 0; line < r->lines; line++) outputs(r, &cs, line, c, whole);
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
