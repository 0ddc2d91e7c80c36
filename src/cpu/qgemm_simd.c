/* qgemm_simd.c: products of bytes with vectors that have no instruction for them: pairs of 16 bits.
 * Even and odd bytes go separately, so that nothing has to be put in another order. */
#include "cpu/qgemm.h"
#include "cpu/vec.h"

enum {
    ROWS = VF_REGISTERS > 16 ? 8 : 4,
    VECTORS = 2, /* of a panel */
    COLUMNS = VECTORS * VF,
};

typedef int16_t v16 __attribute__((vector_size(VF_BYTES)));
typedef uint8_t vb __attribute__((vector_size(VF)));

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
    vi acc[ROWS][VECTORS] = {{{0}}};
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
                    acc[i][v] += pairs(x_even, even[v]) + pairs(x_odd, odd[v]);
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

/* Columns col+j … of row i, `sums` being those. */
static inline vi sum_at(const onx_qend *e, const int32_t *sums, size_t i, size_t at) {
    vi s = load(sums) + load(e->offsets + at);
    return e->zeros ? s - load(e->zeros + at) * e->row_sums[i] : s;
}

static inline void put_bytes(uint8_t *to, size_t n, vi x) {
#if defined(__AVX512F__)
    _mm512_mask_cvtepi32_storeu_epi8(to, n < VF ? (__mmask16)((1u << n) - 1) : 0xffff, (__m512i)x);
#else
    vb v = __builtin_convertvector(x, vb);
    memcpy(to, &v, n < VF ? n : VF);
#endif
}

static void row_bytes(const onx_qend *e, const int32_t *sums, size_t i, size_t col, size_t n,
                      uint8_t *y) {
    const vf lo = vf_set(e->lo), hi = vf_set(e->hi);
    for (size_t j = 0; j < n; j += VF) {
        vf x = vf_float(sum_at(e, sums + j, i, col + j)) * vf_load(e->factors + col + j);
        put_bytes(y + j, n - j, vf_int(vf_min(vf_max(x, lo), hi)) + e->zero);
    }
}

static void row_floats(const onx_qend *e, const int32_t *sums, size_t i, size_t col, size_t n,
                       float *y) {
    for (size_t j = 0; j < n; j += VF) {
        vi s = sum_at(e, sums + j, i, col + j);
        vf x = vi_bits(s);
        if (e->factors) x = vf_float(s) * vf_load(e->factors + col + j);
        if (e->bias) x += vf_load(e->bias + col + j);
        if (n - j < VF)
            vf_store_n(y + j, x, n - j);
        else
            vf_store(y + j, x);
    }
}

void ONX_TIER(onx_qgemm_end)(const onx_qend *e, const int32_t *sums, size_t m, size_t col, size_t n,
                             char *y, size_t stride) {
    bool bytes = e->dtype == ONX_DTYPE_U8 || e->dtype == ONX_DTYPE_I8;
    for (size_t i = 0; i < m; i++, sums += COLUMNS, y += stride)
        if (bytes)
            row_bytes(e, sums, i, col, n, (uint8_t *)y);
        else
            row_floats(e, sums, i, col, n, (float *)(void *)y);
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

static size_t depth_scratch(const onx_qdepth_row *r) {
    return (r->channels + VF) * sizeof(int32_t);
}

static inline vi get_bytes(const uint8_t *p, size_t n, int32_t flip) {
    vb v = {0};
    memcpy(&v, p, n < VF ? n : VF);
    return __builtin_convertvector(v, vi) ^ flip;
}

/* VF channels from c on of the output whose window begins at column `first`. */
static vi depth_sum(const onx_qdepth_row *r, ptrdiff_t first, size_t c) {
    size_t all = (r->channels + VF - 1) / VF * VF;
    vi sum = {0};
    for (size_t ky = 0; ky < r->kh; ky++)
        for (size_t kx = 0; kx < r->kw; kx++) {
            size_t at = (size_t)first + kx * r->dilation; /* before the image: large */
            vi w = load((const int32_t *)r->weights + (ky * r->kw + kx) * all + c);
            vi x = vi_set(r->zero);
            if (r->rows[ky] && at < r->iw) {
                const uint8_t *p = r->rows[ky] + at * r->channels + c;
                x = r->channels - c < VF ? get_bytes(p, r->channels - c, r->flip)
                                         : get_bytes(p, VF, r->flip);
            }
            sum += x * w;
        }
    return sum;
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

static size_t channel_at(size_t place) {
    return place;
}
static bool depth_fits(int low, int high) {
    (void)low, (void)high;
    return true;
}

const onx_qgemm ONX_TIER(onx_qgemm) = {
    .rows = ROWS,
    .columns = COLUMNS,
    .tile = tile,
    .end = ONX_TIER(onx_qgemm_end),
    .block = VF,
    .depth_bytes = depth_bytes,
    .depth_pack = depth_pack,
    .depth_scratch = depth_scratch,
    .depth = depth,
    .channel_at = channel_at,
    .depth_fits = depth_fits,
};
