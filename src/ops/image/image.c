/* image.c: ImageDecoder: meaning. */
#include "ops/op.h"

/* [height, width, channels]; what the first two are stands in the encoded image. */
static onx_status infer_decoder(onx_infer *in) {
    bool gray = onx_str_is(onx_infer_string(in, "pixel_format"), "Grayscale");
    const onx_sym *dims[] = {NULL, NULL, onx_sym_int(onx_infer_syms(in), gray ? 1 : 3)};
    onx_extent *any[] = {NULL};
    ONX_TRY(onx_infer_choice(in, "pixel_format", "RGB BGR Grayscale"));
    ONX_TRY(onx_infer_unify(in, 0, 1, any));
    onx_infer_lost(in, 0, 0, "the height stands in the encoded image");
    onx_infer_lost(in, 0, 1, "the width stands in the encoded image");
    return onx_infer_tensor(in, 0, ONX_DTYPE_U8, 3, dims);
}

#define DECODER                                                                                    \
    "(encoded_stream:T1) -> (image:T2) {pixel_format:string=\"RGB\"} [T1:uint8, T2:uint8]"

extern onx_op_rows onx_ops_image;
onx_op_rows onx_ops_image = {
    {"ImageDecoder", 20, DECODER, .infer = infer_decoder},
    {0},
};
