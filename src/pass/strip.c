/* strip.c: parts of a model that its results do not depend on go.
 *
 * What is to go is found first; to take it away needs no memory, so the model is changed as a whole
 * or not at all. */
#include "base/options.h"
#include "ir/edit.h"
#include "ops/op.h"
#include "pass/surgery.h"

typedef struct stripper {
    onx_model *model;
    unsigned what;
    onx_stripped *counts;
    onx_reach reach; /* what results need */
} stripper;

/* ─ Texts ────────────────────────────────────────────────────────────────────────────────────── */

static size_t clear_text(onx_msg *m, const char *field) {
    const onx_field *row = onx_desc_field(m->desc, onx_str_of(field));
    if (!row || !onx_msg_has(m, row)) return 0;
    onx_msg_clear(m, row);
    onx_msg_touch(m);
    return 1;
}

static size_t clear_entries(onx_msg *m) {
    const onx_field *row = onx_desc_field(m->desc, ONX_LIT("metadata_props"));
    if (!row) return 0;
    size_t n = ((const onx_list *)onx_field_ptr(m, row))->count;
    onx_msg_clear(m, row);
    return n;
}

/* Every message that has a doc_string, metadata_props or, as a node, a name. */
static void strip_texts(stripper *s) {
    onx_msg *m;
    for (onx_walk w = onx_walk_begin(s->model); (m = onx_walk_next(&w));) {
        if (s->what & ONX_STRIP_DOCS) s->counts->docs += clear_text(m, "doc_string");
        if (s->what & ONX_STRIP_METADATA) s->counts->metadata += clear_entries(m);
        if ((s->what & ONX_STRIP_NAMES) && m->desc == &onx_desc_node)
            s->counts->names += clear_text(m, "name");
    }
}

static void strip_producer(stripper *s) {
    static const char *const fields[] = {"producer_name", "producer_version", "domain",
                                         "model_version"};
    for (size_t i = 0; i < ONX_COUNT(fields); i++)
        s->counts->producer += clear_text(&s->model->msg, fields[i]);
}

/* ─ Declared types ───────────────────────────────────────────────────────────────────────────── */

/* Those of a graph's values that are neither inputs nor outputs, and of a function's. */
static void strip_types(stripper *s, onx_graph *graph) {
    onx_list *infos = &graph->value_info;
    for (onx_value_info *info = (onx_value_info *)infos->first, *next; info; info = next) {
        next = (onx_value_info *)info->msg.next;
        onx_value *value = info->ref->value;
        if (value->info == info) value->info = NULL;
        onx_ref_detach(info->ref);
        onx_msg_remove(info);
        onx_value_drop(value);
        s->counts->types++;
    }
}

/* ─ What is not used ─────────────────────────────────────────────────────────────────────────── */

static onx_status reach_outputs(stripper *s, const onx_graph *graph, onx_diag *diag) {
    for (size_t i = 0; graph && i < graph->outs.n; i++)
        ONX_TRY(onx_reach_add(&s->reach, graph->outs.v[i]->value, diag));
    return ONX_OK;
}

static onx_status reach_bindings(stripper *s, const onx_list *bindings, onx_diag *diag) {
    ONX_EACH (onx_entry, e, *bindings) {
        onx_str *names[] = {&e->key, &e->value};
        for (size_t i = 0; i < ONX_COUNT(names); i++) {
            const onx_graph *scope = onx_note_scope(&e->msg, names[i]);
            onx_value *value = scope ? onx_value_lookup(scope, *names[i]) : NULL;
            if (value) ONX_TRY(onx_reach_add(&s->reach, value, diag));
        }
    }
    return ONX_OK;
}

/* The model's results are its outputs and those of its training steps. */
static onx_status reach_all(stripper *s, onx_diag *diag) {
    ONX_TRY(reach_outputs(s, s->model->graph, diag));
    if (s->what & ONX_STRIP_TRAINING) return ONX_OK;
    ONX_EACH (onx_training, t, s->model->training_info) {
        ONX_TRY(reach_outputs(s, t->initialization, diag));
        ONX_TRY(reach_outputs(s, t->algorithm, diag));
        ONX_TRY(reach_bindings(s, &t->initialization_binding, diag));
        ONX_TRY(reach_bindings(s, &t->update_binding, diag));
    }
    return ONX_OK;
}

/* Annotations of what is not needed name values, too. */
static void remove_annotations(stripper *s, onx_graph *graph) {
    for (onx_msg *m = graph->quantization_annotation.first, *next; m; m = next) {
        next = m->next;
        const onx_value *about = onx_value_lookup(graph, ((onx_annotation *)m)->tensor_name);
        if (about && (onx_reach_has(&s->reach, about) || about->input)) continue;
        onx_msg_unlink_names(m);
        onx_msg_remove(m);
    }
}

/* Unneeded nodes let go of what they use before any of them leaves: they may use each other. */
static void unlink_nodes(stripper *s, onx_graph *graph) {
    remove_annotations(s, graph);
    for (onx_node *n = onx_graph_node_first(graph); n; n = onx_node_next(n))
        if (!onx_reach_has(&s->reach, n)) onx_msg_unlink_names(n);
}

