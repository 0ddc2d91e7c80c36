/* blocked.h: what the files of the rewrite to blocked layouts share; blocked.c says what for. */
#ifndef ONX_BLOCKED_H
#define ONX_BLOCKED_H

#include "rt/lower/lower.h"

typedef struct onx_blocked {
    onx_pass_ctx *ctx;
    onx_map twins; /* value to its blocked twin */
    onx_tile_group group;
} onx_blocked;

/* One kind of node; `*done`: it was of that kind, and is dealt with. */
typedef onx_status onx_blocked_visit(onx_blocked *b, onx_node *node, const onx_op *op, bool *done);
onx_blocked_visit onx_blocked_conv, onx_blocked_add, onx_blocked_clamp; /* blocked_conv.c */
onx_blocked_visit onx_blocked_pool, onx_blocked_resize,
    onx_blocked_elementwise;                                              /* blocked_between.c */
onx_blocked_visit onx_blocked_join, onx_blocked_split, onx_blocked_slice, /* blocked_channels.c */
    onx_blocked_shuffle;

/* The blocked twin of a value; NULL: it has none. */
onx_value *onx_blocked_twin(const onx_blocked *b, const onx_value *value);
/* The same, with a ToBlocked before `before` if there is none. */
onx_status onx_blocked_need(onx_blocked *b, onx_value *value, onx_node *before, onx_value **out)
    ONX_MUST_CHECK;
onx_status onx_blocked_set_twin(onx_blocked *b, const onx_value *value, onx_value *twin)
    ONX_MUST_CHECK;
/* A node before `before`, with its name, and its attributes when `like` is true, whose output is
 * the twin of `value`. */
onx_status onx_blocked_add_twin(onx_blocked *b, const onx_value *value, const char *op, size_t n_in,
                                onx_value *const *in, onx_node *before, bool like) ONX_MUST_CHECK;
/* The node's work is done by `twin`; what wants its output plain gets it by way of the node. */
onx_status onx_blocked_back(onx_blocked *b, onx_node *node, onx_value *twin) ONX_MUST_CHECK;
/* Both. */
onx_status onx_blocked_replace(onx_blocked *b, onx_node *node, const char *op, size_t n_in,
                               onx_value *const *in, bool like) ONX_MUST_CHECK;
onx_status onx_blocked_take_name(onx_blocked *b, onx_node *node, const onx_node *from)
    ONX_MUST_CHECK;

/* Is it float, and of rank 4? */
bool onx_blocked_image(const onx_pass_ctx *ctx, const onx_value *value);
/* Size `index` of a value, counted from the last one: -1: not known; 1 in front of the first. */
int64_t onx_blocked_size(const onx_pass_ctx *ctx, const onx_value *value, size_t index);

#endif
