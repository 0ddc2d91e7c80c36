/* pass.h: rewriting a model: what a pass is given, and what all of them share.
 *
 * A pass is a function that goes once through the nodes of one graph. Portable passes (pass/,
 * listed in passes.def) make ONNX of ONNX; the rewrites of the engine (rt/lower/) use the same
 * frame.
 *
 * Every pass keeps these promises:
 *   1. Values that are held (onx_pass_held) exist afterwards under their names with the same
 *      content.
 *   2. Inputs and outputs of graphs stay, with their names and order; functions stay as they are,
 *      and so do models with training information.
 *   3. An initializer that is also an input of its graph can be replaced by the caller: it is no
 *      constant (onx_pass_constant).
 *   4. Facts about a value hold for it as long as it exists. A new value has none until the next
 *      round, unless it takes over those of another (onx_pass_inherit).
 *   5. What a pass does not fully understand it leaves alone.
 */
#ifndef ONX_PASS_H
#define ONX_PASS_H

#include "infer/infer.h"
#include "ops/op.h"

typedef struct onx_pass_ctx {
    onx_model *model;
    /* The caller's, replaced by newer ones when the graph has changed. NULL: nothing is known. */
    onx_facts *facts;
    const onx_facts_options *infer; /* for the newer ones */
    onx_diag *diag;                 /* NULL: none wanted */
    void *user;                     /* of the functions below, each of which may be NULL */
    /* Compute one node from constants: in[i] is NULL where the node has no input i. On success each
     * out[i] that the node has is a new tensor that stands alone. A failure leaves the node as it
     * is, except for NO_MEMORY and CANCELLED. */
    onx_status (*eval)(void *user, const onx_node *node, size_t n_in, const onx_tensor *const *in,
                       size_t n_out, onx_tensor **out);
    /* Must the value be there afterwards? */
    bool (*pinned)(void *user, const onx_value *value);
    /* Is there a kernel for the operator of the domain onx.internal? */
    bool (*has_kernel)(void *user, const char *op);
    /* Names, "fold, cse": left out whatever the level; run whatever the level. NULL: none. */
    const char *disable, *enable;
    void (*progress)(void *user, size_t round, const char *pass); /* before a pass; may be NULL */
    size_t *counts; /* nodes and initializers changed by each pass of the list; NULL: no matter */
    size_t fold_bytes; /* results of folding may be larger than what goes in up to this (1 MiB) */
    size_t block;      /* channels of a block in blocked layouts: 4, 8 or 16; 0: no such layouts */
    bool fast;         /* products of floats may be less precise, and are faster then */
    /* The rest is filled by onx_pass_begin. */
    onx_arena arena;  /* lives as long as the context */
    onx_map inherits; /* value to the one whose facts it has */
    onx_map rows;     /* of operators that were asked for */
    size_t changes;   /* so far */
    size_t touched;   /* nodes and initializers changed or removed */
    size_t growth;    /* bytes that new constants may still take */
} onx_pass_ctx;

typedef onx_status onx_pass_fn(onx_pass_ctx *ctx, onx_graph *graph);

typedef struct onx_pass {
    const char *name;
    onx_pass_fn *run;
    bool inner_first; /* graphs inside go before those around them */
    onx_level level;  /* that it begins at */
    const char *summary;
} onx_pass;

const onx_pass *onx_passes_at(size_t index); /* in their order; NULL after the last one */
/* The portable passes of a level, in rounds, until nothing changes any more. Sorts the nodes first:
 * INVALID when there is a cycle. */
onx_status onx_passes_run(onx_pass_ctx *ctx, onx_level level) ONX_MUST_CHECK;
/* The one pass of that name, once; NOT_FOUND. For tests and tools. */
onx_status onx_passes_run_one(onx_pass_ctx *ctx, const char *name) ONX_MUST_CHECK;

/* ─ For runners ──────────────────────────────────────────────────────────────────────────────── */

onx_status onx_pass_begin(onx_pass_ctx *ctx) ONX_MUST_CHECK; /* sorts */
void onx_pass_end(onx_pass_ctx *ctx);
/* Does the level, or the caller, want it? */
bool onx_pass_wanted(const onx_pass_ctx *ctx, const onx_pass *pass, onx_level level);
/* Each name of a list: NOT_FOUND for the first that `is_name` does not know. */
onx_status onx_pass_check_names(const char *list, bool (*is_name)(onx_str name), onx_diag *diag)
    ONX_MUST_CHECK;
bool onx_passes_has(onx_str name);
/* One pass over all graphs of the model. */
onx_status onx_pass_apply(onx_pass_ctx *ctx, const onx_pass *pass) ONX_MUST_CHECK;
/* Facts anew, of the graph as it is now. */
onx_status onx_pass_refresh(onx_pass_ctx *ctx) ONX_MUST_CHECK;

/* ─ For passes ───────────────────────────────────────────────────────────────────────────────── */

/* Never NULL: of an unknown value, or of none, it is empty. */
const onx_fact *onx_pass_fact(const onx_pass_ctx *ctx, const onx_value *value);
onx_status onx_pass_inherit(onx_pass_ctx *ctx, const onx_value *value, const onx_value *from)
    ONX_MUST_CHECK;
