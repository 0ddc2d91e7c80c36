/* linear_regression.c: builds the model Y = X·A + B and saves it.
 *
 *     linear_regression [linear.onnx]
 *
 * The ending chooses the format: .onnx, .onnxtxt, .json or .textproto. */
#include <onx.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "linear.onnx";

    onx_model *m = onx_model_new(NULL, "linear_regression", 22);
    onx_graph *g = onx_model_graph(m);
    onx_value *X = onx_graph_add_input(g, "X", "float[N,3]");
    onx_value *A = onx_graph_add_input(g, "A", "float[3,1]");
    onx_value *B = onx_graph_add_input(g, "B", "float[1]");
    onx_value *XA = onx_graph_add_op(g, "MatMul", "XA", X, A);
    onx_value *Y = onx_graph_add_op(g, "Add", "Y", XA, B);
    onx_graph_add_output(g, Y, "float[N,1]");

    /* One check for all of the above: a failed step makes the save fail, and say why. */
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_model_save(m, path, NULL, &diag);
    onx_model_free(m);
    if (status != ONX_OK) {
        char text[1024];
        onx_diag_format(&diag, text, sizeof text);
        fprintf(stderr, "linear_regression: %s\n", text);
        return EXIT_FAILURE;
    }
    printf("saved %s\n", path);
    return EXIT_SUCCESS;
}
