/* peak_tiers.c: which of the functions of peak_simd.c suits a processor. */
#include "cpu/cpu.h"

#define PEAK_EXTERN(isa) extern onx_cpu_work onx_peak_##isa;
ONX_ISAS(PEAK_EXTERN)

onx_cpu_work *onx_cpu_work_of(const onx_cpu *cpu) {
    static const struct {
        const char *isa;
        onx_cpu_work *work;
    } tiers[] = {
#define PEAK_ENTRY(isa) {#isa, onx_peak_##isa},
        ONX_ISAS(PEAK_ENTRY)};
    size_t i = 0, last = ONX_COUNT(tiers) - 1;
    if (strcmp(cpu->isa, "ref") == 0) return tiers[last].work;
    while (i < last && strcmp(tiers[i].isa, cpu->isa) != 0) i++;
    return tiers[i == last && strcmp(tiers[last].isa, cpu->isa) != 0 ? 0 : i].work;
}
