/* msquant_vnni.c: products of bytes in com.microsoft by AVX512-VNNI, and of a few bits. */
#include "cpu/nbits.h"

#define MORE_ROWS                                                                                  \
    {.op = "MatMulNBits",                                                                          \
     .first = 1,                                                                                   \
     .name = "matmul_n_bits_vnni",                                                                 \
     .domain = "com.microsoft",                                                                    \
     .types = {ONX_T(F32), ONX_T(U8), ONX_T(F32), ONX_T(U8), 0, ONX_T(F32)},                       \
     .init = onx_nbits_init_vnni,                                                                  \
     .bind = onx_nbits_bind_vnni,                                                                  \
     .run = onx_nbits_run_vnni},
#include "ops/msquant/msquant_rows_simd.h"
