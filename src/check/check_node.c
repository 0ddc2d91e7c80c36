/* check_node.c: a node against what it calls: an operator of the tables, or a function. */
#include "check/checker.h"
#include "ir/edit.h"

#include <stdio.h>

/* Domains of which every operator is known here. */
static const char *const complete[] = {"", "ai.onnx.ml", "ai.onnx.training",
                                       "ai.onnx.preview.training", "ai.onnx.preview"};
/* Operators of old files that were never part of an opset. */
static const char *const experiments[] = {"ATen",
                                          "Affine",
                                          "ConstantFill",
                                          "Crop",
                                          "DynamicSlice",
                                          "GRUUnit",
                                          "GivenTensorFill",
                                          "ImageScaler",
                                          "ParametricSoftplus",
                                          "Scale",
                                          "ScaledTanh"};

static bool is_one_of(onx_str word, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (onx_str_is(word, words[i])) return true;
    return false;
}

static bool is_complete(onx_str domain) {
    return is_one_of(onx_domain_plain(domain), complete, ONX_COUNT(complete));
}

/* ── What it calls ───────────────────────────────────────────────────────────────────────────── */

/* How many values `n` parameters take. All in front of a variadic one have a place, even if they
 * are missing. */
static void count_range(const onx_param *params, size_t n, size_t *least, size_t *most) {
    *least = *most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!params[i].optional || params[i].variadic) *least = i + !params[i].optional;
        *most = params[i].variadic ? SIZE_MAX : i + 1;
    }
}

static onx_constraint constraint_of(const onx_signature *s, onx_str type) {
    for (size_t i = 0; i < s->n_constraints; i++)
        if (onx_str_eq(s->constraints[i].name, type)) return s->constraints[i];
    return (onx_constraint){type, type};
}

static uint32_t *allowed(onx_checker *c, const onx_signature *s, const onx_param *params,
                         size_t n) {
    uint32_t *types = onx_arena_array(&c->arena, n + 1, sizeof *types);
    for (size_t i = 0; types && i < n; i++) {
        onx_constraint constraint = constraint_of(s, params[i].type);
        for (int d = 1; d < ONX_DTYPE_COUNT; d++)
            types[i] |= (uint32_t)onx_constraint_allows(&constraint, (onx_dtype)d) << d;
    }
    return types;
}

static onx_checked_op *callee_new(onx_checker *c, const onx_op *op) {
    onx_checked_op *callee = onx_arena_alloc(&c->arena, sizeof *callee);
    if (!callee) return NULL;
    callee->op = op;
    if (!op) return callee;
    onx_signature *s = &callee->signature;
    if (onx_signature_parse(callee->op, &c->arena, s, NULL)) return NULL;
    count_range(s->inputs, s->n_inputs, &callee->min_in, &callee->max_in);
    count_range(s->outputs, s->n_outputs, &callee->min_out, &callee->max_out);
    callee->in_types = allowed(c, s, s->inputs, s->n_inputs);
    callee->out_types = allowed(c, s, s->outputs, s->n_outputs);
    callee->rules = onx_value_rules(&c->arena, callee->op, s);
    return callee->in_types && callee->out_types && callee->rules ? callee : NULL;
}

/* Enter what (owner, name) calls. */
static onx_checked_op *callee_of(onx_checker *c, const void *owner, onx_str name,
                                 const onx_op *op) {
    onx_checked_op *callee = callee_new(c, op);
    if (!callee || !onx_map_put(&c->callees, owner, name, callee)) c->no_memory = true;
    return callee;
}

onx_checked_op *onx_check_row(onx_checker *c, const onx_op *op) {
    onx_checked_op *callee = onx_map_get(&c->callees, op, (onx_str){NULL, 0});
    return callee ? callee : callee_of(c, op, (onx_str){NULL, 0}, op);
}

onx_checked_op *onx_check_callee(onx_checker *c, const onx_node *node) {
    const onx_opset *import = onx_check_import(c, node->domain);
    const void *owner = import ? (const void *)import : c->model;
    if (!import && (c->model->ir_version >= 3 || onx_domain_plain(node->domain).size)) return NULL;
    onx_checked_op *callee = onx_map_get(&c->callees, owner, node->op_type);
    if (callee) return callee;
    bool is_internal = onx_str_is(node->domain, "onx.internal"); /* not for files */
    return callee_of(c, owner, node->op_type, is_internal ? NULL : onx_op_of(node));
}

/* ── Operators that are not there ────────────────────────────────────────────────────────────── */

