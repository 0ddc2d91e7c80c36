/* leaves.h: values taken apart, for nodes with graphs inside (control_if.c, control_loop.c).
 *
 * Values become leaves: tensors, numbers, and what is neither; of a list or dict the leaf says only
 * how many follow. So two values have one form when their leaves agree one by one. A leaf that must
 * go through the node is a slot. */
#ifndef ONX_LEAVES_H
#define ONX_LEAVES_H

#include "export/export.h"

typedef struct onx_xleaf {
    onx_xv v;
    onx_value *value; /* of a tensor, when it was taken apart */
    size_t n;         /* of a list or tuple, elements; of a dict, entries */
} onx_xleaf;

typedef struct onx_xleaves {
    onx_xleaf *v;
    size_t n, cap;
} onx_xleaves;

/* What these values are now; false: x failed. */
bool onx_xleaves_take(onx_export *x, size_t n, const onx_xv *v, onx_xleaves *all);
/* n values from leaves, in new lists. */
void onx_xleaves_make(onx_export *x, const onx_xleaves *all, size_t n, onx_xv *out);
/* Are the two one value, whatever way was taken? A tensor that both have was there before, and what
 * was written to it is joined with its storage. */
bool onx_xleaf_same(const onx_xleaf *a, const onx_xleaf *b);
static inline bool onx_xleaf_is_slot(const onx_xleaf *l) {
    return l->v.kind == ONX_X_TENSOR || onx_xv_is_number(&l->v);
}
/* The type that a slot has in the model, and its value there, in the current graph. */
onx_dtype onx_xleaf_type(const onx_export *x, const onx_xleaf *l);
onx_value *onx_xleaf_value(onx_export *x, const onx_xleaf *l, onx_dtype dtype);
/* It is what the model computes here from now on: a tensor of its own, or a number. */
void onx_xleaf_give(onx_export *x, onx_xleaf *l, onx_value *value);
/* Zeros of a type and of sizes, as far as they can be had here, where nobody will look. */
onx_value *onx_x_blank(onx_export *x, onx_dtype dtype, const onx_fact *like);
/* One more output of the current graph, which is inside another. */
void onx_x_add_result(onx_export *x, onx_value *value);
/* What differs (E7); false. */
bool onx_x_fail_differ(onx_export *x, const char *where, const onx_xleaf *a, const onx_xleaf *b);
/* The write of a scope to a storage; NULL: none. */
const onx_xwrite *onx_xscope_write(const onx_xscope *scope, const onx_xstorage *storage);
/* May there be a graph inside the current one? Each level of loops is tried more than once. */
bool onx_x_may_nest(onx_export *x);

#endif
