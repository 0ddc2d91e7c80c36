/* quant_amx.c: products of bytes by AMX-INT8. */
#include "ops/quant/quant_rows_simd.h"
