/* msquant_amx.c: products of bytes in com.microsoft by AMX-INT8. */
#include "ops/msquant/msquant_rows_simd.h"
