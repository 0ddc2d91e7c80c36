/* kernels.c: the table of all kernels for the processor, tier by tier, best first. A program that
 * defines these tables itself does not link this file, nor what it leaves out. */
#include "cpu/cpu.h"
#include "rt/session.h"

#include "ops/families.def"

#define NOTHING(family)
#define EXTERN_REF(family) extern onx_kernel_rows onx_kernels_##family##_ref;
ONX_FAMILIES(EXTERN_REF, EXTERN_REF)

#define ENTRY_REF(family) {"ref", onx_kernels_##family##_ref},

#if defined(__x86_64__)
#define EXTERN_SIMD(family)                                                                        \
    extern onx_kernel_rows onx_kernels_##family##_avx512, onx_kernels_##family##_avx2,             \
        onx_kernels_##family##_base;
#define ENTRY_avx512(family) {"avx512", onx_kernels_##family##_avx512},
#define ENTRY_avx2(family) {"avx2", onx_kernels_##family##_avx2},
#elif defined(__aarch64__)
#define EXTERN_SIMD(family) extern onx_kernel_rows onx_kernels_##family##_neon;
#define ENTRY_neon(family) {"neon", onx_kernels_##family##_neon},
#else
#define EXTERN_SIMD(family) extern onx_kernel_rows onx_kernels_##family##_base;
#endif
#define ENTRY_base(family) {"base", onx_kernels_##family##_base},
ONX_FAMILIES(NOTHING, EXTERN_SIMD)

#define EXTERN_amx(family) extern onx_kernel_rows onx_kernels_##family##_amx;
#define EXTERN_bf16(family) extern onx_kernel_rows onx_kernels_##family##_bf16;
#define EXTERN_vnni(family) extern onx_kernel_rows onx_kernels_##family##_vnni;
#define ENTRY_amx(family) {"amx", onx_kernels_##family##_amx},
#define ENTRY_bf16(family) {"bf16", onx_kernels_##family##_bf16},
#define ENTRY_vnni(family) {"vnni", onx_kernels_##family##_vnni},
#define EXTRA_EXTERNS(isa) ONX_FAMILIES_##isa(EXTERN_##isa)
#define EXTRA_ENTRIES(isa) ONX_FAMILIES_##isa(ENTRY_##isa)
ONX_EXTRAS(EXTRA_EXTERNS)

const onx_cpu_rows onx_cpu_table[] = {
    ONX_EXTRAS(EXTRA_ENTRIES)
#define ONX_ISA_ENTRIES(isa) ONX_FAMILIES(NOTHING, ENTRY_##isa)
        ONX_ISAS(ONX_ISA_ENTRIES) ONX_FAMILIES(ENTRY_REF, ENTRY_REF){NULL, NULL},
};

onx_gradient_fn *const onx_session_gradient = onx_gradient_expand;
