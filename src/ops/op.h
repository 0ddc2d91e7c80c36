/* op.h: what an operator is: one row for each version of it, in the file of its family.
 *
 *     { "Softmax", 13, "(input:T) -> (output:T) {axis:int=-1} [T:f]", infer_softmax }
 *
 * The signature says everything a schema says but the prose:
 *
 *     (X:T, W:T, B?:T)          inputs: name, type; ? optional, * variadic of one type, ** variadic
 *                               of any types; a type is a type variable or a type in ONNX text
 *     -> (Y:T, indices?:I)      outputs, in the same way
 *     {axis:int=-1, to:int,     attributes: name, type (int float string tensor graph ints floats
 *      mode:string="x", p?:ints}  strings … as onx_attr_type_name), `=` default, ? optional; one
 *                               with neither is required
 *     [T:f, I:int64|int32]      type variables: alternatives, each a type in ONNX text ("float",
 *                               "seq(float)") or a set from the list in ops/signature.c ("f": the
 *                               floats float16 bfloat16 float double)
 *
 * It is parsed when it is needed. A newer version of an operator is another row with a higher
 * `since`; rows of one operator stand together, in rising order.
 *
 * Inference: `infer` is called for one node. It reads facts about inputs and sets facts about
 * outputs; the functions below are its whole world. Sizes are symbolic (ir/sym.h); NULL is "not
 * known". What it does not set stays unknown, which is never wrong.
 */
#ifndef ONX_OP_H
#define ONX_OP_H

#include "ir/ir.h"
#include "ir/sym.h"

typedef struct onx_op onx_op;
typedef struct onx_fact onx_fact;
typedef onx_status onx_infer_fn(onx_infer *in);
/* Write the nodes of a function body, as in onx_op.function, for one node whose inputs have these
 * facts (never NULL). NOT_FOUND: there is none for such a node, or too little is known of it. */
typedef onx_status onx_body_fn(const onx_op *op, const onx_node *node, size_t n_in,
                               const onx_fact *const *ins, onx_buf *out, onx_diag *diag);

struct onx_op {
    const char *name;
    int32_t since;
    const char *signature;
    onx_infer_fn *infer; /* NULL: nothing is known about its outputs */
    const char *domain;  /* NULL: ai.onnx */
    /* An operator that is a function: the nodes of its body in ONNX text, over the names of its
     * inputs, outputs and attributes (@alpha). They mean opset `since`, or what an import in front
     * says: "<18> Y = Relu (X)". NULL: none, or `body` writes it. */
    const char *function;
    onx_body_fn *body; /* where the body depends on the node; NULL: it does not */
    bool deprecated;   /* from this version on it must not be used */
    bool varies;       /* equal inputs may give different outputs */
};

/* The rows of one family; ends with a row without a name. */
typedef const onx_op onx_op_rows[];
/* All families (registry.c, from families.def); ends with a NULL name. A program that links its own
 * definition of this table gets only those operators. */
typedef struct onx_family {
    const char *name;
    const onx_op *ops;
} onx_family;
extern const onx_family onx_op_table[];

/* The row of an operator in force at version `opset` of its domain; NULL: unknown. */
const onx_op *onx_op_find(onx_str domain, onx_str name, int64_t opset);
/* The same, with the operators that were added to a context (onx_context_add_ops). */
const onx_op *onx_op_lookup(const onx_context *ctx, onx_str domain, onx_str name, int64_t opset);
/* Those alone, one by one, by domain, name and version; NULL after the last one. */
const onx_op *onx_op_custom_at(const onx_context *ctx, size_t index);
/* The row for a node, by the opset imports of its model or function. */
const onx_op *onx_op_of(const onx_node *node);
/* The same for who asks often: rows that were found are remembered in `seen`, by version. */
const onx_op *onx_op_recall(onx_map *seen, const onx_node *node);
/* The version of ai.onnx that its model or function imports; 0: none. */
int64_t onx_op_opset(const onx_node *node);
/* The domain, with "ai.onnx" as "". */
onx_str onx_domain_plain(onx_str domain);

