/* custom_schema.c: an operator of one's own, known to onx like those of ONNX.
 *
 * "my.ops::Repeat" puts its input `times` times below itself. onx is told its signature and how
 * sizes follow from sizes; then types and shapes flow through models that use it. */
#include <onx.h>

#include <stdio.h>
#include <stdlib.h>

/* float[N,3] repeated twice is float[2*N,3]. */
static onx_status infer_repeat(onx_infer *in, void *user) {
    char rows[64], columns[64], type[256];
    (void)user;
    if (onx_infer_rank(in, 0) < 0) return ONX_OK; /* nothing can be said */
    if (onx_infer_rank(in, 0) != 2) return onx_infer_fail(in, "Repeat needs a matrix");
    onx_infer_dim_text(in, 0, 0, rows, sizeof rows);
    onx_infer_dim_text(in, 0, 1, columns, sizeof columns);
    snprintf(type, sizeof type, "float[%lld*(%s), %s]", (long long)onx_infer_int(in, "times"), rows,
             columns);
    return onx_infer_set_type(in, 0, type);
}

int main(void) {
    onx_op_def repeat = ONX_INIT(onx_op_def);
    repeat.domain = "my.ops";
    repeat.name = "Repeat";
    repeat.signature = "(X:T) -> (Y:T) {times:int=2} [T:float|double]";
    repeat.infer = infer_repeat;

    onx_diag diag = ONX_INIT(onx_diag);
    onx_context *ctx = NULL;
    onx_inference *inference = NULL;
    char type[100] = "";
    if (onx_context_new(NULL, &ctx) != ONX_OK) return EXIT_FAILURE;
    onx_status status = onx_context_add_ops(ctx, 1, &repeat, &diag);

    onx_model *m = onx_model_new(ctx, "rows", 22);
    onx_model_set_opset(m, "my.ops", 1);
    onx_graph *g = onx_model_graph(m);
    onx_value *X = onx_graph_add_input(g, "X", "float[N,3]");
    onx_value *Y = onx_graph_add_op(g, "my.ops::Repeat", "Y", X);
    onx_value *Z = onx_graph_add_op(g, "Concat", "Z", X, Y);
    onx_node_set_int(onx_value_node(Z), "axis", 0);

    if (status == ONX_OK) status = onx_inference_new(m, NULL, &inference, &diag);
    if (status == ONX_OK) onx_inference_type(inference, Z, type, sizeof type);
    puts(status == ONX_OK ? type : diag.message); /* float[3*N,3] */
    onx_inference_free(inference);
    onx_model_free(m);
    onx_context_free(ctx);
    return status == ONX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
