/* lower.h: the rewrites of the engine: nodes of ONNX to nodes of the domain onx.internal, in the
 * session's own copy of the model, which is never saved. They are passes (pass/pass.h) and keep
 * their promises; and
 *
 *   - the node that takes the place of several has the name, the outputs and the place in the graph
 *     of the last of them;
 *   - a rewrite only fires where there is a kernel for what it makes (ctx->has_kernel).
 */
#ifndef ONX_LOWER_H
#define ONX_LOWER_H

#include "ops/tile/tile.h"
#include "pass/pass.h"
#include "rt/provider.h"

#define ONX_INTERNAL "onx.internal"

/* All rewrites that the level, or the caller, wants, once. */
onx_status onx_lower_run(onx_pass_ctx *ctx, onx_level level) ONX_MUST_CHECK;
/* The one of that name; NOT_FOUND. For tests and tools. */
onx_status onx_lower_run_one(onx_pass_ctx *ctx, const char *name) ONX_MUST_CHECK;

const onx_pass *onx_lower_at(size_t index); /* in their order; NULL after the last one */
bool onx_lower_knows(onx_str name); /* is it the name of one of them, or of a portable pass? */

/* Is it a node of that operator of onx.internal? */
bool onx_lower_is(const onx_node *node, const char *op);
bool onx_lower_has(const onx_pass_ctx *ctx, const char *op); /* is there a kernel? */
/* The number that the value always is, if it is one element; false: it is not. `rank`: its rank. */
bool onx_lower_scalar(const onx_pass_ctx *ctx, const onx_value *value, float *out, size_t *rank);

/* Of an image of four dimensions: is it a ReduceMean over height and width that leaves their
 * dimensions, that is, a GlobalAveragePool? */
bool onx_lower_spatial_mean(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op);

/* Nodes whose outputs nobody wants go: of onx.internal, and those that do nothing else. */
onx_status onx_lower_sweep(onx_pass_ctx *ctx, onx_graph *graph) ONX_MUST_CHECK;
/* lower_half.c: the constant of half precision that the value is as float; or the value itself. */
onx_value *onx_lower_uncast(const onx_pass_ctx *ctx, onx_value *value);

/* fold_eval.c: for onx_pass_ctx.eval: the node computed by the kernels of a provider. */
onx_status onx_lower_eval(onx_context *ctx, const onx_provider *provider, const onx_node *node,
                          size_t n_in, const onx_tensor *const *in, size_t n_out, onx_tensor **out)
    ONX_MUST_CHECK;

/* lower_tile.c: elementwise nodes of one graph as one program. */
typedef struct onx_tile_member {
    onx_node *node;
    const onx_op *op;
    const onx_tile_form *form;
    uint8_t value; /* the operand number of its output */
} onx_tile_member;
typedef struct onx_tile_group {
    const onx_pass_ctx *ctx;
    size_t n; /* members: each after those that use its output */
    onx_tile_member members[ONX_TILE_CODE];
    onx_value *in[ONX_TILE_INPUTS]; /* of the program, as many as it has */
    onx_tile_program program;
} onx_tile_group;
/* A program for the one node; false: it has none. */
bool onx_tile_group_init(onx_tile_group *group, const onx_pass_ctx *ctx, onx_node *node);

/* tile_idiom.c: shorter programs with the same meaning: GELU and SiLU written out. */
void onx_tile_shorten(onx_tile_program *program);

#endif
