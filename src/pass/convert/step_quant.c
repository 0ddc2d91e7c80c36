/* step_quant.c: QuantizeLinear and DequantizeLinear: along an axis, to a type that is asked for. */
#include "pass/convert/steps.h"

/* One scale for all elements needs no axis. */
static onx_status axis_down(onx_convert *c, onx_node *node) {
    const onx_fact *scale = onx_convert_in(c, node, 1);
    int64_t size;
    bool one =
        scale->ranked && (scale->rank == 0 || (onx_convert_dim(c, node, 1, 0, &size) && size == 1));
    if (one) return onx_convert_drop_attr(c, node, "axis");
    return onx_convert_refuse(c, "there is one scale for all elements there");
}

/* Only the 8-bit floats saturate or not. */
static onx_status saturate_down(onx_convert *c, onx_node *node) {
    return onx_convert_drop_attr(c, node, "saturate");
}

/* The zero point tells the type of the result. */
static onx_status add_zero_point(onx_convert *c, onx_node *node, onx_dtype dtype) {
    const onx_fact *scale = onx_convert_in(c, node, 1);
    int64_t n = 1;
    size_t bytes;
    onx_value *zero;
    bool known = scale->ranked && scale->rank <= 1 &&
                 (scale->rank == 0 || onx_convert_dim(c, node, 1, 0, &n));
    if (!known || n < 0 || n > 1 << 20 || !onx_dtype_bytes(dtype, (uint64_t)n, &bytes))
        return onx_convert_refuse(c,
                                  "'output_dtype' needs a zero point there, of a shape not known");
    void *zeros = onx_arena_alloc(&c->arena, bytes + 1);
    if (!zeros) return onx_fail_nomem(&c->diag);
    ONX_TRY(onx_convert_tensor(c, "zero_point", dtype, scale->rank, &n, zeros, bytes, &zero));
    return onx_convert_set_input(c, node, 2, zero);
}

static onx_status output_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "output_dtype"));
    int64_t dtype = onx_convert_int(c, node, "output_dtype");
    if (dtype && dtype != ONX_DTYPE_U8 && !onx_convert_has(node, 2)) {
        if (onx_convert_int(c, node, "block_size"))
            return onx_convert_refuse(c, "there are no blocks there");
        ONX_TRY(add_zero_point(c, node, (onx_dtype)dtype));
    }
    return onx_convert_drop_attr(c, node, "output_dtype");
}

/* The result is of the type of the scale, unless another one is asked for, since 23. */
static onx_status result_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "output_dtype"));
    int64_t dtype = onx_convert_int(c, node, "output_dtype");
    if (dtype && dtype != (int64_t)onx_convert_in(c, node, 1)->dtype)
        return onx_convert_refuse(c, "the result is of the type of the scale there");
    return onx_convert_drop_attr(c, node, "output_dtype");
}

const onx_step onx_step_quant_axis = {NULL, axis_down, NULL};
const onx_step onx_step_quant_saturate = {NULL, saturate_down, NULL};
const onx_step onx_step_quant_output = {NULL, output_down, NULL};
const onx_step onx_step_dequant_result = {NULL, result_down, NULL};
