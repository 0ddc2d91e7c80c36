/* check_infer.c: what inference finds. It is kept until the walk comes to the node it is about, so
 * that problems are told in the order of the file, with their places. */
#include "check/checker.h"

typedef struct onx_finding {
    onx_rule_id rule;
    onx_str message, hint;
    struct onx_finding *next; /* about the same node */
} onx_finding;

static const onx_str no_name = {NULL, 0};

static onx_finding *finding_new(onx_checker *c, onx_rule_id rule, const onx_diag *diag) {
    onx_finding *f = onx_arena_alloc(&c->arena, sizeof *f);
    bool copied = f && onx_arena_str(&c->arena, onx_str_of(diag->message), &f->message) &&
                  onx_arena_str(&c->arena, onx_str_of(diag->hint), &f->hint);
    if (!copied) return NULL;
    f->rule = rule;
    return f;
}

static void keep(onx_checker *c, const onx_node *node, onx_rule_id rule, const onx_diag *diag) {
    onx_finding *before = onx_map_get(&c->findings, node, no_name);
    onx_finding *f = finding_new(c, rule, diag);
    if (before && f) {
        f->next = before->next;
        before->next = f;
    } else if (!f || !onx_map_put(&c->findings, node, no_name, f)) {
        c->no_memory = true;
    }
}

/* Of a graph that is gone through many times, a node or value is told of once; so is a call of all
 * that is wrong behind it. A node with an error is not told of at all: that may well be why this is
 * wrong. */
static bool is_wanted(onx_checker *c, const void *about, const onx_node *at) {
    return c->options.full && c->n_findings < c->options.max_problems &&
           !(at && onx_check_is_wrong(c, at)) &&
           onx_check_once(c, &c->names, about, ONX_LIT("inferred"));
}

void onx_check_keep(onx_checker *c, const onx_node *node, onx_rule_id rule, const onx_diag *diag) {
    onx_diag inner = *diag;
    if (!is_wanted(c, node, node)) return;
    c->n_findings++;
    if (onx_check_called(c, node))
        onx_fail(&inner, ONX_INVALID, "in the function: %.100s: %.380s", diag->place,
                 diag->message);
    onx_diag_hint(&inner, "%s", diag->hint);
    keep(c, node, rule, &inner);
}

static void hear(void *user, const onx_node *node, const onx_value *value, const onx_diag *diag) {
    onx_checker *c = user;
    const onx_node *at = node ? NULL : value->def;
    if (node) {
        onx_check_keep(c, node, ONX_RULE_INFER_NODE, diag);
    } else if (is_wanted(c, value, at)) {
        c->n_findings++;
        if (at)
            keep(c, at, ONX_RULE_INFER_TYPE, diag);
        else
            onx_check_pass_on(c, ONX_RULE_INFER_TYPE,
                              value->input ? (const void *)value->input : value->graph, diag);
    }
}

static void hear_inside(void *user, const onx_facts *facts, const onx_node *node,
                        const onx_node *call) {
    onx_checker *c = user;
    if (c->options.full) onx_check_inner_edges(c, facts, node, call);
}

onx_status onx_check_infer(onx_checker *c, onx_facts **out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_facts_options options = {
        .defaults = true, .report = hear, .inside = hear_inside, .user = c};
    onx_status status = onx_facts_new(c->model, &options, out, &diag);
    if (status && status != ONX_NO_MEMORY)
        onx_check_pass_on(c, ONX_RULE_INFER_LIMIT, c->model, &diag);
    return status;
}

void onx_check_findings(onx_checker *c, const onx_node *node) {
    bool wrong = onx_check_is_wrong(c, node);
    for (const onx_finding *f = onx_map_get(&c->findings, node, no_name); f; f = f->next)
        if (!wrong || f->rule != ONX_RULE_INFER_NODE)
            onx_check_tell(c, f->rule, node, f->hint.data, "%s", f->message.data);
}
