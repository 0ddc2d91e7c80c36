/* merge_build.c: the messages of several models in one: the first model is copied, and what the
 * others have is added. What stands in several of them must be the same, or is refused. */
#include "ir/edit.h"
#include "ops/op.h"
#include "pass/merge.h"

/* ─ Copies ───────────────────────────────────────────────────────────────────────────────────── */

static bool has_external(const onx_model *model) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(model); (msg = onx_walk_next(&w));)
        if (msg->desc == &onx_desc_tensor && ((const onx_tensor *)msg)->external.data) return true;
    return false;
}

/* The folder of the first part that has data in one. */
static onx_status find_folder(onx_merge *m) {
    onx_str folder;
    m->out->folder = NULL;
    for (size_t i = 0; i < m->n && !m->out->folder; i++) {
        const onx_model *model = m->parts[i].model;
        if (!model->folder || !has_external(model)) continue;
        if (!onx_doc_str(m->out->msg.doc, onx_str_of(model->folder), &folder))
            return onx_fail_nomem(m->diag);
        m->out->folder = folder.data;
    }
    return ONX_OK;
}

/* External data stay outside where they are found in the folder of the new model. */
static onx_status copy(onx_merge *m, const onx_model *model, const void *msg, void *out) {
    onx_doc *doc = m->out->msg.doc;
    bool here = model->folder && m->out->folder && !strcmp(model->folder, m->out->folder);
    if (!here) return onx_msg_copy(doc, msg, out, m->diag);
    void *made;
    ONX_TRY(onx_msg_clone(doc, msg, &made, m->diag));
    if (!onx_external_share(msg, NULL, NULL, made)) return onx_fail_nomem(m->diag);
    memcpy(out, &made, sizeof made);
    return ONX_OK;
}

static onx_status add(onx_merge *m, const onx_model *model, const void *msg, void *parent,
                      const onx_field *row) {
    onx_msg *made;
    ONX_TRY(copy(m, model, msg, &made));
    onx_msg_append(parent, row, made);
    return ONX_OK;
}

/* ─ Graphs ───────────────────────────────────────────────────────────────────────────────────── */

static const onx_value *value_of(const onx_ref *ref) {
    return ref ? ref->value : NULL;
}

/* The value that is declared or defined by a message of a graph. */
static const onx_value *subject(const onx_msg *m) {
    if (m->desc == &onx_desc_value_info) return value_of(((const onx_value_info *)m)->ref);
    if (m->desc == &onx_desc_tensor) return value_of(((const onx_tensor *)m)->ref);
    const onx_tensor *values = m->desc == &onx_desc_sparse ? ((const onx_sparse *)m)->values : NULL;
    return values ? value_of(values->ref) : NULL;
}

/* What is said of an input that is gone is said of what took its place. */
static bool stays(const onx_merge *m, const onx_msg *msg) {
    const onx_value *value = subject(msg);
    if (!value) return !onx_merge_has(&m->gone, msg);
    bool output = &onx_desc_graph.fields[msg->field] == ONX_ROW(graph, output);
    return !onx_merge_has(&m->gone, value) && !(output && onx_merge_has(&m->given, value));
}

typedef struct filter {
    const onx_merge *merge;
    const onx_model *model;
} filter;

static bool keep(void *user, const onx_msg *msg) {
    const filter *f = user;
    return msg->parent != &f->model->graph->msg || stays(f->merge, msg);
}

/* An output that went into an input is declared as any other value. */
static onx_status declare_given(onx_merge *m, const onx_model *model) {
    ONX_EACH (onx_value_info, info, model->graph->output) {
        const onx_value *value = info->ref->value;
        if (value->output != info || value->input || value->info ||
            !onx_merge_has(&m->given, value))
            continue;
        ONX_TRY(add(m, model, info, m->out->graph, ONX_ROW(graph, value_info)));
    }
    return ONX_OK;
}

static bool is_meta(const onx_msg *msg) {
    return msg->desc == &onx_desc_entry;
}

