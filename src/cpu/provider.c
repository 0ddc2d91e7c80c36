/* provider.c: the CPU as a provider: the kernel tables from the best tier that is allowed down to
 * the plain ones. */
#include "cpu/cpu.h"

#include "base/thread.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const isas[] = {
#define ONX_ISA_TEXT(isa) #isa,
    ONX_EXTRAS(ONX_ISA_TEXT) ONX_ISAS(ONX_ISA_TEXT) "ref",
};

#if defined(__x86_64__)
static bool has_tiles(void) { /* AMX-BF16, AMX-TILE, AMX-INT8; the system must allow them, too */
    const unsigned bits = 1u << 22 | 1u << 24 | 1u << 25;
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & bits) == bits && onx_thread_tiles();
}
#endif

static bool has_isa(const char *isa) {
#if defined(__x86_64__)
    if (strcmp(isa, "amx") == 0) return has_isa("bf16") && has_tiles();
    if (strcmp(isa, "bf16") == 0) return has_isa("vnni") && __builtin_cpu_supports("avx512bf16");
    if (strcmp(isa, "vnni") == 0) return has_isa("avx512") && __builtin_cpu_supports("avx512vnni");
    if (strcmp(isa, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (strcmp(isa, "avx2") == 0) /* F16C came before it; clang 14 has no name for that */
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2");
#endif
    (void)isa;
    return true;
}

const char *onx_cpu_best(void) {
    size_t i = 0;
    while (!has_isa(isas[i])) i++;
    return isas[i];
}

static int rank_of(const char *isa) {
    for (size_t i = 0; i < ONX_COUNT(isas); i++)
        if (strcmp(isas[i], isa) == 0) return (int)i;
    return -1;
}

onx_status onx_cpu_init(onx_cpu *cpu, const char *limit, onx_diag *diag) {
    if (!limit || !*limit) limit = onx_os_host.variable("ONX_CPU");
    if (!limit || !*limit) limit = isas[0];
    int best = rank_of(onx_cpu_best()), from = rank_of(limit);
    if (from < 0)
        return onx_fail(diag, ONX_USAGE, "there is no instruction set '%.40s' on this machine",
                        limit);
    if (from < best) from = best;
    size_t n = 0;
    for (const onx_cpu_rows *rows = onx_cpu_table; rows->tier; rows++) {
        if (rank_of(rows->tier) < from || n + 1 >= ONX_COUNT(cpu->tables)) continue;
        cpu->tables[n] = rows->rows;
        cpu->tiers[n++] = rows->tier;
    }
    cpu->tables[n] = NULL;
    cpu->isa = isas[from];
    cpu->provider =
        (onx_provider){.name = "cpu", .host = true, .tables = cpu->tables, .tiers = cpu->tiers};
    return ONX_OK;
}
