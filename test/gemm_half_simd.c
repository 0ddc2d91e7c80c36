/* gemm_half_simd.c: cpu/gemm_half_amx.c on plain tiles, as onx_half_gemm_plain. */
#include "base/base.h"

#if defined(__AVX512F__)
#include "plain_tiles.h"
#define onx_half_gemm_amx onx_half_gemm_plain
#include "cpu/gemm_half_amx.c"
#endif
