/* extract.c: the part of a model between two sets of values.
 *
 *     given inputs ──▶ nodes that the outputs need ──▶ given outputs
 *                        ▲ initializers, functions, opsets, declarations, annotations they need
 *
 * What is needed is marked in the model, which stays as it is, and copied; payloads are shared.
 * Training information stays behind. */
#include "base/options.h"
#include "ir/edit.h"
#include "pass/surgery.h"

#include <stdio.h>

typedef struct cutter {
    const onx_model *model;
    const onx_graph *graph;
    const onx_extract_options *options;
    onx_diag *diag;
    onx_reach reach;
    onx_value **ins, **outs; /* of the new graph, in order */
    size_t n_ins, n_outs;
    onx_map seen;     /* inputs of the new graph; and, under the cutter, its outputs */
    onx_facts *facts; /* when they are needed */
    size_t n_spared;  /* names that were made up */
    onx_model *copy;
} cutter;

static const onx_str no_name = {NULL, 0};

/* ─ What is wanted ───────────────────────────────────────────────────────────────────────────── */

static onx_status find(cutter *c, const char *name, const char *what, onx_value **out) {
    *out = name && *name ? onx_graph_find(c->graph, name) : NULL;
    if (*out) return ONX_OK;
    onx_fail(c->diag, ONX_NOT_FOUND, "there is no value '%.200s' to be an %s", name ? name : "",
             what);
    onx_diag_place(c->diag, "graph '%.100s'", onx_graph_name(c->graph));
    onx_diag_hint(c->diag, "values of subgraphs and functions cannot be cut at; 'onx print' lists "
                           "those of the graph");
    return ONX_NOT_FOUND;
}

/* One more input or output; each only once. */
static onx_status take(cutter *c, onx_value *value, const void *owner, onx_value **list, size_t *n,
                       const char *what) {
    if (onx_map_get(&c->seen, owner, value->name))
        return onx_fail(c->diag, ONX_USAGE, "'%.*s' is given twice as an %s", ONX_FMT(value->name),
                        what);
    if (!onx_map_put(&c->seen, owner, value->name, value)) return onx_fail_nomem(c->diag);
    list[(*n)++] = value;
    return ONX_OK;
}

static onx_status take_outputs(cutter *c) {
    const onx_extract_options *o = c->options;
    size_t n = o->n_outputs ? o->n_outputs : c->graph->outs.n;
    c->outs = onx_arena_array(&c->reach.arena, n, sizeof(onx_value *));
    if (!c->outs) return onx_fail_nomem(c->diag);
    for (size_t i = 0; i < n; i++) {
        onx_value *value = onx_graph_output(c->graph, i);
        if (o->n_outputs) ONX_TRY(find(c, o->outputs[i], "output", &value));
        if (!o->n_outputs && onx_map_get(&c->seen, c, value->name)) continue;
        ONX_TRY(take(c, value, c, c->outs, &c->n_outs, "output"));
    }
    return c->n_outs ? ONX_OK : onx_fail(c->diag, ONX_USAGE, "there is no output to compute");
}

static onx_status take_inputs(cutter *c) {
    const onx_extract_options *o = c->options;
    size_t n = o->n_inputs + c->graph->ins.n;
    c->ins = onx_arena_array(&c->reach.arena, n, sizeof(onx_value *));
    if (!c->ins) return onx_fail_nomem(c->diag);
    for (size_t i = 0; i < o->n_inputs; i++) {
        onx_value *value;
        ONX_TRY(find(c, o->inputs[i], "input", &value));
        ONX_TRY(take(c, value, NULL, c->ins, &c->n_ins, "input"));
        if (!onx_reach_stop(&c->reach, value)) return onx_fail_nomem(c->diag);
    }
    return ONX_OK;
}

/* Before IR version 4 every initializer is an input. */
static bool is_input_too(const cutter *c, const onx_value *value) {
    if (!c->options->n_inputs) return true;
    return value->init && c->model->ir_version < 4;
}

