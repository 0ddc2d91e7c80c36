/* widen_ref.h: elements of any type as doubles, for kernels that read them here and there, and more
 * than once. For those that go through them in order, onx_operand_get is simpler. */
#ifndef ONX_WIDEN_REF_H
#define ONX_WIDEN_REF_H

#include "rt/kernel.h"

/* Elements of any type of numbers as doubles. Those that are neither float nor double are widened
 * to one of them in scratch; complex numbers are two elements each. */
typedef struct onx_wide {
    const char *data; /* may be unaligned */
    bool is_double;
} onx_wide;

static inline double onx_wide_at(onx_wide wide, size_t i) {
    double d;
    float f;
    if (wide.is_double) return memcpy(&d, wide.data + i * sizeof d, sizeof d), d;
    memcpy(&f, wide.data + i * sizeof f, sizeof f);
    return (double)f;
}
/* Scratch that widening takes; to be added to *bytes. False: it cannot be counted. */
bool onx_wide_bytes(const onx_operand *operand, size_t *bytes) ONX_MUST_CHECK;
/* Takes what it needs of *scratch. */
onx_wide onx_wide_of(const onx_operand *operand, char **scratch);

#endif
