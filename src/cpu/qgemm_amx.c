/* qgemm_amx.c: products of bytes with the tiles of AMX-INT8: 32 rows by 32 columns, 64 bytes of
 * each row at a time. Depthwise convolutions are those of VNNI. */
#include "cpu/amx.h"
#include "cpu/qend.h"
#include "cpu/qgemm.h"

enum { SIDE = 16, ROWS = 2 * SIDE, COLUMNS = 2 * SIDE, DEPTH = 64 };

/* Tiles 0 … 3 are sums, 4 and 5 rows, 6 and 7 columns. */
#define MULTIPLY(dot)                                                                              \
    for (size_t k = 0; k < t->k; k += DEPTH, a += DEPTH, b += DEPTH * COLUMNS) {                   \
        _tile_loadd(4, a, t->stride);                                                              \
        _tile_loadd(6, b, COLUMNS * 4);                                                            \
        dot(0, 4, 6);                                                                              \
        if (wide) {                                                                                \
            _tile_loadd(7, b + SIDE * 4, COLUMNS * 4);                                             \
            dot(1, 4, 7);                                                                          \
        }                                                                                          \
        if (!high) continue;                                                                       \
        _tile_loadd(5, a + SIDE * t->stride, t->stride);                                           \
        dot(2, 5, 6);                                                                              \
        if (wide) dot(3, 5, 7);                                                                    \
    }

static void tile(const onx_qtile *t) {
    const uint8_t *a = t->rows[0];
    const int8_t *b = t->panel;
    bool high = t->m > SIDE, wide = t->n > SIDE;
    onx_amx_fence();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (t->is_signed)
        MULTIPLY(_tile_dpbssd)
    else
        MULTIPLY(_tile_dpbusd)
    _tile_stored(0, t->sums, COLUMNS * 4);
    if (wide) _tile_stored(1, t->sums + SIDE, COLUMNS * 4);
    if (high) _tile_stored(2, t->sums + SIDE * COLUMNS, COLUMNS * 4);
    if (high && wide) _tile_stored(3, t->sums + SIDE * COLUMNS + SIDE, COLUMNS * 4);
    onx_amx_fence();
}

/* Row m of an odd number is no row of the tile, but memory of its sums. */
static void bytes(const onx_qtile *t, const onx_qend *end, size_t col, uint8_t *y, size_t stride) {
    const onx_qbytes q = onx_qbytes_of(end);
    const __mmask32 some = t->n < COLUMNS ? (1u << t->n) - 1 : ~0u;
    tile(t);
    for (size_t i = 0; i < t->m; i += 2, y += 2 * stride) {
        __m512i rows[2][2];
        for (size_t j = 0; j < 4; j++) {
            size_t at = col + j % 2 * SIDE;
            __m512i sum = _mm512_loadu_si512(t->sums + i * COLUMNS + j * SIDE);
            sum = _mm512_add_epi32(sum, _mm512_loadu_si512(end->offsets + at));
            rows[j / 2][j % 2] = onx_qend_round(sum, _mm512_loadu_ps(end->factors + at));
        }
        __m512i two = onx_qbytes_rows(&q, rows[0], rows[1]);
        _mm256_mask_storeu_epi8(y, some, _mm512_castsi512_si256(two));
        if (i + 1 < t->m)
            _mm256_mask_storeu_epi8(y + stride, some, _mm512_extracti64x4_epi64(two, 1));
    }
}

const onx_qgemm onx_qgemm_amx = {
    .dynamic = &onx_dynamic_avx512,
    .rows = ROWS,
    .columns = COLUMNS,
    .k = DEPTH,
    .work = 1 << 25,
    .dense = SIDE,
    .native = true,
    .enter = onx_amx_begin,
    .leave = onx_amx_end,
    .tile = tile,
    .end = onx_qgemm_end_avx512,
    .bytes = bytes,
    .depth = &onx_qdepth_vnni,
};
