/* provider.h: a device that runs kernels: rows, memory, and copies to and from the host.
 *
 * Providers are asked in the caller's order; the first that has a row for a node runs it. The CPU
 * (cpu/provider.c) is always the last. Values live in the memory of the device that computes them;
 * the program has explicit copy steps where another device needs them. Inputs in a row's `host`
 * mask stay on the host. */
#ifndef ONX_PROVIDER_H
#define ONX_PROVIDER_H

#include "rt/kernel.h"

typedef struct onx_provider onx_provider;
struct onx_provider {
    const char *name; /* "cpu" */
    bool host;        /* its memory is the host's */
    bool fast;        /* rows with ONX_KERNEL_FAST may be used */
    /* Tables of rows, best first; ends with NULL; and a name for each ("avx512", "ref"). */
    const onx_kernel *const *tables;
    const char *const *tiers;
    /* Does it want this node? NULL: all that it has rows for. */
    bool (*claims)(void *user, const onx_node *node);
    /* Memory of the device, aligned to ONX_ALIGN; NULL functions: the host's. */
    onx_status (*alloc)(void *user, onx_context *ctx, size_t bytes, void **out);
    void (*free)(void *user, onx_context *ctx, void *data, size_t bytes);
    /* Between the host and the device; exactly one of the two is the host's. */
    onx_status (*copy)(void *user, void *to, const void *from, size_t bytes, bool to_device);
    /* Run a row with operands on the device; NULL: call its `run`. */
    onx_status (*launch)(void *user, const onx_kernel *kernel, onx_call *call);
    void *user;
};

/* Run the row of a bound call on its device; a view that has memory of its own is copied. */
onx_status onx_call_launch(onx_call *call, const onx_provider *provider) ONX_MUST_CHECK;

/* cpu/provider.c: the processor, up to the instruction set `limit` (NULL: $ONX_CPU, or the best).
 * Fills caller-owned storage, which must live as long as the sessions that use it. USAGE: there is
 * no such instruction set here. */
typedef struct onx_cpu {
    onx_provider provider;
    const char *isa;
    const onx_kernel *tables[128];
    const char *tiers[128];
} onx_cpu;
onx_status onx_cpu_init(onx_cpu *cpu, const char *limit, onx_diag *diag) ONX_MUST_CHECK;
/* cpu/peak_tiers.c: a function that does nothing but arithmetic with the vectors of the processor's
 * instruction set (the best of ONX_ISAS, if it has further ones) for a while, and returns how many
 * operations that were. */
typedef double onx_cpu_work(void);
onx_cpu_work *onx_cpu_work_of(const onx_cpu *cpu);

#endif