/* ─ Signatures ───────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_param {
    onx_str name, type; /* type: a variable of the signature, or a type in ONNX text */
    bool optional, variadic, heterogeneous;
} onx_param;
typedef struct onx_attr_decl {
    onx_str name;
    onx_attr_type type;
    bool required;
    onx_str text; /* the default as written; data is NULL: none */
} onx_attr_decl;
typedef struct onx_constraint {
    onx_str name;
    onx_str types; /* alternatives as written; onx_constraint_allows reads them */
} onx_constraint;
typedef struct onx_signature {
    size_t n_inputs, n_outputs, n_attrs, n_constraints;
    onx_param *inputs, *outputs;
    onx_attr_decl *attrs;
    onx_constraint *constraints;
} onx_signature;

/* Parse into an arena. A signature that cannot be parsed is a mistake in the table: INVALID. */
onx_status onx_signature_parse(const onx_op *op, onx_arena *arena, onx_signature *out,
                               onx_diag *diag) ONX_MUST_CHECK;
/* Does the constraint allow a tensor of that type? */
bool onx_constraint_allows(const onx_constraint *constraint, onx_dtype dtype);
/* Do the alternatives of a constraint, or a type, allow a value of which that is known? */
bool onx_types_allow(onx_str types, const onx_fact *fact);

/* What is input `index`? False: it is absent. `kind` and `dtype` may stay as they are: unknown. */
typedef bool onx_op_input(const void *user, size_t index, onx_type_kind *kind, onx_dtype *dtype);
/* Can an operator be given these n inputs: is there none too many, is each that must be there, is
 * it a tensor where it must be one, and are types equal that share a type variable? INVALID.
 * Whether the type variable allows the type is left to the checker: kernels may know more types. */
onx_status onx_op_check(const onx_op *op, size_t n, onx_op_input *input, const void *user,
                        onx_diag *diag) ONX_MUST_CHECK;

/* Attributes of a node, with the default of the signature when it has none. An attribute of a wrong
 * type counts as missing: the checker reports it. Without either: 0, 0.0f, "", and no elements. */
int64_t onx_op_int(const onx_op *op, const onx_node *node, const char *name);
float onx_op_float(const onx_op *op, const onx_node *node, const char *name);
onx_str onx_op_string(const onx_op *op, const onx_node *node, const char *name);
/* A list of integers; NULL: none (there are no defaults for lists). */
const int64_t *onx_op_ints(const onx_node *node, const char *name, size_t *n);
const float *onx_op_floats(const onx_node *node, const char *name, size_t *n);
bool onx_op_has(const onx_node *node, const char *name); /* is it written on the node? */

/* ─ Operators that are functions ─────────────────────────────────────────────────────────────── */

bool onx_op_has_body(const onx_op *op); /* at least for some calls; `op` may be NULL */
/* The body for a call whose inputs have these facts (never NULL), as the only function of a new
 * model: free that with onx_model_free. NOT_FOUND: there is none, or too little is known. Values of
 * a variadic parameter x are called x0, x1 … in it. */
onx_status onx_op_body(const onx_op *op, const onx_node *node, size_t n_in,
                       const onx_fact *const *ins, onx_context *ctx, onx_model **out,
                       onx_diag *diag) ONX_MUST_CHECK;

/* keeps.c: does a node of row `was` mean the same by the newer row `is`? Either may be NULL: no. */
onx_status onx_op_keeps(const onx_op *was, const onx_op *is, onx_context *ctx, bool *out,
                        onx_diag *diag) ONX_MUST_CHECK;

/* ─ Facts ────────────────────────────────────────────────────────────────────────────────────── */

/* What is known about a value before anything runs. */
struct onx_fact {
    onx_type_kind kind; /* ONX_TYPE_NONE: nothing is known */
    onx_dtype dtype;    /* of tensors; of maps: the key. ONX_DTYPE_NONE: not known */
    bool ranked;
    size_t rank;
    const onx_sym *const *dims; /* of a ranked tensor; an element NULL: not known */
    /* The elements of small tensors, in order, where at least one is known: of integers and bools,
     * and of floats, which may be ratios (ir/sym.h). NULL: not known. */
    size_t n_elems;
    const onx_sym *const *elems;
    const onx_tensor *constant; /* it always has this value: a Constant, or an initializer that the
                                   caller cannot replace. An inference function need only set
                                   this: the rest follows from it */
    const onx_fact *elem;       /* of sequences, optionals and maps (the value) */
};

