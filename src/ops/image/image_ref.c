/* image_ref.c: ImageDecoder: a picture out of the bytes of a file (codec.h). A file that cannot be
 * decoded gives a picture without pixels, as ONNX wants it; one that may be right, but is too large
 * or needs a library that is missing, fails. */
#include "ops/image/codec.h"
#include "rt/kernel.h"

typedef enum format { RGB, BGR, GRAY } format;

static onx_status init(onx_call *call) {
    format *state = onx_call_state(call, sizeof *state);
    int which;
    if (!state) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_call_choice(call, "pixel_format", "RGB, BGR, Grayscale", &which));
    *state = (format)which;
    return ONX_OK;
}

/* Luma, as in ITU-R 601-2, in 16 bits behind the point. */
static uint8_t gray_of(const uint8_t *p) {
    return (uint8_t)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
}

static onx_status give(onx_call *call, const onx_picture *picture, format to) {
    int64_t channels = to == GRAY ? 1 : 3;
    ONX_TRY(
        onx_call_output(call, 0, ONX_DTYPE_U8, 3,
                        (int64_t[]){(int64_t)picture->height, (int64_t)picture->width, channels}));
    uint8_t *out = call->out[0]->data;
    const uint8_t *p = picture->pixels;
    for (size_t i = 0; i < picture->width * picture->height; i++, p += 3) {
        if (i % (1 << 20) == 0) ONX_TRY(onx_call_check(call));
        if (to == GRAY)
            *out++ = gray_of(p);
        else
            for (size_t k = 0; k < 3; k++) *out++ = p[to == BGR ? 2 - k : k];
    }
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const onx_operand *in = call->in[0];
    onx_picture picture = {
        .ctx = call->ctx, .diag = call->diag, .data = in->data, .size = (size_t)in->count};
    if (in->rank != 1)
        return onx_call_fail(call, ONX_INVALID, "the stream has %u dimensions; it needs 1",
                             (unsigned)in->rank);
    onx_status status = onx_picture_decode(&picture);
    if (status == ONX_INVALID) picture.width = picture.height = 0;
    if (status == ONX_OK || status == ONX_INVALID)
        status = give(call, &picture, *(const format *)call->state);
    onx_picture_free(&picture);
    return status;
}

extern onx_kernel_rows onx_kernels_image_ref;
onx_kernel_rows onx_kernels_image_ref = {
    {.op = "ImageDecoder",
     .first = 20,
     .types = {ONX_T(U8)},
     .name = "image_decoder",
     .flags = ONX_KERNEL_LATE,
     .init = init,
     .run = run},
    {0},
};
