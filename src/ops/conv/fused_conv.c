/* fused_conv.c: com.microsoft FusedConv as a function: a Conv, an Add where there is Z, and the
 * activation. */
#include "ops/conv/conv_infer.h"

#include <float.h>

/* The activations: nodes over the value `sum` and the activation_params, with those by default. */
static const struct {
    const char *name;
    double params[2];
    const char *nodes;
} activations[] = {
    {"Relu", {0, 0}, " Y = Relu (sum)"},
    {"Tanh", {0, 0}, " Y = Tanh (sum)"},
    {"Sigmoid", {0, 0}, " Y = Sigmoid (sum)"},
    {"LeakyRelu", {0.01, 0}, " Y = LeakyRelu <alpha: float = %.9g> (sum)"},
    {"HardSigmoid", {0.2, 0.5}, " Y = HardSigmoid <alpha: float = %.9g, beta: float = %.9g> (sum)"},
    {"Clip",
     {(double)-FLT_MAX, (double)FLT_MAX},
     " low_f = Constant <value_float: float = %.9g> () low = CastLike (low_f, X)"
     " high_f = Constant <value_float: float = %.9g> () high = CastLike (high_f, X)"
     " Y = Clip (sum, low, high)"},
};

static void put_conv(onx_buf *out, const onx_node *node) {
    static const char *const lists[] = {"dilations", "kernel_shape", "pads", "strides"};
    onx_buf_puts(out, "<15> conv = Conv <auto_pad: string = @auto_pad, group: int = @group");
    for (size_t i = 0; i < ONX_COUNT(lists); i++)
        if (onx_op_has(node, lists[i])) onx_buf_printf(out, ", %s: ints = @%s", lists[i], lists[i]);
    onx_buf_puts(out, onx_node_input(node, 2) ? "> (X, W, B)" : "> (X, W)");
    onx_buf_puts(out, onx_node_input(node, 3) ? " sum = Add (conv, Z)" : " sum = Identity (conv)");
}

onx_status onx_write_fused_conv(const onx_op *op, const onx_node *node, size_t n_in,
                                const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_str name = onx_op_string(op, node, "activation");
    size_t n = 0, i = 0;
    const float *given = onx_op_floats(node, "activation_params", &n);
    (void)n_in, (void)ins;
    put_conv(out, node);
    if (!name.size) {
        onx_buf_puts(out, " Y = Identity (sum)");
        return ONX_OK;
    }
    while (i < ONX_COUNT(activations) && !onx_str_is(name, activations[i].name)) i++;
    if (i == ONX_COUNT(activations))
        return onx_fail(diag, ONX_UNSUPPORTED, "FusedConv has no activation '%.*s'", ONX_FMT(name));
    const double *params = activations[i].params;
    onx_buf_printf(out, activations[i].nodes, n > 0 ? (double)given[0] : params[0],
                   n > 1 ? (double)given[1] : params[1]);
    return ONX_OK;
}
