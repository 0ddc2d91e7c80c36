/* graph.c: graphs: contents, inputs and outputs, declared types. */
#include "ir/edit.h"
#include "ir/type_text.h"

const char *onx_graph_name(const onx_graph *graph) {
    return graph->function ? onx_str_z(graph->function->name) : onx_str_z(graph->name);
}

onx_status onx_graph_set_name(onx_graph *graph, const char *name) {
    return graph->function ? ONX_USAGE : onx_str_set(graph, ONX_ROW(graph, name), name);
}

const char *onx_graph_doc(const onx_graph *graph) {
    return graph->function ? onx_str_z(graph->function->doc_string) : onx_str_z(graph->doc_string);
}

onx_status onx_graph_set_doc(onx_graph *graph, const char *doc) {
    return graph->function ? onx_str_set(graph->function, ONX_ROW(function, doc_string), doc)
                           : onx_str_set(graph, ONX_ROW(graph, doc_string), doc);
}

onx_model *onx_graph_model(const onx_graph *graph) {
    return graph->model;
}

onx_graph *onx_graph_outer(const onx_graph *graph) {
    return graph->outer;
}

onx_node *onx_graph_owner(const onx_graph *graph) {
    const onx_msg *attr = graph->msg.parent;
    const onx_msg *node = attr && attr->desc == &onx_desc_attr ? attr->parent : NULL;
    return node && node->desc == &onx_desc_node ? (onx_node *)(uintptr_t)node : NULL;
}

onx_function *onx_graph_function(const onx_graph *graph) {
    return graph->function;
}

size_t onx_graph_node_count(const onx_graph *graph) {
    return graph->node.count;
}

onx_node *onx_graph_node_first(const onx_graph *graph) {
    return (onx_node *)graph->node.first;
}

onx_node *onx_graph_node_last(const onx_graph *graph) {
    return (onx_node *)graph->node.last;
}

size_t onx_graph_input_count(const onx_graph *graph) {
    return graph->ins.n;
}

size_t onx_graph_output_count(const onx_graph *graph) {
    return graph->outs.n;
}

onx_value *onx_graph_input(const onx_graph *graph, size_t index) {
    return index < graph->ins.n ? graph->ins.v[index]->value : NULL;
}

onx_value *onx_graph_output(const onx_graph *graph, size_t index) {
    return index < graph->outs.n ? graph->outs.v[index]->value : NULL;
}

onx_value *onx_graph_find(const onx_graph *graph, const char *name) {
    return onx_value_find(graph, onx_str_of(name));
}

onx_value *onx_graph_lookup(const onx_graph *graph, const char *name) {
    return onx_value_lookup(graph, onx_str_of(name));
}

onx_value *onx_graph_value_first(const onx_graph *graph) {
    onx_value *value = graph->values;
    return value && value->dead ? onx_value_next(value) : value;
}

onx_graph *onx_graph_sub_first(const onx_graph *graph) {
    return graph->first_sub;
}

onx_graph *onx_graph_sub_next(const onx_graph *graph) {
    return graph->next_sub;
}

/* A value info in one of the three lists of a graph, or in the value infos of a function. `refs` is
 * the graph's list of inputs or outputs beside it, or NULL. */
static onx_status add_info(onx_value *value, void *owner, const onx_field *row, const char *type,
                           onx_refs *refs, onx_value_info **slot, onx_diag *diag) {
    onx_doc *doc = value->graph->model->msg.doc;
    onx_value_info *info = onx_msg_new(doc, &onx_desc_value_info);
    onx_type *parsed = NULL;
    if (!info) return onx_fail_nomem(diag);
    if (type) ONX_TRY(onx_type_parse(doc, onx_str_of(type), &parsed, diag));
    onx_ref *ref = onx_ref_new(value, info, ONX_REF_INFO, 0, &info->name);
    if (!ref) return onx_fail_nomem(diag);
    if (refs && !onx_refs_push(doc, refs, ref)) {
        onx_ref_detach(ref);
        return onx_fail_nomem(diag);
    }
    info->ref = ref;
    info->name = value->name;
    onx_msg_set_has(info, ONX_ROW(value_info, name));
    if (parsed) onx_msg_append(info, ONX_ROW(value_info, type), parsed);
    onx_msg_append(owner, row, info);
    if (!*slot && onx_msg_graph(owner) == value->graph) *slot = info;
    return ONX_OK;
}

