/* check_attr.c: attributes: each by itself, and those of a node against its operator. */
#include "check/checker.h"
#include "ir/edit.h"

#include <stdio.h>

/* ── One ─────────────────────────────────────────────────────────────────────────────────────── */

static const struct payload {
    enum onx_row row;
    onx_attr_type type;
} payloads[] = {
    {ONX_ROW_attr_f, ONX_ATTR_FLOAT},
    {ONX_ROW_attr_i, ONX_ATTR_INT},
    {ONX_ROW_attr_s, ONX_ATTR_STRING},
    {ONX_ROW_attr_t, ONX_ATTR_TENSOR},
    {ONX_ROW_attr_g, ONX_ATTR_GRAPH},
    {ONX_ROW_attr_tp, ONX_ATTR_TYPE},
    {ONX_ROW_attr_sparse_tensor, ONX_ATTR_SPARSE_TENSOR},
    {ONX_ROW_attr_floats, ONX_ATTR_FLOATS},
    {ONX_ROW_attr_ints, ONX_ATTR_INTS},
    {ONX_ROW_attr_strings, ONX_ATTR_STRINGS},
    {ONX_ROW_attr_tensors, ONX_ATTR_TENSORS},
    {ONX_ROW_attr_graphs, ONX_ATTR_GRAPHS},
    {ONX_ROW_attr_sparse_tensors, ONX_ATTR_SPARSE_TENSORS},
    {ONX_ROW_attr_type_protos, ONX_ATTR_TYPES},
};

static const onx_field *row_of(enum onx_row row) {
    return &onx_desc_attr.fields[row - ONX_ROW_attr_before - 1];
}

/* Lists may be empty, and numbers and strings may be left out when they are zero; but not what a
 * graph or tensor would be. */
static bool needs_payload(onx_attr_type type) {
    return type == ONX_ATTR_TENSOR || type == ONX_ATTR_GRAPH || type == ONX_ATTR_SPARSE_TENSOR ||
           type == ONX_ATTR_TYPE;
}

static void check_payload(onx_checker *c, const onx_attr *a) {
    const struct payload *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < ONX_COUNT(payloads); i++)
        if (onx_msg_has(a, row_of(payloads[i].row))) found = &payloads[i], n++;
    if (n > 1)
        onx_check_tell(c, ONX_RULE_ATTR_PAYLOAD, a, "keep one of them",
                       "the attribute has %zu values", n);
    else if (n && a->ref_attr_name.size)
        onx_check_tell(c, ONX_RULE_ATTR_PAYLOAD, a, "keep one of the two",
                       "the attribute has a value and refers to '%.*s'", ONX_FMT(a->ref_attr_name));
    else if (n && a->type && found->type != (onx_attr_type)a->type)
        onx_check_tell(c, ONX_RULE_ATTR_PAYLOAD, a, "correct its type",
                       "the attribute says it is %s, but its value is %s",
                       onx_attr_type_name((onx_attr_type)a->type), onx_attr_type_name(found->type));
    else if (!n && !a->ref_attr_name.size && needs_payload((onx_attr_type)a->type))
        onx_check_tell(c, ONX_RULE_ATTR_PAYLOAD, a, "give it a value",
                       "the attribute has no value");
}

/* A reference to a parameter of the function that is around it. */
static void check_ref(onx_checker *c, const onx_attr *a) {
    if (!a->ref_attr_name.size) return;
    if (!c->function)
        onx_check_tell(c, ONX_RULE_ATTR_REF, a, "give it a value",
                       "the attribute refers to '%.*s', but is not in a function",
                       ONX_FMT(a->ref_attr_name));
    else if (!onx_map_get(&c->names, &c->function->attribute_proto, a->ref_attr_name))
        onx_check_tell(c, ONX_RULE_ATTR_REF, a, "declare it as attribute of the function",
                       "the attribute refers to '%.*s', which the function does not declare",
                       ONX_FMT(a->ref_attr_name));
}

