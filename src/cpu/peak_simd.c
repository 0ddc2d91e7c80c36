/* peak_simd.c: as many multiplications and additions as the processor can do, for measuring it. */
#include "cpu/vec.h"
#include "rt/provider.h"

enum { CHAINS = VF_REGISTERS >= 32 ? 24 : 12, ROUNDS = 1 << 19 };

extern onx_cpu_work ONX_TIER(onx_peak);
double ONX_TIER(onx_peak)(void) {
    volatile float factor = 0.999f, offset = 1e-6f; /* unknown to the compiler */
    vf sums[CHAINS], a = vf_set(factor), b = vf_set(offset);
    for (int i = 0; i < CHAINS; i++) sums[i] = a + (float)i;
    for (size_t round = 0; round < ROUNDS; round++)
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 24
#endif
        for (int i = 0; i < CHAINS; i++) sums[i] = vf_fma(sums[i], a, b);
    for (int i = 1; i < CHAINS; i++) sums[0] += sums[i];
    volatile float sink = vf_sum(sums[0]);
    (void)sink;
    return 2.0 * CHAINS * VF * ROUNDS;
}
