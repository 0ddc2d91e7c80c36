/* predict.c: a model, loaded and run, prices of two houses: predict examples/models/linear.onnx */
#include <onx.h>

#include <stdio.h>

int main(int argc, char **argv) {
    float houses[2][3] = {{4, 20, 8}, {2, 60, 1}}, prices[2];
    onx_arg in = {
        .dtype = ONX_DTYPE_F32, .rank = 2, .dims = {2, 3}, .data = houses, .bytes = sizeof houses};
    onx_arg out = {.data = prices, .bytes = sizeof prices};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_session *session = NULL;

    onx_status status =
        onx_model_load(NULL, argc > 1 ? argv[1] : "linear.onnx", NULL, &model, &diag);
    if (!status) status = onx_session_new(model, NULL, &session, &diag);
    if (!status) status = onx_session_run(session, 1, &in, 1, &out, NULL, &diag);

    if (status)
        fprintf(stderr, "predict: %s: %s\n", diag.file, diag.message);
    else
        printf("%g and %g\n", (double)prices[0], (double)prices[1]);
    onx_session_free(session);
    onx_model_free(model);
    return status ? 1 : 0;
}
