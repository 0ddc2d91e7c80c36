/* attend_view.h: onx.internal::Attend, attention that reads and writes tensors where they lie.
 *
 *     Y[b,h,s,:] = softmax over j of (scale Q[b,h,s,:] · K[b,h,j,:], changed by the biases) times V
 *
 * Q, K and V are views of tensors: each of the four dimensions (batch, head, row, column) is a walk
 * along an axis of the tensor, or along two, the first the slower:
 *
 *     [B, S, 3 H D], the keys of it      batch: axis 0   head: axis 2 in steps of D, H of them
 *                                        row: axis 1     column: axis 2, D of them
 *                                        from H D on along axis 2
 *     keys that 4 query heads share      head: axis 1, then nowhere (step 0) 4 times
 *
 * A dimension without a walk has size 1. The biases are added to the scores, or, bools, put a
 * number in their place. All broadcast against each other as [batch, head, row, key]; a fifth
 * dimension of a bias before these is 1 and says that the batch repeats: [1, 64, 1, 49, 49] is for
 * batch b % 64. */
#ifndef ONX_ATTEND_VIEW_H
#define ONX_ATTEND_VIEW_H

#include "ops/op.h"

enum { ONX_VIEW_AXES = 8, ONX_VIEW_WALKS = 2, ONX_ATTEND_BIASES = 2 };
enum { ONX_VIEW_BATCH, ONX_VIEW_HEAD, ONX_VIEW_ROW, ONX_VIEW_COL, ONX_VIEW_DIMS };
typedef enum onx_attend_mode {
    ONX_ATTEND_ADD,
    ONX_ATTEND_FILL_TRUE,  /* where the bool is true the score is `fill` */
    ONX_ATTEND_FILL_FALSE, /* where it is false */
} onx_attend_mode;

typedef struct onx_view_walk {
    int64_t first, axis; /* along an axis, or several whole ones as if they were one */
    int64_t step, size;  /* size -1: all of it */
} onx_view_walk;
typedef struct onx_view {
    int64_t start[ONX_VIEW_AXES]; /* along the axes of the tensor */
    size_t n[ONX_VIEW_DIMS];
    onx_view_walk walks[ONX_VIEW_DIMS][ONX_VIEW_WALKS];
} onx_view;

/* As a list of integers: the starts, after their number, and the walks of each dimension, after
 * theirs. */
enum { ONX_VIEW_INTS = 1 + ONX_VIEW_AXES + ONX_VIEW_DIMS * (1 + 4 * ONX_VIEW_WALKS) };
size_t onx_view_write(const onx_view *view, int64_t out[ONX_VIEW_INTS]);
bool onx_view_read(const onx_node *node, const char *name, onx_view *out);

onx_status onx_infer_attend(onx_infer *in);
onx_status onx_infer_rotate(onx_infer *in); /* onx.internal::Rotate (rotate_ref.h) */

#endif