static void remove_nodes(stripper *s, onx_graph *graph) {
    for (onx_node *n = onx_graph_node_first(graph), *next; n; n = next) {
        next = onx_node_next(n);
        if (!onx_reach_has(&s->reach, n)) s->counts->nodes += onx_node_remove(n, NULL) == ONX_OK;
    }
}

static void remove_initializer(stripper *s, onx_graph *graph, const onx_tensor *values) {
    onx_value *value = values && values->ref ? values->ref->value : NULL;
    if (!value || onx_reach_has(&s->reach, value) || value->input) return;
    s->counts->initializers += onx_graph_remove_initializer(graph, value, NULL) == ONX_OK;
}

static void remove_initializers(stripper *s, onx_graph *graph) {
    for (onx_tensor *t = onx_graph_initializer_first(graph), *next; t; t = next) {
        next = onx_tensor_next(t);
        remove_initializer(s, graph, t);
    }
    for (onx_msg *m = graph->sparse_initializer.first, *next; m; m = next) {
        next = m->next;
        remove_initializer(s, graph, ((onx_sparse *)m)->values);
    }
}

/* Only of the model: subgraphs have the inputs that their nodes give them. Before IR version 4 an
 * initializer is an input, with which it goes. */
static void remove_inputs(stripper *s) {
    onx_graph *graph = s->model->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->ins.n; i++) {
        onx_ref *ref = graph->ins.v[i];
        onx_value *value = ref->value;
        bool goes = s->what & ONX_STRIP_INPUTS || (value->init && s->model->ir_version < 4);
        if (!goes || onx_reach_has(&s->reach, value) || onx_value_is_needed(value)) {
            graph->ins.v[kept++] = ref;
            continue;
        }
        onx_ref_detach(ref);
        onx_msg_remove(ref->owner);
        value->input = NULL;
        onx_value_drop(value);
        s->counts->inputs++;
    }
    graph->ins.n = kept;
}

static void remove_functions(stripper *s) {
    for (onx_function *f = onx_model_function_first(s->model), *next; f; f = next) {
        next = onx_function_next(f);
        if (!onx_reach_has(&s->reach, f)) s->counts->functions += onx_function_remove(f) == ONX_OK;
    }
}

/* The default domain stays: no model is without it. */
static void remove_opsets(stripper *s) {
    for (onx_msg *m = s->model->opset_import.first, *next; m; m = next) {
        next = m->next;
        onx_str domain = onx_domain_plain(((const onx_opset *)m)->domain);
        if (!domain.size || onx_reach_has_domain(&s->reach, domain)) continue;
        onx_msg_remove(m);
        s->counts->opsets++;
    }
}

/* Graphs inside nodes that go are gone with them. */
static void strip_unused(stripper *s) {
    remove_functions(s);
    for (onx_graph *g = NULL; (g = onx_model_graph_next(s->model, g));) unlink_nodes(s, g);
    for (onx_graph *g = NULL; (g = onx_model_graph_next(s->model, g));) remove_nodes(s, g);
    remove_inputs(s);
    for (onx_graph *g = NULL; (g = onx_model_graph_next(s->model, g));) remove_initializers(s, g);
    remove_opsets(s);
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

static void strip_training(stripper *s) {
    while (s->model->training_info.first) {
        onx_training *t = (onx_training *)s->model->training_info.first;
        s->counts->training += onx_training_remove(t) == ONX_OK;
    }
}

static void strip(stripper *s) {
    if (s->what & ONX_STRIP_TRAINING) strip_training(s);
    if (s->what & (ONX_STRIP_UNUSED | ONX_STRIP_INPUTS)) strip_unused(s);
    if (s->what & (ONX_STRIP_DOCS | ONX_STRIP_METADATA | ONX_STRIP_NAMES)) strip_texts(s);
    if (s->what & ONX_STRIP_PRODUCER) strip_producer(s);
    for (onx_graph *g = NULL; (g = onx_model_graph_next(s->model, g));)
        if (s->what & ONX_STRIP_TYPES) strip_types(s, g);
}

/* A size that cannot be found out does not undo what was done. */
static void measure(const onx_model *model, uint64_t *bytes) {
    if (onx_wire_size(model, bytes, NULL)) *bytes = 0;
}

onx_status onx_model_strip(onx_model *model, unsigned what, onx_stripped *counts, onx_diag *diag) {
    onx_stripped found;
    ONX_TRY(ONX_OPTIONS(&found, counts, diag));
    if (!model || !model->graph) return onx_fail(diag, ONX_USAGE, "there is no model with a graph");
    found = (onx_stripped){.size = counts ? counts->size : 0};
    if (counts) measure(model, &found.bytes_before);
    stripper s = {.model = model, .what = what, .counts = &found};
    onx_status status = onx_reach_init(&s.reach, model, false, diag);
    if (!status) status = reach_all(&s, diag);
    if (!status) strip(&s);
    onx_reach_fini(&s.reach);
    if (status || !counts) return status;
    measure(model, &found.bytes_after);
    memcpy(counts, &found, found.size < sizeof found ? found.size : sizeof found);
    return ONX_OK;
}
