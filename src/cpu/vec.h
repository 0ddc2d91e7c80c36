/* vec.h: vectors of floats, the same names on every instruction set.
 *
 * A file x_simd.c is compiled once per instruction set of cpu/isa.def, with ONX_ISA defined to its
 * name. It uses `vf` (a vector of VF floats), `vi` and `vu` (as many int32, uint32), the operators
 * of C on them (+ - * / and comparisons, which give a `vi` of 0 and -1), and the functions below.
 * Everything that is not static is named through ONX_TIER: ONX_TIER(onx_gemm) is onx_gemm_avx2.
 *
 * Order of additions is part of a kernel's result: sums over lanes are made in one fixed order.
 */
#ifndef ONX_VEC_H
#define ONX_VEC_H

#include "base/base.h"

#ifndef ONX_ISA
#error "vec.h is for *_simd.c files, which are compiled once per instruction set"
#endif
#define ONX_TIER_JOIN(name, isa) name##_##isa
#define ONX_TIER_NAME(name, isa) ONX_TIER_JOIN(name, isa)
#define ONX_TIER(name) ONX_TIER_NAME(name, ONX_ISA)

#define ONX_TIER_QUOTE(isa) #isa
#define ONX_TIER_QUOTED(isa) ONX_TIER_QUOTE(isa)
#define ONX_TIER_TEXT ONX_TIER_QUOTED(ONX_ISA) /* "avx2" */

/* Before a loop of at most 16 rounds over vectors: all of them, so that these stay in registers. */
#if defined(__clang__)
#define VF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VF_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__AVX512F__)
#include "cpu/vec_avx512.h"
#elif defined(__AVX2__)
#include "cpu/vec_avx2.h"
#elif defined(__ARM_NEON)
#include "cpu/vec_neon.h"
#else
#include "cpu/vec_base.h"
#endif

typedef uint32_t vu __attribute__((vector_size(VF_BYTES))); /* whose sums are modulo 2^32 */

/* Each of the headers above defines:
 *   VF                          lanes: 4, 8 or 16; VF_BYTES; VF_REGISTERS: how many there are
 *   vf, vi                      vector types
 *   vf_fma(a, b, c)             a*b + c, in one rounding where the instruction set has it
 *   vf_max(a, b), vf_min(a, b)  b where a is NaN or both are zero: as x86 does
 *   vf_sqrt(a), vf_round(a)     square root; nearest integer, ties to even
 *   vf_reciprocal(a)            1 / a to 1 unit in the last place, 2^-100 <= a <= 2^100, or NaN
 *   vf_int(a)                   to vi, nearest, ties to even; vf_float(vi) back
 *   vf_select(m, a, b)          a where m is -1, b where it is 0
 *   vf_permute(a, index)        lane i is lane index[i] of a, 0 <= index[i] < VF
 *   vf_any(m)                   is any lane of m -1?
 *   vf_load_n(p, n), vf_store_n(p, a, n)   the first n lanes, 0 <= n <= VF; the rest reads as 0
 *   vf_load_f16(p), vf_store_f16(p, a)     from and to IEEE half
 *   vf_prefetch(p)
 */
static inline vf vf_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void vf_store(float *p, vf v) {
    memcpy(p, &v, sizeof v);
}
static inline vf vf_set(float x) {
    return x - (vf){0};
}
static inline vi vi_set(int32_t x) {
    return x - (vi){0};
}
static inline vf vf_zero(void) {
    return (vf){0};
}
static inline vi vf_bits(vf v) { /* the same bits as integers */
    return (vi)v;
}
static inline vf vi_bits(vi v) {
    return (vf)v;
}
static inline vf vf_abs(vf v) {
    return (vf)((vi)v & 0x7fffffff);
}

/* Over all lanes, halving: the order does not depend on the data. */
static inline float vf_sum(vf v) {
    float a[VF];
    vf_store(a, v);
    for (int n = VF / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++) a[i] += a[i + n];
    return a[0];
}
static inline float vf_largest(vf v) { /* NaN if any lane is */
    float a[VF], m;
    vf_store(a, v);
    m = a[0];
    for (int i = 1; i < VF; i++) m = a[i] > m || a[i] != a[i] ? a[i] : m;
    return m;
}

#endif