void onx_check_attr(onx_checker *c, const onx_attr *a) {
    if (!a->name.size)
        onx_check_tell(c, ONX_RULE_ATTR_NAME, a, "name it, or remove it",
                       "an attribute has no name");
    if (!a->type && c->model->ir_version >= 2)
        onx_check_tell(c, ONX_RULE_ATTR_KIND, a, "set its type",
                       "the attribute does not say what type it has");
    else if (a->type < 0 || a->type > ONX_ATTR_TYPES)
        onx_check_tell(c, ONX_RULE_ATTR_KIND, a, "set its type", "there is no attribute type %d",
                       (int)a->type);
    check_payload(c, a);
    check_ref(c, a);
}

/* ── Those of a node ─────────────────────────────────────────────────────────────────────────── */

static const onx_attr_decl *decl_of(const onx_signature *s, onx_str name) {
    for (size_t i = 0; i < s->n_attrs; i++)
        if (onx_str_eq(s->attrs[i].name, name)) return &s->attrs[i];
    return NULL;
}

typedef struct attr_names {
    const onx_signature *signature;
    size_t next;
} attr_names;

static onx_str next_name(void *names) {
    attr_names *n = names;
    if (n->next == n->signature->n_attrs) return (onx_str){NULL, 0};
    return n->signature->attrs[n->next++].name;
}

static void tell_unknown(onx_checker *c, const onx_attr *a, const onx_checked_op *callee) {
    attr_names names = {.signature = &callee->signature};
    char hint[100] = "remove it";
    onx_str near;
    if (onx_check_nearest(c, a->name, next_name, &names, &near))
        snprintf(hint, sizeof hint, "did you mean '%.*s'?", ONX_FMT(near));
    const char *domain = callee->op->domain;
    bool foreign = domain && strcmp(domain, "com.microsoft") == 0;
    onx_check_tell(c, foreign ? ONX_RULE_ATTR_FOREIGN : ONX_RULE_ATTR_UNKNOWN, a, hint,
                   "%s %d has no attribute '%.*s'", callee->op->name, (int)callee->op->since,
                   ONX_FMT(a->name));
}

/* Attributes that begin with two underscores are notes of tools. */
static bool is_note(onx_str name) {
    return name.size > 2 && name.data[0] == '_' && name.data[1] == '_';
}

static void check_declared(onx_checker *c, const onx_attr *a, const onx_checked_op *callee) {
    const onx_attr_decl *decl = decl_of(&callee->signature, a->name);
    if (!a->name.size || is_note(a->name)) return;
    onx_attr_type type = a->ref_attr_name.size ? (onx_attr_type)a->type : onx_attr_type_of(a);
    if (!decl)
        tell_unknown(c, a, callee);
    else if (type != decl->type)
        onx_check_tell(c, ONX_RULE_ATTR_TYPE, a, NULL, "'%.*s' of %s is %s, not %s",
                       ONX_FMT(a->name), callee->op->name, onx_attr_type_name(decl->type),
                       onx_attr_type_name(type));
}

bool onx_check_has_attr(const onx_checker *c, const onx_node *node, onx_str name) {
    return onx_node_has_attr(node, name, &c->names);
}

void onx_check_attrs(onx_checker *c, const onx_node *node, const onx_checked_op *callee) {
    ONX_EACH (onx_attr, a, node->attribute) {
        if (a->name.size && !onx_attr_is_first(node, a, &c->names, &c->no_memory))
            onx_check_tell(c, ONX_RULE_ATTR_DUPLICATE, a, "keep one of the two",
                           "the node has two attributes '%.*s'", ONX_FMT(a->name));
        else if (callee)
            check_declared(c, a, callee);
    }
    for (size_t i = 0; callee && i < callee->signature.n_attrs; i++) {
        const onx_attr_decl *decl = &callee->signature.attrs[i];
        if (decl->required && !onx_check_has_attr(c, node, decl->name))
            onx_check_tell(c, ONX_RULE_ATTR_MISSING, node, NULL, "%s needs the attribute '%.*s'",
                           callee->op->name, ONX_FMT(decl->name));
    }
}
