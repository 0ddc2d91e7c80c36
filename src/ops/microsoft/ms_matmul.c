/* ms_matmul.c: products of com.microsoft that are fused with more: inference. */
#include "ops/matmul/matmul.h"
#include "ops/microsoft/microsoft.h"

/* A matrix that is turned over: its rows and columns change places; with `batch`, its rows are the
 * first dimension instead of the last but one. */
static onx_status turned(onx_infer *in, size_t index, bool turn, bool batch, onx_fact *out) {
    *out = *onx_infer_in(in, index);
    if (!out->ranked || out->rank < 2 || (!turn && !batch)) return ONX_OK;
    size_t rank = out->rank, n = 0;
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    const onx_sym *rows = out->dims[batch ? 0 : rank - 2], *columns = out->dims[rank - 1];
    for (size_t i = batch ? 1 : 0; n < rank - 2; i++) dims[n++] = out->dims[i];
    dims[n++] = turn ? columns : rows;
    dims[n] = turn ? rows : columns;
    out->dims = dims;
    return ONX_OK;
}

onx_status onx_infer_ms_fused_matmul(onx_infer *in) {
    onx_fact a, b;
    ONX_TRY(turned(in, 0, onx_infer_int(in, "transA"), onx_infer_int(in, "transBatchA"), &a));
    ONX_TRY(turned(in, 1, onx_infer_int(in, "transB"), onx_infer_int(in, "transBatchB"), &b));
    return onx_infer_matmul(in, &a, &b, a.dtype);
}

onx_status onx_infer_ms_fused_gemm(onx_infer *in) {
    return onx_infer_gemm(in, 0, 1, 2, onx_infer_in(in, 0)->dtype);
}
