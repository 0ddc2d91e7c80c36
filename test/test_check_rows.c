/* test_check_rows.c: every version of every operator in nodes that break its signature in one way:
 * the checker says so, and does not say so of the node as it should be. */
#include "check/checker.h"
#include "ops/signature.h"
#include "support.h"
#include "test.h"

enum { MOST = 40 }; /* inputs and attributes of a node */

/* A node to be made: what its row says, but for one thing. */
typedef struct draft {
    const onx_op *op;
    const onx_signature *s;
    int64_t opset;
    size_t n_in, n_out;
    onx_dtype in[MOST]; /* ONX_DTYPE_NONE: what the signature allows first */
    size_t empty;       /* input without a name; MOST: none */
    size_t no_attr;     /* attribute that is left out; MOST: none */
    size_t odd_attr;    /* attribute of another type; MOST: none */
    bool extra_attr;
} draft;

static onx_str types_of(const onx_signature *s, onx_str type) {
    for (size_t i = 0; i < s->n_constraints; i++)
        if (onx_str_eq(s->constraints[i].name, type)) return s->constraints[i].types;
    return type;
}

static bool allows(const onx_signature *s, const onx_param *p, int dtype) {
    onx_constraint constraint = {p->type, types_of(s, p->type)};
    return onx_constraint_allows(&constraint, (onx_dtype)dtype);
}

/* The first type that a parameter allows, in ONNX text: a tensor, or the first of what else there
 * is, with a type in place of a set: "seq(float)" for "seq(all1)". */
static void type_text(const onx_signature *s, const onx_param *p, onx_dtype dtype, char out[128]) {
    onx_str rest = types_of(s, p->type), one;
    for (int d = 1; !dtype && d < ONX_DTYPE_COUNT; d++)
        if (allows(s, p, d)) dtype = (onx_dtype)d;
    if (dtype || !onx_signature_cut(&rest, '|', &one)) {
        (void)snprintf(out, 128, "%s[]", onx_dtype_name(dtype));
        return;
    }
    size_t end = one.size, begin;
    while (end && one.data[end - 1] == ')') end--;
    for (begin = end; begin && !strchr("( ", one.data[begin - 1]);) begin--;
    uint32_t types = onx_signature_types((onx_str){one.data + begin, end - begin});
    while (!(types >> dtype & 1)) dtype++;
    (void)snprintf(out, 128, "%.*s%s%.*s", (int)begin, one.data, onx_dtype_name(dtype),
                   (int)(one.size - end), one.data + end);
}

static void set_attr(onx_node *node, const char *name, onx_attr_type type) {
    const int64_t one = 1;
    const float real = 1;
    const char *word = "x";
    onx_tensor *t = NULL;
    if (onx_tensor_new(NULL, "t", ONX_DTYPE_F32, 0, NULL, &real, sizeof real, &t, NULL)) abort();
    onx_status status = ONX_OK;
    switch (type) {
    case ONX_ATTR_INT: status = onx_node_set_int(node, name, 1); break;
    case ONX_ATTR_INTS: status = onx_node_set_ints(node, name, 1, &one); break;
    case ONX_ATTR_FLOAT: status = onx_node_set_float(node, name, real); break;
    case ONX_ATTR_FLOATS: status = onx_node_set_floats(node, name, 1, &real); break;
    case ONX_ATTR_STRING: status = onx_node_set_string(node, name, word); break;
    case ONX_ATTR_STRINGS: status = onx_node_set_strings(node, name, 1, &word); break;
    case ONX_ATTR_TENSOR: status = onx_node_set_tensor(node, name, t); break;
    case ONX_ATTR_GRAPH: (void)onx_node_add_graph(node, name, "inside"); break;
    default: break;
    }
    if (status) abort();
    onx_tensor_free(t);
}

