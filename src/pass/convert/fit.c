/* fit.c: a node that has crossed a boundary must be one that the row on that side allows.
 *
 *   attributes    those that this side does not know go, where they say what is so without them
 *   inputs        none too many, none that must be there missing
 *   outputs       none too many; those nobody wants go
 *   types         Y = Op (X)  ──▶  x = Cast (X), y = Op (x), Y = Cast (y), through a wider type
 *                 that is allowed, where the result is the same
 *
 * What is wrong on both sides is not found here: that is for the checker. */
#include "pass/convert/step.h"

#include "base/number.h"

static const onx_str no_name = {NULL, 0};

onx_status onx_convert_signature(onx_convert *c, const onx_op *op, const onx_signature **out) {
    onx_signature *signature = onx_map_get(&c->signatures, op, no_name);
    if (!signature) {
        signature = onx_arena_alloc(&c->arena, sizeof *signature);
        if (!signature) return onx_fail_nomem(&c->diag);
        ONX_TRY(onx_signature_parse(op, &c->arena, signature, &c->diag));
        if (!onx_map_put(&c->signatures, op, no_name, signature)) return onx_fail_nomem(&c->diag);
    }
    *out = signature;
    return ONX_OK;
}

const onx_attr_decl *onx_convert_attr(const onx_signature *signature, onx_str name) {
    for (size_t i = 0; i < signature->n_attrs; i++)
        if (onx_str_eq(signature->attrs[i].name, name)) return &signature->attrs[i];
    return NULL;
}

/* ─ Attributes ───────────────────────────────────────────────────────────────────────────────── */

/* Does it say what would be so without it: the default, or, of a list, ones? */
static bool is_usual(const onx_attr *attr, const onx_attr_decl *decl) {
    int64_t number;
    float real;
    if (onx_str_is(attr->name, "consumed_inputs")) return true; /* a hint, and long unused */
    if (attr->ref_attr_name.size) return false;
    switch (onx_attr_type_of(attr)) {
    case ONX_ATTR_INT: return onx_parse_i64(decl->text, &number) && number == attr->i;
    case ONX_ATTR_FLOAT: return onx_parse_f32(decl->text, &real) && real == attr->f;
    case ONX_ATTR_STRING:
        return decl->text.size >= 2 &&
               onx_str_eq(attr->s, (onx_str){decl->text.data + 1, decl->text.size - 2});
    case ONX_ATTR_INTS:
        for (size_t i = 0; i < attr->ints.n; i++)
            if (attr->ints.v[i] != 1) return false;
        return true;
    default: return false;
    }
}

static onx_status fit_attrs(onx_convert *c, onx_node *node, const onx_signature *before,
                            const onx_signature *after) {
    for (onx_attr *attr = onx_node_attr_first(node), *next; attr; attr = next) {
        next = onx_attr_next(attr);
        const onx_attr_decl *decl = onx_convert_attr(before, attr->name);
        if (!decl || onx_convert_attr(after, attr->name)) continue;
        if (!is_usual(attr, decl)) {
            onx_convert_refuse(c, "attribute '%.*s' has no counterpart there", ONX_FMT(attr->name));
            onx_diag_hint(&c->diag, "only what is usual can be left out");
            return ONX_UNSUPPORTED;
        }
        ONX_TRY(onx_convert_drop_attr(c, node, onx_str_z(attr->name)));
    }
    return ONX_OK;
}

/* ─ Inputs and outputs ───────────────────────────────────────────────────────────────────────── */

static bool is_open(const onx_param *params, size_t n) {
    return n && params[n - 1].variadic;
}

static onx_status fit_inputs(onx_convert *c, onx_node *node, const onx_signature *after) {
    size_t n = after->n_inputs;
    for (size_t i = n; i < node->input.n && !is_open(after->inputs, n); i++)
        if (onx_node_input(node, i)) return onx_convert_refuse(c, "it has no input %zu there", i);
    while (node->input.n > n && !is_open(after->inputs, n))
        ONX_TRY(onx_node_remove_input(node, node->input.n - 1));
    for (size_t i = 0; i < n; i++)
        if (!after->inputs[i].optional && !onx_convert_has(node, i))
            return onx_convert_refuse(c, "input '%.*s' must be there",
                                      ONX_FMT(after->inputs[i].name));
    return ONX_OK;
}

