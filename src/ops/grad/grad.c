/* grad.c: operators of onx.internal that derivatives are made of (pass/grad): meaning. */
#include "ops/op.h"

static onx_status infer_like(onx_infer *in, size_t input) {
    const onx_fact *like = onx_infer_in(in, input);
    return onx_infer_like(in, 0, like->dtype, like);
}
static onx_status infer_first(onx_infer *in) {
    return infer_like(in, 0);
}
static onx_status infer_second(onx_infer *in) {
    return infer_like(in, 1);
}
static onx_status infer_third(onx_infer *in) {
    return infer_like(in, 2);
}

#define CONV                                                                                       \
    "(X:T, W:T, none?:T, dY:T) -> (D:T) {auto_pad:string=\"NOTSET\", dilations?:ints, "            \
    "group:int=1, kernel_shape?:ints, pads?:ints, strides?:ints} [T:f]"
#define POOL                                                                                       \
    "(X:T, dY:T) -> (dX:T) {auto_pad:string=\"NOTSET\", ceil_mode:int=0, "                         \
    "count_include_pad:int=0, dilations?:ints, kernel_shape:ints, pads?:ints, strides?:ints} "     \
    "[T:f]"

extern onx_op_rows onx_ops_grad;
onx_op_rows onx_ops_grad = {
    {"AddAt", 1, "(X:T, places:int64, like:T) -> (Y:T) [T:f]", .infer = infer_third,
     .domain = "onx.internal"},
    {"AveragePoolGrad", 1, POOL, .infer = infer_first, .domain = "onx.internal"},
    {"ConvGradW", 1, CONV, .infer = infer_second, .domain = "onx.internal"},
    {"ConvGradX", 1, CONV, .infer = infer_first, .domain = "onx.internal"},
    {"SumTo", 1, "(X:T, like:T) -> (Y:T) [T:f]", .infer = infer_second, .domain = "onx.internal"},
    {0},
};
