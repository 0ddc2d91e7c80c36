/* conv_columns_simd.h: Conv as products with gathered columns; see conv_columns_simd.c. */
#ifndef ONX_CONV_COLUMNS_SIMD_H
#define ONX_CONV_COLUMNS_SIMD_H

#include "cpu/vec.h"
#include "ops/conv/conv_ref.h"

onx_status ONX_TIER(onx_conv_columns_init)(onx_call *call) ONX_MUST_CHECK;
size_t ONX_TIER(onx_conv_columns_pack_bytes)(const onx_call *call);
onx_status ONX_TIER(onx_conv_columns_pack)(onx_call *call, void *out) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_conv_columns_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_conv_columns_run)(onx_call *call) ONX_MUST_CHECK;

#endif
