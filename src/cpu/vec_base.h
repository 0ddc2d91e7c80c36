/* vec_base.h: vec.h in the vector extensions of gcc and clang alone: SSE2 on x86-64, and whatever
 * another processor has. Products and sums round twice. */
#ifndef ONX_VEC_BASE_H
#define ONX_VEC_BASE_H

#include <math.h>

enum { VF = 4, VF_BYTES = 16, VF_REGISTERS = 16 };
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

static inline vf vf_fma(vf a, vf b, vf c) {
    return a * b + c;
}
static inline vf vf_select(vi m, vf a, vf b) {
    return (vf)(((vi)a & m) | ((vi)b & ~m));
}
static inline vf vf_max(vf a, vf b) {
    return vf_select(a > b, a, b);
}
static inline vf vf_min(vf a, vf b) {
    return vf_select(a < b, a, b);
}
static inline vf vf_sqrt(vf a) {
    return (vf){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
}
static inline vf vf_float(vi a) {
    return __builtin_convertvector(a, vf);
}
/* Adding and taking away 1.5 * 2^23 leaves the nearest integer, for |a| < 2^22; larger ones are
 * integers but for the fraction .5, which vf_int's users do not meet. */
static inline vf vf_reciprocal(vf a) {
    return 1.0f / a;
}
static inline vf vf_round(vf a) {
    vf big = 12582912.0f - (vf){0};
    vf magnitude = (vf)((vi)a & 0x7fffffff);
    vf rounded = (a + big) - big;
    rounded = (vf)((vi)rounded | ((vi)a & (int32_t)0x80000000)); /* -0.3 gives -0 */
    return vf_select(magnitude < 4194304.0f, rounded,
                     (vf){rintf(a[0]), rintf(a[1]), rintf(a[2]), rintf(a[3])});
}
static inline vi vf_int(vf a) {
    return __builtin_convertvector(vf_round(a), vi);
}
static inline vf vf_permute(vf a, vi index) {
    return (vf){a[index[0]], a[index[1]], a[index[2]], a[index[3]]};
}
static inline bool vf_any(vi m) {
    return (m[0] | m[1] | m[2] | m[3]) != 0;
}
static inline vf vf_load_n(const float *p, size_t n) {
    vf v = {0};
    if (n) memcpy(&v, p, n * sizeof *p); /* p may be NULL where there is nothing */
    return v;
}
static inline void vf_store_n(float *p, vf a, size_t n) {
    if (n) memcpy(p, &a, n * sizeof *p);
}
static inline vf vf_load_f16(const uint16_t *p) {
    float out[VF];
    (void)onx_dtype_convert(ONX_DTYPE_F16, p, ONX_DTYPE_F32, out, VF, false);
    return vf_load_n(out, VF);
}
static inline void vf_store_f16(uint16_t *p, vf a) {
    (void)onx_dtype_convert(ONX_DTYPE_F32, &a, ONX_DTYPE_F16, p, VF, false);
}
static inline void vf_prefetch(const void *p) {
    __builtin_prefetch(p);
}

#endif
