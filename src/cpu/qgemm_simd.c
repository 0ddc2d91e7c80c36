/* qgemm_simd.c: products of bytes with vectors that have no instruction for them: pairs of 16 bits.
 * Even and odd bytes go separately, so that nothing has to be put in another order. */
#include "cpu/qgemm.h"
#include "cpu/vec_bytes.h"

#include <math.h>

enum {
    ROWS = VF_REGISTERS > 16 ? 8 : 4,
    VECTORS = 2, /* of a panel */
    COLUMNS = VECTORS * VF,
};

typedef int16_t v16 __attribute__((vector_size(VF_BYTES)));
typedef uint32_t vu __attribute__((vector_size(VF_BYTES))); /* sums, modulo 2^32 */

/* Products of two and two neighbours, added. */
static inline vi pairs(v16 a, v16 b) {
#if defined(__AVX512BW__)
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    vi even = (((vi)a << 16) >> 16) * (((vi)b << 16) >> 16);
    return even + ((vi)a >> 16) * ((vi)b >> 16);
#endif
}

static inline vi load(const void *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void tile_of(const onx_qtile *t, size_t m, int32_t *sums) {
    vu acc[ROWS][VECTORS] = {{{0}}};
    const int8_t *w = t->panel;
    for (size_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *const *rows = t->rows + tap * t->m;
        for (size_t k = 0; k < t->k; k += 4, w += COLUMNS * 4) {
            v16 even[VECTORS], odd[VECTORS];
            for (size_t v = 0; v < VECTORS; v++) {
                v16 four = (v16)load(w + v * VF_BYTES);
                even[v] = (four << 8) >> 8;
                odd[v] = four >> 8;
            }
            for (size_t i = 0; i < m; i++) {
                uint32_t x;
                memcpy(&x, rows[i] + k, sizeof x);
                x ^= t->flip;
                v16 x_even = (v16)vi_set((int32_t)(x & 0x00ff00ff));
                v16 x_odd = (v16)vi_set((int32_t)(x >> 8 & 0x00ff00ff));
                for (size_t v = 0; v < VECTORS; v++)
                    acc[i][v] += (vu)pairs(x_even, even[v]) + (vu)pairs(x_odd, odd[v]);
            }
        }
    }
    for (size_t i = 0; i < m; i++) memcpy(sums + i * COLUMNS, acc[i], sizeof acc[i]);
}

static void tile(const onx_qtile *t) {
    onx_qtile part = *t;
    for (size_t i = 0; i < t->m; i += ROWS, part.rows += ROWS) {
        int32_t *sums = t->sums + i * COLUMNS;
        if (t->m - i >= ROWS)
            tile_of(&part, ROWS, sums);
        else
            tile_of(&part, t->m - i, sums);
    }
}

/* ── Results ─────────────────────────────────────────────────────────────────────────────────── */

/* A vector of columns of a row: offsets and zeros are those of the columns. */
static inline vi sum_of(const onx_qend *e, const int32_t *sums, size_t i, vi offsets, vi zeros) {
    vu s = (vu)load(sums) + (vu)offsets;
    return (vi)(e->zeros ? s - (vu)zeros * (uint32_t)e->row_sums[i] : s);
}

static inline void end_bytes(const onx_qend *e, const int32_t *sums, size_t m, size_t at, size_t n,
                             uint8_t *y, size_t stride) {
    const vf lo = vf_set(e->lo), hi = vf_set(e->hi), factors = vf_load(e->factors + at);
    const vi offsets = load(e->offsets + at), zeros = e->zeros ? load(e->zeros + at) : offsets;
    for (size_t i = 0; i < m; i++, y += stride) {
        vf x = vf_float(sum_of(e, sums + i * COLUMNS, i, offsets, zeros)) * factors;
        vi_store_bytes(y, vf_int(vf_min(vf_max(x, lo), hi)) + e->zero, n);
    }
}

static void end_floats(const onx_qend *e, const int32_t *sums, size_t m, size_t at, size_t n,
                       char *y, size_t stride) {
    const vf bias = e->bias ? vf_load(e->bias + at) : vf_zero();
    const vi offsets = load(e->offsets + at), zeros = e->zeros ? load(e->zeros + at) : offsets;
    for (size_t i = 0; i < m; i++, y += stride) {
        vi s = sum_of(e, sums + i * COLUMNS, i, offsets, zeros);
        vf x = vi_bits(s);
        if (e->factors) x = vf_float(s) * vf_load(e->factors + at);
        if (e->bias) x += bias;
        vf_store_n((float *)(void *)y, x, n < VF ? n : VF);
    }
}

void ONX_TIER(onx_qgemm_end)(const onx_qend *e, const int32_t *sums, size_t m, size_t col, size_t n,
                             char *y, size_t stride) {
    bool bytes = e->dtype == ONX_DTYPE_U8 || e->dtype == ONX_DTYPE_I8;
    size_t size = bytes ? 1 : sizeof(float);
    for (size_t j = 0; j < n; j += VF) {
        uint8_t *to = (uint8_t *)y + j * size;
        if (!bytes)
            end_floats(e, sums + j, m, col + j, n - j, (char *)to, stride);
        else if (n - j < VF)
            end_bytes(e, sums + j, m, col + j, n - j, to, stride);
        else
            end_bytes(e, sums + j, m, col + j, VF, to, stride);
    }
}

/* ── Depthwise ───────────────────────────────────────────────────────────────────────────────── */

/* Weights as int32: [kh*kw][channels up to whole vectors]. */
static size_t depth_bytes(size_t channels, size_t kh, size_t kw) {
    return (channels + VF - 1) / VF * VF * kh * kw * sizeof(int32_t);
}

static void depth_pack(const int16_t *w, size_t channels, size_t kh, size_t kw, void *packed) {
    size_t all = (channels + VF - 1) / VF * VF, taps = kh * kw;
    int32_t *to = packed;
    for (size_t t = 0; t < taps; t++)
        for (size_t c = 0; c < all; c++) to[t * all + c] = c < channels ? w[c * taps + t] : 0;
}

static size_t lines(size_t kh) {
    (void)kh;
    return 1;
}

static size_t depth_scratch(const onx_qdepth_row *r) {
    return (r->channels + VF) * sizeof(int32_t);
}

/* VF channels from c on of the output whose window begins at column `first`. */
static vi depth_sum(const onx_qdepth_row *r, ptrdiff_t first, size_t c) {
    size_t all = (r->channels + VF - 1) / VF * VF;
    vu sum = {0};
    for (size_t ky = 0; ky < r->kh; ky++)
        for (size_t kx = 0; kx < r->kw; kx++) {
            size_t at = (size_t)first + kx * r->dilation; /* before the image: large */
            vi w = load((const int32_t *)r->weights + (ky * r->kw + kx) * all + c);
            vi x = vi_set(r->zero);
            if (r->rows[ky] && at < r->iw) {
                const uint8_t *p = r->rows[ky] + at * r->channels + c;
                x = vi_load_bytes(p, r->channels - c) ^ r->flip;
            }
            sum += (vu)x * (vu)w;
        }
    return (vi)sum;
}

static void depth(const onx_qdepth_row *r) {
    int32_t *sums = r->scratch;
    for (size_t i = 0; i < r->n; i++) {
        ptrdiff_t first = r->first + (ptrdiff_t)(i * r->stride);
        for (size_t c = 0; c < r->channels; c += VF) {
            vi sum = depth_sum(r, first, c);
            memcpy(sums + c, &sum, sizeof sum);
        }
        ONX_TIER(onx_qgemm_end)(r->end, sums, 1, 0, r->channels, (char *)r->y + i * r->channels, 0);
    }
}

/* ── Quantizing ──────────────────────────────────────────────────────────────────────────────── */

static void range(const float *x, size_t n, float *lo, float *hi) {
    vf least = vf_set(*lo), most = vf_set(*hi);
    vi odd = least != least;
    size_t i = 0;
    for (; i + VF <= n; i += VF) {
        vf v = vf_load(x + i);
        odd |= v != v;
        least = vf_min(v, least);
        most = vf_max(v, most);
    }
    *lo = -vf_largest(-least);
    *hi = vf_largest(most);
    for (; i < n; i++) {
        float v;
        memcpy(&v, x + i, sizeof v);
        *lo = v < *lo || v != v ? v : *lo;
        *hi = v > *hi || v != v ? v : *hi;
    }
    if (vf_any(odd)) *lo = *hi = (float)NAN;
}

static void quantize(const float *x, size_t n, const onx_dynamic *with, uint8_t *to) {
    float zero = (float)with->zero;
    for (size_t i = 0; i < n; i += VF) {
        vf v = (n - i < VF ? vf_load_n(x + i, n - i) : vf_load(x + i)) / with->scale;
        v = vf_min(vf_max(v, vf_set(-zero)), vf_set(255 - zero));
        vi_store_bytes(to + i, vf_int(v) + (int32_t)with->zero, n - i);
    }
}

const onx_dynamic_fns ONX_TIER(onx_dynamic) = {range, quantize};

static size_t channel_at(size_t place) {
    return place;
}
static bool depth_fits(int low, int high) {
    (void)low, (void)high;
    return true;
}

static const onx_qdepth depth_fns = {
    .block = VF,
    .bytes = depth_bytes,
    .pack = depth_pack,
    .lines = lines,
    .scratch = depth_scratch,
    .run = depth,
    .channel_at = channel_at,
    .fits = depth_fits,
};

const onx_qgemm ONX_TIER(onx_qgemm) = {
    .dynamic = &ONX_TIER(onx_dynamic),
    .rows = ROWS,
    .columns = COLUMNS,
    .tile = tile,
    .end = ONX_TIER(onx_qgemm_end),
    .depth = &depth_fns,
    .k = 4,
    .work = 1 << 20,
};
