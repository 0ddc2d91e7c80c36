/* infer.h: what is known about the values of a model before anything runs: types, shapes with
 * symbolic sizes, and small integer tensors, element by element (ops/op.h: onx_fact).
 *
 * Facts are found by going once through the graphs, in the order of their nodes, with the inference
 * functions of the operators. Declared types fill in what these leave open; where the two disagree,
 * what was inferred stands, for files keep types that are no longer true.
 *
 *     size of a dimension               where it comes from
 *     3, N, 2*N + 1                     inferred, or declared
 *     ?7                                nothing is known, but wherever ?7 stands it is the same
 *                                       (in a subgraph: within one run of that graph)
 *
 * Initializers that a caller can replace are not constants: those that are inputs, too, of models
 * of IR version 4 and above. Calls of functions are followed into their bodies (callee.c). */
#ifndef ONX_INFER_H
#define ONX_INFER_H

#include "ops/op.h"

typedef struct onx_facts onx_facts;

typedef struct onx_facts_options {
    size_t n_sizes; /* sizes for names in declared types */
    const onx_size *sizes;
    /* Shapes that are declared for what nodes compute are not believed: for what is done with facts
     * must be right even where a file is wrong about itself. */
    bool sceptical;
    bool defaults; /* inputs that have a default have that value */
    /* Hears of nodes that cannot be right, and of values whose declared types contradict what was
     * inferred; then nothing of that is a failure. NULL: the first wrong node is one. */
    void (*report)(void *user, const onx_node *node, const onx_value *value, const onx_diag *diag);
    /* Hears of nodes in functions, when what goes in and out of them is known: `call` is the node
     * of the model that leads there. What is reported about them is reported about it. */
    void (*inside)(void *user, const onx_facts *facts, const onx_node *node, const onx_node *call);
    void *user;
} onx_facts_options;

/* The facts of the main graph and the graphs inside it. The model must outlive them. */
onx_status onx_facts_new(const onx_model *model, const onx_facts_options *options, onx_facts **out,
                         onx_diag *diag) ONX_MUST_CHECK;
void onx_facts_free(onx_facts *facts);
/* A `report` for who wants no more than what is right. */
void onx_facts_ignore(void *user, const onx_node *node, const onx_value *value,
                      const onx_diag *diag);
/* Never NULL: of a value that nothing is known about, an empty fact. */
const onx_fact *onx_facts_of(const onx_facts *facts, const onx_value *value);
onx_syms *onx_facts_syms(const onx_facts *facts);
/* Go through one node of the model (again): after it was added or changed. */
onx_status onx_facts_update(onx_facts *facts, const onx_node *node, onx_diag *diag) ONX_MUST_CHECK;

/* A value that came after the facts: an initializer, or an input of a graph of which `fact` is
 * known (what it points to must live as long; NULL: what is declared). */
onx_status onx_facts_add(onx_facts *facts, const onx_value *value, const onx_fact *fact,
                         onx_diag *diag) ONX_MUST_CHECK;

/* Is nothing known about this size but where it stands the same? */
bool onx_facts_unknown(const onx_facts *facts, const onx_sym *sym);
/* Why dimension `dim` of a value, or its rank or type (ONX_LOST_SHAPE), is not known: the way from
 * the value back to the operator that lost it, and the reason; a line each. Nothing where all is
 * known. */
void onx_facts_why(const onx_facts *facts, const onx_value *value, size_t dim, onx_buf *out);

/* As a declared type in `doc`: sizes that are not known stay open. NULL where the type is not
 * known. */
onx_status onx_facts_type(const onx_facts *facts, const onx_fact *fact, onx_doc *doc,
                          onx_type **out, onx_diag *diag) ONX_MUST_CHECK;
/* As a type in ONNX text: "float[N,3]". */
void onx_fact_print(const onx_fact *fact, onx_buf *out);

#endif
