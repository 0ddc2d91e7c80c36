/* conv_bf16.h: Conv with products in bfloat16 (cpu/gemm_bf16.h), for numerics FAST: what the tiers
 * bf16 and amx share. Columns are gathered as in conv_columns_simd.c, and rounded then. */
#ifndef ONX_CONV_BF16_H
#define ONX_CONV_BF16_H

#include "cpu/gemm_bf16.h"
#include "ops/conv/conv_columns_simd.h"

size_t onx_conv_weights_bytes_bf16(size_t oc, size_t k);
void onx_conv_pack_bf16(const float *w, size_t oc, size_t k, size_t row, size_t end, void *to);
size_t onx_conv_panel_bytes_bf16(size_t k);
void onx_conv_put_bf16(const float *columns, size_t first, size_t depth, void *panel);
void onx_conv_multiply_bf16(const void *weights, const void *panel, size_t k, size_t row,
                            size_t end, float *sums, onx_bf16_kernel *kernel);

/* The functions of an onx_conv_columns_other, and the row of a tier. */
#define ONX_CONV_OTHER_BF16(begin_, multiply_, end_)                                               \
    {                                                                                              \
        ONX_BF16_PART, onx_conv_weights_bytes_bf16, onx_conv_pack_bf16, onx_conv_panel_bytes_bf16, \
            onx_conv_put_bf16, begin_, multiply_, end_                                             \
    }
#define ONX_CONV_ROW_BF16(init_)                                                                   \
    {                                                                                              \
        .op = "Conv", .first = 1, .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32)},                   \
        .name = "conv_fast", .flags = ONX_KERNEL_FAST, .packs = 1 << 1, .init = init_,             \
        .pack_bytes = onx_conv_columns_pack_bytes_avx512, .pack = onx_conv_columns_pack_avx512,    \
        .bind = onx_conv_columns_bind_avx512, .run = onx_conv_columns_run_avx512                   \
    }

#endif
