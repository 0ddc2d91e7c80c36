/* det_ref.c: Det: determinants, by elimination with the largest pivot of each column, in double. */
#include "ops/matmul/det_ref.h"

#include <math.h>

onx_status onx_det_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    int64_t m = x->rank < 2 ? -1 : x->dims[x->rank - 1];
    size_t count = 0, bytes = 0;
    if (x->rank < 2 || x->dims[x->rank - 2] != m)
        return onx_call_fail(call, ONX_INVALID, "the input is not of square matrices");
    bool fits =
        onx_mul_size((size_t)m, (size_t)m, &count) && onx_mul_size(count, sizeof(double), &bytes);
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank - 2u, x->dims));
    if (!x->count) return ONX_OK;
    if (!fits) return onx_call_fail(call, ONX_LIMIT, "matrices of %lld rows", (long long)m);
    call->scratch_each = bytes;
    return ONX_OK;
}

static void swap_rows(double *a, double *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

/* The determinant of `a`, which is changed. NaN is taken as pivot, so that it comes out. */
static onx_status determinant(const onx_call *call, double *a, size_t m, double *out) {
    *out = 1;
    for (size_t k = 0; k < m; k++) {
        size_t pivot = k;
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        for (size_t i = k + 1; i < m; i++)
            if (!(fabs(a[i * m + k]) <= fabs(a[pivot * m + k]))) pivot = i;
        if (pivot != k) swap_rows(a + k * m + k, a + pivot * m + k, m - k);
        if (pivot != k) *out = -*out;
        double top = a[k * m + k];
        *out *= top;
        for (size_t i = k + 1; i < m && top != 0; i++) {
            double factor = a[i * m + k] / top;
            for (size_t j = k + 1; j < m; j++) a[i * m + j] -= factor * a[k * m + j];
        }
    }
    return ONX_OK;
}

static onx_status matrix_task(void *user, onx_call *call, size_t task, void *scratch) {
    const onx_operand *x = call->in[0];
    size_t m = (size_t)x->dims[x->rank - 1];
    double value = 1;
    (void)user;
    if (m) onx_operand_get(x, task * m * m, m * m, scratch);
    ONX_TRY(determinant(call, scratch, m, &value));
    onx_operand_put(call->out[0], task, 1, &value);
    return ONX_OK;
}

onx_status onx_det_run(onx_call *call) {
    return onx_call_parallel(call, (size_t)call->out[0]->count, matrix_task, NULL);
}
