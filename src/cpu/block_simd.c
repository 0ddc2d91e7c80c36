/* block_simd.c: between the plain and the blocked layout, by transposing squares of VF by VF. */
#include "cpu/conv_tile.h"
#include "cpu/pool.h"

/* The lanes of a and b in turn: of their first halves, of their second halves. */
#if defined(__AVX512F__)
#define FIRST(a, b)                                                                                \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define SECOND(a, b)                                                                               \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined(__AVX2__)
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define SECOND(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define SECOND(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

/* Dealing rows i and i + VF/2 together, log2(VF) times, brings row to column. */
static inline void transpose(vf v[VF]) {
    vf t[VF];
    UNROLL for (size_t n = 1; n < VF; n *= 2) {
        UNROLL for (size_t i = 0; i < VF / 2; i++) {
            t[2 * i] = FIRST(v[i], v[i + VF / 2]);
            t[2 * i + 1] = SECOND(v[i], v[i + VF / 2]);
        }
        UNROLL for (size_t i = 0; i < VF; i++) v[i] = t[i];
    }
}

static void to_block(const float *plain, size_t channels, size_t pixels, float *blocked) {
    for (size_t p = 0; p < pixels; p += VF, blocked += VF * VF) {
        size_t n = pixels - p < VF ? pixels - p : VF;
        vf v[VF];
        for (size_t c = 0; c < VF; c++)
            v[c] = c < channels ? vf_load_n(plain + c * pixels + p, n) : vf_zero();
        transpose(v);
        for (size_t i = 0; i < n; i++) vf_store(blocked + i * VF, v[i]);
    }
}

static void from_block(const float *blocked, size_t channels, size_t pixels, float *plain) {
    for (size_t p = 0; p < pixels; p += VF, blocked += VF * VF) {
        size_t n = pixels - p < VF ? pixels - p : VF;
        vf v[VF];
        for (size_t i = 0; i < VF; i++) v[i] = i < n ? vf_load(blocked + i * VF) : vf_zero();
        transpose(v);
        for (size_t c = 0; c < channels; c++) vf_store_n(plain + c * pixels + p, v[c], n);
    }
}

const onx_block_algorithm ONX_TIER(onx_block) = {VF, to_block, from_block};
