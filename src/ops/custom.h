/* custom.h: operators that a program adds to a context; for custom.c, custom_find.c and infer/. */
#ifndef ONX_CUSTOM_H
#define ONX_CUSTOM_H

#include "ops/op.h"

typedef struct onx_custom_op {
    onx_op row; /* first: it is what the rest of the library sees */
    onx_op_infer *infer;
    void *user;
} onx_custom_op;

struct onx_custom_ops {
    onx_context *ctx;
    onx_arena arena;      /* of the rows and their texts */
    onx_custom_op **rows; /* by domain, name and version; an array of the context */
    size_t n;
};

/* Before, equal or after, by domain and name: negative, 0, positive. */
int onx_custom_compare(const onx_op *op, onx_str domain, onx_str name);

#endif
