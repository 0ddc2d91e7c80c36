/* trace.h: where the elements of a value lie in another one that it only shows differently. */
#ifndef ONX_TRACE_H
#define ONX_TRACE_H

#include "ops/attention/attend_view.h"
#include "pass/pass.h"

enum { ONX_TRACE_PIECES = 4 };

/* Dimensions of the value as walks along axes of `base`, slow ones first; none: of size 1. */
typedef struct onx_trace {
    onx_pass_ctx *ctx;
    onx_value *base;
    bool scaled; /* may products with a number be on the way? */
    float scale; /* the value is that many times what it shows of the base */
    int64_t start[ONX_VIEW_AXES];
    size_t rank;
    struct onx_trace_dim {
        size_t n;
        struct onx_trace_piece {
            int64_t first, axis, step; /* as in onx_view_walk */
            const onx_sym *size;
            bool whole; /* all of first … axis */
        } pieces[ONX_TRACE_PIECES];
    } dims[ONX_VIEW_AXES];
} onx_trace;

/* Back through Reshape, Transpose, Slice, Split, Gather of one index, Expand, products with one
 * number and their kin, as far as it can be followed: to the value itself at least. False: it is no
 * float32 tensor of known rank, or one of too many dimensions. */
bool onx_trace_back(onx_pass_ctx *ctx, onx_value *value, bool scaled, onx_trace *out);
/* One step only: from `base` to a value that shows it differently. */
bool onx_trace_step(onx_pass_ctx *ctx, onx_value *base, const onx_value *value, onx_trace *out);
/* The value itself. */
bool onx_trace_none(onx_pass_ctx *ctx, onx_value *value, onx_trace *out);
/* A dimension in two, the first of that size; and one whose elements each come so often. */
bool onx_trace_split(onx_trace *trace, size_t axis, int64_t size);
bool onx_trace_repeat(onx_trace *trace, size_t axis, int64_t times);
/* The view that has dimension which[d] of the value as its dimension d (-1: it has none). False:
 * walks or sizes are not of the form that views have. */
bool onx_trace_view(const onx_trace *trace, const int which[ONX_VIEW_DIMS], onx_view *out);

#endif
