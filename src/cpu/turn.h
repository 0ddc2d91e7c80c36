/* turn.h: transposing small matrices of floats, for *_simd.c files. */
#ifndef ONX_TURN_H
#define ONX_TURN_H

#include "cpu/vec.h"

typedef float onx_v4 __attribute__((vector_size(16)));

/* to[l * width + i] = from[i * row + l] for four i and four l. */
static inline __attribute__((always_inline)) void onx_turn_4x4(float *to, size_t width,
                                                               const float *from, size_t row) {
    onx_v4 r[4], c[4];
    VF_UNROLL for (size_t i = 0; i < 4; i++) memcpy(&r[i], from + i * row, sizeof r[i]);
    onx_v4 even_low = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    onx_v4 even_high = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    onx_v4 odd_low = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    onx_v4 odd_high = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    c[0] = __builtin_shufflevector(even_low, odd_low, 0, 1, 4, 5);
    c[1] = __builtin_shufflevector(even_low, odd_low, 2, 3, 6, 7);
    c[2] = __builtin_shufflevector(even_high, odd_high, 0, 1, 4, 5);
    c[3] = __builtin_shufflevector(even_high, odd_high, 2, 3, 6, 7);
    VF_UNROLL for (size_t l = 0; l < 4; l++) memcpy(to + l * width, &c[l], sizeof c[l]);
}

/* to[l * width + i] = from[i * row + l] for i < rows and l < depth. */
static __attribute__((noinline, unused)) void onx_turn(float *to, size_t width, const float *from,
                                                       size_t row, size_t rows, size_t depth) {
    size_t even = rows - rows % 4, flat = depth - depth % 4;
    for (size_t i = 0; i < even; i += 4)
        for (size_t l = 0; l < flat; l += 4)
            onx_turn_4x4(to + l * width + i, width, from + i * row + l, row);
    for (size_t i = 0; i < rows; i++)
        for (size_t l = i < even ? flat : 0; l < depth; l++)
            memcpy(to + l * width + i, from + i * row + l, sizeof *to);
}

#endif
