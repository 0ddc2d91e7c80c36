/* transpose.c: dimensions that change places: Transpose, DepthToSpace, SpaceToDepth: meaning. */
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

/* in: [N][C][H][W]; blocks of channels become blocks of pixels, or the other way round. */
static onx_status blocks(onx_infer *in, bool to_space) {
    const onx_fact *data = onx_infer_in(in, 0);
    onx_syms *syms = onx_infer_syms(in);
    int64_t b = onx_infer_int(in, "blocksize");
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    if (b < 1 || b > INT32_MAX) return onx_infer_fail(in, "blocksize is %lld", (long long)b);
    if (!data->ranked) return ONX_OK;
    if (data->rank != 4) return onx_infer_fail(in, "the input has rank %zu, not 4", data->rank);
    const onx_sym *side = onx_sym_int(syms, b), *area = onx_sym_int(syms, b * b), *dims[4];
    dims[0] = data->dims[0];
    dims[1] = to_space ? onx_sym_floordiv(syms, data->dims[1], area)
                       : onx_sym_mul(syms, data->dims[1], area);
    for (size_t i = 2; i < 4; i++)
        dims[i] = to_space ? onx_sym_mul(syms, data->dims[i], side)
                           : onx_sym_floordiv(syms, data->dims[i], side);
    return onx_infer_tensor(in, 0, data->dtype, 4, dims);
}

static onx_status infer_depthtospace(onx_infer *in) {
    return blocks(in, true);
}

static onx_status infer_spacetodepth(onx_infer *in) {
    return blocks(in, false);
}

#define TRANSPOSE_1 "(data:T) -> (transposed:T) {perm?:ints} "
#define DEPTH_TO_SPACE_11 "(input:T) -> (output:T) {blocksize:int, mode:string=\"DCR\"} "
#define SPACE_TO_DEPTH_1 "(input:T) -> (output:T) {blocksize:int} "

extern onx_op_rows onx_ops_transpose;
onx_op_rows onx_ops_transpose = {
    {"Transpose", 1, TRANSPOSE_1 "[T:all1]", .infer = infer_transpose},
    {"Transpose", 13, TRANSPOSE_1 "[T:all13]", .infer = infer_transpose},
    {"Transpose", 21, TRANSPOSE_1 "[T:all21]", .infer = infer_transpose},
    {"Transpose", 23, TRANSPOSE_1 "[T:all23]", .infer = infer_transpose},
    {"Transpose", 24, TRANSPOSE_1 "[T:all24]", .infer = infer_transpose},
    {"Transpose", 25, TRANSPOSE_1 "[T:all25]", .infer = infer_transpose},
    {"DepthToSpace", 1, "(input:T) -> (output:T) {blocksize:int} [T:all1]",
     .infer = infer_depthtospace},
    {"DepthToSpace", 11, DEPTH_TO_SPACE_11 "[T:all1]", .infer = infer_depthtospace},
    {"DepthToSpace", 13, DEPTH_TO_SPACE_11 "[T:all13]", .infer = infer_depthtospace},
    {"DepthToSpace", 28, DEPTH_TO_SPACE_11 "[T:all13]", .infer = infer_depthtospace},
    {"SpaceToDepth", 1, SPACE_TO_DEPTH_1 "[T:all1]", .infer = infer_spacetodepth},
    {"SpaceToDepth", 13, SPACE_TO_DEPTH_1 "[T:all13]", .infer = infer_spacetodepth},
    {"SpaceToDepth", 28, "(input:T) -> (output:T) {blocksize:int, mode:string=\"DCR\"} [T:all13]",
     .infer = infer_spacetodepth},
    {0},
};
