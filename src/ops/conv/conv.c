/* conv.c: Conv, and what the engine makes of it in the blocked layout: meaning. */
#include "ops/conv/conv_infer.h"

static onx_status infer_conv(onx_infer *in) {
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    return onx_infer_conv(in, 0, 1, 2, dtype ? dtype : onx_infer_in(in, 1)->dtype);
}

#define CONV_ATTRS                                                                                 \
    "auto_pad:string=\"NOTSET\", dilations?:ints, group:int=1, kernel_shape?:ints, pads?:ints, "   \
    "strides?:ints"
#define CONV "(X:T, W:T, B?:T) -> (Y:T) {" CONV_ATTRS "}"

/* ConvBlocked: R is added to the sum, which is then clamped to lo … hi and goes through the program
 * in code and consts (ops/tile/tile.h), of one input. */
#define CONV_BLOCKED                                                                               \
    "(X:float, W:T, B?:float, R?:float) -> (Y:float) {" CONV_ATTRS                                 \
    ", lo:float=-inf, hi:float=inf, code?:ints, consts?:floats} [T:float|float16|bfloat16]"
/* Z is added to the sum, which then goes through the activation. */
#define FUSED                                                                                      \
    "(X:T, W:T, B?:T, Z?:T) -> (Y:T) {activation?:string, activation_params?:floats, " CONV_ATTRS  \
    "} "
#define REORDER "(X:float) -> (Y:float)"

extern onx_op_rows onx_ops_conv;
onx_op_rows onx_ops_conv = {
    {"Conv", 1, CONV " [T:f0]", .infer = infer_conv},
    {"Conv", 11, CONV " [T:f0]", .infer = infer_conv},
    {"Conv", 22, CONV " [T:f]", .infer = infer_conv},
    {"FusedConv", 1, FUSED "[T:f0]", .infer = infer_conv, .body = onx_write_fused_conv,
     .domain = "com.microsoft"},
    {"ConvBlocked", 1, CONV_BLOCKED, .infer = infer_conv, .domain = "onx.internal"},
    {"ToBlocked", 1, REORDER, .infer = onx_infer_same, .domain = "onx.internal"},
    {"FromBlocked", 1, REORDER, .infer = onx_infer_same, .domain = "onx.internal"},
    {0},
};
