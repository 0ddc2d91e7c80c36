/* spread_ref.c: see spread_ref.h; and the rows of the kernels. */
#include "ops/spread/spread_ref.h"

bool onx_spread_count(onx_spread *s) {
    s->in_pixels = s->out_pixels = s->taps = 1;
    for (size_t i = 0; i < s->axes; i++) {
        if (i + 1 == s->axes) {
            s->rows = s->out_pixels;
            s->row_taps = s->taps;
        }
        if (!onx_mul_size(s->in_pixels, s->in[i], &s->in_pixels) ||
            !onx_mul_size(s->out_pixels, s->out[i], &s->out_pixels) ||
            !onx_mul_size(s->taps, s->kernel[i], &s->taps))
            return false;
    }
    return true;
}

bool onx_spread_row(const onx_spread *s, size_t row, size_t tap, size_t *at) {
    size_t step = 1;
    *at = 0;
    for (size_t i = s->axes - 1; i-- > 0; row /= s->out[i], tap /= s->kernel[i]) {
        int64_t from = (int64_t)(row % s->out[i]) + s->before[i] -
                       (int64_t)(tap % s->kernel[i] * s->dilation[i]);
        if (from < 0 || from % (int64_t)s->stride[i]) return false;
        size_t element = (size_t)from / s->stride[i];
        if (element >= s->in[i]) return false;
        *at += element * step;
        step *= s->in[i];
    }
    return true;
}

onx_spread_run onx_spread_run_of(const onx_spread *s, size_t k) {
    size_t last = s->axes - 1;
    int64_t stride = (int64_t)s->stride[last];
    /* Where element 0 goes; may lie before the image, or behind it. */
    int64_t to = (int64_t)(k * s->dilation[last]) - s->before[last], size = (int64_t)s->out[last];
    int64_t first = to < 0 ? (-to + stride - 1) / stride : 0;
    int64_t end = to < size ? (size - to + stride - 1) / stride : 0;
    if (end > (int64_t)s->in[last]) end = (int64_t)s->in[last];
    if (end <= first) return (onx_spread_run){0};
    return (onx_spread_run){(size_t)first, (size_t)(end - first), (size_t)(to + first * stride)};
}

extern onx_kernel_rows onx_kernels_spread_ref;
onx_kernel_rows onx_kernels_spread_ref = {
    {.op = "ConvTranspose",
     .first = 1,
     .types = {ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS},
     .name = "conv_transpose",
     .init = onx_conv_transpose_init,
     .bind = onx_conv_transpose_bind,
     .run = onx_conv_transpose_run},
    {.op = "DeformConv",
     .first = 19,
     .types = {ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS},
     .name = "deform_conv",
     .init = onx_deform_conv_init,
     .bind = onx_deform_conv_bind,
     .run = onx_deform_conv_run},
    {.op = "Col2Im",
     .first = 18,
     .types = {ONX_T_NUMBERS | ONX_T(BOOL) | ONX_T(C64) | ONX_T(C128), ONX_T(I64), ONX_T(I64)},
     .name = "col2im",
     .host = 2 | 4,
     .init = onx_col2im_init,
     .bind = onx_col2im_bind,
     .run = onx_col2im_run},
    {.op = "Col2Im",
     .first = 18,
     .types = {ONX_T(STRING), ONX_T(I64), ONX_T(I64)},
     .name = "col2im_strings",
     .flags = ONX_KERNEL_OBJECTS,
     .host = 2 | 4,
     .init = onx_col2im_init,
     .bind = onx_col2im_bind,
     .run = onx_col2im_run_strings},
    {0},
};
