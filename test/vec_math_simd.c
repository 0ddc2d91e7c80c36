/* vec_math_simd.c: compiled once per instruction set, for test_vec_math.c. */
#include "vec_math_simd.h"

#include "cpu/vec_math.h"
#include "cpu/vec_wide_math.h"

#define LOOP(name, bound)                                                                          \
    static void loop_##name(const float *x, float *y, size_t n) {                                  \
        for (size_t i = 0; i < n; i += VF) vf_store(y + i, vf_##name(vf_load(x + i)));             \
    }
#define ENTRY(name, bound) {loop_##name, bound},
MATH(LOOP)

const math_row ONX_TIER(math_table)[MATH_COUNT] = {MATH(ENTRY)};
