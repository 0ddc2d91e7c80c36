/* runs.c: which operators the processor has kernels for. */
#include "cpu/cpu.h"

static bool is_for(const onx_kernel *kernel, const onx_schema *schema) {
    return strcmp(kernel->op, schema->name) == 0 &&
           strcmp(kernel->domain ? kernel->domain : "", schema->domain) == 0 &&
           kernel->first <= schema->since && (!kernel->last || schema->since <= kernel->last);
}

bool onx_schema_runs(const onx_schema *schema, uint32_t *types) {
    bool found = schema && schema->n_kernels;
    if (types) *types = found ? ~0u : 0;
    for (const onx_cpu_rows *rows = onx_cpu_table; schema && rows->tier; rows++)
        for (const onx_kernel *kernel = rows->rows; kernel->op; kernel++) {
            if (!is_for(kernel, schema)) continue;
            found = true;
            if (types) *types |= kernel->types[0] ? kernel->types[0] : ~0u;
        }
    return found;
}