static onx_status fit_outputs(onx_convert *c, onx_node *node, const onx_signature *after) {
    size_t n = after->n_outputs;
    for (size_t i = n; i < node->output.n && !is_open(after->outputs, n); i++)
        if (onx_convert_is_used(node, i))
            return onx_convert_refuse(c, "it has no output %zu there, and '%.*s' is used", i,
                                      ONX_FMT(node->output.v[i]));
    while (node->output.n > n && !is_open(after->outputs, n))
        ONX_TRY(onx_node_remove_output(node, &c->diag));
    return ONX_OK;
}

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

/* Types that hold all values of another, in the order of preference. The arithmetic of integers
 * comes out the same modulo their size; floats are computed more exactly, and rounded once. */
#define WIDER(name) ONX_DTYPE_##name
enum { MAX_WIDER = 6 };
static const struct {
    onx_dtype from, to[MAX_WIDER];
} wider[] = {
    {WIDER(F16), {WIDER(F32), WIDER(F64)}},
    {WIDER(BF16), {WIDER(F32), WIDER(F64)}},
    {WIDER(F8E4M3FN), {WIDER(F16), WIDER(F32)}},
    {WIDER(F8E4M3FNUZ), {WIDER(F16), WIDER(F32)}},
    {WIDER(F8E5M2), {WIDER(F16), WIDER(F32)}},
    {WIDER(F8E5M2FNUZ), {WIDER(F16), WIDER(F32)}},
    {WIDER(F4E2M1), {WIDER(F16), WIDER(F32)}},
    {WIDER(F6E2M3), {WIDER(F16), WIDER(F32)}},
    {WIDER(F6E3M2), {WIDER(F16), WIDER(F32)}},
    {WIDER(F8E8M0), {WIDER(F32)}},
    {WIDER(I2), {WIDER(I8), WIDER(I32)}},
    {WIDER(I4), {WIDER(I8), WIDER(I32)}},
    {WIDER(U2), {WIDER(U8), WIDER(I32)}},
    {WIDER(U4), {WIDER(U8), WIDER(I32)}},
    {WIDER(I8), {WIDER(I32), WIDER(I64)}},
    {WIDER(I16), {WIDER(I32), WIDER(I64)}},
    {WIDER(U8), {WIDER(I32), WIDER(I64), WIDER(U32)}},
    {WIDER(U16), {WIDER(I32), WIDER(I64), WIDER(U32)}},
    {WIDER(U32), {WIDER(I64), WIDER(U64)}},
    {WIDER(BOOL), {WIDER(U8), WIDER(I32)}},
};
/* Operators that give back one of the elements they get, or compare them: integers may also go
 * through floats that hold them. */
static const char *const selecting[] = {"ArgMax", "ArgMin",    "Clip",      "Equal", "Greater",
                                        "Less",   "Max",       "MaxPool",   "Min",   "NonZero",
                                        "Pad",    "ReduceMax", "ReduceMin", "Relu",  "TopK"};
static const struct {
    onx_dtype from, to[MAX_WIDER];
} exact[] = {
    {WIDER(I8), {WIDER(F32)}},  {WIDER(U8), {WIDER(F32)}},  {WIDER(I16), {WIDER(F32)}},
    {WIDER(U16), {WIDER(F32)}}, {WIDER(I32), {WIDER(F64)}}, {WIDER(U32), {WIDER(F64)}},
};

typedef struct types_plan {
    onx_dtype *in, *out; /* what each goes through; NONE: as it is */
    bool any;
} types_plan;

/* Can values of the type be cast there? */
static bool is_castable(onx_dtype dtype, const onx_signature *cast) {
    for (size_t i = 0; i < cast->n_constraints; i++)
        if (!onx_constraint_allows(&cast->constraints[i], dtype)) return false;
    return true;
}

static bool is_selecting(onx_str op) {
    for (size_t i = 0; i < ONX_COUNT(selecting); i++)
        if (onx_str_is(op, selecting[i])) return true;
    return false;
}

/* Does the type `wide` hold all values of `dtype`? */
static bool holds(onx_dtype wide, onx_dtype dtype) {
    for (size_t i = 0; i < ONX_COUNT(wider); i++)
        for (size_t j = 0; wider[i].from == dtype && j < MAX_WIDER; j++)
            if (wider[i].to[j] == wide) return true;
    return false;
}

