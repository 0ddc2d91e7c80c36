/* tile_simd.h: programs on vectors, for kernels of the same tier. */
#ifndef ONX_TILE_SIMD_H
#define ONX_TILE_SIMD_H

#include "cpu/vec.h"
#include "ops/tile/tile_ref.h"

/* A program at work for one worker: pointers to the operands, constants spread out. */
typedef struct onx_tile_arg {
    const float *data;
    size_t step; /* VF, or 0: the same vector for all */
    size_t row;  /* to the next row of a block */
} onx_tile_arg;
typedef struct onx_tile_work {
    const onx_tile_plan *plan;
    onx_operand *const *operands;
    float *buffers; /* inputs, then registers, ONX_TILE_SPAN each */
    onx_tile_arg slots[ONX_TILE_INPUTS + ONX_TILE_CONSTS + ONX_TILE_CODE];
} onx_tile_work;

/* Begin: `scratch` is tile->scratch bytes, aligned to ONX_ALIGN; operands as given to
 * onx_tile_bind, now with their data. */
void ONX_TIER(onx_tile_begin)(onx_tile_work *work, const onx_tile_plan *plan,
                              onx_operand *const *operands, void *scratch);
/* Elements at … at+n-1 of the result to `out`, which has the type of the result. `block`: those
 * elements of the input whose operand is NULL; may be `out`. */
void ONX_TIER(onx_tile_span)(onx_tile_work *work, int64_t at, size_t n, const float *block,
                             void *out);
/* The same in place for a block of a matrix: rows row0 … row0+n_rows-1, columns col0 … of a result
 * of `width` columns; block [n_rows][n_cols] with `stride` floats from row to row. The result must
 * be float. */
void ONX_TIER(onx_tile_rows)(onx_tile_work *work, float *block, size_t stride, int64_t width,
                             int64_t row0, size_t n_rows, int64_t col0, size_t n_cols);
/* A program as the end of a product of matrices (cpu/gemm.h: onx_gemm_epilogue, whose `user` this
 * is): the program at work, and where the product lies in a result of `n` columns. */
typedef struct onx_tile_end {
    onx_tile_work work;
    size_t row, n; /* rows before it */
} onx_tile_end;
void ONX_TIER(onx_tile_finish)(void *user, float *c, size_t row, size_t n_rows, size_t col,
                               size_t n_cols, size_t ldc);
/* Task and run of rows whose init and bind are those of tile_ref.h. */
onx_status ONX_TIER(onx_tile_run)(onx_call *call) ONX_MUST_CHECK;

#endif
