/* check_control.c: graphs in attributes against the node that runs them: how many inputs it gives
 * them, and how many outputs it needs. */
#include "check/checker.h"
#include "ir/edit.h"

/* What a node gives and needs. SIZE_MAX: any number. */
typedef struct arity {
    size_t ins, outs;
} arity;

static arity arity_if(const onx_node *node) {
    return (arity){0, node->output.n};
}

/* Iteration number and condition, and what is carried; the condition comes out, too. */
static arity arity_loop(const onx_node *node) {
    size_t carried = node->input.n > 2 ? node->input.n - 2 : 0;
    return (arity){2 + carried, 1 + node->output.n};
}

/* Scan 8 has one input more, lengths of sequences. */
static arity arity_scan(const onx_node *node) {
    const onx_op *op = onx_op_of(node);
    size_t lengths = op && op->since < 9;
    return (arity){node->input.n > lengths ? node->input.n - lengths : 0, node->output.n};
}

static arity arity_map(const onx_node *node) {
    return (arity){node->input.n, node->output.n};
}

static arity arity_one(const onx_node *node) {
    (void)node;
    return (arity){1, 1};
}

static const struct row {
    const char *op, *attr;
    arity (*arity)(const onx_node *node);
} rows[] = {
    {"If", "then_branch", arity_if},
    {"If", "else_branch", arity_if},
    {"Loop", "body", arity_loop},
    {"Scan", "body", arity_scan},
    {"SequenceMap", "body", arity_map},
    {"FlexAttention", "score_mod", arity_one},
    {"FlexAttention", "prob_mod", arity_one},
};

/* Before IR version 4, initializers had to be inputs, behind those that the node gives. */
static size_t input_count(const onx_checker *c, const onx_graph *g) {
    size_t n = 0;
    if (c->model->ir_version > 3) return g->ins.n;
    for (size_t i = 0; i < g->ins.n; i++) n += !g->ins.v[i]->value->init;
    return n;
}

static void check_graph(onx_checker *c, const onx_attr *a, const onx_graph *g, arity expected) {
    size_t ins = input_count(c, g), outs = g->outs.n;
    if (ins != expected.ins)
        onx_check_tell(c, ONX_RULE_SUBGRAPH_INPUTS, a, NULL,
                       "the graph '%.100s' has %zu inputs, but the node gives it %zu",
                       onx_graph_name(g), ins, expected.ins);
    if (outs != expected.outs)
        onx_check_tell(c, ONX_RULE_SUBGRAPH_OUTPUTS, a, NULL,
                       "the graph '%.100s' has %zu outputs, but the node needs %zu",
                       onx_graph_name(g), outs, expected.outs);
}

void onx_check_subgraphs(onx_checker *c, const onx_node *node) {
    for (size_t i = 0; i < ONX_COUNT(rows); i++) {
        if (!onx_str_is(node->op_type, rows[i].op)) continue;
        const onx_attr *a = onx_node_attr(node, rows[i].attr);
        if (a && a->g) check_graph(c, a, a->g, rows[i].arity(node));
    }
}