static onx_status add_graph(onx_merge *m, const onx_model *model) {
    const onx_graph *graph = model->graph;
    for (const onx_msg *c = NULL; (c = onx_msg_child_next(graph, c));)
        if (!is_meta(c) && stays(m, c))
            ONX_TRY(add(m, model, c, m->out->graph, &onx_desc_graph.fields[c->field]));
    return declare_given(m, model);
}

/* ─ What models have besides ─────────────────────────────────────────────────────────────────── */

static onx_status fail_opset(onx_merge *m, size_t i, const onx_opset *o, const onx_opset *there) {
    onx_str domain = onx_domain_plain(o->domain);
    int64_t newest = o->version > there->version ? o->version : there->version;
    onx_fail(m->diag, ONX_CONFLICT,
             "model %zu imports version %lld of '%.100s', but an earlier one %lld", i + 1,
             (long long)o->version, domain.size ? domain.data : "ai.onnx",
             (long long)there->version);
    onx_diag_hint(m->diag, "bring them to one version: --convert, or onx convert --opset %lld",
                  (long long)newest);
    return ONX_CONFLICT;
}

static onx_status add_opsets(onx_merge *m, size_t i, onx_map *known) {
    ONX_EACH (onx_opset, o, m->parts[i].model->opset_import) {
        onx_str domain = onx_domain_plain(o->domain);
        const onx_opset *there = onx_map_get(known, &m->out->opset_import, domain);
        if (there && there->version != o->version && i) return fail_opset(m, i, o, there);
        if (there) continue;
        if (!onx_map_put(known, &m->out->opset_import, domain, o)) return onx_fail_nomem(m->diag);
        if (i) ONX_TRY(add(m, m->parts[i].model, o, m->out, ONX_ROW(model, opset_import)));
    }
    return ONX_OK;
}

static onx_status add_meta(onx_merge *m, size_t i, const onx_list *from, void *to,
                           const onx_field *row, onx_map *keys) {
    ONX_EACH (onx_entry, e, *from) {
        const onx_entry *there = onx_map_get(keys, to, e->key);
        bool differs = there && !onx_str_eq(there->value, e->value);
        if (differs && !m->options->first_meta) {
            onx_fail(m->diag, ONX_CONFLICT,
                     "the metadata '%.*s' of model %zu are not those of an earlier one",
                     ONX_FMT(e->key), i + 1);
            onx_diag_hint(m->diag, "keep those of the first model (--first-metadata), or remove "
                                   "them: onx strip --metadata");
            return ONX_CONFLICT;
        }
        if (there) continue;
        if (!onx_map_put(keys, to, e->key, e)) return onx_fail_nomem(m->diag);
        if (i) ONX_TRY(add(m, m->parts[i].model, e, to, row));
    }
    return ONX_OK;
}

static onx_status add_devices(onx_merge *m, size_t i, onx_map *names) {
    ONX_EACH (onx_device, d, m->parts[i].model->configuration) {
        const onx_device *there = onx_map_get(names, names, d->name);
        if (there && !onx_msg_equal(there, d, NULL))
            return onx_fail(m->diag, ONX_CONFLICT, "the device configuration '%.*s' is not one",
                            ONX_FMT(d->name));
        if (!there && !onx_map_put(names, names, d->name, d)) return onx_fail_nomem(m->diag);
        if (!there && i)
            ONX_TRY(add(m, m->parts[i].model, d, m->out, ONX_ROW(model, configuration)));
    }
    return ONX_OK;
}

/* ─ Functions ────────────────────────────────────────────────────────────────────────────────── */

static onx_status fail_function(onx_merge *m, size_t i, onx_str name, const char *what) {
    onx_fail(m->diag, ONX_CONFLICT, "'%.*s' is a function, but %s in model %zu", ONX_FMT(name),
             what, i + 1);
    onx_diag_hint(m->diag, "give one of the models a prefix, or rename the function");
    return ONX_CONFLICT;
}

