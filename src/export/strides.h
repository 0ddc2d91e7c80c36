/* strides.h: where the elements of tensors lie in their storages.
 *
 * Sizes say what a tensor is; strides say what PyTorch does with it: whether a reshape is a view or
 * a copy, what as_strided shows, what stride() and is_contiguous() answer. */
#ifndef ONX_STRIDES_H
#define ONX_STRIDES_H

#include "export/export.h"

/* In elements, complex ones too; what is NULL is not known. */
struct onx_xlayout {
    const onx_sym *offset;
    const onx_sym *strides[];
};
extern const onx_xlayout onx_xlayout_unknown;

/* A copy of the layout of a tensor, to be changed, with room for more dimensions; NULL: nothing is
 * known of it, or x failed. */
onx_xlayout *onx_xt_layout(onx_export *x, const onx_xt *t, size_t room);
size_t onx_xt_rank(onx_export *x, const onx_xt *t); /* as PyTorch counts; SIZE_MAX: failed */

typedef enum onx_xanswer { ONX_X_NO, ONX_X_YES, ONX_X_UNSURE } onx_xanswer;
onx_xanswer onx_xt_is_contiguous(onx_export *x, const onx_xt *t);

/* What a view operator gave (`out`, a tensor) lies in the storage of `self` as follows. */
void onx_lay_permuted(onx_export *x, const onx_xv *self, const int64_t *perm, const onx_xv *out);
void onx_lay_expanded(onx_export *x, const onx_xv *self, const onx_xv *out);
/* From `start`, counted from 0, every step-th; `gone`: one place, and no dimension any more. */
void onx_lay_part(onx_export *x, const onx_xv *self, size_t axis, onx_xv start, int64_t step,
                  bool gone, const onx_xv *out);
/* The same elements in another shape. `copies`: where that cannot be a view, it is a copy. */
void onx_lay_shaped(onx_export *x, const onx_xv *self, bool copies, const onx_xv *out);

/* A new tensor keeps the order in which the elements of these lie, as elementwise results do. */
void onx_lay_kept(onx_export *x, size_t n, const onx_xv *v, onx_xt *t);
/* A copy of `self` in a memory format, a number of c10's or None; does a tensor have it? */
void onx_lay_formatted(onx_export *x, const onx_xv *self, const onx_xv *format, onx_xt *copy);
onx_xanswer onx_lay_has_format(onx_export *x, const onx_xt *t, const onx_xv *format);
/* The results of an operator of a family that does so with them. */
typedef enum onx_xkeeping {
    ONX_LAY_ANEW,   /* in order */
    ONX_LAY_KEEP,   /* as elementwise results */
    ONX_LAY_FORMAT, /* in order, unless an operand has its channels last */
    ONX_LAY_LIKE,   /* in order where the operands are, else not known */
    ONX_LAY_OWN,    /* not known */
} onx_xkeeping;
void onx_lay_results(onx_export *x, onx_xkeeping keeping, size_t n, const onx_xv *args,
                     size_t n_out, const onx_xv *out);

/* The elements of a storage in the order of its memory, [n] (complex ones [n, 2]), and a storage of
 * elements in that order; NULL: that order is not known, or x failed. */
onx_value *onx_xstorage_flat(onx_export *x, const onx_xt *t);
onx_value *onx_xstorage_of_flat(onx_export *x, const onx_xt *t, onx_value *flat);

#endif
