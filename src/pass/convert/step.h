/* step.h: how one operator changes from one of its versions to the next, and what steps are made
 * of.
 *
 * Every boundary between two versions of an operator has a step (steps.c), and so has the one below
 * its first version. The nodes of a model cross the boundaries in the order of the versions, all of
 * them at the same pace (cross.c):
 *
 *     Pad 2 ──moved──▶ 11 ──same──▶ 13 ──pad_axes──▶ 18 …      up
 *     Pad 2 ◀──moved── 11 ◀──same── 13 ◀──pad_axes── 18 …      down
 *
 * A step either changes the node so that it means the same in the version it enters, or replaces
 * it, or refuses, before it has changed anything. Afterwards the node must fit the row it has
 * entered (fit.c): attributes that only say the usual are left behind, values of types that are not
 * allowed there go through a wider one. Where that does not help, and the operator is a function,
 * its body takes its place. Nodes that a step makes are of the version that is entered. */
#ifndef ONX_STEP_H
#define ONX_STEP_H

#include "infer/infer.h"
#include "ir/edit.h"
#include "ops/op.h"

typedef struct onx_convert onx_convert;
typedef onx_status onx_step_fn(onx_convert *c, onx_node *node);

typedef struct onx_convert_step {
    onx_step_fn *up, *down; /* NULL: what the node says means the same on the other side */
    const void *data;       /* for the functions, as c->at.step->data */
} onx_convert_step;

typedef struct onx_change {
    int32_t since; /* the newer side of the boundary */
    const onx_convert_step *step;
} onx_change;
enum { ONX_CHANGES = 12 };
typedef struct onx_history { /* of one operator */
    const char *op;
    onx_change changes[ONX_CHANGES]; /* in rising order; the first version only where it is not 1 */
} onx_history;

/* The step over the boundary below version `since` of an operator; NULL: none is known. */
const onx_convert_step *onx_step_find(onx_str domain, onx_str op, int64_t since);

typedef struct onx_work onx_work; /* nodes and the boundaries they still have to cross: cross.c */

typedef struct onx_crossing { /* what goes on now */
    onx_work *work;
    onx_node *node;
    const onx_op *before, *after; /* rows; after NULL: there is no such operator there */
    const onx_convert_step *step;
    bool up;
    int64_t version; /* that is entered */
    onx_node **made; /* by the step */
    size_t n_made, cap_made;
    uint32_t depth; /* of bodies inside bodies */
} onx_crossing;

struct onx_convert {
    onx_model *model;  /* the copy that is changed */
    onx_facts *facts;  /* about all its values */
    onx_str domain;    /* with ai.onnx as "" */
    onx_opset *import; /* of the graphs at hand */
    int64_t to;        /* the version that they go to */
    onx_crossing at;
    onx_arena arena;
    onx_map signatures; /* row to its signature */
    onx_value **loose;  /* constants that lost a use, and may have no other */
    size_t n_loose, cap_loose;
    onx_node **constants; /* that are no floats: kept.c */
    size_t n_constants, cap_constants;
    /* What cannot be kept. */
    onx_diag diag; /* of the step under way */
    onx_diag first;
    size_t problems;
    void (*report)(void *user, const onx_diag *diag);
    void *user;
};

/* cross.c: take the nodes of a graph and of those inside it to another version. What cannot be kept
 * is counted and reported; other failures end it. */
onx_status onx_convert_graph(onx_convert *c, onx_graph *graph, int64_t from, int64_t to)
    ONX_MUST_CHECK;
/* The nodes just made are of `version`: take them to the one that is entered. */
onx_status onx_convert_catch_up(onx_convert *c, int64_t version) ONX_MUST_CHECK;

bool onx_convert_is_gone(const onx_node *node); /* removed, or something around it was */

/* fit.c: does the node, as it is now, fit the row `c->at.after`? Makes it fit, or refuses. */
onx_status onx_convert_fit(onx_convert *c, onx_node *node) ONX_MUST_CHECK;
onx_status onx_convert_signature(onx_convert *c, const onx_op *op, const onx_signature **out)
    ONX_MUST_CHECK;
const onx_attr_decl *onx_convert_attr(const onx_signature *signature, onx_str name);
/* " <axis: int = @axis, …>": the attributes of a node that the signature knows, for a body; without
 * the one called `but` (which may be NULL). */
void onx_convert_put_attrs(onx_buf *to, const onx_node *node, const onx_signature *signature,
                           const char *but);

/* kept.c: such a Constant of a version before 9 is kept, until the nodes have arrived there. */
onx_status onx_convert_keep(onx_convert *c, onx_node *node) ONX_MUST_CHECK;
/* Now they are there. `*unkept` is the one that failed. */
onx_status onx_convert_constants(onx_convert *c, onx_node **unkept) ONX_MUST_CHECK;

/* ─ For steps: tools.c ───────────────────────────────────────────────────────────────────────── */

