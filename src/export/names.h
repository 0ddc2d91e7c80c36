/* names.h: what the user calls inputs, outputs and sizes, and which of them are wanted. */
#ifndef ONX_NAMES_H
#define ONX_NAMES_H

#include "export/export.h"

typedef struct onx_xaxis {
    const char *name; /* of the input or output */
    int64_t axis;
    const char *size; /* what the dimension is called: equal names are equal sizes */
} onx_xaxis;

typedef struct onx_xnames {
    size_t n_inputs, n_outputs, n_axes;
    const char *const *inputs, *const *outputs; /* in order; those beyond keep their own */
    const onx_xaxis *axes;
    bool mutations; /* buffers and inputs that the program changes are further outputs */
} onx_xnames;

/* The user's name, or `own`. */
static inline const char *onx_xnames_input(const onx_xnames *names, size_t i, const char *own) {
    return names && i < names->n_inputs && names->inputs[i] && *names->inputs[i] ? names->inputs[i]
                                                                                 : own;
}
static inline const char *onx_xnames_output(const onx_xnames *names, size_t i, const char *own) {
    return names && i < names->n_outputs && names->outputs[i] && *names->outputs[i]
               ? names->outputs[i]
               : own;
}
/* What an axis of `rank` is called, which may be counted from the end. NULL: the user said nothing
 * about it. */
static inline const char *onx_xnames_size(const onx_xnames *names, const char *name, size_t axis,
                                          size_t rank) {
    for (size_t i = 0; names && i < names->n_axes; i++) {
        int64_t asked = names->axes[i].axis;
        if (asked + (asked < 0 ? (int64_t)rank : 0) == (int64_t)axis &&
            strcmp(names->axes[i].name, name) == 0)
            return names->axes[i].size;
    }
    return NULL;
}

#endif
