/* msquant_vnni.c: products of bytes in com.microsoft by AVX512-VNNI. */
#include "ops/msquant/msquant_rows_simd.h"
