/* gemm_amx.c: the kernel of gemm_bf16.h on tiles of AMX: 32 rows and 32 columns of sums in four
 * tiles, two tiles of A, two of B. */
#include "cpu/amx.h"
#include "cpu/gemm_bf16.h"

enum {
    A_TILE = ONX_BF16_ROWS * ONX_BF16_DEPTH,
    B_TILE = ONX_BF16_COLS * ONX_BF16_DEPTH, /* two: the columns of one lie between the other's */
    A_BYTES = 64,
    B_BYTES = 128,
    LINE = 64,
};

static inline const char *fetch(const char *ahead, size_t lines) {
    for (size_t i = 0; i < lines; i++, ahead += LINE) _mm_prefetch(ahead, _MM_HINT_T1);
    return ahead;
}

/* Rows up to 16. */
static void one_block(const onx_bf16_block *k) {
    const uint16_t *a = k->a, *b = k->b;
    const char *ahead = k->ahead;
    size_t ldc = k->ldc * sizeof *k->c;
    _tile_zero(0);
    _tile_zero(1);
    for (size_t l = 0; l < k->depth; l += ONX_BF16_DEPTH, a += A_TILE, b += B_TILE) {
        ahead = fetch(ahead, k->lines);
        _tile_loadd(4, a, A_BYTES);
        _tile_loadd(6, b, B_BYTES);
        _tile_loadd(7, b + ONX_BF16_COLS, B_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
    }
    _tile_stored(0, k->c, ldc);
    _tile_stored(1, k->c + 16, ldc);
}

/* A tile is loaded as soon as it was used for the last time: processors that do not rename tiles
 * (they may be short of them) need not wait for the sums. */
static void two_blocks(const onx_bf16_block *k) {
    const uint16_t *a = k->a, *lower = a + k->a_next, *b = k->b;
    const char *ahead = k->ahead;
    size_t ldc = k->ldc * sizeof *k->c;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (k->depth) {
        _tile_loadd(6, b, B_BYTES);
        _tile_loadd(4, a, A_BYTES);
        _tile_loadd(5, lower, A_BYTES);
        _tile_loadd(7, b + ONX_BF16_COLS, B_BYTES);
    }
    for (size_t l = ONX_BF16_DEPTH; l < k->depth; l += ONX_BF16_DEPTH) {
        ahead = fetch(ahead, k->lines);
        a += A_TILE;
        lower += A_TILE;
        b += B_TILE;
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(6, b, B_BYTES);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(4, a, A_BYTES);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(5, lower, A_BYTES);
        _tile_loadd(7, b + ONX_BF16_COLS, B_BYTES);
    }
    if (k->depth) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, k->c, ldc);
    _tile_stored(2, k->c + 16 * k->ldc, ldc);
    _tile_stored(1, k->c + 16, ldc);
    _tile_stored(3, k->c + 16 * k->ldc + 16, ldc);
}

void onx_bf16_kernel_amx(const onx_bf16_block *block) {
    onx_amx_fence();
    (block->rows > ONX_BF16_ROWS ? two_blocks : one_block)(block);
}

void onx_gemm_run_amx(const onx_bf16_args *args, onx_gemm_part part) {
    onx_amx_begin();
    onx_bf16_run_with(args, part, onx_bf16_kernel_amx);
    onx_amx_end();
}
