/* transpose_ref.c: dimensions that change places: Transpose, DepthToSpace, SpaceToDepth: copies of
 * a box whose sides have different strides. The vector tier (transpose_simd.c) differs only in how
 * it moves a tile. */
#include "ops/transpose/transpose_ref.h"

onx_status onx_transpose_init(onx_call *call) {
    return onx_ints_init(call, "perm");
}

/* The dimension of the input that becomes dimension `i`; without perm, they are reversed. */
static bool source_of(const onx_call *call, size_t i, size_t rank, size_t *out) {
    const onx_ints *perm = call->state;
    *out = rank - 1 - i;
    return !perm->given || onx_axis(perm->v[i], rank, out);
}

onx_status onx_transpose_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    const onx_ints *perm = call->state;
    int64_t dims[ONX_RANK_MAX];
    uint32_t seen = 0;
    if (perm->given && perm->n != in->rank)
        return onx_call_fail(call, ONX_INVALID, "perm has %zu entries for rank %u", perm->n,
                             (unsigned)in->rank);
    for (size_t i = 0; i < in->rank; i++) {
        size_t from;
        if (!source_of(call, i, in->rank, &from) || seen >> from & 1)
            return onx_call_fail(call, ONX_INVALID, "perm is no permutation of %u dimensions",
                                 (unsigned)in->rank);
        seen |= 1u << from;
        dims[i] = in->dims[from];
    }
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, in->rank, dims));
    return onx_move_bind(call);
}

onx_status onx_transpose_run(onx_call *call, onx_copy_tile *tile) {
    const onx_operand *in = call->in[0], *out = call->out[0];
    int64_t from[ONX_RANK_MAX], to[ONX_RANK_MAX];
    onx_strides(in, from);
    onx_strides(out, to);
    onx_copy box = onx_copy_begin(onx_move_size((onx_dtype)in->dtype));
    box.tile = tile;
    for (size_t i = 0; i < in->rank; i++) {
        size_t k = 0;
        (void)source_of(call, i, in->rank, &k);
        onx_copy_dim(&box, out->dims[i], from[k], to[i]);
    }
    onx_mover mover = onx_move_begin(call);
    const char *data = onx_move_in(&mover, 0);
    char *result = onx_move_out(&mover, 0);
    ONX_TRY(onx_copy_run(call, &box, data, result));
    return onx_move_end(call, 0, result);
}

static onx_status plain_run(onx_call *call) {
    return onx_transpose_run(call, NULL);
}

/* ── DepthToSpace, SpaceToDepth ──────────────────────────────────────────────────────────────── */

typedef struct depth {
    int64_t block;
    bool channels_first; /* CRD: the channel counts slower than the place in the block */
} depth;

static onx_status depth_init(onx_call *call) {
    depth *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    onx_str mode = onx_call_string(call, "mode");
    *state = (depth){onx_call_int(call, "blocksize"), onx_str_is(mode, "CRD")};
    if (state->block < 1 || state->block > INT32_MAX)
        return onx_call_fail(call, ONX_INVALID, "blocksize is %lld", (long long)state->block);
    if (mode.size && !state->channels_first && !onx_str_is(mode, "DCR"))
        return onx_call_fail(call, ONX_INVALID, "there is no mode '%.*s'", ONX_FMT(mode));
    return ONX_OK;
}