/* Dense tensors whose shapes, as far as facts go, are surely the same. */
bool onx_pass_same_shape(const onx_fact *a, const onx_fact *b);
bool onx_pass_same_type(const onx_fact *a, const onx_fact *b);
/* The tensor that the value always is; NULL: it is not known to be one. */
const onx_tensor *onx_pass_constant(const onx_pass_ctx *ctx, const onx_value *value);
/* Is it an output, pinned, used by a graph inside or by anything but nodes? */
bool onx_pass_held(const onx_pass_ctx *ctx, const onx_value *value);
/* Its only use is input `*index` of the node returned; NULL: it is held, or used otherwise. */
onx_node *onx_pass_only_use(const onx_pass_ctx *ctx, const onx_value *value, size_t *index);
/* Is it a node of that operator of ai.onnx, with or without a row, and not a function? */
bool onx_pass_named(const onx_pass_ctx *ctx, const onx_node *node, const char *name);
/* The row of the node's operator; NULL where it is not known, or is a function of the model. */
const onx_op *onx_pass_op(const onx_pass_ctx *ctx, const onx_node *node);
bool onx_pass_is(const onx_op *op, const char *name);           /* of ai.onnx; `op` may be NULL */
bool onx_pass_is_microsoft(const onx_op *op, const char *name); /* the same of com.microsoft */
/* The same result from the same inputs, and no graphs inside. */
bool onx_pass_pure(const onx_op *op, const onx_node *node);
/* The operator "onx.internal::Name" for a pass to make: "Name" where the model's opset has that
 * one, `since` a version of ai.onnx; else itself where there is a kernel for it; NULL: neither. */
const char *onx_pass_pick(onx_pass_ctx *ctx, const char *internal, int64_t since);
/* Everything that used `from` uses `to`. `*done` tells whether: not where a name is in the way. */
onx_status onx_pass_replace(onx_pass_ctx *ctx, onx_value *from, onx_value *to, bool *done)
    ONX_MUST_CHECK;
/* May that be done where `to` is what `from` always is? An output keeps its name, which `to` must
 * be free to take. */
bool onx_pass_can_replace(const onx_pass_ctx *ctx, const onx_value *from, const onx_value *to);
/* The outputs of the node are these tensors (NULL: nobody wants that one), and it goes: its outputs
 * become initializers of their names or, for outputs and pinned values, it becomes a Constant. Or
 * it stays, where neither can be. */
onx_status onx_pass_become(onx_pass_ctx *ctx, onx_node *node, const onx_tensor *const *tensors)
    ONX_MUST_CHECK;
onx_status onx_pass_remove(onx_pass_ctx *ctx, onx_node *node) ONX_MUST_CHECK;
/* Other operator and inputs, no attributes; outputs, name and place stay. */
onx_status onx_pass_remake(onx_pass_ctx *ctx, onx_node *node, const char *op, size_t n_in,
                           onx_value *const *in) ONX_MUST_CHECK;
/* Attributes without a name mean nothing, and stay behind. */
onx_status onx_pass_copy_attrs(onx_pass_ctx *ctx, onx_node *to, const onx_node *from)
    ONX_MUST_CHECK;

/* May constants of that many bytes be added? Then they are counted: what is computed ahead must
 * stay in proportion to the model, however often it uses its weights. */
bool onx_pass_afford(onx_pass_ctx *ctx, size_t bytes);
/* A new initializer of a graph that can have one; its name is `hint`, or like it. */
onx_status onx_pass_add_floats(onx_pass_ctx *ctx, onx_graph *graph, const char *hint, size_t rank,
                               const int64_t *dims, const float *data, onx_value **out)
    ONX_MUST_CHECK;
onx_status onx_pass_add_ints(onx_pass_ctx *ctx, onx_graph *graph, const char *hint, size_t n,
                             const int64_t *data, onx_value **out) ONX_MUST_CHECK;
/* Initializers that are no inputs came with IR version 4, and functions have none. */
bool onx_pass_takes_constants(const onx_graph *graph);
/* A list of integers that old versions have as attribute, new ones as input `index` (0: as
 * attribute alone): at most `max` of them. False: it is not there, not known, or longer. */
bool onx_pass_ints(const onx_pass_ctx *ctx, const onx_node *node, const char *attribute,
                   size_t index, size_t max, int64_t *out, size_t *n);
/* Are all elements of the constant this number? False for large ones. */
bool onx_pass_is_uniform(const onx_pass_ctx *ctx, const onx_value *value, double number);
/* A new node of ai.onnx before `node`; its one output. */
onx_status onx_pass_add_node(onx_pass_ctx *ctx, onx_node *node, const char *op, size_t n_in,
                             onx_value *const *in, onx_value **out) ONX_MUST_CHECK;
/* A constant of float32, of that rank and first dimension, in memory of the context; NULL: it is
 * something else, or there is no memory. */
float *onx_pass_floats(onx_pass_ctx *ctx, const onx_value *value, size_t rank, int64_t first);
/* batchnorm.c: a BatchNormalization in inference with float32 constants for that many channels is
 * x * factor + offset. In memory of the context; false: it is something else. */
bool onx_pass_batchnorm_factors(onx_pass_ctx *ctx, const onx_node *node, const onx_op *op,
                                int64_t channels, float **factors, float **offsets);

#endif
