/* deform_simd.h: DeformConv of float32 images; see deform_simd.c. */
#ifndef ONX_DEFORM_SIMD_H
#define ONX_DEFORM_SIMD_H

#include "cpu/vec.h"
#include "ops/spread/spread_ref.h"

onx_status ONX_TIER(onx_deform_init)(onx_call *call) ONX_MUST_CHECK;
size_t ONX_TIER(onx_deform_pack_bytes)(const onx_call *call);
onx_status ONX_TIER(onx_deform_pack)(onx_call *call, void *out) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_deform_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_deform_run)(onx_call *call) ONX_MUST_CHECK;

#endif