/* The type that stands in for `dtype` where `constraint` does not allow it; NONE: there is none. */
static onx_dtype stand_in(const onx_constraint *constraint, const onx_signature *cast, onx_str op,
                          onx_dtype dtype) {
    const onx_dtype *lists[2] = {NULL, NULL};
    if (onx_str_ends(op, ONX_LIT("antizeLinear")) && !onx_convert_is_float(dtype))
        return ONX_DTYPE_NONE; /* the type tells the range */
    for (size_t i = 0; i < ONX_COUNT(wider); i++)
        if (wider[i].from == dtype) lists[0] = wider[i].to;
    for (size_t i = 0; i < ONX_COUNT(exact) && is_selecting(op); i++)
        if (exact[i].from == dtype) lists[1] = exact[i].to;
    for (size_t l = 0; l < ONX_COUNT(lists); l++)
        for (size_t i = 0; lists[l] && i < MAX_WIDER && lists[l][i]; i++)
            if (onx_constraint_allows(constraint, lists[l][i]) && is_castable(dtype, cast) &&
                is_castable(lists[l][i], cast))
                return lists[l][i];
    return ONX_DTYPE_NONE;
}

static const onx_param *param_at(const onx_param *params, size_t n, size_t index) {
    return index < n ? &params[index] : is_open(params, n) ? &params[n - 1] : NULL;
}

/* Cut the first alternative off the front of a list of types; false: it has ended. */
static bool cut_type(onx_str *rest, onx_str *one) {
    size_t i = 0, depth = 0;
    if (!rest->size) return false;
    while (i < rest->size && (depth || rest->data[i] != '|')) {
        depth += rest->data[i] == '(';
        depth -= rest->data[i++] == ')' && depth;
    }
    *one = (onx_str){rest->data, i};
    size_t used = i + (i < rest->size);
    *rest = (onx_str){rest->data + used, rest->size - used};
    while (one->size && (one->data[0] == ' ' || one->data[0] == '\n')) one->data++, one->size--;
    return true;
}

/* Do the types, as a signature has them, allow what is known about the value? What is not known
 * they do. Types hold each other at most `depth` deep. */
static bool allows(onx_str types, const onx_fact *fact, int depth) {
    static const char *const words[] = {[ONX_TYPE_SEQUENCE] = "seq(",
                                        [ONX_TYPE_OPTIONAL] = "optional(",
                                        [ONX_TYPE_SPARSE_TENSOR] = "sparse_tensor("};
    onx_str one;
    if (!fact || fact->kind == ONX_TYPE_NONE || !depth) return true;
    if (fact->kind == ONX_TYPE_TENSOR)
        return !fact->dtype || onx_constraint_allows(&(onx_constraint){types, types}, fact->dtype);
    const char *word = fact->kind < ONX_COUNT(words) ? words[fact->kind] : NULL;
    while (word && cut_type(&types, &one)) {
        size_t n = strlen(word);
        if (one.size <= n || memcmp(one.data, word, n) != 0) continue;
        if (allows((onx_str){one.data + n, one.size - n - 1}, fact->elem, depth - 1)) return true;
    }
    return !word;
}

/* One value: allowed as it is, or through which type? `others` is what the ones before it with the
 * same type variable are. */
static onx_status fit_value(onx_convert *c, const onx_node *node, const onx_signature *after,
                            const onx_param *param, const onx_fact *fact, onx_dtype *through) {
    const onx_signature *cast;
    onx_constraint own = {param->type, param->type}, *constraint = &own;
    *through = ONX_DTYPE_NONE;
    if (fact->kind == ONX_TYPE_NONE) return ONX_OK;
    for (size_t i = 0; i < after->n_constraints; i++)
        if (onx_str_eq(after->constraints[i].name, param->type))
            constraint = &after->constraints[i];
    if (allows(constraint->types, fact, 4)) return ONX_OK;
    const onx_op *row = onx_op_find((onx_str){"", 0}, ONX_LIT("Cast"), c->at.version);
    if (fact->kind == ONX_TYPE_TENSOR && row && !c->domain.size) {
        ONX_TRY(onx_convert_signature(c, row, &cast));
        *through = stand_in(constraint, cast, node->op_type, fact->dtype);
        if (*through) return ONX_OK;
    }
    onx_buf type;
    onx_buf_init(&type, c->model->msg.doc->ctx);
    onx_fact_print(fact, &type);
    onx_convert_refuse(c, "'%.*s' is %.*s, a type that is not allowed there", ONX_FMT(param->name),
                       ONX_FMT(((onx_str){type.data, type.size})));
    onx_buf_fini(&type);
    return ONX_UNSUPPORTED;
}