/* Inputs of the graph that are needed beyond those that were given. */
static onx_status take_more_inputs(cutter *c) {
    for (size_t i = 0; i < c->graph->ins.n; i++) {
        onx_value *value = onx_graph_input(c->graph, i);
        if (!onx_reach_has(&c->reach, value) || onx_map_get(&c->seen, NULL, value->name) ||
            !is_input_too(c, value))
            continue;
        ONX_TRY(take(c, value, NULL, c->ins, &c->n_ins, "input"));
    }
    return ONX_OK;
}

/* ─ What is missing ──────────────────────────────────────────────────────────────────────────── */

static bool is_missing(const cutter *c, const onx_value *value) {
    return onx_reach_has(&c->reach, value) && !value->def && !value->init &&
           !onx_map_get(&c->seen, NULL, value->name);
}

/* From the output down to what it lacks: "y <- t <- x". The middle of a long way is left out. */
static void describe_way(const cutter *c, const onx_value *missing, char *out, size_t size) {
    const onx_value *way[5] = {missing};
    size_t n = 0, used = 0;
    for (const onx_value *v = missing, *next;; v = next) {
        way[n < 4 ? n : 4] = v;
        n++;
        next = onx_map_get(&c->reach.because, v, no_name);
        if (!next || next == v) break;
    }
    for (size_t i = n < 5 ? n : 5; i-- > 0 && used < size;) {
        int wrote = snprintf(out + used, size - used, "'%.60s'%s", onx_value_name(way[i]),
                             i == 4 && n > 5 ? " <- ... <- "
                             : i             ? " <- "
                                             : "");
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

typedef struct missing {
    const onx_value *first;
    char names[400]; /* "'a', 'b' and 3 more" */
    size_t used, count;
} missing;

static void note_missing(const cutter *c, const onx_value *value, missing *m) {
    if (value->dead || !is_missing(c, value)) return;
    if (!m->first) m->first = value;
    if (m->count++ >= 4) return;
    int n = snprintf(m->names + m->used, sizeof m->names - m->used, "%s'%.80s'",
                     m->used ? ", " : "", onx_value_name(value));
    m->used += n > 0 ? (size_t)n : 0;
}

/* Inputs of the model are told before what is not there at all. */
static onx_status check_missing(const cutter *c) {
    missing inputs = {0}, others = {0};
    char way[250], more[32] = "";
    for (size_t i = 0; i < c->graph->ins.n; i++)
        note_missing(c, c->graph->ins.v[i]->value, &inputs);
    for (const onx_value *v = c->graph->values; v; v = v->next)
        if (!v->input) note_missing(c, v, &others);
    const missing *m = inputs.count ? &inputs : &others;
    if (!m->count) return ONX_OK;
    if (m->count > 4) snprintf(more, sizeof more, " and %zu more", m->count - 4);
    if (inputs.count)
        onx_fail(c->diag, ONX_NOT_FOUND, "the outputs need inputs that were not given: %s%s",
                 m->names, more);
    else
        onx_fail(c->diag, ONX_NOT_FOUND, "the outputs need what nothing defines: %s%s", m->names,
                 more);
    describe_way(c, m->first, way, sizeof way);
    onx_diag_place(c->diag, "%s", way);
    onx_diag_hint(c->diag, "add what is missing to the inputs, or cut behind it");
    return ONX_NOT_FOUND;
}

/* ─ The copy ─────────────────────────────────────────────────────────────────────────────────── */

static bool keeps_value(const cutter *c, const onx_ref *ref) {
    const onx_value *value = ref ? ref->value : NULL;
    if (!value) return false;
    return onx_reach_has(&c->reach, value) || onx_reach_is_stop(&c->reach, value) ||
           (value->def && onx_reach_has(&c->reach, value->def));
}

static bool keeps_annotation(const cutter *c, const onx_annotation *note) {
    const onx_value *value = onx_value_find(c->graph, note->tensor_name);
    return value && value->first && keeps_value(c, value->first);
}

/* What stands in the graph itself. Inputs and outputs are made anew. */
static bool keeps_in_graph(const cutter *c, const onx_msg *m) {
    const onx_field *row = &onx_desc_graph.fields[m->field];
    if (row == ONX_ROW(graph, node)) return onx_reach_has(&c->reach, m);
    if (row == ONX_ROW(graph, input) || row == ONX_ROW(graph, output)) return false;
    if (row == ONX_ROW(graph, initializer)) return keeps_value(c, ((const onx_tensor *)m)->ref);
    if (row == ONX_ROW(graph, quantization_annotation))
        return keeps_annotation(c, (const onx_annotation *)m);
    if (row == ONX_ROW(graph, sparse_initializer)) {
        const onx_tensor *values = ((const onx_sparse *)m)->values;
        return values && keeps_value(c, values->ref);
    }
    if (row != ONX_ROW(graph, value_info)) return true;
    const onx_ref *ref = ((const onx_value_info *)m)->ref;
    return keeps_value(c, ref) && !onx_map_get(&c->seen, NULL, ref->value->name) &&
           !onx_map_get(&c->seen, c, ref->value->name);
}

static bool keep(void *user, const onx_msg *m) {
    const cutter *c = user;
    if (m->parent == &c->graph->msg) return keeps_in_graph(c, m);
    if (m->desc == &onx_desc_function) return onx_reach_has(&c->reach, m);
    if (m->desc == &onx_desc_opset && m->parent == &c->model->msg) {
        onx_str domain = onx_domain_plain(((const onx_opset *)m)->domain);
        return !domain.size || onx_reach_has_domain(&c->reach, domain);
    }
    return m->desc != &onx_desc_training;
}

/* ─ Inputs and outputs ───────────────────────────────────────────────────────────────────────── */

static const onx_type *innermost(const onx_type *type) {
    while (onx_type_elem(type)) type = onx_type_elem(type);
    return type;
}

static bool has_elements(const onx_type *type) {
    type = innermost(type);
    return onx_type_kind_of(type) == ONX_TYPE_OPAQUE || onx_type_dtype(type);
}

static bool is_complete(const onx_type *type) {
    bool opaque = onx_type_kind_of(innermost(type)) == ONX_TYPE_OPAQUE;
    return opaque || (has_elements(type) && onx_type_has_shape(innermost(type)));
}

static onx_status fail_type(const cutter *c, const onx_value *value) {
    onx_fail(c->diag, ONX_INVALID, "the type of '%.*s' is neither declared nor can it be inferred",
             ONX_FMT(value->name));
    onx_diag_place(c->diag, "graph '%.100s'", onx_graph_name(c->graph));
    onx_diag_hint(c->diag, "declare it in the model first: onx_value_set_type");
    return ONX_INVALID;
}

/* Mistakes in the model are not looked for here; inference that fails tells nothing. */
static onx_status infer(cutter *c) {
    const onx_facts_options options = {.report = onx_facts_ignore};
    onx_status status = c->facts ? ONX_OK : onx_facts_new(c->model, &options, &c->facts, c->diag);
    return status == ONX_NO_MEMORY ? status : ONX_OK;
}

static onx_status add_type(cutter *c, const onx_value *value, onx_value_info *info) {
    onx_type *type = NULL;
    ONX_TRY(infer(c));
    if (c->facts)
        ONX_TRY(
            onx_facts_type(c->facts, onx_facts_of(c->facts, value), info->msg.doc, &type, c->diag));
    if (type) onx_msg_append(info, ONX_ROW(value_info, type), type);
    return has_elements(info->type) ? ONX_OK : fail_type(c, value);
}

/* The declaration of the value, with a type. */
static onx_status declare(cutter *c, const onx_value *value, const onx_field *row) {
    onx_doc *doc = c->copy->msg.doc;
    const onx_value_info *infos[] = {value->input, value->output, value->info};
    const onx_value_info *best = NULL;
    onx_value_info *info;
    for (size_t i = 0; i < ONX_COUNT(infos); i++)
        if (infos[i] && (!best || (!is_complete(best->type) && infos[i]->type))) best = infos[i];
    if (best) {
        ONX_TRY(onx_msg_clone(doc, best, &info, c->diag));
    } else {
        info = onx_msg_new(doc, &onx_desc_value_info);
        if (!info || onx_str_set(info, ONX_ROW(value_info, name), onx_value_name(value)))
            return onx_fail_nomem(c->diag);
    }
    if (!is_complete(info->type)) ONX_TRY(add_type(c, value, info));
    onx_msg_append(c->copy->graph, row, info);
    return ONX_OK;
}

static onx_status declare_all(cutter *c) {
    for (size_t i = 0; i < c->n_ins; i++) ONX_TRY(declare(c, c->ins[i], ONX_ROW(graph, input)));
    for (size_t i = 0; i < c->n_outs; i++) ONX_TRY(declare(c, c->outs[i], ONX_ROW(graph, output)));
    return ONX_OK;
}

/* A name that nothing in the graph, or inside it, has. */
static onx_status spare_name(cutter *c, onx_str name, onx_str *out) {
    char text[256];
    bool fits = name.size <= 200;
    do
        snprintf(text, sizeof text, "%.*s_unused_%zu", fits ? (int)name.size : 0, name.data,
                 ++c->n_spared);
    while (onx_name_conflict(c->graph, onx_str_of(text)));
    return onx_doc_str(c->copy->msg.doc, onx_str_of(text), out) ? ONX_OK : onx_fail_nomem(c->diag);
}

/* A node may stay for one of its results while another one is now an input: that result gets a name
 * that nobody uses. */
static onx_status free_inputs(cutter *c) {
    ONX_EACH (onx_node, node, c->copy->graph->node)
        for (size_t i = 0; i < node->output.n; i++) {
            onx_str *name = &node->output.v[i];
            if (!name->size || !onx_map_get(&c->seen, NULL, *name)) continue;
            ONX_TRY(spare_name(c, *name, name));
            onx_msg_touch(node);
        }
    return ONX_OK;
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

static onx_status cut(cutter *c) {
    ONX_TRY(take_inputs(c));
    ONX_TRY(take_outputs(c));
    for (size_t i = 0; i < c->n_outs; i++) ONX_TRY(onx_reach_add(&c->reach, c->outs[i], c->diag));
    ONX_TRY(take_more_inputs(c));
    ONX_TRY(check_missing(c));
    ONX_TRY(onx_model_clone_some(c->model, keep, c, &c->copy, c->diag));
    ONX_TRY(declare_all(c));
    ONX_TRY(free_inputs(c));
    return onx_model_link(c->copy, c->diag);
}

onx_status onx_model_extract(const onx_model *model, const onx_extract_options *options,
                             onx_model **out, onx_diag *diag) {
    onx_extract_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    if (!model || !out) return onx_fail(diag, ONX_USAGE, "onx_model_extract needs a model");
    if (!model->graph) return onx_fail(diag, ONX_INVALID, "the model has no graph");
    cutter c = {.model = model, .graph = model->graph, .options = &o, .diag = diag};
    onx_map_init(&c.seen, model->msg.doc->ctx);
    onx_status status = onx_reach_init(&c.reach, model, true, diag);
    if (!status) status = cut(&c);
    onx_facts_free(c.facts);
    onx_map_fini(&c.seen);
    onx_reach_fini(&c.reach);
    if (status)
        onx_model_free(c.copy);
    else
        *out = c.copy;
    return status;
}
