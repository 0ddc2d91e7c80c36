/* gemm_amx.c: the kernel of gemm_bf16.h on tiles of AMX: 32 rows and 32 columns of sums in four
 * tiles, two tiles of A, two of B. */
#include "cpu/amx.h"
#include "cpu/gemm_bf16.h"

enum {
    A_TILE = ONX_BF16_ROWS * ONX_BF16_DEPTH,
    B_TILE = ONX_BF16_COLS * ONX_BF16_DEPTH, /* two: the columns of one lie between the other's */
    A_BYTES = 64,
    B_BYTES = 128,
};

/* Rows up to 16. */
static void one_block(size_t k, const uint16_t *a, const uint16_t *b, float *c, size_t ldc) {
    _tile_zero(0);
    _tile_zero(1);
    for (size_t l = 0; l < k; l += ONX_BF16_DEPTH, a += A_TILE, b += B_TILE) {
        _tile_loadd(4, a, A_BYTES);
        _tile_loadd(6, b, B_BYTES);
        _tile_loadd(7, b + ONX_BF16_COLS, B_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
    }
    _tile_stored(0, c, ldc * sizeof *c);
    _tile_stored(1, c + 16, ldc * sizeof *c);
}

static void two_blocks(size_t k, const uint16_t *a, const uint16_t *b, float *c, size_t ldc) {
    const uint16_t *lower = a + onx_bf16_block_size(k);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t l = 0; l < k; l += ONX_BF16_DEPTH, a += A_TILE, lower += A_TILE, b += B_TILE) {
        _tile_loadd(6, b, B_BYTES);
        _tile_loadd(4, a, A_BYTES);
        _tile_loadd(7, b + ONX_BF16_COLS, B_BYTES);
        _tile_loadd(5, lower, A_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, ldc * sizeof *c);
    _tile_stored(1, c + 16, ldc * sizeof *c);
    _tile_stored(2, c + 16 * ldc, ldc * sizeof *c);
    _tile_stored(3, c + 16 * ldc + 16, ldc * sizeof *c);
}

static void kernel(size_t k, size_t rows, const uint16_t *a, const uint16_t *b, float *c,
                   size_t ldc) {
    onx_amx_fence();
    (rows > ONX_BF16_ROWS ? two_blocks : one_block)(k, a, b, c, ldc);
}

void onx_gemm_run_amx(const onx_bf16_args *args, onx_gemm_part part) {
    onx_amx_begin();
    onx_bf16_run_with(args, part, kernel);
    onx_amx_end();
}
