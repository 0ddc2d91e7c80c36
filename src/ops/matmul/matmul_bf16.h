/* matmul_bf16.h: MatMul, Gemm and MatMulTile over cpu/gemm_bf16.h: what the tiers bf16 and amx
 * share.
 *
 * Floats are rounded to bfloat16 by rows for numerics FAST; tensors of bfloat16 are taken as they
 * are by rows for all: the products are exact in float, and sums are rounded once in the end. Where
 * B alone is bfloat16, A stands for what was such a tensor, too, and is rounded to it. A
 * constant B is packed once, which takes two bytes for each element. A, and another B, are packed
 * in a loop of their own before the tiles of all products are computed; but where threads share out
 * the rows of C, each packs those of A that it multiplies. */
#ifndef ONX_MATMUL_BF16_H
#define ONX_MATMUL_BF16_H

#include "cpu/gemm_bf16.h"
#include "ops/matmul/matmul_ref.h"

/* init: as onx_matmul_init and its kin; UNSUPPORTED where B is known to be too small. */
onx_status onx_matmul_init_bf16(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_init_gemm_bf16(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_init_tile_bf16(onx_call *call) ONX_MUST_CHECK;
size_t onx_matmul_pack_bytes_bf16(const onx_call *call);
onx_status onx_matmul_pack_bf16(onx_call *call, void *out) ONX_MUST_CHECK;
onx_status onx_matmul_bind_bf16(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_bind_gemm_bf16(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_bind_tile_bf16(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_run_bf16(onx_call *call, onx_bf16_run *product) ONX_MUST_CHECK;

typedef struct onx_matmul_plan_bf16 {
    onx_matmul_plan shape;
    onx_gemm_tiling tiling;
    size_t n_tiles, tiles;   /* of all products, and of a task */
    size_t a_count, b_count; /* matrices to pack */
    size_t a_size, b_size;   /* elements of one, packed */
    size_t a_at;             /* in the shared scratch, which begins with B; bytes */
    bool own_rows;           /* a task packs the rows of A that it multiplies */
    onx_tile_plan program;
} onx_matmul_plan_bf16;

/* The rows of a tier whose `run` is given, at the begin of its table. */
#define ONX_MATMUL_ROW_BF16(op_, domain_, name_, flags_, a_, b_, more_, kind_, run_)               \
    {                                                                                              \
        .op = op_, .first = 1, .types = {a_, b_, more_, more_, more_, more_}, .name = name_,       \
        .flags = flags_, .packs = 2, .plan_bytes = sizeof(onx_matmul_plan_bf16),                   \
        .domain = domain_, .init = onx_matmul_init_##kind_,                                        \
        .pack_bytes = onx_matmul_pack_bytes_bf16, .pack = onx_matmul_pack_bf16,                    \
        .bind = onx_matmul_bind_##kind_, .run = run_                                               \
    }
#define ONX_MATMUL_FAST_BF16(op_, domain_, name_, more_, kind_, run_)                              \
    ONX_MATMUL_ROW_BF16(op_, domain_, name_, ONX_KERNEL_FAST, ONX_T(F32), ONX_T(F32), more_,       \
                        kind_, run_)
#define ONX_MATMUL_HALF_BF16(op_, name_, kind_, run_)                                              \
    ONX_MATMUL_ROW_BF16(op_, NULL, name_, 0, ONX_T(BF16), ONX_T(BF16), ONX_T(BF16), kind_, run_)
#define ONX_MATMUL_BY_BF16(op_, name_, more_, kind_, run_)                                         \
    ONX_MATMUL_ROW_BF16(op_, "onx.internal", name_, 0, ONX_T(F32), ONX_T(BF16), more_, kind_, run_)
#define ONX_MATMUL_ROWS_BF16(run_)                                                                 \
    ONX_MATMUL_FAST_BF16("MatMul", NULL, "matmul_fast", ONX_T(F32), bf16, run_),                   \
        ONX_MATMUL_FAST_BF16("Gemm", NULL, "gemm_fast", ONX_T(F32), gemm_bf16, run_),              \
        ONX_MATMUL_FAST_BF16("MatMulTile", "onx.internal", "matmul_tile_fast",                     \
                             ONX_T(F32) | ONX_T(BOOL), tile_bf16, run_),                           \
        ONX_MATMUL_HALF_BF16("MatMul", "matmul_bf16", bf16, run_),                                 \
        ONX_MATMUL_HALF_BF16("Gemm", "gemm_bf16", gemm_bf16, run_),                                \
        ONX_MATMUL_BY_BF16("MatMul", "matmul_by_bf16", ONX_T(F32), bf16, run_),                    \
        ONX_MATMUL_BY_BF16("Gemm", "gemm_by_bf16", ONX_T(F32), gemm_bf16, run_),                   \
        ONX_MATMUL_BY_BF16("MatMulTile", "matmul_tile_by_bf16", ONX_T(F32) | ONX_T(BOOL),          \
                           tile_bf16, run_)

#endif
