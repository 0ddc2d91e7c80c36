/* custom_op.c: an operator of one's own, with a kernel: "my.ops::Gain" multiplies by a factor. */
#include <onx.h>

#include <stdio.h>
#include <stdlib.h>

static onx_status init(onx_call *call, void *user) {
    float *factor = onx_kernel_new_state(call, sizeof *factor);
    (void)user;
    if (!factor) return ONX_NO_MEMORY;
    *factor = onx_kernel_float(call, "factor");
    return *factor > 0 ? ONX_OK : onx_kernel_fail(call, ONX_INVALID, "factor is %g", *factor);
}

static onx_status run(onx_call *call, void *user) {
    const float *factor = onx_kernel_state(call), *x = onx_kernel_input(call, 0);
    float *y = onx_kernel_output(call, 0);
    (void)user;
    for (int64_t i = 0; i < onx_kernel_count(call, 0); i++) y[i] = x[i] * *factor;
    return ONX_OK;
}

int main(void) {
    onx_kernel_def kernel = ONX_INIT(onx_kernel_def);
    kernel.init = init;
    kernel.run = run;     /* without a bind, the output has the shape of the input */
    kernel.overwrite = 1; /* it may write its output over its input */
    onx_op_def gain = ONX_INIT(onx_op_def);
    gain.domain = "my.ops";
    gain.name = "Gain";
    gain.signature = "(X:float) -> (Y:float) {factor:float=2}";
    gain.n_kernels = 1;
    gain.kernels = &kernel;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_context *ctx = NULL;
    onx_session *session = NULL;
    if (onx_context_new(NULL, &ctx) != ONX_OK) return EXIT_FAILURE;
    onx_status status = onx_context_add_ops(ctx, 1, &gain, &diag);
    onx_model *m = onx_model_new(ctx, "gain", 22);
    onx_model_set_opset(m, "my.ops", 1);
    onx_graph *g = onx_model_graph(m);
    onx_value *X = onx_graph_add_input(g, "X", "float[N]");
    onx_value *A = onx_graph_add_op(g, "Abs", "A", X);
    onx_graph_add_output(g, onx_graph_add_op(g, "my.ops::Gain", "Y", A), NULL);

    float x[3] = {1, -2, 3}, y[3];
    onx_arg in = {.dtype = ONX_DTYPE_F32, .rank = 1, .dims = {3}, .data = x, .bytes = sizeof x};
    onx_arg out = {.data = y, .bytes = sizeof y};
    if (status == ONX_OK) status = onx_session_new(m, NULL, &session, &diag);
    if (status == ONX_OK) status = onx_session_run(session, 1, &in, 1, &out, NULL, &diag);
    if (status == ONX_OK)
        printf("%g %g %g\n", y[0], y[1], y[2]); /* 2 4 6 */
    else
        fprintf(stderr, "custom_op: %s\n", diag.message);
    onx_session_free(session);
    onx_model_free(m);
    onx_context_free(ctx);
    return status == ONX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
