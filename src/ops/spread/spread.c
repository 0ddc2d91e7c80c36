/* spread.c: ConvTranspose, DeformConv, Col2Im: meaning; conv/conv_infer.c has their sizes. */
#include "ops/conv/conv_infer.h"

#define TRANSPOSE                                                                                  \
    "(X:T, W:T, B?:T) -> (Y:T) {auto_pad:string=\"NOTSET\", dilations?:ints, group:int=1, "        \
    "kernel_shape?:ints, pads?:ints, strides?:ints, output_padding?:ints, output_shape?:ints} "
#define DEFORM                                                                                     \
    "(X:T, W:T, offset:T, B?:T, mask?:T) -> (Y:T) {dilations?:ints, group:int=1, "                 \
    "kernel_shape?:ints, offset_group:int=1, pads?:ints, strides?:ints} "
#define COL2IM                                                                                     \
    "(input:T, image_shape:int64, block_shape:int64) -> (output:T) {dilations?:ints, pads?:ints, " \
    "strides?:ints} "

extern onx_op_rows onx_ops_spread;
onx_op_rows onx_ops_spread = {
    {"ConvTranspose", 1, TRANSPOSE "[T:f0]", .infer = onx_infer_conv_transpose},
    {"ConvTranspose", 11, TRANSPOSE "[T:f0]", .infer = onx_infer_conv_transpose},
    {"ConvTranspose", 22, TRANSPOSE "[T:f]", .infer = onx_infer_conv_transpose},
    {"DeformConv", 19, DEFORM "[T:f0]", .infer = onx_infer_deform_conv},
    {"DeformConv", 22, DEFORM "[T:f]", .infer = onx_infer_deform_conv},
    {"Col2Im", 18, COL2IM "[T:all13]", .infer = onx_infer_col2im},
    {0},
};
