/* infer_internal.h: how facts are kept; for the files of infer/. */
#ifndef ONX_INFER_INTERNAL_H
#define ONX_INFER_INTERNAL_H

#include "infer/infer.h"

enum {
    ONX_INFER_DEPTH = 64,    /* of graphs inside each other */
    ONX_INFER_RUNS = 256,    /* times that one graph is gone through: loops do it more than once */
    ONX_INFER_ELEMS = 1024,  /* elements that are followed */
    ONX_INFER_LIST = 65536,  /* elements of a constant that are read */
    ONX_INFER_NAMES = 65536, /* sizes that are not known and have a name; the others have none */
};

/* Where a size, a rank or a type stopped being known: at this output of a node, or at this input of
 * a graph. */
typedef struct onx_loss {
    const onx_node *node;   /* NULL: nobody computes it */
    const onx_value *value; /* NULL: an output that there is not */
    size_t dim;             /* ONX_LOST_SHAPE: all of it */
    const char *reason;     /* a clause */
    const onx_value *cause; /* the input that has too little known about it; NULL: none */
    bool data;              /* of the cause, it is the elements that are missing */
} onx_loss;

struct onx_facts {
    onx_context *ctx;
    const onx_model *model;
    onx_facts_options options;
    onx_arena arena;
    bool failed; /* memory ran out where nobody could be told */
    onx_syms *syms;
    onx_map facts;     /* value to onx_fact */
    onx_map graphs;    /* graph inside to size_t: how often it was gone through */
    onx_map functions; /* of the model, by name; others of that name by it and their overload */
    onx_map rows;      /* of operators that were met */
    onx_map unknown;   /* sizes that nothing is known about: symbol to onx_loss */
    onx_map losses;    /* values of unknown type or rank to onx_loss */
    uint32_t n_unknown;
    uint32_t depth;     /* of the graph that is gone through now */
    onx_diag heard;     /* what is to be reported, kept here for it is large and calls are nested */
    const onx_node *at; /* the node of the model that is gone through, or into */
    struct onx_callees *callees; /* callee.c; NULL: no function was called yet */
};

typedef struct onx_excuse onx_excuse; /* why.c: what an operator said about a loss */

struct onx_infer {
    onx_facts *facts;
    const onx_node *node;
    const onx_op *op;
    size_t n_in, n_out;
    const onx_fact **ins;
    onx_fact *outs;
    onx_fact nobody;     /* the output that there is not */
    onx_excuse *excuses; /* newest first */
    const char *mistake; /* the node cannot be right: the sentence */
    onx_diag *diag;
};

extern const onx_fact onx_fact_none;

/* fact.c */
onx_status onx_fact_of_type(onx_facts *facts, const onx_type *type, onx_fact *out) ONX_MUST_CHECK;
onx_status onx_fact_of_tensor(onx_facts *facts, const onx_tensor *tensor, onx_fact *out)
    ONX_MUST_CHECK;
/* What is declared about a size, with the sizes that are given; NULL: nothing. */
const onx_sym *onx_declared_size(onx_facts *facts, const onx_dim *dim);
/* Fill in what `fact` leaves open; false when the two contradict each other. */
onx_status onx_fact_merge(onx_facts *facts, onx_fact *fact, const onx_fact *declared, bool *agree)
    ONX_MUST_CHECK;
/* A name for every size that nothing is known about, of an output of `in` or, when that is NULL, of
 * an input of a graph; and a record of why. */
onx_status onx_fact_complete(onx_facts *facts, const onx_infer *in, const onx_value *value,
                             onx_fact *fact) ONX_MUST_CHECK;
/* Is its type or its rank not known? */
bool onx_fact_is_open(const onx_fact *fact);
const onx_sym *onx_facts_fresh(onx_facts *facts, onx_loss *loss);
/* The elements of a readable integer tensor, in the arena; false: it is none. */
bool onx_fact_ints(onx_facts *facts, const onx_tensor *tensor, size_t *n, const int64_t **out);

/* why.c: what is to be said about a loss, from the operator or from what it was given. NULL: memory
 * ran out. */
onx_loss *onx_loss_new(onx_facts *facts, const onx_infer *in, const onx_value *value, size_t dim);
/* Is the name in one of its sizes or elements? What a sequence is of is not looked at. */
bool onx_fact_has(const onx_fact *fact, const onx_sym *name);

/* callee.c: facts of the outputs of a call, by going through the function; and through the body of
 * the operator. */
onx_status onx_infer_call(onx_infer *in, const onx_function *function) ONX_MUST_CHECK;
onx_status onx_infer_body(onx_infer *in) ONX_MUST_CHECK;
void onx_callees_free(onx_facts *facts);

/* inference.c: facts as the options of onx.h want them, and what a size is called there. */
onx_status onx_infer_facts(const onx_model *model, const onx_infer_options *options,
                           onx_facts **out, onx_diag *diag) ONX_MUST_CHECK;
onx_extent_kind onx_sym_extent(const onx_facts *facts, const onx_sym *sym);

/* facts.c: go through a graph; inputs have `ins`, NULL elements and those beyond: as declared. */
onx_status onx_facts_graph(onx_facts *facts, const onx_graph *graph, size_t n_in,
                           const onx_fact *const *ins, onx_diag *diag) ONX_MUST_CHECK;

#endif