static onx_status add_parameter(onx_graph *graph, onx_value *value, bool output, onx_diag *diag) {
    onx_function *f = graph->function;
    onx_strs *names = output ? &f->output : &f->input;
    onx_refs *refs = output ? &graph->outs : &graph->ins;
    onx_ref_kind kind = output ? ONX_REF_FUNCTION_OUT : ONX_REF_FUNCTION_IN;
    if (!onx_strs_push(f->msg.doc, names, value->name)) return onx_fail_nomem(diag);
    onx_ref *ref = onx_ref_new(value, f, kind, names->n - 1, NULL);
    if (!onx_refs_push(f->msg.doc, refs, ref)) {
        if (ref) onx_ref_detach(ref);
        names->n--;
        return onx_fail_nomem(diag);
    }
    if (!output) value->parameter = true;
    onx_msg_touch(f);
    return ONX_OK;
}

/* Where the types of values that are neither inputs nor outputs are declared, and those of all
 * values of a function. */
static void *info_list(onx_graph *graph, const onx_field **row) {
    *row = graph->function ? ONX_ROW(function, value_info) : ONX_ROW(graph, value_info);
    return graph->function ? (void *)graph->function : (void *)graph;
}

void onx_info_insert(onx_graph *graph, onx_value_info *info) {
    const onx_field *row;
    void *owner = info_list(graph, &row);
    onx_msg_append(owner, row, info);
}

onx_status onx_value_declare(onx_value *value, onx_diag *diag) {
    const onx_field *row;
    ONX_TRY(onx_value_check_seen(value, value->graph, diag));
    void *owner = info_list(value->graph, &row);
    return add_info(value, owner, row, NULL, NULL, &value->info, diag);
}

static onx_status add_to_function(onx_graph *graph, onx_value *value, bool output, const char *type,
                                  onx_diag *diag) {
    ONX_TRY(add_parameter(graph, value, output, diag));
    onx_status status = type ? onx_value_set_type(value, type, diag) : ONX_OK;
    if (status) { /* it goes again */
        onx_refs *refs = output ? &graph->outs : &graph->ins;
        onx_ref_detach(refs->v[--refs->n]);
        *(output ? &graph->function->output.n : &graph->function->input.n) -= 1;
        if (!output) value->parameter = false;
    }
    return status;
}

/* Builder functions: one exit that remembers what went wrong. */
static onx_value *finish(onx_graph *graph, onx_value *value, onx_status status, const char *what,
                         const char *name, onx_diag *diag) {
    if (!status) return value;
    onx_diag_place(diag, "%s '%.100s' of graph '%.100s'", what, name ? name : "",
                   onx_graph_name(graph));
    onx_doc_error(graph->model->msg.doc, diag);
    return NULL;
}

/* The value for a new input: also an initializer, which becomes the input's default. */
static onx_status claim_input(onx_graph *graph, const char *name, onx_value **out, onx_diag *diag) {
    onx_value *value = name && *name ? onx_value_find(graph, onx_str_of(name)) : NULL;
    if (!value || !value->init || value->input) return onx_value_claim(graph, name, out, diag);
    *out = value;
    return ONX_OK;
}

onx_value *onx_graph_add_input(onx_graph *graph, const char *name, const char *type) {
    onx_diag diag;
    onx_value *value = NULL;
    if (!graph) return NULL;
    onx_status status = claim_input(graph, name, &value, &diag);
    if (!status && graph->function)
        status = add_to_function(graph, value, false, type, &diag);
    else if (!status)
        status =
            add_info(value, graph, ONX_ROW(graph, input), type, &graph->ins, &value->input, &diag);
    if (status && value) onx_value_unclaim(value);
    return finish(graph, value, status, "input", name, &diag);
}

onx_value *onx_graph_add_output(onx_graph *graph, onx_value *value, const char *type) {
    onx_diag diag;
    if (!graph) return NULL;
    onx_status status = value ? onx_value_check_seen(value, graph, &diag)
                              : onx_fail(&diag, ONX_USAGE, "there is no value to put out");
    if (!status && graph->function)
        status = add_to_function(graph, value, true, type, &diag);
    else if (!status)
        status = add_info(value, graph, ONX_ROW(graph, output), type, &graph->outs, &value->output,
                          &diag);
    return finish(graph, value, status, "output", onx_value_name(value), &diag);
}