static onx_status add_functions(onx_merge *m, size_t i, onx_operators *functions) {
    ONX_EACH (onx_function, f, m->parts[i].model->functions) {
        const onx_function *there = onx_operators_get(functions, f->domain, f->name, f->overload);
        if (there && !onx_msg_equal(there, f, NULL))
            return fail_function(m, i, f->name, "another one");
        if (!there && !onx_operators_put(functions, f->domain, f->name, f->overload, f))
            return onx_fail_nomem(m->diag);
        if (!there && i) ONX_TRY(add(m, m->parts[i].model, f, m->out, ONX_ROW(model, functions)));
    }
    return ONX_OK;
}

/* An operator of one model must not become a call of another's function. */
static onx_status check_nodes(onx_merge *m, size_t i, const onx_operators *all,
                              const onx_operators *own) {
    for (onx_graph *g = NULL; (g = onx_model_graph_next(m->parts[i].model, g));)
        for (onx_node *n = onx_graph_node_first(g); n; n = onx_node_next(n))
            if (onx_operators_of(all, n) && !onx_operators_of(own, n))
                return fail_function(m, i, n->op_type, "an operator");
    return ONX_OK;
}

static onx_status check_calls(onx_merge *m, size_t i, const onx_operators *all) {
    onx_operators own;
    onx_operators_init(&own, m->out->msg.doc->ctx);
    onx_status status = onx_operators_add(&own, m->parts[i].model) ? check_nodes(m, i, all, &own)
                                                                   : onx_fail_nomem(m->diag);
    onx_operators_fini(&own);
    return status;
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

static onx_status set_head(onx_merge *m) {
    onx_buf name;
    int64_t ir = 0;
    onx_buf_init(&name, m->out->msg.doc->ctx);
    for (size_t i = 0; i < m->n; i++) {
        const onx_model *model = m->parts[i].model;
        if (i) onx_buf_putc(&name, '_');
        onx_buf_put(&name, model->graph->name.data, model->graph->name.size);
        if (model->ir_version > ir) ir = model->ir_version;
    }
    onx_buf_putc(&name, '\0');
    const char *given = m->options->name;
    bool ok = !name.failed && !onx_graph_set_name(m->out->graph, given ? given : name.data) &&
              !onx_model_set_producer(m->out, "onx", ONX_VERSION);
    onx_buf_fini(&name);
    if (ok && ir != m->out->ir_version) onx_i64_set(m->out, ONX_ROW(model, ir_version), ir);
    return ok ? ONX_OK : onx_fail_nomem(m->diag);
}

static onx_status add_part(onx_merge *m, size_t i, onx_map *known, onx_operators *functions) {
    const onx_model *model = m->parts[i].model;
    if (i) ONX_TRY(add_graph(m, model));
    ONX_TRY(add_opsets(m, i, known));
    ONX_TRY(add_meta(m, i, &model->metadata_props, m->out, ONX_ROW(model, metadata_props), known));
    ONX_TRY(add_meta(m, i, &model->graph->metadata_props, m->out->graph,
                     ONX_ROW(graph, metadata_props), known));
    ONX_TRY(add_devices(m, i, known));
    return add_functions(m, i, functions);
}

static onx_status add_parts(onx_merge *m, onx_map *known, onx_operators *functions) {
    ONX_TRY(find_folder(m));
    ONX_TRY(declare_given(m, m->parts[0].model));
    for (size_t i = 0; i < m->n; i++) ONX_TRY(add_part(m, i, known, functions));
    if (m->out->functions.count)
        for (size_t i = 0; i < m->n; i++) ONX_TRY(check_calls(m, i, functions));
    return set_head(m);
}

onx_status onx_merge_build(onx_merge *m) {
    onx_map known; /* domains of opsets, names of devices, keys of metadata, each under its owner */
    onx_operators functions;
    filter f = {m, m->parts[0].model};
    ONX_TRY(onx_model_clone_some(f.model, keep, &f, &m->out, m->diag));
    onx_map_init(&known, m->out->msg.doc->ctx);
    onx_operators_init(&functions, m->out->msg.doc->ctx);
    onx_status status = add_parts(m, &known, &functions);
    onx_operators_fini(&functions);
    onx_map_fini(&known);
    return status;
}
