/* move_ref.h: what kernels that only move elements share: views, slices, gathers, transposes.
 *
 * They see every tensor as elements of `size` bytes that can be copied:
 *
 *     dense types          1, 2, 4, 8 or 16 bytes, where they lie
 *     packed types         one byte each: unpacked into scratch, packed again at the end
 *     strings              an onx_str each, borrowed; the output object gets copies at the end
 *
 * A kernel calls onx_move_bind at the end of its bind, and in its run takes inputs and outputs
 * through a mover, then hands the outputs in with onx_move_end. */
#ifndef ONX_MOVE_REF_H
#define ONX_MOVE_REF_H

#include "rt/kernel.h"

/* Bytes of an element, as they are moved. */
size_t onx_move_size(onx_dtype dtype);

/* bind, when all output shapes are set: scratch for what is packed or strings. INVALID when an
 * operand is no tensor. */
onx_status onx_move_bind(onx_call *call) ONX_MUST_CHECK;

typedef struct onx_mover {
    onx_call *call;
    char *next; /* free scratch */
} onx_mover;

onx_mover onx_move_begin(onx_call *call);
/* The elements of an input: NULL when there are none. Once for each input. */
const char *onx_move_in(onx_mover *mover, size_t index);
/* Where the elements of an output go: NULL when there are none, or nobody wants it. */
char *onx_move_out(onx_mover *mover, size_t index);
onx_status onx_move_end(onx_call *call, size_t index, const char *elements) ONX_MUST_CHECK;

/* n elements like `one`. */
void onx_move_fill(char *to, const char *one, size_t size, int64_t n);

/* ── Copies of boxes ─────────────────────────────────────────────────────────────────────────── */

/* An n-dimensional box of elements, each side with strides of its own, in elements; 0 repeats,
 * negative goes backwards. Dimensions are added from the outermost inwards; those that lie together
 * in both sides become one. */
enum { ONX_COPY_RANK = 2 * ONX_RANK_MAX };
typedef struct onx_copy onx_copy;
/* rows x cols elements: to[r * to_row + c] = from[r + c * from_col]. */
typedef void onx_copy_tile(const char *from, int64_t from_col, char *to, int64_t to_row,
                           int64_t rows, int64_t cols);
struct onx_copy {
    size_t size; /* bytes of an element */
    size_t rank;
    bool empty;
    int64_t from_at, to_at; /* the first element */
    int64_t dims[ONX_COPY_RANK], from[ONX_COPY_RANK], to[ONX_COPY_RANK];
    onx_copy_tile *tile; /* a faster way for elements of that size; NULL: plain loops */
};

onx_copy onx_copy_begin(size_t size);
void onx_copy_dim(onx_copy *copy, int64_t n, int64_t from, int64_t to);
/* Copy, in parallel where it is worth it. The two sides do not overlap. */
onx_status onx_copy_run(onx_call *call, const onx_copy *copy, const char *from, char *to)
    ONX_MUST_CHECK;

/* Strides of a contiguous tensor, in elements; the product of its last dimensions from `at` on. */
void onx_strides(const onx_operand *operand, int64_t strides[ONX_RANK_MAX]);
int64_t onx_inner_count(const onx_operand *operand, size_t at);

/* ── Lists of integers ───────────────────────────────────────────────────────────────────────── */

/* A short list from an attribute or an input: axes, sizes, pads. */
typedef struct onx_ints {
    bool given;
    size_t n;
    int64_t v[2 * ONX_RANK_MAX];
} onx_ints;

/* init: an attribute. UNSUPPORTED when it is longer than any use of it. */
onx_status onx_ints_attr(const onx_call *call, const char *name, onx_ints *out) ONX_MUST_CHECK;
/* An element of such an input: an int32 or int64, or, as in the first opset, a float that is an
 * integer. False: it is not. */
bool onx_ints_at(const onx_operand *in, int64_t at, int64_t *out) ONX_MUST_CHECK;
/* bind: an input that the host reads. */
onx_status onx_ints_input(const onx_call *call, size_t index, onx_ints *out) ONX_MUST_CHECK;
/* init: into call->state; bind: from input `index`, or, when there is none, from call->state. */
onx_status onx_ints_init(onx_call *call, const char *name) ONX_MUST_CHECK;
onx_status onx_ints_of(const onx_call *call, size_t index, onx_ints *out) ONX_MUST_CHECK;
/* An axis made non-negative, or INVALID. */
onx_status onx_axis_of(const onx_call *call, int64_t axis, size_t rank, size_t *out) ONX_MUST_CHECK;

#endif
