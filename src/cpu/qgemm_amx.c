/* qgemm_amx.c: products of bytes with the tiles of AMX-INT8: 32 rows by 32 columns, 64 bytes of
 * each row at a time. Depthwise convolutions are those of VNNI. */
#include "cpu/amx.h"
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
    .depth = &onx_qdepth_vnni,
};
