/* transpose.c: dimensions that change places: Transpose, DepthToSpace, SpaceToDepth: meaning. */
#include "ops/rows.h"

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
    size_t *order = onx_arena_array(onx_infer_arena(in), data->rank + 1, sizeof *order);
    if (!dims || !seen || !order) return ONX_NO_MEMORY;
    for (size_t i = 0; i < data->rank; i++) {
        size_t from = data->rank - 1 - i;
        if (perm && (!onx_axis(perm[i], data->rank, &from) || seen[from]))
            return onx_infer_fail(in, "perm is no permutation of %zu dimensions", data->rank);
        seen[from] = true;
        order[i] = from;
        dims[i] = data->dims[from];
    }
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, data->rank, dims));
    return onx_infer_permuted_elems(in, order);
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
    int64_t whole = to_space ? b * b : b, size;
    size_t first = to_space ? 1 : 2, end = to_space ? 2 : 4;
    for (size_t i = first; i < end; i++)
        if (onx_sym_is_int(data->dims[i], &size) && size % whole != 0)
            return onx_infer_fail(in, "dimension %zu, %lld, does not divide into blocks of %lld", i,
                                  (long long)size, (long long)whole);
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

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

/* As a tensor of rank 6, transposed. */
static onx_status write_blocks(const onx_op *op, const onx_node *node, onx_buf *out, bool to_space,
                               const char *parts, const char *perm, onx_diag *diag) {
    int64_t size = onx_op_int(op, node, "blocksize"), area;
    if (size < 1 || !onx_mul_i64(size, size, &area))
        return onx_fail(diag, ONX_NOT_FOUND, "%s has no body for a blocksize of %lld", op->name,
                        (long long)size);
    onx_buf_printf(out,
                   "blocksize = Constant <value_ints = [%lld]> ()"
                   " block_area = Constant <value_ints = [%lld]> ()"
                   " zero = Constant <value_ints = [0]> ()"
                   " one = Constant <value_ints = [1]> ()"
                   " two = Constant <value_ints = [2]> ()"
                   " three = Constant <value_ints = [3]> ()"
                   " four = Constant <value_ints = [4]> ()"
                   " input_shape = Shape (input)"
                   " N = Slice (input_shape, zero, one)"
                   " C = Slice (input_shape, one, two)"
                   " H = Slice (input_shape, two, three)"
                   " W = Slice (input_shape, three, four)",
                   (long long)size, (long long)area);
    onx_buf_puts(out, to_space ? " H_block = Mul (H, blocksize)"
                                 " W_block = Mul (W, blocksize)"
                                 " C_block = Div (C, block_area)"
                               : " H_block = Div (H, blocksize)"
                                 " W_block = Div (W, blocksize)"
                                 " C_block = Mul (C, block_area)");
    onx_buf_printf(out,
                   " tmp_shape = Concat <axis = 0> (%s)"
                   " tmp = Reshape <allowzero = 1> (input, tmp_shape)"
                   " tmp_transposed = Transpose <perm = [%s]> (tmp)"
                   " output_shape = Concat <axis = 0> (N, C_block, H_block, W_block)"
                   " output = Reshape <allowzero = 1> (tmp_transposed, output_shape)",
                   parts, perm);
    return ONX_OK;
}

static bool is_crd(const onx_op *op, const onx_node *node) {
    return onx_str_is(onx_op_string(op, node, "mode"), "CRD");
}

static onx_status write_depthtospace(const onx_op *op, const onx_node *node, size_t n_in,
                                     const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)n_in, (void)ins;
    bool crd = is_crd(op, node);
    return write_blocks(op, node, out, true,
                        crd ? "N, C_block, blocksize, blocksize, H, W"
                            : "N, blocksize, blocksize, C_block, H, W",
                        crd ? "0, 1, 4, 2, 5, 3" : "0, 3, 4, 1, 5, 2", diag);
}

static onx_status write_spacetodepth(const onx_op *op, const onx_node *node, size_t n_in,
                                     const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)n_in, (void)ins;
    return write_blocks(op, node, out, false, "N, C, H_block, blocksize, W_block, blocksize",
                        is_crd(op, node) ? "0, 1, 3, 5, 2, 4" : "0, 3, 5, 1, 2, 4", diag);
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
    BY("DepthToSpace", 28, DEPTH_TO_SPACE_11 "[T:all13]", infer_depthtospace, write_depthtospace),
    {"SpaceToDepth", 1, SPACE_TO_DEPTH_1 "[T:all1]", .infer = infer_spacetodepth},
    {"SpaceToDepth", 13, SPACE_TO_DEPTH_1 "[T:all13]", .infer = infer_spacetodepth},
    BY("SpaceToDepth", 28, "(input:T) -> (output:T) {blocksize:int, mode:string=\"DCR\"} [T:all13]",
       infer_spacetodepth, write_spacetodepth),
    {0},
};
