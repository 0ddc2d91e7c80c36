/* einsum.h: how an equation of Einsum is read. */
#ifndef ONX_EINSUM_H
#define ONX_EINSUM_H

#include "base/base.h"

enum {
    ONX_EINSUM_DOTS = '.',
    ONX_EINSUM_COMMA = ',',
    ONX_EINSUM_ARROW = '>',
    ONX_EINSUM_END = '\0',
    ONX_EINSUM_BAD = '!',
};

/* The next letter or sign of an equation, which is taken off. */
char onx_einsum_take(onx_str *rest);

static inline bool onx_einsum_is_letter(char c) {
    return c >= 'A';
}

#endif
