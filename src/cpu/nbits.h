/* nbits.h: the kernels of MatMulNBits for each instruction set (ops/msquant/nbits_simd.c,
 * nbits_fixed_simd.c, nbits_vnni.c). */
#ifndef ONX_NBITS_H
#define ONX_NBITS_H

#include "ops/msquant/msquant_ref.h"

#define ONX_NBITS_TIER(isa)                                                                        \
    onx_status onx_nbits_init_##isa(onx_call *call) ONX_MUST_CHECK;                                \
    onx_status onx_nbits_bind_##isa(onx_call *call) ONX_MUST_CHECK;                                \
    onx_status onx_nbits_run_##isa(onx_call *call) ONX_MUST_CHECK;
#include "cpu/isa.def"
ONX_ISAS(ONX_NBITS_TIER)
#define ONX_NBITS_FIXED_TIER(isa)                                                                  \
    onx_status onx_nbits_fixed_init_##isa(onx_call *call) ONX_MUST_CHECK;                          \
    onx_status onx_nbits_fixed_bind_##isa(onx_call *call) ONX_MUST_CHECK;                          \
    onx_status onx_nbits_fixed_run_##isa(onx_call *call) ONX_MUST_CHECK;
ONX_ISAS(ONX_NBITS_FIXED_TIER)
#if defined(__x86_64__)
ONX_NBITS_TIER(vnni)
#endif

#endif
