/* vec_math_simd.h: the functions of cpu/vec_math.h over arrays, one table per instruction set. */
#ifndef TEST_VEC_MATH_SIMD_H
#define TEST_VEC_MATH_SIMD_H

#include "cpu/isa.def"

#include <stddef.h>

enum { MATH_EXP, MATH_LOG, MATH_SIGMOID, MATH_TANH, MATH_ERF, MATH_COUNT };

typedef struct math_table {
    void (*run[MATH_COUNT])(const float *x, float *y, size_t n); /* n a multiple of 16 */
    double ulp[MATH_COUNT];                                      /* the bound that is promised */
} math_table;

#define DECLARE(isa) extern const math_table math_table_##isa;
ONX_ISAS(DECLARE)
#undef DECLARE

#endif
