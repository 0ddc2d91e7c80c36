/* checker.h: what the files of check/ share: the state of one check, and how problems are told.
 *
 * A check goes twice through the messages of a model, parents before children:
 *
 *     structure    names, order, tensors, types as written, nodes against the rows of operators
 *     edges        types of values, as inference knows them, against the same rows
 *
 * Both are linear in the size of the model. Memory that runs out is remembered in the state, and
 * ends the check. */
#ifndef ONX_CHECKER_H
#define ONX_CHECKER_H

#include "check/rules.def"
#include "infer/infer.h"

typedef enum onx_rule_id {
#define ONX_RULE_ENUM(name, id, title) ONX_RULE_##name,
    ONX_RULES(ONX_RULE_ENUM, ONX_RULE_ENUM)
#undef ONX_RULE_ENUM
        ONX_RULE_COUNT
} onx_rule_id;

/* A graph on the way to the message that is looked at, and the node of it that is open. */
typedef struct onx_check_frame {
    const onx_graph *graph;
    const onx_node *node;
    size_t index;
} onx_check_frame;

/* An operator that nodes call. `op` is NULL when it is not known. */
typedef struct onx_checked_op {
    const onx_op *op;
    onx_signature signature;
    uint32_t *in_types, *out_types; /* element types that each parameter allows as tensors, bits */
    size_t min_in, max_in, min_out, max_out;
    const struct onx_value_rule **rules; /* for each attribute of the signature; NULL: none */
    bool told;                           /* that it is not known */
} onx_checked_op;

typedef struct onx_checker {
    onx_context *ctx;
    const onx_model *model;
    onx_check_options options;
    onx_diag *first;
    onx_arena arena;
    onx_check_frame *frames;
    size_t depth, frames_cap;
    const onx_function *function; /* whose body is looked at; NULL: none */
    const onx_facts *facts;       /* in the second walk */
    onx_map names;                /* (graph, name) to how it is defined; (list, key): seen */
    onx_map imports;              /* (model or function, domain) to onx_opset */
    onx_map functions;            /* see function_find */
    onx_map callees;              /* (onx_opset, operator) to onx_checked_op */
    onx_map wrong;                /* nodes with an error: one cause is told once */
    onx_map unsorted;             /* graphs with nodes in the wrong order */
    onx_map findings;             /* node to what inference found there */
    size_t n_findings;
    struct onx_checked_call *calls; /* between functions */
    size_t n_calls, calls_cap;
    size_t n_errors, n_told, n_nearest;
    bool no_memory;
} onx_checker;

/* report.c: a problem at a message of the model. The hint may be NULL. */
void onx_check_tell(onx_checker *c, onx_rule_id rule, const void *msg, const char *hint,
                    const char *fmt, ...) ONX_PRINTF(5, 6);
/* The same, from a diagnostic: its sentence and hint. */
void onx_check_pass_on(onx_checker *c, onx_rule_id rule, const void *msg, const onx_diag *diag);
/* Remember that `key` was met; false: it was met before. */
bool onx_check_once(onx_checker *c, onx_map *map, const void *owner, onx_str key);
/* Does a node have an error already? */
bool onx_check_is_wrong(const onx_checker *c, const onx_node *node);
/* The nearest to what was typed of the names that `next` gives, up to one without data; false: none
 * is near. */
bool onx_check_nearest(onx_checker *c, onx_str typed, onx_str (*next)(void *names), void *names,
                       onx_str *out);

/* check_model.c */
void onx_check_model(onx_checker *c, const onx_model *model);
void onx_check_training(onx_checker *c, const onx_training *training);
void onx_check_metadata(onx_checker *c, const onx_msg *owner, const onx_list *entries);
/* IR version of `what`, at a message: ir-feature or ir-type. */
void onx_check_ir(onx_checker *c, onx_rule_id rule, const void *msg, int64_t needed,
                  const char *what);
void onx_check_imports(onx_checker *c, const void *owner, const onx_list *imports);
/* What the model or a function imports of that domain: `opset`, if it is the first. */
const onx_opset *onx_check_enter_import(onx_checker *c, const void *owner, const onx_opset *opset);
/* The import of a domain where the walk is; NULL: none. */
const onx_opset *onx_check_import(const onx_checker *c, onx_str domain);

/* check_device.c */
void onx_check_devices(onx_checker *c, const onx_model *model);
void onx_check_node_device(onx_checker *c, const onx_node_device *device);

/* check_graph.c: names and order. The walk says where it is. */
void onx_check_graph(onx_checker *c, const onx_graph *graph);
void onx_check_body(onx_checker *c, const onx_function *function);
void onx_check_enter_node(onx_checker *c, const onx_node *node);
void onx_check_leave_all(onx_checker *c);
/* check_cycle.c: why the nodes of a graph are not in order: its first cycle, if there is one. */
void onx_check_cycle(onx_checker *c, const onx_graph *graph);

/* check_tensor.c, check_external.c, check_type.c */
void onx_check_tensor(onx_checker *c, const onx_tensor *tensor);
void onx_check_sparse(onx_checker *c, const onx_sparse *sparse);
void onx_check_external(onx_checker *c, const onx_tensor *tensor);
void onx_check_value_info(onx_checker *c, const onx_value_info *info);
void onx_check_type(onx_checker *c, const onx_type *type);
void onx_check_dtype(onx_checker *c, onx_rule_id rule, const void *msg, int32_t dtype);

/* check_node.c, check_attr.c, check_values.c, check_control.c */
void onx_check_node(onx_checker *c, const onx_node *node);
onx_checked_op *onx_check_callee(onx_checker *c, const onx_node *node); /* NULL: not imported */
onx_checked_op *onx_check_row(onx_checker *c, const onx_op *op);        /* NULL: memory ran out */
void onx_check_attr(onx_checker *c, const onx_attr *attr);
/* `callee` may be NULL. */
void onx_check_attrs(onx_checker *c, const onx_node *node, const onx_checked_op *callee);
/* Once onx_check_attrs has seen the node. */
bool onx_check_has_attr(const onx_checker *c, const onx_node *node, onx_str name);
const struct onx_value_rule **onx_value_rules(onx_arena *arena, const onx_op *op,
                                              const onx_signature *signature);
void onx_check_attr_values(onx_checker *c, const onx_node *node, const onx_checked_op *callee);
void onx_check_subgraphs(onx_checker *c, const onx_node *node);

/* check_function.c */
bool onx_check_functions(onx_checker *c, const onx_model *model);
void onx_check_function(onx_checker *c, const onx_function *function);
const onx_function *onx_check_called(const onx_checker *c, const onx_node *node);
void onx_check_call(onx_checker *c, const onx_node *node, const onx_function *function);
void onx_check_recursion(onx_checker *c);

/* check_infer.c: the facts of the model, or no facts when that is too much; and what was found
 * about a node on the way. */
onx_status onx_check_infer(onx_checker *c, onx_facts **out) ONX_MUST_CHECK;
void onx_check_findings(onx_checker *c, const onx_node *node);
/* Tell of this when the walk comes to the node. */
void onx_check_keep(onx_checker *c, const onx_node *node, onx_rule_id rule, const onx_diag *diag);

/* check_edges.c: of a node; and of one in a function that was gone into from `call`. */
void onx_check_edges(onx_checker *c, const onx_node *node);
void onx_check_inner_edges(onx_checker *c, const onx_facts *facts, const onx_node *node,
                           const onx_node *call);

#endif