/* Values with the same type variable go through the same type. */
static void agree(const onx_param *params, size_t n, size_t count, onx_str variable,
                  onx_dtype through, onx_dtype *plan) {
    for (size_t i = 0; i < count; i++) {
        const onx_param *param = param_at(params, n, i);
        if (param && onx_str_eq(param->type, variable) && !param->heterogeneous) plan[i] = through;
    }
}

/* Inputs with the same type variable are of one type: that of the first, if it holds the others. */
static onx_status fit_mixed(onx_convert *c, const onx_node *node, const onx_signature *after,
                            types_plan *plan) {
    for (size_t i = 1; i < node->input.n && i < after->n_inputs; i++) {
        const onx_param *param = &after->inputs[i];
        onx_dtype dtype = onx_convert_in(c, node, i)->dtype;
        if (!dtype || param->variadic || plan->in[i]) continue;
        for (size_t j = 0; j < i; j++) {
            onx_dtype other = onx_convert_in(c, node, j)->dtype;
            if (!onx_str_eq(after->inputs[j].type, param->type) || !other || other == dtype)
                continue;
            if (!holds(other, dtype))
                return onx_convert_refuse(c, "'%.*s' and '%.*s' must be of one type there",
                                          ONX_FMT(after->inputs[j].name), ONX_FMT(param->name));
            plan->in[i] = other;
            plan->any = true;
            break;
        }
    }
    return ONX_OK;
}

static onx_status plan_types(onx_convert *c, const onx_node *node, const onx_signature *after,
                             types_plan *plan) {
    plan->in = onx_arena_array(&c->arena, node->input.n + 1, sizeof *plan->in);
    plan->out = onx_arena_array(&c->arena, node->output.n + 1, sizeof *plan->out);
    if (!plan->in || !plan->out) return onx_fail_nomem(&c->diag);
    size_t n = node->input.n + node->output.n;
    for (size_t k = 0; k < n; k++) {
        bool is_in = k < node->input.n;
        size_t i = is_in ? k : k - node->input.n;
        const onx_param *param = is_in ? param_at(after->inputs, after->n_inputs, i)
                                       : param_at(after->outputs, after->n_outputs, i);
        const onx_value *value = is_in ? onx_node_input(node, i) : onx_node_output(node, i);
        onx_dtype through;
        if (!param || !value || (is_in ? plan->in[i] : plan->out[i])) continue;
        ONX_TRY(fit_value(c, node, after, param, onx_facts_of(c->facts, value), &through));
        if (!through) continue;
        if (!is_in && !plan->any)
            return onx_convert_refuse(c, "'%.*s' would be of a type that is not allowed there",
                                      ONX_FMT(param->name));
        plan->any = true;
        agree(after->inputs, after->n_inputs, node->input.n, param->type, through, plan->in);
        agree(after->outputs, after->n_outputs, node->output.n, param->type, through, plan->out);
    }
    return fit_mixed(c, node, after, plan);
}

/* ─ The node as text ─────────────────────────────────────────────────────────────────────────── */

/* The name that value `index` has in a body: see onx_op_body. */
static void put_name(onx_buf *to, const onx_param *params, size_t n, size_t index,
                     const char *prefix) {
    const onx_param *param = param_at(params, n, index);
    if (!param) return;
    onx_buf_printf(to, "%s%.*s", prefix, ONX_FMT(param->name));
    if (param->variadic) onx_buf_printf(to, "%zu", index - (n - 1));
}

void onx_convert_put_attrs(onx_buf *to, const onx_node *node, const onx_signature *signature,
                           const char *but) {
    const char *before = " <";
    ONX_EACH (onx_attr, attr, node->attribute) {
        if (!onx_convert_attr(signature, attr->name)) continue;
        if (but && onx_str_is(attr->name, but)) continue;
        onx_buf_printf(to, "%s%.*s: %s = @%.*s", before, ONX_FMT(attr->name),
                       onx_attr_type_name(onx_attr_type_of(attr)), ONX_FMT(attr->name));
        before = ", ";
    }
    if (*before == ',') onx_buf_putc(to, '>');
}