static void set_attrs(onx_node *node, const draft *d) {
    char name[128];
    for (size_t i = 0; i < d->s->n_attrs; i++) {
        const onx_attr_decl *a = &d->s->attrs[i];
        (void)snprintf(name, sizeof name, "%.*s", ONX_FMT(a->name));
        bool wanted = (a->required && i != d->no_attr) || i == d->odd_attr;
        onx_attr_type odd = a->type == ONX_ATTR_FLOATS ? ONX_ATTR_STRING : ONX_ATTR_FLOATS;
        if (wanted) set_attr(node, name, i == d->odd_attr ? odd : a->type);
    }
    if (d->extra_attr) set_attr(node, "unheard_of", ONX_ATTR_INT);
}

static onx_model *make(const draft *d) {
    const char *domain = d->op->domain ? d->op->domain : "";
    onx_model *model = onx_model_new(NULL, "one", domain[0] ? 22 : d->opset);
    onx_graph *g = onx_model_graph(model);
    onx_value *ins[MOST] = {NULL};
    const char *outs[MOST];
    char names[MOST][32], type[128], op[160];
    if (domain[0] && onx_model_set_opset(model, domain, d->opset)) abort();
    if (onx_model_set_ir_version(model, ONX_IR_VERSION)) abort();
    for (size_t i = 0; i < d->n_in; i++) {
        size_t p = i < d->s->n_inputs ? i : d->s->n_inputs - 1;
        (void)snprintf(names[0], sizeof names[0], "in%zu", i);
        if (d->s->n_inputs)
            type_text(d->s, &d->s->inputs[p], d->in[i], type);
        else
            strcpy(type, "float[]");
        if (i != d->empty) ins[i] = onx_graph_add_input(g, names[0], type);
    }
    for (size_t i = 0; i < d->n_out; i++) {
        (void)snprintf(names[i], sizeof names[i], "out%zu", i);
        outs[i] = names[i];
    }
    (void)snprintf(op, sizeof op, "%s%s%s", domain, domain[0] ? "::" : "", d->op->name);
    onx_node *node = onx_graph_add_node(g, op, d->n_in, ins, d->n_out, outs);
    if (!node || onx_model_error(model)) {
        fprintf(stderr, "%s: %s\n", op, onx_model_error(model)->message);
        abort();
    }
    set_attrs(node, d);
    return model;
}

typedef struct search {
    onx_rule_id rule;
    bool found;
} search;

static void hear(void *user, const onx_problem *p) {
    search *s = user;
    if (p->rule == onx_rule_at(s->rule)) s->found = true;
}

static bool breaks(const draft *d, onx_rule_id rule) {
    onx_model *model = make(d);
    search s = {rule, false};
    onx_check_options options = ONX_INIT(onx_check_options);
    options.report = hear;
    options.user = &s;
    onx_status status = onx_model_check(model, &options, NULL);
    onx_model_free(model);
    return s.found && status == ONX_INVALID;
}

static size_t n_cases;

/* The rule is broken by the changed node, and not by the node as it should be. */
static void expect(const draft *changed, const draft *right, onx_rule_id rule, const char *what) {
    n_cases++;
    bool ok = CHECK(breaks(changed, rule));
    ok = (!right || CHECK(!breaks(right, rule))) && ok;
    if (!ok)
        fprintf(stderr, "    %s %d: %s: %s\n", changed->op->name, (int)changed->op->since, what,
                onx_rule_at(rule)->id);
}

static void range(const onx_param *params, size_t n, size_t *least, size_t *most) {
    *least = *most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!params[i].optional) *least = i + 1;
        *most = params[i].variadic ? MOST : i + 1;
    }
}