/* It cannot be kept: the sentence says why. UNSUPPORTED. `hint` follows with onx_diag_hint. */
onx_status onx_convert_refuse(onx_convert *c, const char *fmt, ...) ONX_PRINTF(2, 3);

/* What is known. Inputs may be missing: nothing is known about them. */
const onx_fact *onx_convert_in(const onx_convert *c, const onx_node *node, size_t index);
bool onx_convert_has(const onx_node *node, size_t index); /* is there such an input? */
/* The tensor that the input always is; NULL: not known. */
const onx_tensor *onx_convert_constant(const onx_convert *c, const onx_node *node, size_t index);
/* The integers or floats of a constant input (at most 65536), in the arena. False: not known. */
bool onx_convert_ints(onx_convert *c, const onx_node *node, size_t index, size_t *n, int64_t **out);
bool onx_convert_floats(onx_convert *c, const onx_node *node, size_t index, size_t *n, float **out);
bool onx_convert_is_float(onx_dtype dtype); /* of 16 bits or more */
/* Is its rank known? And one of its sizes, as a number? */
bool onx_convert_rank(const onx_convert *c, const onx_node *node, size_t index, size_t *rank);
bool onx_convert_dim(const onx_convert *c, const onx_node *node, size_t index, size_t axis,
                     int64_t *out);
bool onx_convert_is_used(const onx_node *node, size_t output);
/* The attribute as written, or the default of the version that is left. */
int64_t onx_convert_int(const onx_convert *c, const onx_node *node, const char *name);
onx_str onx_convert_string(const onx_convert *c, const onx_node *node, const char *name);
/* Refuses an attribute that a function's parameter gives: its value is not known. */
onx_status onx_convert_plain(onx_convert *c, const onx_node *node, const char *name) ONX_MUST_CHECK;

/* Changes. A constant is a node before the one at hand. */
onx_status onx_convert_tensor(onx_convert *c, const char *hint, onx_dtype dtype, size_t rank,
                              const int64_t *dims, const void *data, size_t bytes, onx_value **out)
    ONX_MUST_CHECK;
onx_status onx_convert_list(onx_convert *c, const char *hint, size_t n, const int64_t *values,
                            onx_value **out) ONX_MUST_CHECK;
/* One number of that type; it must be representable. */
onx_status onx_convert_scalar(onx_convert *c, const char *hint, onx_dtype dtype, double number,
                              onx_value **out) ONX_MUST_CHECK;
/* A node with one output before the one at hand. */
onx_status onx_convert_add(onx_convert *c, const char *op, size_t n_in, onx_value *const *in,
                           onx_node **out) ONX_MUST_CHECK;
/* Set an input, which may lie beyond the last one; NULL takes it away. */
onx_status onx_convert_set_input(onx_convert *c, onx_node *node, size_t index, onx_value *value)
    ONX_MUST_CHECK;
onx_status onx_convert_drop_attr(onx_convert *c, onx_node *node, const char *name) ONX_MUST_CHECK;
/* These nodes, in ONNX text over the names that the version left has for inputs, outputs and
 * attributes, take the place of the node. They are of the version that is entered, or of the newer
 * one that they begin with: <18>. Names of their own must differ from those, also where the node
 * has no such input. */
onx_status onx_convert_expand(onx_convert *c, onx_node *node, const char *text) ONX_MUST_CHECK;
/* The same over the names of another row. */
onx_status onx_convert_expand_as(onx_convert *c, onx_node *node, const onx_op *row,
                                 const char *text) ONX_MUST_CHECK;
/* The same for the text that is the data of the step: for tables. */
onx_step_fn onx_convert_expand_data;
/* The same for text that is made: it is freed. */
onx_status onx_convert_expand_buf(onx_convert *c, onx_node *node, onx_buf *text) ONX_MUST_CHECK;
static inline onx_buf onx_convert_text(const onx_convert *c) {
    onx_buf text;
    onx_buf_init(&text, c->model->msg.doc->ctx);
    return text;
}
/* In a text: the pattern, with the word for each $. */
void onx_convert_put(onx_buf *text, const char *pattern, const char *word);
/* In a text: a constant, int64[n]. */
void onx_convert_put_list(onx_buf *text, const char *name, size_t n, const int64_t *values);
/* In a text: a number that float holds, of any type of numbers. */
void onx_convert_put_number(onx_buf *text, const char *name, const char *number, onx_dtype dtype);
/* In a text: `out` is `in`, to the nearest even integer. */
void onx_convert_put_round(onx_buf *text, const char *out, const char *in, onx_dtype dtype);
/* Slice as elements that are gathered: starts and ends may be computed. */
onx_step_fn onx_convert_gather_slice;
/* Resize 11 as elements that are gathered and weighted. */
onx_step_fn onx_convert_resample;
/* The same for the function body of the row that is left. NOT_FOUND: there is none. */
onx_status onx_convert_expand_body(onx_convert *c, onx_node *node) ONX_MUST_CHECK;

#endif