static void put_cast(onx_buf *to, const onx_param *params, size_t n, size_t index, bool is_in,
                     onx_dtype dtype) {
    put_name(to, params, n, index, is_in ? "wide_" : "");
    onx_buf_printf(to, " = Cast <to: int = %d> (", (int)dtype);
    put_name(to, params, n, index, is_in ? "" : "wide_");
    onx_buf_puts(to, ")\n");
}

/* Names that clash with those of parameters cannot come up: none begins with "wide_". */
static onx_status put_casts(onx_convert *c, const onx_node *node, const onx_signature *own,
                            const types_plan *plan, onx_buf *to) {
    for (size_t i = 0; i < node->input.n; i++)
        if (plan->in[i] && onx_node_input(node, i))
            put_cast(to, own->inputs, own->n_inputs, i, true, plan->in[i]);
    for (size_t i = 0; i < node->output.n; i++) {
        if (i) onx_buf_puts(to, ", ");
        put_name(to, own->outputs, own->n_outputs, i, plan->out[i] ? "wide_" : "");
    }
    onx_buf_printf(to, " = %.*s", ONX_FMT(node->op_type));
    onx_convert_put_attrs(to, node, own, NULL);
    onx_buf_puts(to, " (");
    for (size_t i = 0; i < node->input.n; i++) {
        if (i) onx_buf_puts(to, ", ");
        bool cast = plan->in[i] && onx_node_input(node, i);
        put_name(to, own->inputs, own->n_inputs, i, cast ? "wide_" : "");
    }
    onx_buf_puts(to, ")\n");
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *value = onx_node_output(node, i);
        if (!plan->out[i] || !value) continue;
        onx_dtype dtype = onx_facts_of(c->facts, value)->dtype;
        if (!dtype)
            return onx_convert_refuse(c, "the type of '%.*s' is not known", ONX_FMT(value->name));
        put_cast(to, own->outputs, own->n_outputs, i, false, dtype);
    }
    return ONX_OK;
}

static bool has_graphs(const onx_node *node) {
    ONX_EACH (onx_attr, attr, node->attribute)
        if (attr->g || attr->graphs.count) return true;
    return false;
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

static onx_status fit_types(onx_convert *c, onx_node *node, const onx_signature *after) {
    const onx_op *own = c->at.up ? c->at.after : c->at.before; /* which knows all its inputs */
    const onx_signature *names;
    types_plan plan = {0};
    ONX_TRY(onx_convert_signature(c, own, &names));
    ONX_TRY(plan_types(c, node, after, &plan));
    if (!plan.any) return ONX_OK;
    if (has_graphs(node)) return onx_convert_refuse(c, "a type is not allowed there");
    onx_buf text;
    onx_buf_init(&text, c->model->msg.doc->ctx);
    onx_status status = put_casts(c, node, names, &plan, &text);
    onx_buf_putc(&text, '\0');
    if (!status && text.failed) status = onx_fail_nomem(&c->diag);
    if (!status) status = onx_convert_expand_as(c, node, own, text.data);
    onx_buf_fini(&text);
    return status;
}

onx_status onx_convert_fit(onx_convert *c, onx_node *node) {
    const onx_signature *before, *after;
    if (!c->at.after)
        return onx_convert_refuse(c, "there is nothing with its meaning before version %d",
                                  (int)c->at.before->since);
    if (c->at.after->deprecated)
        return onx_convert_refuse(c, "it must no longer be used from version %d on",
                                  (int)c->at.after->since);
    ONX_TRY(onx_convert_signature(c, c->at.before, &before));
    ONX_TRY(onx_convert_signature(c, c->at.after, &after));
    ONX_TRY(fit_attrs(c, node, before, after));
    ONX_TRY(fit_inputs(c, node, after));
    ONX_TRY(fit_outputs(c, node, after));
    bool constant = !c->domain.size && onx_str_is(node->op_type, "Constant");
    return constant && c->at.version < 9 ? onx_convert_keep(c, node) : fit_types(c, node, after);
}
