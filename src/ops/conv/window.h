/* window.h: sliding windows: the attributes and sizes that Conv and the pools have in common. */
#ifndef ONX_WINDOW_H
#define ONX_WINDOW_H

#include "ops/op.h"

typedef enum onx_auto_pad {
    ONX_AUTO_PAD_NOTSET,
    ONX_AUTO_PAD_SAME_UPPER,
    ONX_AUTO_PAD_SAME_LOWER,
    ONX_AUTO_PAD_VALID,
} onx_auto_pad;

/* Each value is between 1 (pads: 0) and INT32_MAX. */
typedef struct onx_window {
    size_t axes; /* spatial dimensions; 0: as many as the input has */
    onx_auto_pad auto_pad;
    bool ceil;
    bool sized; /* `kernel` is known */
    int32_t kernel[ONX_RANK_MAX], stride[ONX_RANK_MAX], dilation[ONX_RANK_MAX];
    int32_t before[ONX_RANK_MAX], after[ONX_RANK_MAX]; /* the padding */
} onx_window;

/* Where the windows lie along one axis. */
typedef struct onx_span {
    int64_t out, before, after; /* positions; padding, of `auto_pad` also */
} onx_span;

/* From kernel_shape, strides, dilations, pads, auto_pad and ceil_mode of a node. */
onx_status onx_window_read(const onx_op *op, const onx_node *node, onx_window *out, onx_diag *diag)
    ONX_MUST_CHECK;
/* The window for an input of `rank` dimensions. */
onx_status onx_window_fit(onx_window *window, size_t rank, onx_diag *diag) ONX_MUST_CHECK;
/* The kernel is `size` along an axis, as the weights say. */
onx_status onx_window_size(onx_window *window, size_t axis, int64_t size, onx_diag *diag)
    ONX_MUST_CHECK;
/* Along one axis, for an input of `in`. INVALID: the window is larger than the padded input. */
onx_status onx_window_span(const onx_window *window, size_t axis, int64_t in, onx_span *out,
                           onx_diag *diag) ONX_MUST_CHECK;
/* The same for the output's size, when the input's (and the kernel's) is an expression. */
const onx_sym *onx_window_out(const onx_window *window, size_t axis, onx_syms *syms,
                              const onx_sym *in, const onx_sym *kernel);

#endif
