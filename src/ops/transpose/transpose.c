/* transpose.c: Transpose: meaning. */
#include "ops/op.h"

static onx_status infer_transpose(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    size_t n = 0;
    const int64_t *perm = onx_op_ints(onx_infer_node(in), "perm", &n);
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    if (!data->ranked) return ONX_OK;
    if (perm && n != data->rank)
        return onx_infer_fail(in, "perm has %zu entries for rank %zu", n, data->rank);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), data->rank + 1, sizeof *dims);
    bool *seen = onx_arena_array(onx_infer_arena(in), data->rank + 1, sizeof *seen);
    if (!dims || !seen) return ONX_NO_MEMORY;
    for (size_t i = 0; i < data->rank; i++) {
        size_t from = data->rank - 1 - i;
        if (perm && (!onx_axis(perm[i], data->rank, &from) || seen[from]))
            return onx_infer_fail(in, "perm is no permutation of %zu dimensions", data->rank);
        seen[from] = true;
        dims[i] = data->dims[from];
    }
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, data->rank, dims));
    bool known = data->elems && data->rank < 2;
    return known ? onx_infer_elems(in, 0, data->n_elems, data->elems) : ONX_OK;
}

#define TRANSPOSE_1 "(data:T) -> (transposed:T) {perm?:ints} "

extern onx_op_rows onx_ops_transpose;
onx_op_rows onx_ops_transpose = {
    {"Transpose", 1, TRANSPOSE_1 "[T:all1]", .infer = infer_transpose},
    {"Transpose", 13, TRANSPOSE_1 "[T:all13]", .infer = infer_transpose},
    {"Transpose", 21, TRANSPOSE_1 "[T:all21]", .infer = infer_transpose},
    {"Transpose", 23, TRANSPOSE_1 "[T:all23]", .infer = infer_transpose},
    {"Transpose", 24, TRANSPOSE_1 "[T:all24]", .infer = infer_transpose},
    {"Transpose", 25, TRANSPOSE_1 "[T:all25]", .infer = infer_transpose},
    {0},
};
