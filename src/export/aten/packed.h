/* packed.h: sequences of PyTorch without their padding: all steps at time 0, then all at time 1 … of
 * sequences that are sorted by length, and how many there are at each time. */
#ifndef ONX_PACKED_H
#define ONX_PACKED_H

#include "export/aten/lowering.h"

typedef struct onx_packed {
    onx_value *padded;  /* [time, batch, width] */
    onx_value *inside;  /* bool[time, batch]: is it a step of the sequence? */
    onx_value *lengths; /* int64[batch] */
    bool zeros;         /* what is not inside is 0 */
} onx_packed;

/* Packed data, [steps, width], of such a sequence; onx_packed_open finds it again. */
onx_value *onx_packed_close(onx_export *x, const onx_packed *packed);
/* What data are with their padding. False: x failed. */
bool onx_packed_open(onx_export *x, onx_value *data, onx_value *batch_sizes, onx_packed *out);

#endif
