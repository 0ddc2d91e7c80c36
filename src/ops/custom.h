/* custom.h: operators that a program adds to a context; for custom*.c, infer/ and rt/. */
#ifndef ONX_CUSTOM_H
#define ONX_CUSTOM_H

#include "ops/op.h"

typedef struct onx_custom_op {
    onx_op row; /* first: it is what the rest of the library sees */
    onx_op_infer *infer;
    void *user;
    size_t n_kernels;
    onx_kernel_def *kernels; /* their texts are copies */
} onx_custom_op;

struct onx_custom_ops {
    onx_context *ctx;
    onx_arena arena;      /* of the rows and their texts */
    onx_custom_op **rows; /* by domain, name and version; an array of the context */
    size_t n;
    struct onx_library *libraries;              /* that operators came from: custom_load.c */
    void (*unload)(struct onx_custom_ops *ops); /* for when the last operator goes; NULL: none */
};

/* The operators of a context, made when there are none yet. NULL: no memory. */
struct onx_custom_ops *onx_custom_ops_of(onx_context *ctx);
/* Before, equal or after, by domain and name: negative, 0, positive. */
int onx_custom_compare(const onx_op *op, onx_str domain, onx_str name);

#endif
