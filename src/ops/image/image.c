/* image.c: ImageDecoder: meaning. */
#include "ops/op.h"

#define DECODER                                                                                    \
    "(encoded_stream:T1) -> (image:T2) {pixel_format:string=\"RGB\"} [T1:uint8, T2:uint8]"

extern onx_op_rows onx_ops_image;
onx_op_rows onx_ops_image = {
    {"ImageDecoder", 20, DECODER, .infer = NULL},
    {0},
};
