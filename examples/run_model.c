/* run_model.c: runs a model on one file of data and shows what it finds most likely.
 *
 *     run_model MODEL INPUT
 *
 * INPUT (.pb or .npy) is the model's first input; the first output has a number for each class. */
#include <onx.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const onx_diag *diag) {
    char text[1024];
    onx_diag_format(diag, text, sizeof text);
    fprintf(stderr, "run_model: %s\n", text);
    return EXIT_FAILURE;
}

/* The largest numbers, and where they stand. */
static void print_top(const float *x, size_t count, size_t top) {
    size_t last = count;
    for (size_t n = 0; n < top && n < count; n++) {
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            bool is_left = last == count || x[i] < x[last] || (x[i] == x[last] && i > last);
            if (is_left && (best == count || x[i] > x[best])) best = i;
        }
        if (best == count) return;
        printf("%6zu  %g\n", best, (double)x[best]);
        last = best;
    }
}

int main(int argc, char **argv) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_data *data = NULL;
    onx_session *session = NULL;
    onx_arg in = {0}, out = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: run_model MODEL INPUT\n");
        return 2;
    }
    onx_status status = onx_model_load(NULL, argv[1], NULL, &model, &diag);
    if (!status) status = onx_session_new(model, NULL, &session, &diag);
    if (!status) status = onx_data_load(NULL, argv[2], ONX_DATA_TENSOR, &data, &diag);
    if (!status) status = onx_arg_from_data(data, &in, &diag);
    if (!status) status = onx_session_run(session, 1, &in, 1, &out, NULL, &diag);
    if (!status && out.dtype == ONX_DTYPE_F32)
        print_top(out.data, out.bytes / sizeof(float), 5);
    else if (!status)
        fprintf(stderr, "run_model: the first output is not of type float\n");
    bool ok = !status && out.dtype == ONX_DTYPE_F32;

    onx_arg_clear(&out);
    onx_arg_clear(&in);
    onx_data_free(data);
    onx_session_free(session);
    onx_model_free(model);
    if (status) return fail(&diag);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