/* As many types as there will be places to declare, in a list. */
static onx_status parse_types(const onx_value *value, const char *type, size_t places,
                              onx_type **out, onx_diag *diag) {
    onx_doc *doc = value->graph->model->msg.doc;
    onx_type *types = NULL, *parsed;
    for (; places; places--) {
        ONX_TRY(onx_type_parse(doc, onx_str_of(type), &parsed, diag));
        parsed->msg.next = types ? &types->msg : NULL;
        types = parsed;
    }
    *out = types;
    return ONX_OK;
}

/* Where the value is declared, in its graph and in those inside; nothing is set before all that may
 * fail is done. */
onx_status onx_value_set_type(onx_value *value, const char *type, onx_diag *diag) {
    onx_type *types = NULL;
    bool here = value->input || value->output || value->info;
    size_t places = !here;
    if (value->dead) return onx_fail(diag, ONX_USAGE, "the value was removed");
    for (const onx_ref *r = value->first; r; r = r->next) places += r->kind == ONX_REF_INFO;
    if (type) ONX_TRY(parse_types(value, type, places, &types, diag));
    if (type && !here) ONX_TRY(onx_value_declare(value, diag));
    for (const onx_ref *r = value->first; r; r = r->next) {
        if (r->kind != ONX_REF_INFO) continue;
        onx_type *next = types;
        types = next ? (onx_type *)next->msg.next : NULL;
        onx_msg_clear(r->owner, ONX_ROW(value_info, type));
        onx_msg_touch(r->owner);
        if (!next) continue;
        next->msg.next = NULL;
        onx_msg_append(r->owner, ONX_ROW(value_info, type), next);
    }
    return ONX_OK;
}

/* Removal. */

onx_status onx_value_fail_used(const onx_value *value, onx_diag *diag) {
    onx_fail(diag, ONX_CONFLICT, "'%.*s' is still used", ONX_FMT(value->name));
    onx_diag_hint(diag, "replace it first: onx_value_replace");
    return ONX_CONFLICT;
}

/* The reference leaves the inputs or outputs of its graph: close the gap, also among a function's
 * names. */
static void remove_ref(onx_graph *graph, onx_refs *refs, onx_ref *ref) {
    size_t at = 0;
    while (refs->v[at] != ref) at++;
    onx_strs *names = !graph->function      ? NULL
                      : refs == &graph->ins ? &graph->function->input
                                            : &graph->function->output;
    for (; at + 1 < refs->n; at++) {
        refs->v[at] = refs->v[at + 1];
        if (!names) continue;
        names->v[at] = names->v[at + 1];
        refs->v[at]->index = (uint32_t)at;
    }
    refs->n--;
    if (names) names->n--;
    onx_ref_detach(ref);
    if (names)
        onx_msg_touch(graph->function);
    else
        onx_msg_remove(ref->owner);
}

static onx_ref *find_ref(const onx_refs *refs, const onx_value *value) {
    for (size_t i = 0; i < refs->n; i++)
        if (refs->v[i]->value == value) return refs->v[i];
    return NULL;
}

static size_t count_refs(const onx_refs *refs, const onx_value *value) {
    size_t n = 0;
    for (size_t i = 0; i < refs->n; i++) n += refs->v[i]->value == value;
    return n;
}

onx_status onx_graph_remove_input(onx_graph *graph, onx_value *value, onx_diag *diag) {
    onx_ref *ref = graph && value ? find_ref(&graph->ins, value) : NULL;
    if (!ref) return onx_fail(diag, ONX_USAGE, "the value is not an input of the graph");
    bool again = count_refs(&graph->ins, value) > 1; /* functions may name an input twice */
    if (!again && !value->init && onx_value_is_needed(value))
        return onx_value_fail_used(value, diag);
    remove_ref(graph, &graph->ins, ref);
    value->parameter = again;
    value->input = NULL;
    onx_value_drop(value);
    return ONX_OK;
}

onx_status onx_graph_remove_output(onx_graph *graph, onx_value *value, onx_diag *diag) {
    onx_ref *ref = graph && value ? find_ref(&graph->outs, value) : NULL;
    if (!ref) return onx_fail(diag, ONX_USAGE, "the value is not an output of the graph");
    remove_ref(graph, &graph->outs, ref);
    ref = find_ref(&graph->outs, value); /* the same value may be an output twice */
    if (value->graph == graph && !graph->function)
        value->output = ref ? (onx_value_info *)ref->owner : NULL;
    onx_value_drop(value);
    return ONX_OK;
}
