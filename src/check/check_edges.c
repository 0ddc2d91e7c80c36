/* check_edges.c: types of the values that go in and out of a node, as far as inference knows them,
 * against the row of its operator: is each allowed, and are those equal that share a variable? */
#include "check/checker.h"
#include "ir/edit.h"

typedef struct edges {
    onx_checker *c;
    const onx_node *node;
    const onx_callee *callee;
    const char *what; /* "input" or "output" */
    const onx_param *params;
    size_t n_params;
    const uint32_t *types;
} edges;

/* What each type variable was first found to be, in order of the constraints. */
enum { MOST_VARIABLES = 16 };
typedef struct bound {
    const onx_fact *fact;
    const char *what;
    size_t index;
} bound;

static onx_str text_of(const onx_fact *fact, onx_buf *buf) {
    buf->size = 0;
    onx_fact_print(fact, buf);
    return buf->failed ? ONX_LIT("?") : (onx_str){buf->data, buf->size};
}

/* The place of a type variable among those of the signature. */
static size_t variable_of(const onx_signature *s, onx_str type) {
    size_t i = 0;
    while (i < s->n_constraints && !onx_str_eq(s->constraints[i].name, type)) i++;
    return i;
}

static bool is_allowed(const edges *e, size_t param, const onx_fact *fact) {
    const onx_signature *s = &e->callee->signature;
    size_t v = variable_of(s, e->params[param].type);
    if (fact->kind == ONX_TYPE_TENSOR && fact->dtype) return e->types[param] >> fact->dtype & 1;
    return onx_types_allow(v < s->n_constraints ? s->constraints[v].types : e->params[param].type,
                           fact);
}

/* Equal as far as they are known: kinds and element types, level by level. */
static bool is_same(const onx_fact *a, const onx_fact *b) {
    for (; a && b; a = a->elem, b = b->elem) {
        if (a->kind && b->kind && a->kind != b->kind) return false;
        if (a->dtype && b->dtype && a->dtype != b->dtype) return false;
    }
    return true;
}

static void tell_type(const edges *e, size_t index, size_t param, const onx_fact *fact) {
    const onx_signature *s = &e->callee->signature;
    size_t v = variable_of(s, e->params[param].type);
    onx_str types = v < s->n_constraints ? s->constraints[v].types : e->params[param].type;
    onx_buf buf;
    onx_buf_init(&buf, e->c->ctx);
    onx_str text = text_of(fact, &buf);
    onx_check_tell(e->c, ONX_RULE_EDGE_TYPE, e->node, "add a Cast, or take another opset version",
                   "%s %zu, '%.*s', of %s %d cannot be %.*s: it is one of %.*s", e->what, index,
                   ONX_FMT(e->params[param].name), e->callee->op->name, (int)e->callee->op->since,
                   ONX_FMT(text), ONX_FMT(types));
    onx_buf_fini(&buf);
}

static void tell_match(const edges *e, size_t index, const onx_fact *fact, const bound *other) {
    onx_buf a, b;
    onx_buf_init(&a, e->c->ctx);
    onx_buf_init(&b, e->c->ctx);
    onx_str one = text_of(fact, &a), two = text_of(other->fact, &b);
    onx_check_tell(e->c, ONX_RULE_EDGE_MATCH, e->node, "add a Cast",
                   "%s %zu of %s is %.*s, but %s %zu, which must have the same type, is %.*s",
                   e->what, index, e->callee->op->name, ONX_FMT(one), other->what, other->index,
                   ONX_FMT(two));
    onx_buf_fini(&a);
    onx_buf_fini(&b);
}

/* False: it was told that something is wrong. */
static bool check_edge(const edges *e, size_t index, const onx_value *value, bound *variables) {
    const onx_fact *fact = onx_facts_of(e->c->facts, value);
    const onx_signature *s = &e->callee->signature;
    if (!value || !fact->kind || !e->n_params) return true;
    size_t param = index < e->n_params ? index : e->n_params - 1;
    size_t v = variable_of(s, e->params[param].type);
    if (!is_allowed(e, param, fact)) {
        tell_type(e, index, param, fact);
        return false;
    }
    bool binds = v < s->n_constraints && v < MOST_VARIABLES && !e->params[param].heterogeneous;
    if (binds && !variables[v].fact) variables[v] = (bound){fact, e->what, index};
    if (!binds || is_same(fact, variables[v].fact)) return true;
    tell_match(e, index, fact, &variables[v]);
    return false;
}

/* Outputs would be wrong for the same reason as inputs. */
void onx_check_edges(onx_checker *c, const onx_node *node) {
    const onx_callee *callee = onx_check_callee(c, node);
    bool ok = callee && callee->op && !callee->op->deprecated && !onx_check_called(c, node);
    if (!ok) return;
    const onx_signature *s = &callee->signature;
    bound variables[MOST_VARIABLES] = {{NULL, NULL, 0}};
    edges in = {c, node, callee, "input", s->inputs, s->n_inputs, callee->in_types};
    edges out = {c, node, callee, "output", s->outputs, s->n_outputs, callee->out_types};
    for (size_t i = 0; i < node->input.n; i++)
        ok = check_edge(&in, i, onx_node_input(node, i), variables) && ok;
    for (size_t i = 0; ok && i < node->output.n; i++)
        (void)check_edge(&out, i, onx_node_output(node, i), variables);
}
