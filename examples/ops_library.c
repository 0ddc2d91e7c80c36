/* ops_library.c: operators in a shared library:
 *
 *     onx run --library ops_library.so --input x=x.npy model.onnx
 *
 * "my.ops::Peaks" gives the positions of elements that are larger than their neighbours. How many
 * there are depends on the data: the kernel is late. */
#include <onx.h>

ONX_OPS_LIBRARY

static int is_peak(const float *x, int64_t n, int64_t i) {
    return (i == 0 || x[i] > x[i - 1]) && (i == n - 1 || x[i] > x[i + 1]);
}

static onx_status run(onx_call *call, void *user) {
    const float *x = onx_kernel_input(call, 0);
    int64_t n = onx_kernel_count(call, 0), count = 0;
    void *data;
    (void)user;
    if (onx_kernel_rank(call, 0) != 1)
        return onx_kernel_fail(call, ONX_INVALID, "X is no list: it has %lld dimensions",
                               (long long)onx_kernel_rank(call, 0));
    for (int64_t i = 0; i < n; i++) count += is_peak(x, n, i);
    onx_status status = onx_kernel_make_output(call, 0, ONX_DTYPE_I64, 1, &count, &data);
    int64_t *y = data;
    for (int64_t i = 0; i < n && status == ONX_OK && y; i++)
        if (is_peak(x, n, i)) *y++ = i;
    return status;
}

onx_status onx_register_ops(onx_context *ctx, onx_diag *diag) {
    onx_kernel_def kernel = ONX_INIT(onx_kernel_def);
    kernel.run = run;
    kernel.late = true;
    onx_op_def peaks = ONX_INIT(onx_op_def);
    peaks.domain = "my.ops";
    peaks.name = "Peaks";
    peaks.signature = "(X:float) -> (Y:int64)";
    peaks.n_kernels = 1;
    peaks.kernels = &kernel;
    return onx_context_add_ops(ctx, 1, &peaks, diag);
}
