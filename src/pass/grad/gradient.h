/* gradient.h: the node Gradient of ai.onnx.preview.training, replaced by nodes that compute it.
 *
 *     gradient.c      which nodes lie between y and the xs; the way back through them
 *     grad_path.c     the search for them, and copies of them at other places
 *     grad_rule.c     one node: from the text of a rule to nodes
 *     rules_*.c       the rules: a derivative for each operator
 *
 * Reverse mode: the gradient of y by y is 1; from the last node to the first, each gives the
 * gradients by its inputs from those by its outputs, and what comes from several nodes is added.
 * Where y has more than one element, it is the sum of them that is differentiated.
 *
 * A rule is text in ONNX's syntax, over these names:
 *
 *     x0 x1 …    inputs of the node          dy0 dy1 …   gradients by its outputs
 *     y0 y1 …    its outputs                 dx0 dx1 …   gradients by its inputs: these it defines
 *     @axis      the node's attribute        $2 $alpha   a number, or a float attribute, as a
 *                                                        constant of the type of the output
 *
 * Only the parts for inputs that need a gradient are used. Operators without a rule that are
 * functions are replaced by their bodies first. */
#ifndef ONX_GRADIENT_H
#define ONX_GRADIENT_H

#include "infer/infer.h"
#include "ir/edit.h"
#include "ops/op.h"

/* All Gradient nodes of a model whose functions have been inlined; y may depend on others of them.
 * `note` hears of operators whose bodies took their places; false: no memory. UNSUPPORTED: an
 * operator in between has no derivative; the sentence names all such. */
typedef bool onx_gradient_note(void *user, const onx_op *op);
typedef onx_status onx_gradient_fn(onx_model *model, const onx_facts_options *infer,
                                   onx_gradient_note *note, void *user, onx_diag *diag);
onx_gradient_fn onx_gradient_expand;

/* ─ Rules ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_grad_rule onx_grad_rule;

/* One node that is differentiated, and the text that it gives. */
typedef struct onx_grad {
    onx_node *node;
    const onx_op *op;
    const onx_grad_rule *rule;
    int64_t opset; /* of ai.onnx */
    const onx_facts *facts;
    bool *wants;     /* per input: is its gradient needed? */
    onx_value **dys; /* per output: its gradient; NULL: there is none */
    onx_buf text;
    onx_diag *diag;
} onx_grad;

struct onx_grad_rule {
    const char *op;
    const char *domain; /* NULL: ai.onnx */
    const char *common; /* nodes that come first */
    const char *by[3];  /* the gradient by each input; NULL: it has none */
    bool broadcasts;    /* the gradients are then summed to the shapes of the inputs */
    bool constant;      /* it does not depend on its inputs, almost everywhere */
    uint32_t ignores;   /* bit i: of input i only type or shape matter */
    size_t outputs;     /* how many the rule knows about; 0 means 1 */
    size_t needs;       /* how many the node must have for it; 0: as it is */
    /* In place of the texts, where they depend on the node. */
    onx_status (*write)(onx_grad *g);
};

/* Tables of rules; each ends with one without an operator. */
extern const onx_grad_rule onx_grad_eltwise[], onx_grad_move[], onx_grad_reduce[],
    onx_grad_linear[], onx_grad_norm[];
/* NULL: there is none. */
const onx_grad_rule *onx_grad_rule_find(const onx_op *op);
/* Does the rule have a gradient by that input? One that is 0 everywhere is none. */
bool onx_grad_rule_has(const onx_grad_rule *rule, size_t input);
bool onx_grad_rule_ignores(const onx_grad_rule *rule, size_t input);
/* The nodes of a rule, at the end of the graph. dxs[i] is set where wants[i] is, and the rule has
 * a gradient by input i. */
onx_status onx_grad_apply(onx_grad *g, onx_graph *graph, onx_value **dxs) ONX_MUST_CHECK;
/* Nodes from text over x0, x1 …, with outputs dx0 … (constants have `dtype`). */
onx_status onx_grad_emit(onx_graph *graph, int64_t opset, onx_dtype dtype, const char *text,
                         onx_value *x0, const char *name, onx_value **dx0, onx_diag *diag)
    ONX_MUST_CHECK;
/* The node gives back its inputs. */
onx_status onx_grad_give(onx_node *node, int64_t opset, onx_diag *diag) ONX_MUST_CHECK;

/* For `write`. */
const onx_fact *onx_grad_in(const onx_grad *g, size_t index);
const onx_fact *onx_grad_out(const onx_grad *g, size_t index);
bool onx_grad_wants(const onx_grad *g, size_t index);
/* The rank of an input, which must be known. UNSUPPORTED. */
onx_status onx_grad_rank(const onx_grad *g, size_t index, size_t *out) ONX_MUST_CHECK;
void onx_grad_put(onx_grad *g, const char *fmt, ...) ONX_PRINTF(2, 3);
/* to = op <keepdims = 1> (from) over n axes from `first` on. */
void onx_grad_put_reduce(onx_grad *g, const char *op, const char *to, const char *from,
                         int64_t first, size_t n);
/* to = from in these sizes: "1, -1". */
void onx_grad_put_shape(onx_grad *g, const char *to, const char *from, const char *sizes);
/* to = from in the shape of `like`. */
void onx_grad_put_like(onx_grad *g, const char *to, const char *from, const char *like);
/* " <axis: int = @axis, …>": all attributes that the operator has. */
onx_status onx_grad_put_attrs(onx_grad *g) ONX_MUST_CHECK;

/* ─ The way from y to the xs ─────────────────────────────────────────────────────────────────── */

typedef struct onx_grad_path {
    onx_arena arena;
    onx_map marks;    /* node: how far the search has got; value: where the search ends */
    onx_node **nodes; /* that y depends on, each after those it needs */
    size_t n, cap;
    onx_map active; /* values and nodes that depend on one of the xs */
    bool blocked;   /* by another Gradient, which is one of the nodes */
} onx_grad_path;

void onx_grad_path_init(onx_grad_path *path, onx_context *ctx);
void onx_grad_path_fini(onx_grad_path *path);
/* What y depends on, back to the n values of `ends`. Once for each path. */
onx_status onx_grad_path_find(onx_grad_path *path, onx_value *y, size_t n, onx_value *const *ends,
                              onx_diag *diag) ONX_MUST_CHECK;
/* Which of it depends on the xs: values that may have a gradient. `facts` NULL: all of them. */
onx_status onx_grad_path_spread(onx_grad_path *path, size_t n_x, onx_value *const *xs,
                                const onx_facts *facts, onx_diag *diag) ONX_MUST_CHECK;
bool onx_grad_path_has(const onx_grad_path *path, const void *node_or_value); /* is it active? */
/* Copies, at the end of `graph`, of all nodes that depend on one of the values `from`, which are
 * the values `to` in them. `*y` becomes what it is there. */
onx_status onx_grad_path_copy(onx_grad_path *path, onx_graph *graph, size_t n,
                              onx_value *const *from, onx_value *const *to, onx_value **y,
                              onx_diag *diag) ONX_MUST_CHECK;

#endif
