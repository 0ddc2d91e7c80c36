/* conv_half_simd.c: cpu/conv_half_amx.c on plain tiles, as onx_conv_half_plain and
 * onx_conv_rounded_plain. */
#include "base/base.h"

#if defined(__AVX512F__)
#include "plain_tiles.h"
#define onx_conv_half_amx onx_conv_half_plain
#define onx_conv_rounded_amx onx_conv_rounded_plain
#include "cpu/conv_half_amx.c"
#endif
