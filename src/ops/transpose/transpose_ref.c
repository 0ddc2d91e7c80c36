/* transpose_ref.c: Transpose: a copy of a box whose dimensions change places. The vector tier
 * (transpose_simd.c) differs only in how it moves a tile. */
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

onx_status onx_transpose_run(onx_call *call, onx_tile *tile) {
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

extern onx_kernel_rows onx_kernels_transpose_ref;
onx_kernel_rows onx_kernels_transpose_ref = {
    {.op = "Transpose",
     .first = 1,
     .name = "transpose",
     .flags = ONX_KERNEL_OBJECTS,
     .init = onx_transpose_init,
     .bind = onx_transpose_bind,
     .run = plain_run},
    {0},
};
