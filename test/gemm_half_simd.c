/* gemm_half_simd.c: cpu/gemm_half_amx.c on plain tiles, as onx_half_run_plain and its kin. */
#include "base/base.h"

#if defined(__AVX512F__)
#include "plain_tiles.h"
#define onx_half_block_bytes onx_half_block_bytes_plain
#define onx_half_panel_size onx_half_panel_size_plain
#define onx_half_pack_a onx_half_pack_a_plain
#define onx_half_pack_b onx_half_pack_b_plain
#define onx_half_scratch onx_half_scratch_plain
#define onx_half_run_amx onx_half_run_plain
#include "cpu/gemm_half_amx.c"
#endif
