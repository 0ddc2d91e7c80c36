/* fused_conv.c: com.microsoft FusedConv as a function: a Conv, an Add where there is Z, and the
 * activation. */
#include "ops/conv/conv_infer.h"

/* The activations, over the value `sum`, and the attributes that activation_params are. */
static const struct {
    const char *name, *params[2];
} activations[] = {
    {"Relu", {NULL, NULL}},
    {"Tanh", {NULL, NULL}},
    {"Sigmoid", {NULL, NULL}},
    {"LeakyRelu", {"alpha", NULL}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"Clip", {"min", "max"}},
};

static void put_conv(onx_buf *out, const onx_node *node) {
    static const char *const lists[] = {"dilations", "kernel_shape", "pads", "strides"};
    onx_buf_puts(out, "<10> conv = Conv <auto_pad: string = @auto_pad, group: int = @group");
    for (size_t i = 0; i < ONX_COUNT(lists); i++)
        if (onx_op_has(node, lists[i])) onx_buf_printf(out, ", %s: ints = @%s", lists[i], lists[i]);
    onx_buf_puts(out, onx_node_input(node, 2) ? "> (X, W, B)" : "> (X, W)");
    onx_buf_puts(out, onx_node_input(node, 3) ? " sum = Add (conv, Z)" : " sum = Identity (conv)");
}

/* Opset 10 has all of them with parameters that are attributes. */
onx_status onx_write_fused_conv(const onx_op *op, const onx_node *node, size_t n_in,
                                const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_str name = onx_op_string(op, node, "activation");
    size_t n = 0, i = 0;
    const float *params = onx_op_floats(node, "activation_params", &n);
    const char *before = " <";
    (void)n_in, (void)ins;
    put_conv(out, node);
    if (!name.size) {
        onx_buf_puts(out, " Y = Identity (sum)");
        return ONX_OK;
    }
    while (i < ONX_COUNT(activations) && !onx_str_is(name, activations[i].name)) i++;
    if (i == ONX_COUNT(activations))
        return onx_fail(diag, ONX_UNSUPPORTED, "FusedConv has no activation '%.*s'", ONX_FMT(name));
    onx_buf_printf(out, " Y = %s", activations[i].name);
    for (size_t k = 0; k < 2 && k < n && activations[i].params[k]; k++, before = ", ")
        onx_buf_printf(out, "%s%s: float = %.9g", before, activations[i].params[k],
                       (double)params[k]);
    onx_buf_puts(out, *before == ',' ? "> (sum)" : " (sum)");
    return ONX_OK;
}
