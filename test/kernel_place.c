/* kernel_place.c: see kernel_place.h. */
#include "kernel_place.h"

#include <stdio.h>
#include <stdlib.h>

static bool run_over(onx_call *call, size_t which) {
    const onx_kernel *kernel = call->kernel;
    void *plan = calloc(1, call->plan_bytes + 1);
    call->plan = plan;
    bool ok = plan && kernel->bind(call) == ONX_OK && (kernel->overwrite >> which & 1) &&
              call->out[0]->bytes == call->in[which]->bytes;
    size_t bytes = (call->scratch_bytes + call->scratch_each + 3 * ONX_ALIGN) & ~(size_t)63;
    void *scratch = ok ? aligned_alloc(ONX_ALIGN, bytes) : NULL;
    if (scratch) {
        call->scratch = scratch;
        call->out[0]->data = call->in[which]->data;
        ok = kernel->run(call) == ONX_OK;
    }
    free(scratch);
    free(plan);
    return ok && scratch;
}

bool kernel_in_place(const char *tier, int opset, const char *node, size_t n_in,
                     onx_operand *const *in, size_t which) {
    char text[2048];
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    (void)snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : %d, \"onx.internal\" : 1]>\n"
                   "g () => () {\n%s\n}\n",
                   opset, node);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    if (onx_model_load_memory(NULL, text, strlen(text), &options, &model, &diag) != ONX_OK)
        return false;
    onx_cpu cpu;
    onx_arena arena;
    onx_operand result = {0}, *out[] = {&result};
    const char *ran;
    onx_arena_init(&arena, onx_context_or_default(NULL));
    onx_node *first = onx_graph_node_first(onx_model_graph(model));
    onx_call call = {.node = first,
                     .op = onx_op_of(first),
                     .ctx = onx_context_or_default(NULL),
                     .diag = &diag,
                     .arena = &arena,
                     .n_in = n_in,
                     .n_out = 1,
                     .in = (onx_operand **)(uintptr_t)in,
                     .out = out};
    bool ok = call.op && onx_cpu_init(&cpu, tier, &diag) == ONX_OK &&
              onx_kernel_select(&cpu.provider, &call, &ran) == ONX_OK && run_over(&call, which);
    onx_arena_fini(&arena);
    onx_model_free(model);
    return ok;
}
