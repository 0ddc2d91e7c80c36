/* vec_neon.h: vec.h for 64-bit ARM. */
#ifndef ONX_VEC_NEON_H
#define ONX_VEC_NEON_H

#include <arm_neon.h>

enum { VF = 4, VF_BYTES = 16, VF_REGISTERS = 32 };
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

static inline vf vf_fma(vf a, vf b, vf c) {
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
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
    return (vf)vsqrtq_f32((float32x4_t)a);
}
static inline vf vf_reciprocal(vf a) {
    return 1.0f / a;
}
static inline vf vf_round(vf a) {
    return (vf)vrndnq_f32((float32x4_t)a);
}
static inline vi vf_int(vf a) {
    return (vi)vcvtnq_s32_f32((float32x4_t)a);
}
static inline vf vf_float(vi a) {
    return (vf)vcvtq_f32_s32((int32x4_t)a);
}
static inline vf vf_permute(vf a, vi index) {
    return (vf){a[index[0]], a[index[1]], a[index[2]], a[index[3]]};
}
static inline bool vf_any(vi m) {
    return vmaxvq_u32((uint32x4_t)m) != 0;
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
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline void vf_store_f16(uint16_t *p, vf a) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)a)));
}
static inline void vf_prefetch(const void *p) {
    __builtin_prefetch(p);
}

#endif
