/* vec_math_simd.h: the functions of cpu/vec_math.h and cpu/vec_wide_math.h over
 * arrays, one table per instruction set. */
#ifndef TEST_VEC_MATH_SIMD_H
#define TEST_VEC_MATH_SIMD_H

#include "cpu/isa.def"

#include <stddef.h>

/* Each with the bound that is promised. */
#define MATH(X)                                                                                    \
    X(exp, ONX_VF_ULP_EXP)                                                                         \
    X(log, ONX_VF_ULP_LOG)                                                                         \
    X(sigmoid, ONX_VF_ULP_SIGMOID)                                                                 \
    X(tanh, ONX_VF_ULP_TANH)                                                                       \
    X(erf, ONX_VF_ULP_ERF)                                                                         \
    X(sinh, ONX_VF_ULP_WIDE)                                                                       \
    X(cosh, ONX_VF_ULP_WIDE)                                                                       \
    X(asinh, ONX_VF_ULP_WIDE)                                                                      \
    X(acosh, ONX_VF_ULP_WIDE)                                                                      \
    X(atanh, ONX_VF_ULP_WIDE)                                                                      \
    X(atan, ONX_VF_ULP_WIDE)                                                                       \
    X(asin, ONX_VF_ULP_WIDE)                                                                       \
    X(acos, ONX_VF_ULP_WIDE)                                                                       \
    X(sin, ONX_VF_ULP_WIDE)                                                                        \
    X(cos, ONX_VF_ULP_WIDE)                                                                        \
    X(tan, ONX_VF_ULP_WIDE)

enum {
#define MATH_ENUM(name, bound) MATH_##name,
    MATH(MATH_ENUM) MATH_COUNT
};

typedef struct math_row {
    void (*run)(const float *x, float *y, size_t n); /* n a multiple of 16 */
    double ulp;
} math_row;

#define DECLARE(isa) extern const math_row math_table_##isa[MATH_COUNT];
ONX_ISAS(DECLARE)
#undef DECLARE

#endif