/* ─ For inference functions ──────────────────────────────────────────────────────────────────── */

const onx_node *onx_infer_node(const onx_infer *in);
const onx_op *onx_infer_op(const onx_infer *in);
onx_syms *onx_infer_syms(const onx_infer *in);
onx_arena *onx_infer_arena(const onx_infer *in); /* for what facts point to */
size_t onx_infer_n_in(const onx_infer *in);
size_t onx_infer_n_out(const onx_infer *in);
/* Never NULL: an absent input has an empty fact. */
const onx_fact *onx_infer_in(const onx_infer *in, size_t index);
bool onx_infer_has_in(const onx_infer *in, size_t index);
/* The facts of output `index`, to be filled; a fact nobody wants where there is no such output. */
onx_fact *onx_infer_out(onx_infer *in, size_t index);
/* A tensor: of known rank with these sizes (copied; an element NULL: unknown), or of unknown
 * rank. */
onx_status onx_infer_tensor(onx_infer *in, size_t index, onx_dtype dtype, size_t rank,
                            const onx_sym *const *dims) ONX_MUST_CHECK;
onx_status onx_infer_unranked(onx_infer *in, size_t index, onx_dtype dtype) ONX_MUST_CHECK;
/* Its elements (copied). */
onx_status onx_infer_elems(onx_infer *in, size_t index, size_t n, const onx_sym *const *elems)
    ONX_MUST_CHECK;
/* ─ element by element (infer/elems.c). What one element is computed from: operands[i] of input i,
 * NULL: not known. */
typedef const onx_sym *onx_elem_fn(onx_infer *in, size_t n, const onx_sym *const *operands);
/* The elements of output 0, whose shape is set: from those of all inputs, which broadcast to it. */
onx_status onx_infer_elementwise(onx_infer *in, onx_elem_fn *fn) ONX_MUST_CHECK;
/* Those of input 0, repeated to fill the shape of output 0, which is set. */
onx_status onx_infer_expanded_elems(onx_infer *in) ONX_MUST_CHECK;
/* Those of input 0 in the same order; and with dimensions that have changed places. */
onx_status onx_infer_same_elems(onx_infer *in) ONX_MUST_CHECK;
onx_status onx_infer_permuted_elems(onx_infer *in, const size_t *perm) ONX_MUST_CHECK;
/* Are all sizes numbers, and are there few enough elements to follow? How many, and the sizes. */
bool onx_fact_counts(const onx_fact *fact, size_t *count, int64_t dims[ONX_RANK_MAX]);
bool onx_fact_has_elems(const onx_fact *fact); /* is one of them known? */
/* The elements of an input as plain integers: n of them into an array of the arena, or false when
 * not all are known. Works for constants of any integer type and for propagated values. */
bool onx_infer_ints(onx_infer *in, size_t index, size_t *n, const int64_t **values);
/* A size that nothing is known about but that it is the same wherever this symbol stands. */
const onx_sym *onx_infer_fresh(onx_infer *in);
/* Why dimension `dim` of an output, or its whole shape or type (ONX_LOST_SHAPE), is not known: a
 * clause for people, "it is as many as there are elements of 'x' that are not 0". Where nothing is
 * said, the reason is looked for in what is not known about the inputs. */
#define ONX_LOST_SHAPE SIZE_MAX
void onx_infer_lost(onx_infer *in, size_t output, size_t dim, const char *fmt, ...)
    ONX_PRINTF(4, 5);
/* The name of an input, for such sentences; "" if it is absent. */
const char *onx_infer_in_name(const onx_infer *in, size_t index);
int64_t onx_infer_int(const onx_infer *in, const char *attribute);
float onx_infer_float(const onx_infer *in, const char *attribute);
onx_str onx_infer_string(const onx_infer *in, const char *attribute);
/* Facts through a subgraph: its inputs get `ins` (NULL elements: as declared), its outputs go to
 * `outs`. Captured values keep what is known about them. What `ins` point to must live as long as
 * the inference: take it from its arena. */
onx_status onx_infer_graph(onx_infer *in, const onx_graph *graph, size_t n_in,
                           const onx_fact *const *ins, size_t n_out, onx_fact *outs) ONX_MUST_CHECK;
