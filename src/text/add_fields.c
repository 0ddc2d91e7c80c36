/* add_fields.c: fields in protobuf text, added to an object of a model.
 *
 * What is added becomes part of the model with all its names linked, or nothing changes. */
#include "ir/edit.h"
#include "text/text.h"

/* Fields that are more than what is written in them: links hang on them. */
static bool is_refused(const onx_desc *desc, const onx_field *field) {
    static const uint32_t node = ONX_BIT(node, input) | ONX_BIT(node, output) |
                                 ONX_BIT(node, op_type) | ONX_BIT(node, domain),
                          function = ONX_BIT(function, input) | ONX_BIT(function, output) |
                                     ONX_BIT(function, name) | ONX_BIT(function, domain);
    uint32_t refused = desc == &onx_desc_node ? node : desc == &onx_desc_function ? function : 0;
    return refused >> onx_field_index(desc, field) & 1 || field->kind == ONX_FIELD_MSG;
}

static onx_status check(const onx_msg *from, onx_diag *diag) {
    for (unsigned i = 0; i < from->desc->n_fields; i++) {
        const onx_field *field = &from->desc->fields[i];
        if (is_refused(from->desc, field) && onx_msg_has(from, field))
            return onx_fail(diag, ONX_USAGE, "'%s' cannot be added to a %s", field->name,
                            from->desc->name);
    }
    return ONX_OK;
}

/* The text as a message of the model's memory. */
static onx_status read(onx_doc *doc, const onx_desc *desc, const char *fields, onx_msg **out,
                       onx_diag *diag) {
    onx_doc *scratch;
    onx_msg *parsed = NULL;
    if (!fields) return onx_fail(diag, ONX_USAGE, "there are no fields to add");
    ONX_TRY(onx_doc_new(doc->ctx, &scratch, diag));
    onx_status status = onx_textproto_parse(scratch, desc, onx_str_of(fields), &parsed, diag);
    if (!status) status = check(parsed, diag);
    if (!status) status = onx_msg_copy(doc, parsed, out, diag);
    onx_doc_free(scratch);
    return status;
}

/* ── Parts ───────────────────────────────────────────────────────────────────────────────────── */

/* Hang the messages of a list into the target, and take them out again. */
static void move_list(onx_msg *to, onx_msg *from, const onx_field *field) {
    onx_list *list = onx_field_ptr(from, field);
    onx_msg *next;
    for (onx_msg *m = list->first; m; m = next) {
        next = m->next;
        m->prev = m->next = NULL;
        onx_msg_append(to, field, m);
    }
}

static void cut_list(onx_msg *to, onx_msg *first, const onx_field *field) {
    onx_list *list = onx_field_ptr(to, field);
    for (onx_msg *m = list->last, *prev; first && m; m = prev) {
        prev = m->prev;
        onx_msg_unlink_names(m);
        onx_msg_remove(m);
        if (m == first) return;
    }
}

static onx_status link_list(onx_model *model, onx_msg *first, onx_diag *diag) {
    for (onx_msg *m = first; m; m = m->next) ONX_TRY(onx_msg_link_names(model, m, diag));
    return ONX_OK;
}

static bool append_strs(onx_doc *doc, onx_strs *to, const onx_strs *from) {
    size_t before = to->n;
    for (size_t i = 0; i < from->n; i++)
        if (!onx_strs_push(doc, to, from->v[i])) return to->n = before, false;
    return true;
}

/* What is neither a message nor a list. */
static void set_single(onx_msg *to, const onx_msg *from, const onx_field *field) {
    static const size_t sizes[] = {[ONX_FIELD_I32] = 4,
                                   [ONX_FIELD_I64] = 8,
                                   [ONX_FIELD_F32] = 4,
                                   [ONX_FIELD_STR] = sizeof(onx_str),
                                   [ONX_FIELD_BYTES] = sizeof(onx_str)};
    if (field->kind > ONX_FIELD_BYTES || !onx_msg_has(from, field)) return;
    memcpy(onx_field_ptr(to, field), onx_field_ptr(from, field), sizes[field->kind]);
    onx_msg_set_has(to, field);
}

/* ── The whole ───────────────────────────────────────────────────────────────────────────────── */

/* The lists first, which can fail. */
static onx_status add_lists(onx_model *model, onx_msg *to, onx_msg *from, onx_diag *diag) {
    const onx_desc *desc = to->desc;
    onx_msg *first[32] = {NULL};
    onx_status status = ONX_OK;
    for (unsigned i = 0; i < desc->n_fields && !status; i++) {
        const onx_field *field = &desc->fields[i];
        if (field->kind != ONX_FIELD_MSGS) continue;
        first[i] = ((onx_list *)onx_field_ptr(from, field))->first;
        move_list(to, from, field);
        status = link_list(model, first[i], diag);
    }
    for (unsigned i = 0; i < desc->n_fields && status; i++)
        cut_list(to, first[i], &desc->fields[i]);
    return status;
}

static onx_status add_rest(onx_msg *to, const onx_msg *from, onx_diag *diag) {
    for (const onx_unknown *u = from->unknown; u; u = u->next)
        if (!onx_msg_add_unknown(to, u->bytes)) return onx_fail_nomem(diag);
    for (unsigned i = 0; i < to->desc->n_fields; i++) {
        const onx_field *field = &to->desc->fields[i];
        if (field->kind == ONX_FIELD_STRS &&
            !append_strs(to->doc, onx_field_ptr(to, field), onx_field_ptr(from, field)))
            return onx_fail_nomem(diag);
        set_single(to, from, field);
    }
    onx_msg_touch(to);
    return ONX_OK;
}

static onx_status add_fields(onx_model *model, onx_msg *to, const char *fields, onx_diag *diag) {
    onx_diag own = ONX_INIT(onx_diag);
    onx_msg *from = NULL;
    onx_status status = to->dead ? onx_fail(&own, ONX_USAGE, "the object was removed")
                                 : read(to->doc, to->desc, fields, &from, &own);
    if (!status) status = add_lists(model, to, from, &own);
    if (!status) status = add_rest(to, from, &own);
    if (!status) return ONX_OK;
    onx_doc_error(to->doc, &own);
    if (diag) *diag = own;
    return status;
}

onx_status onx_model_add_fields(onx_model *model, const char *fields, onx_diag *diag) {
    if (!model) return onx_fail(diag, ONX_USAGE, "there is no model");
    return add_fields(model, &model->msg, fields, diag);
}

onx_status onx_graph_add_fields(onx_graph *graph, const char *fields, onx_diag *diag) {
    if (!graph) return onx_fail(diag, ONX_USAGE, "there is no graph");
    return add_fields(graph->model, graph->function ? &graph->function->msg : &graph->msg, fields,
                      diag);
}

onx_status onx_node_add_fields(onx_node *node, const char *fields, onx_diag *diag) {
    if (!node) return onx_fail(diag, ONX_USAGE, "there is no node");
    return add_fields(node->graph->model, &node->msg, fields, diag);
}
