/* parts.h: what the families of views, indices and joins share. */
#ifndef ONX_ATEN_PARTS_H
#define ONX_ATEN_PARTS_H

#include "export/aten/lowering.h"

/* Of a tensor, as PyTorch counts: the pair of a complex number is no dimension. */
size_t onx_lower_rank(onx_export *x, const onx_xv *tensor);
/* A dim argument, which must be known, counted from 0; false: x failed. */
bool onx_lower_axis(onx_export *x, const onx_xv *dim, size_t rank, size_t *out);
/* value[start:end:step] along an axis; None is open. The value itself where that is all of it. */
onx_value *onx_lower_slice(onx_export *x, onx_value *value, size_t axis, onx_xv start, onx_xv end,
                           int64_t step);
/* `base` with `part` in that place; and with `part`, of one rank less, at an index. */
onx_value *onx_lower_put_slice(onx_export *x, onx_value *base, onx_value *part, size_t axis,
                               onx_xv start, onx_xv end, int64_t step);
onx_value *onx_lower_put_at(onx_export *x, onx_value *base, onx_value *part, size_t axis,
                            onx_xv index);
/* The values broadcast to the shape that all have together; false: x failed. */
bool onx_lower_broadcast(onx_export *x, size_t n, onx_value **values);
onx_value *onx_lower_expand_like(onx_export *x, onx_value *value, onx_value *like);

#endif