/* [N][C][H][W] to [N][C/bb][Hb][Wb], or to [N][Cbb][H/b][W/b] */
static onx_status depth_shape(onx_call *call, bool to_space) {
    const onx_operand *in = call->in[0];
    int64_t b = ((const depth *)call->state)->block, dims[4];
    if (in->rank != 4)
        return onx_call_fail(call, ONX_INVALID, "the input has rank %u, not 4", (unsigned)in->rank);
    bool whole = to_space ? in->dims[1] % (b * b) == 0 : in->dims[2] % b + in->dims[3] % b == 0;
    if (!whole)
        return onx_call_fail(call, ONX_INVALID, "blocks of %lld do not fill the input",
                             (long long)b);
    bool fits = true;
    dims[0] = in->dims[0];
    if (to_space)
        dims[1] = in->dims[1] / (b * b);
    else
        fits = onx_mul_i64(in->dims[1], b * b, &dims[1]);
    for (size_t i = 2; i < 4; i++) {
        if (to_space)
            fits = fits && onx_mul_i64(in->dims[i], b, &dims[i]);
        else
            dims[i] = in->dims[i] / b;
    }
    if (!fits)
        return onx_call_fail(call, ONX_INVALID, "blocks of %lld are too large", (long long)b);
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, 4, dims));
    return onx_move_bind(call);
}

static onx_status to_space_bind(onx_call *call) {
    return depth_shape(call, true);
}

static onx_status to_depth_bind(onx_call *call) {
    return depth_shape(call, false);
}

/* Both as one box over (n, c, y, i, x, j): i and j are the place in a block, c the channel of the
 * shallow side, y and x the place of the block. */
static onx_status depth_run(onx_call *call, bool to_space) {
    const onx_operand *deep = call->in[0], *wide = call->out[0];
    const depth *state = call->state;
    if (!to_space) {
        deep = call->out[0];
        wide = call->in[0];
    }
    int64_t b = state->block, d[ONX_RANK_MAX], w[ONX_RANK_MAX];
    onx_strides(deep, d);
    onx_strides(wide, w);
    int64_t c = state->channels_first ? b * b * d[1] : d[1];
    int64_t place = state->channels_first ? d[1] : wide->dims[1] * d[1];
    const int64_t sides[6][3] = {
        /* size, stride of the deep side, of the wide side */
        {deep->dims[0], d[0], w[0]},     {wide->dims[1], c, w[1]},
        {deep->dims[2], d[2], b * w[2]}, {b, b * place, w[2]},
        {deep->dims[3], d[3], b * w[3]}, {b, place, w[3]},
    };
    static const int by_space[6] = {0, 1, 2, 3, 4, 5}, by_block[6] = {0, 3, 5, 1, 2, 4},
                     by_channel[6] = {0, 1, 3, 5, 2, 4};
    const int *order = to_space ? by_space : state->channels_first ? by_channel : by_block;
    onx_copy box = onx_copy_begin(onx_move_size((onx_dtype)deep->dtype));
    for (size_t i = 0; i < 6; i++) {
        const int64_t *side = sides[order[i]];
        onx_copy_dim(&box, side[0], side[to_space ? 1 : 2], side[to_space ? 2 : 1]);
    }
    onx_mover mover = onx_move_begin(call);
    const char *data = onx_move_in(&mover, 0);
    char *result = onx_move_out(&mover, 0);
    ONX_TRY(onx_copy_run(call, &box, data, result));
    return onx_move_end(call, 0, result);
}

static onx_status to_space_run(onx_call *call) {
    return depth_run(call, true);
}

static onx_status to_depth_run(onx_call *call) {
    return depth_run(call, false);
}

extern onx_kernel_rows onx_kernels_transpose_ref;
onx_kernel_rows onx_kernels_transpose_ref = {
    {.op = "Transpose",
     .first = 1,
     .name = "transpose",
     .flags = ONX_KERNEL_OBJECTS,
     .init = onx_transpose_init,
     .bind = onx_transpose_bind,
     .run = plain_run},
    {.op = "DepthToSpace",
     .first = 1,
     .name = "depth_to_space",
     .flags = ONX_KERNEL_OBJECTS,
     .init = depth_init,
     .bind = to_space_bind,
     .run = to_space_run},
    {.op = "SpaceToDepth",
     .first = 1,
     .name = "space_to_depth",
     .flags = ONX_KERNEL_OBJECTS,
     .init = depth_init,
     .bind = to_depth_bind,
     .run = to_depth_run},
    {0},
};
