/* check_edges.c: types of the values that go in and out of a node, as far as inference knows them,
 * against the row of its operator: is each allowed, and are those equal that share a variable? */
#include "check/checker.h"
#include "ir/edit.h"

#include <stdio.h>

typedef struct edges {
    onx_checker *c;
    const onx_facts *facts;
    const onx_node *node, *at; /* where it is told: the node, or the call that leads to it */
    const onx_checked_op *callee;
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

/* At the node, or, of one in a function, kept for the call that leads to it. */
static void say(const edges *e, onx_rule_id rule, const char *hint, const char *fmt, ...)
    ONX_PRINTF(4, 5);
static void say(const edges *e, onx_rule_id rule, const char *hint, const char *fmt, ...) {
    char sentence[440];
    onx_diag diag = ONX_INIT(onx_diag);
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    onx_fail(&diag, ONX_INVALID, "%s", sentence);
    onx_diag_hint(&diag, "%s", hint);
    onx_diag_place(&diag, "graph '%.100s'", onx_graph_name(e->node->graph));
    if (e->at == e->node)
        onx_check_pass_on(e->c, rule, e->node, &diag);
    else
        onx_check_keep(e->c, e->at, rule, &diag);
}

/* What a parameter allows: element types of tensors or, where it takes none, what is written. */
static void print_allowed(const edges *e, size_t param, onx_buf *out) {
    const onx_signature *s = &e->callee->signature;
    size_t v = variable_of(s, e->params[param].type);
    onx_str types = v < s->n_constraints ? s->constraints[v].types : e->params[param].type;
    for (int d = 1; d < ONX_DTYPE_COUNT; d++)
        if (e->types[param] >> d & 1)
            onx_buf_printf(out, "%s%s", out->size ? ", " : "", onx_dtype_name((onx_dtype)d));
    if (!out->size) onx_buf_put(out, types.data, types.size);
}

static void tell_type(const edges *e, size_t index, size_t param, const onx_fact *fact) {
    onx_buf buf, allowed;
    onx_buf_init(&buf, e->c->ctx);
    onx_buf_init(&allowed, e->c->ctx);
    onx_str text = text_of(fact, &buf);
    print_allowed(e, param, &allowed);
    onx_str names = allowed.failed ? ONX_LIT("?") : (onx_str){allowed.data, allowed.size};
    say(e, ONX_RULE_EDGE_TYPE, "add a Cast, or take another opset version",
        "%s %zu, '%.*s', of %s %d cannot be %.*s, only %.*s", e->what, index,
        ONX_FMT(e->params[param].name), e->callee->op->name, (int)e->callee->op->since,
        ONX_FMT(text), ONX_FMT(names));
    onx_buf_fini(&buf);
    onx_buf_fini(&allowed);
}

static void tell_match(const edges *e, size_t index, const onx_fact *fact, const bound *other) {
    onx_buf a, b;
    onx_buf_init(&a, e->c->ctx);
    onx_buf_init(&b, e->c->ctx);
    onx_str one = text_of(fact, &a), two = text_of(other->fact, &b);
    say(e, ONX_RULE_EDGE_MATCH, "add a Cast",
        "%s %zu of %s is %.*s, but %s %zu, which must have the same type, is %.*s", e->what, index,
        e->callee->op->name, ONX_FMT(one), other->what, other->index, ONX_FMT(two));
    onx_buf_fini(&a);
    onx_buf_fini(&b);
}

/* False: it was told that something is wrong. */
static bool check_edge(const edges *e, size_t index, const onx_value *value, bound *variables) {
    const onx_fact *fact = onx_facts_of(e->facts, value);
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
static void check_edges(const edges *e) {
    const onx_node *node = e->node;
    const onx_signature *s = &e->callee->signature;
    bound variables[MOST_VARIABLES] = {{NULL, NULL, 0}};
    edges in = *e, out = *e;
    bool ok = true;
    in.what = "input", in.params = s->inputs, in.n_params = s->n_inputs;
    in.types = e->callee->in_types;
    out.what = "output", out.params = s->outputs, out.n_params = s->n_outputs;
    out.types = e->callee->out_types;
    for (size_t i = 0; i < node->input.n; i++)
        ok = check_edge(&in, i, onx_node_input(node, i), variables) && ok;
    for (size_t i = 0; ok && i < node->output.n; i++)
        (void)check_edge(&out, i, onx_node_output(node, i), variables);
}

void onx_check_edges(onx_checker *c, const onx_node *node) {
    const onx_checked_op *callee = onx_check_callee(c, node);
    bool known = callee && callee->op && !callee->op->deprecated && !onx_check_called(c, node);
    if (known)
        check_edges(
            &(edges){.c = c, .facts = c->facts, .node = node, .at = node, .callee = callee});
}

void onx_check_inner_edges(onx_checker *c, const onx_facts *facts, const onx_node *node,
                           const onx_node *call) {
    const onx_op *op = onx_op_of(node);
    const onx_checked_op *callee = op && !op->deprecated ? onx_check_row(c, op) : NULL;
    if (callee)
        check_edges(&(edges){.c = c, .facts = facts, .node = node, .at = call, .callee = callee});
}
