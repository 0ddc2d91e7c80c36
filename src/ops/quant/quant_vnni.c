/* quant_vnni.c: products of bytes by AVX512-VNNI. */
#include "ops/quant/quant_rows_simd.h"