/* The same for a graph that never runs: what is wrong in it does no harm. */
onx_status onx_infer_unreached(onx_infer *in, const onx_graph *graph) ONX_MUST_CHECK;
/* Leave in `into` what is also true of `other`: a value that is one of the two. Sets `*changed`
 * (which may be NULL) when that is less than before. */
onx_status onx_infer_union(onx_infer *in, onx_fact *into, const onx_fact *other, bool *changed)
    ONX_MUST_CHECK;
/* The two are tensors of one element type, or sequences of them, as far as both are known. INVALID
 * where they are not: "output 2 of the branches is float and int64". */
onx_status onx_infer_one_type(onx_infer *in, const char *what, size_t index, const onx_fact *a,
                              const onx_fact *b) ONX_MUST_CHECK;
/* The model cannot be right: the sentence. INVALID. */
onx_status onx_infer_fail(onx_infer *in, const char *fmt, ...) ONX_PRINTF(2, 3);

/* Shared rules (infer/rules.c). */
onx_status onx_infer_same(onx_infer *in);      /* output 0 has type and shape of input 0 */
onx_status onx_infer_broadcast(onx_infer *in); /* output 0: type of input 0, all inputs' shapes */
onx_status onx_infer_compare(onx_infer *in);   /* the same, but bool */
/* Outputs get types, without shapes, as far as the signature tells them (infer/typed.c). */
onx_status onx_infer_typed(onx_infer *in);
/* The inference of an operator that was added to the context (infer/custom_infer.c). */
onx_status onx_infer_custom(onx_infer *in);
/* The shape that two shapes broadcast to; false when they cannot (both known and neither 1). */
bool onx_infer_broadcast_dims(onx_infer *in, const onx_fact *a, const onx_fact *b, size_t *rank,
                              const onx_sym *const **dims);
/* A list of integers that old versions have as attribute, new ones as input `index`. False when it
 * is not there, or not known. */
bool onx_infer_list(onx_infer *in, const char *attribute, size_t index, size_t *n,
                    const int64_t **values);
const onx_sym *onx_infer_product(const onx_infer *in, size_t n, const onx_sym *const *sizes);
/* Sizes that several inputs share (infer/extent.c). INVALID where two of them are numbers and
 * differ, or an input has another rank. */
typedef struct onx_extent {
    const char *name;    /* "batch size" */
    const onx_sym *size; /* what is known of it so far */
} onx_extent;
onx_status onx_infer_meet(onx_infer *in, onx_extent *extent, const onx_sym *size) ONX_MUST_CHECK;
/* Input `index`, if it is there and its rank is known, has these sizes; NULL: any. */
onx_status onx_infer_unify(onx_infer *in, size_t index, size_t rank, onx_extent *const *extents)
    ONX_MUST_CHECK;
/* Output `index` has these sizes; NULL: not known. */
onx_status onx_infer_extents(onx_infer *in, size_t index, onx_dtype dtype, size_t rank,
                             onx_extent *const *extents) ONX_MUST_CHECK;
/* Single arguments (infer/argument.c). An attribute that must be one of these words: "avg max". */
onx_status onx_infer_choice(onx_infer *in, const char *attribute, const char *words) ONX_MUST_CHECK;
/* An attribute that is an element type. */
onx_status onx_infer_elem_type(onx_infer *in, const char *attribute, onx_dtype *out) ONX_MUST_CHECK;
/* An integer input that must be a scalar; NULL: it is absent, or not known. */
onx_status onx_infer_scalar(onx_infer *in, size_t index, const onx_sym **out) ONX_MUST_CHECK;
/* Input `index`, if its rank is known, has from `least` to `most` dimensions. */
onx_status onx_infer_check_rank(onx_infer *in, size_t index, size_t least, size_t most)
    ONX_MUST_CHECK;
/* An output with the shape of another value, as far as that is known. */
onx_status onx_infer_like(onx_infer *in, size_t output, onx_dtype dtype, const onx_fact *shape)
    ONX_MUST_CHECK;
/* `axis` in [-rank, rank) made non-negative; false when out of range. */
bool onx_axis(int64_t axis, size_t rank, size_t *out);

#endif