/* The rows of one domain, one after the other. */
typedef struct op_names {
    onx_str domain;
    const onx_family *family;
    const onx_op *op;
} op_names;

static const onx_op *next_op(op_names *n) {
    for (;; n->family++, n->op = n->family->ops) {
        if (!n->family->name) return NULL;
        for (; n->op->name; n->op++)
            if (onx_str_is(n->domain, n->op->domain ? n->op->domain : "")) return n->op++;
    }
}

static onx_str next_name(void *names) {
    const onx_op *op = next_op(names);
    return onx_str_of(op ? op->name : NULL);
}

static op_names names_of(onx_str domain) {
    return (op_names){onx_domain_plain(domain), onx_op_table, onx_op_table->ops};
}

static void tell_unknown(onx_checker *c, const onx_node *node, int64_t version) {
    op_names names = names_of(node->domain);
    char hint[100] = "";
    onx_str near;
    for (const onx_op *op; (op = next_op(&names));) {
        if (!onx_str_is(node->op_type, op->name)) continue;
        onx_check_tell(c, ONX_RULE_OP_VERSION, node, "import a newer opset",
                       "%s came with version %d of the opset; the model imports %lld", op->name,
                       (int)op->since, (long long)version);
        return;
    }
    names = names_of(node->domain);
    if (onx_check_nearest(c, node->op_type, next_name, &names, &near))
        snprintf(hint, sizeof hint, "did you mean %.*s?", ONX_FMT(near));
    onx_check_tell(c, ONX_RULE_OP_UNKNOWN, node, hint, "there is no operator %.*s%s%.*s",
                   ONX_FMT(node->op_type), node->domain.size ? " in " : "", ONX_FMT(node->domain));
}

static void check_unknown(onx_checker *c, const onx_node *node, onx_checked_op *callee,
                          int64_t version) {
    if (!is_complete(node->domain)) {
        if (!callee->told)
            onx_check_tell(c, ONX_RULE_OP_CUSTOM, node, NULL,
                           "the operator %.*s::%.*s is not known here: it is not checked",
                           ONX_FMT(node->domain), ONX_FMT(node->op_type));
        callee->told = true;
    } else if (is_one_of(node->op_type, experiments, ONX_COUNT(experiments)) &&
               !onx_domain_plain(node->domain).size) {
        onx_check_tell(c, ONX_RULE_OP_EXPERIMENTAL, node, "replace it",
                       "%.*s was an experiment, and is part of no opset", ONX_FMT(node->op_type));
    } else {
        tell_unknown(c, node, version);
    }
}

/* ── Inputs and outputs ──────────────────────────────────────────────────────────────────────── */

typedef struct side {
    const char *what;
    const onx_strs *names;
    const onx_param *params;
    size_t n_params, least, most;
    onx_rule_id count, missing;
    bool whole; /* of a parameter that stands for many, none may be left out */
} side;

/* The numbers of outputs in between make no sense. */
static const struct {
    const char *op;
    int32_t since, until;
    size_t few, many;
} all_or_few[] = {{"BatchNormalization", 1, 9, 1, 5}, {"BatchNormalization", 14, 15, 1, 3}};

static void check_outputs(onx_checker *c, const onx_node *node, const onx_op *op) {
    size_t n = node->output.n;
    for (size_t i = 0; i < ONX_COUNT(all_or_few); i++)
        if (strcmp(op->name, all_or_few[i].op) == 0 && op->since >= all_or_few[i].since &&
            op->since <= all_or_few[i].until && n > all_or_few[i].few && n < all_or_few[i].many)
            onx_check_tell(c, ONX_RULE_OUTPUT_COUNT, node, op->signature,
                           "%s %d has %zu outputs or %zu, not %zu", op->name, (int)op->since,
                           all_or_few[i].few, all_or_few[i].many, n);
}

static void check_side(onx_checker *c, const onx_node *node, const onx_op *op, const side *s) {
    size_t n = s->names->n;
    if (n < s->least || n > s->most)
        onx_check_tell(c, s->count, node, op->signature, "%s %d has %s %zu %s%s, not %zu", op->name,
                       (int)op->since,
                       s->least == s->most ? "exactly"
                       : n < s->least      ? "at least"
                                           : "at most",
                       n < s->least ? s->least : s->most, s->what,
                       (n < s->least ? s->least : s->most) == 1 ? "" : "s", n);
    for (size_t i = 0; i < n && i < s->most && s->n_params; i++) {
        const onx_param *p = &s->params[i < s->n_params ? i : s->n_params - 1];
        if (!s->names->v[i].size && (p->variadic ? s->whole : !p->optional))
            onx_check_tell(c, s->missing, node, NULL, "%s %zu, '%.*s', of %s is not optional",
                           s->what, i, ONX_FMT(p->name), op->name);
    }
}