static void counts(const draft *right) {
    size_t least, most;
    draft d = *right;
    range(right->s->inputs, right->s->n_inputs, &least, &most);
    if (least) d.n_in = least - 1, expect(&d, right, ONX_RULE_INPUT_COUNT, "too few inputs");
    if (most < MOST) d.n_in = most + 1, expect(&d, right, ONX_RULE_INPUT_COUNT, "too many inputs");
    d = *right;
    range(right->s->outputs, right->s->n_outputs, &least, &most);
    if (least) d.n_out = least - 1, expect(&d, right, ONX_RULE_OUTPUT_COUNT, "too few outputs");
    if (most < MOST)
        d.n_out = most + 1, expect(&d, right, ONX_RULE_OUTPUT_COUNT, "too many outputs");
    for (size_t i = 0; i < right->n_in; i++) {
        const onx_param *p = &right->s->inputs[i];
        d = *right;
        d.empty = i;
        if (!p->optional && !p->heterogeneous)
            expect(&d, right, ONX_RULE_INPUT_MISSING, "an input without a name");
    }
}

/* Types that an input does not allow, and types that differ where they must not. */
static void types(const draft *right) {
    const onx_signature *s = right->s;
    for (size_t i = 0; i < right->n_in; i++) {
        int bad = 0, good = 0, first = 0;
        draft d = *right;
        for (int t = 1; t < ONX_DTYPE_COUNT; t++) {
            if (!allows(s, &s->inputs[i], t))
                bad = t;
            else if (!first)
                first = t;
            else
                good = t;
        }
        d.in[i] = (onx_dtype)bad;
        if (bad) expect(&d, right, ONX_RULE_EDGE_TYPE, "a type that is not allowed");
        size_t other = 0;
        while (other < i && !onx_str_eq(s->inputs[other].type, s->inputs[i].type)) other++;
        bool variable = types_of(s, s->inputs[i].type).data != s->inputs[i].type.data;
        d.in[i] = (onx_dtype)good;
        if (other < i && good && variable && !s->inputs[i].heterogeneous)
            expect(&d, right, ONX_RULE_EDGE_MATCH, "types that differ");
    }
}

static void attrs(const draft *right) {
    for (size_t i = 0; i < right->s->n_attrs && i < MOST; i++) {
        draft d = *right;
        d.odd_attr = i;
        expect(&d, right, ONX_RULE_ATTR_TYPE, "an attribute of the wrong type");
        d = *right;
        d.no_attr = i;
        if (right->s->attrs[i].required)
            expect(&d, right, ONX_RULE_ATTR_MISSING, "an attribute that is missing");
    }
    draft d = *right;
    d.extra_attr = true;
    if (!right->op->domain || strcmp(right->op->domain, "com.microsoft") != 0)
        expect(&d, right, ONX_RULE_ATTR_UNKNOWN, "an attribute that does not exist");
}

static void row(const onx_op *op, const onx_op *before) {
    onx_arena arena;
    onx_signature s;
    onx_arena_init(&arena, onx_context_or_default(NULL));
    REQUIRE(!onx_signature_parse(op, &arena, &s, NULL));
    draft right = {op, &s, op->since, 0, 0, {0}, MOST, MOST, MOST, false};
    size_t most;
    range(s.inputs, s.n_inputs, &right.n_in, &most);
    range(s.outputs, s.n_outputs, &right.n_out, &most);
    bool first = !before || strcmp(before->name, op->name) != 0;
    bool known = !op->domain || strncmp(op->domain, "ai.onnx", 7) == 0;
    if (op->deprecated) {
        expect(&right, NULL, ONX_RULE_OP_DEPRECATED, "deprecated");
    } else {
        counts(&right);
        types(&right);
        attrs(&right);
    }
    if (first && known && op->since > 1) {
        draft early = right;
        early.opset = op->since - 1;
        expect(&early, op->deprecated ? NULL : &right, ONX_RULE_OP_VERSION, "too early");
    }
    onx_arena_fini(&arena);
}

TEST(every_row) {
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++)
            if (!op->domain || strcmp(op->domain, "onx.internal") != 0)
                row(op, op > family->ops ? op - 1 : NULL);
    printf("%zu wrong nodes\n", n_cases);
    CHECK(n_cases > 4000);
}

TEST_MAIN(E(every_row))
