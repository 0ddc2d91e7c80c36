/* control.h: the graphs of If, Loop and Scan: what their meaning and their kernels share. */
#ifndef ONX_CONTROL_H
#define ONX_CONTROL_H

#include "ops/op.h"

typedef struct onx_body {
    const onx_graph *graph;
    size_t which;       /* of the node's graph attributes, in their order */
    size_t n_in, n_out; /* of the graph */
} onx_body;

/* The graph in attribute `name`; false: there is none. */
bool onx_body_find(const onx_node *node, const char *name, onx_body *out);
/* The declared type of input or output `index` of the body; NULL: none. */
const onx_type *onx_body_in_type(const onx_body *body, size_t index);
const onx_type *onx_body_out_type(const onx_body *body, size_t index);
/* Loop's counter and condition are scalars, but a body may declare them as [1]: the rank. */
size_t onx_body_scalar_rank(const onx_body *body, size_t index);

#endif
