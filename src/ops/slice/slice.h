/* slice.h: how Slice reads its numbers; for the files of this folder. */
#ifndef ONX_SLICE_H
#define ONX_SLICE_H

#include "base/base.h"

/* The elements that start, end and step choose from a dimension of `size`: negative positions count
 * from the end, positions outside are moved to the nearest one inside. Backwards, a start before
 * the first element is moved to it: ONNX says so, Python chooses nothing then.
 * Gives their number and the first one; `step` is not 0. */
static inline int64_t onx_slice_range(int64_t size, int64_t start, int64_t end, int64_t step,
                                      int64_t *first) {
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    if (start < 0) start += size;
    if (end < 0) end += size;
    if (start < 0) start = 0;
    if (start > high) start = high;
    end = end < low ? low : end > high ? high : end;
    uint64_t pace = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    int64_t distance = step < 0 ? start - end : end - start;
    *first = start;
    return distance <= 0 ? 0 : (int64_t)((uint64_t)(distance - 1) / pace) + 1;
}

#endif
