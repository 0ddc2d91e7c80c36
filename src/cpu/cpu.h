/* cpu.h: the processor: which instruction sets it has, and the kernels for them. */
#ifndef ONX_CPU_H
#define ONX_CPU_H

#include "cpu/isa.def"
#include "rt/provider.h"

typedef struct onx_cpu_rows {
    const char *tier; /* "avx512", "ref"; NULL ends the table */
    const onx_kernel *rows;
} onx_cpu_rows;
extern const onx_cpu_rows onx_cpu_table[];

/* The best instruction set of isa.def that this processor and system have; "ref" is below all. */
const char *onx_cpu_best(void);

#endif
