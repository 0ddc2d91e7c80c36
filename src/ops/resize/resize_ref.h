/* resize_ref.h: what the plain kernel of Resize and Upsample is made of: attributes, axes, and
 * where the elements of a resized axis come from. */
#ifndef ONX_RESIZE_REF_H
#define ONX_RESIZE_REF_H

#include "ops/view/move_ref.h"

typedef enum onx_resize_mode {
    ONX_RESIZE_NEAREST,
    ONX_RESIZE_LINEAR,
    ONX_RESIZE_CUBIC,
} onx_resize_mode;

typedef enum onx_resize_policy {
    ONX_RESIZE_STRETCH,
    ONX_RESIZE_NOT_LARGER,
    ONX_RESIZE_NOT_SMALLER,
} onx_resize_policy;

typedef struct onx_resize_axis {
    int64_t in, out;
    double scale;
    double start, end; /* the roi, as parts of the axis; known in the run */
    size_t roi;        /* where it is in input roi */
    bool same;         /* nothing is to be done along it */
    size_t width;      /* elements of the input for one of the output; next to each other */
} onx_resize_axis;

/* Where element x of the output lies in the input. */
typedef double onx_resize_coords(const onx_resize_axis *axis, double x);

typedef struct onx_resize_state {
    onx_resize_mode mode;
    onx_resize_policy policy;
    onx_resize_coords *coords;
    double (*round)(const onx_resize_axis *axis, double x); /* to the nearest element */
    bool crops;                                             /* tf_crop_and_resize */
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
    onx_ints axes;
    size_t scales_at, sizes_at; /* inputs; SIZE_MAX: there is none */
    size_t n_scales;            /* from attributes, where there is no input */
    double scales[ONX_RANK_MAX];
} onx_resize_state;

/* resize_axis_ref.c. init: the functions for these names; false: there is no such name. */
bool onx_resize_find_coords(onx_str name, onx_resize_state *state);
bool onx_resize_find_round(onx_str name, onx_resize_state *state);

/* The table of an axis: for each element of the output the first one of the input, -1 where it lies
 * outside of what is sampled, and the weights of `width` of them (not for nearest). */
typedef struct onx_resize_table {
    int64_t *first;
    double *weight; /* [out][width] */
} onx_resize_table;
/* bind: sets axis->width. */
void onx_resize_width(const onx_resize_state *state, onx_resize_axis *axis);
/* Bytes of the table; false: they cannot be counted. */
bool onx_resize_table_bytes(const onx_resize_state *state, const onx_resize_axis *axis,
                            size_t *bytes) ONX_MUST_CHECK;
onx_resize_table onx_resize_table_make(const onx_resize_state *state, const onx_resize_axis *axis,
                                       char *memory);

/* resize_run_ref.c. The tensor is [rows][axis `last`][inner]; rows are all combinations of the axes
 * before `last`, which is the last one that is not the same; the rank: there is none. */
typedef struct onx_resize_plan {
    size_t rank, last;
    onx_resize_axis axes[ONX_RANK_MAX];
    int64_t rows, inner;
    int64_t cols, part; /* of a block: elements along `last`, and of `inner` */
    size_t moved;       /* bytes of scratch before the tables */
} onx_resize_plan;
onx_status onx_resize_init(onx_call *call) ONX_MUST_CHECK;
/* bind: sizes of the axes and of the output. */
onx_status onx_resize_bind(onx_call *call, onx_resize_plan *plan) ONX_MUST_CHECK;
onx_status onx_resize_place(onx_call *call) ONX_MUST_CHECK; /* bind: blocks and scratch */
onx_status onx_resize_run(onx_call *call) ONX_MUST_CHECK;

#endif
