/* vec_math_simd.c: compiled once per instruction set, for test_vec_math.c. */
#include "vec_math_simd.h"

#include "cpu/vec_math.h"

#define LOOP(name)                                                                                 \
    static void loop_##name(const float *x, float *y, size_t n) {                                  \
        for (size_t i = 0; i < n; i += VF) vf_store(y + i, vf_##name(vf_load(x + i)));             \
    }
LOOP(exp)
LOOP(log)
LOOP(sigmoid)
LOOP(tanh)
LOOP(erf)

const math_table ONX_TIER(math_table) = {
    {loop_exp, loop_log, loop_sigmoid, loop_tanh, loop_erf},
    {ONX_VF_ULP_EXP, ONX_VF_ULP_LOG, ONX_VF_ULP_SIGMOID, ONX_VF_ULP_TANH, ONX_VF_ULP_ERF},
};