static void check_operator(onx_checker *c, const onx_node *node, const onx_checked_op *callee) {
    const onx_op *op = callee->op;
    const onx_signature *s = &callee->signature;
    if (op->deprecated) {
        onx_check_tell(c, ONX_RULE_OP_DEPRECATED, node, "replace it, or import an older opset",
                       "%s is deprecated from version %d of the opset on", op->name,
                       (int)op->since);
        return;
    }
    side in = {"input",
               &node->input,
               s->inputs,
               s->n_inputs,
               callee->min_in,
               callee->max_in,
               ONX_RULE_INPUT_COUNT,
               ONX_RULE_INPUT_MISSING,
               true};
    side out = {"output",
                &node->output,
                s->outputs,
                s->n_outputs,
                callee->min_out,
                callee->max_out,
                ONX_RULE_OUTPUT_COUNT,
                ONX_RULE_OUTPUT_MISSING,
                false};
    check_side(c, node, op, &in);
    check_side(c, node, op, &out);
    check_outputs(c, node, op);
    onx_check_attrs(c, node, callee);
    onx_check_attr_values(c, node, callee);
    onx_check_subgraphs(c, node);
}

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

/* In a function, the model's import and the function's must mean the same row. */
static void check_compatible(onx_checker *c, const onx_node *node, const onx_op *op,
                             const onx_opset *import) {
    const onx_opset *other = onx_map_get(&c->imports, c->model, onx_domain_plain(node->domain));
    if (!c->function || !other || other->version == import->version) return;
    onx_str domain = onx_domain_plain(node->domain);
    if (onx_op_lookup(c->ctx, domain, node->op_type, other->version) == op) return;
    onx_check_tell(c, ONX_RULE_FUNCTION_OPSET, node, "import the same version",
                   "%.*s of opset %lld, which the function imports, is another operator in %lld,"
                   " which the model imports",
                   ONX_FMT(node->op_type), (long long)import->version, (long long)other->version);
}

static bool check_import(onx_checker *c, const onx_node *node, const onx_opset *import) {
    if (onx_str_is(node->domain, "ai.onnx")) {
        onx_check_tell(c, ONX_RULE_OP_DOMAIN, node, "leave the domain empty",
                       "the node writes the default domain as 'ai.onnx'");
        return true;
    }
    if (import || (c->model->ir_version < 3 && !node->domain.size)) return true;
    const void *scope = c->function ? (const void *)&c->function->opset_import : &c->imports;
    if (onx_check_once(c, &c->names, scope, node->domain))
        onx_check_tell(c, ONX_RULE_OPSET_IMPORT, node, "add an opset_import",
                       "the domain '%.*s' is not imported by the %s", ONX_FMT(node->domain),
                       c->function ? "function" : "model");
    return false;
}

/* What it calls exists, and can be called like that. In the domains of ONNX, functions of the model
 * are other ways to compute what an operator means. */
static void check_callee(onx_checker *c, const onx_node *node) {
    const onx_opset *import = onx_check_import(c, node->domain);
    const onx_function *f = onx_check_called(c, node);
    bool imported = check_import(c, node, import), free = f && !is_complete(node->domain);
    onx_checked_op *callee = imported ? onx_check_callee(c, node) : NULL;
    const onx_op *op = callee && !free ? callee->op : NULL;
    if (op)
        check_operator(c, node, callee);
    else
        onx_check_attrs(c, node, NULL);
    if (op && import) check_compatible(c, node, op, import);
    if (f) onx_check_call(c, node, f);
    if (callee && !op && !free) check_unknown(c, node, callee, import ? import->version : 1);
}

void onx_check_node(onx_checker *c, const onx_node *node) {
    if (node->overload.size)
        onx_check_ir(c, ONX_RULE_IR_FEATURE, node, 10, "overloads of functions");
    onx_check_metadata(c, &node->msg, &node->metadata_props);
    if (!node->input.n && !node->output.n)
        onx_check_tell(c, ONX_RULE_NODE_EMPTY, node, "remove it",
                       "the node has neither inputs nor outputs");
    if (node->op_type.size)
        check_callee(c, node);
    else
        onx_check_tell(c, ONX_RULE_NODE_OP, node, "say which operator it is",
                       "the node names no operator");
}
