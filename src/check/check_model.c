/* check_model.c: the model itself: IR version, opsets, metadata, training steps. */
#include "check/checker.h"
#include "ir/edit.h"

#include <stdio.h>

/* ── IR versions ─────────────────────────────────────────────────────────────────────────────── */

void onx_check_ir(onx_checker *c, onx_rule_id rule, const void *msg, int64_t needed,
                  const char *what) {
    int64_t version = c->model->ir_version;
    char hint[80];
    if (version >= needed || version < 1) return;
    if (!onx_check_once(c, &c->names, c->model, onx_str_of(what))) return;
    snprintf(hint, sizeof hint, "set ir_version to %d or more", (int)needed);
    onx_check_tell(c, rule, msg, hint, "%s came with IR version %d; this model says %d", what,
                   (int)needed, (int)version);
}

static void check_ir_version(onx_checker *c, const onx_model *model) {
    int64_t version = model->ir_version;
    if (version < 1)
        onx_check_tell(c, ONX_RULE_IR_VERSION, model, "set ir_version",
                       "the model has no IR version");
    else if (version > ONX_IR_VERSION)
        onx_check_tell(c, ONX_RULE_IR_VERSION, model, "save the model for an older version",
                       "IR version %lld does not exist: the newest is %d", (long long)version,
                       ONX_IR_VERSION);
    if (model->functions.count)
        onx_check_ir(c, ONX_RULE_IR_FEATURE, model, 8, "functions of a model");
    if (model->training_info.count)
        onx_check_ir(c, ONX_RULE_IR_FEATURE, model, 7, "training information");
    if (model->configuration.count)
        onx_check_ir(c, ONX_RULE_IR_TYPE, model, 11, "device configurations");
}

/* ── Opsets ──────────────────────────────────────────────────────────────────────────────────── */

/* The IR version that each version of a domain came with, from version 1 on. */
static const uint8_t ir_onnx[] = {3, 3, 3, 3, 3, 3, 3,  3,  4,  5,  6,  7,  7,  7,
                                  8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14};
static const uint8_t ir_ml[] = {3, 6, 8, 9, 10};
static const uint8_t ir_training[] = {7};
_Static_assert(sizeof ir_onnx == ONX_OPSET_VERSION, "a new opset came with some IR version");

static const struct domain {
    const char *name;
    int64_t newest;
    const uint8_t *ir;
} domains[] = {
    {"", sizeof ir_onnx, ir_onnx},
    {"ai.onnx.ml", sizeof ir_ml, ir_ml},
    {"ai.onnx.preview.training", sizeof ir_training, ir_training},
    {"ai.onnx.training", sizeof ir_training, ir_training},
};

static const struct domain *domain_of(onx_str name) {
    for (size_t i = 0; i < ONX_COUNT(domains); i++)
        if (onx_str_is(name, domains[i].name)) return &domains[i];
    return NULL;
}

static void check_opset(onx_checker *c, const onx_opset *o) {
    const struct domain *domain = domain_of(onx_domain_plain(o->domain));
    if (o->version < 1) {
        onx_check_tell(c, ONX_RULE_OPSET_VERSION, o, "import version 1 or more",
                       "the opset '%.*s' has version %lld", ONX_FMT(o->domain),
                       (long long)o->version);
    } else if (domain && o->version > domain->newest) {
        onx_check_tell(c, ONX_RULE_OPSET_NEWER, o, "import a version that exists",
                       "version %lld of the opset '%.*s' does not exist: the newest is %lld",
                       (long long)o->version, ONX_FMT(o->domain), (long long)domain->newest);
    } else if (domain) {
        int needed = domain->ir[o->version - 1];
        if (c->model->ir_version >= needed || c->model->ir_version < 3) return;
        onx_check_tell(c, ONX_RULE_IR_OPSET, o, "raise ir_version, or import an older opset",
                       "version %lld of the opset '%.*s' came with IR version %d; the model says"
                       " %lld",
                       (long long)o->version, ONX_FMT(o->domain), needed,
                       (long long)c->model->ir_version);
    }
}

const onx_opset *onx_check_enter_import(onx_checker *c, const void *owner, const onx_opset *o) {
    onx_str domain = onx_domain_plain(o->domain);
    const onx_opset *other = onx_map_get(&c->imports, owner, domain);
    if (other) return other;
    if (!onx_map_put(&c->imports, owner, domain, (void *)(uintptr_t)o)) c->no_memory = true;
    return o;
}

void onx_check_imports(onx_checker *c, const void *owner, const onx_list *imports) {
    ONX_EACH (onx_opset, o, *imports) {
        const onx_opset *other = onx_check_enter_import(c, owner, o);
        check_opset(c, o);
        if (other->version != o->version)
            onx_check_tell(c, ONX_RULE_OPSET_DUPLICATE, o, "keep one of the two",
                           "the opset '%.*s' is imported as version %lld and as version %lld",
                           ONX_FMT(o->domain), (long long)other->version, (long long)o->version);
        else if (other != o)
            onx_check_tell(c, ONX_RULE_OPSET_REPEATED, o, "remove one of the two",
                           "the opset '%.*s' is imported twice", ONX_FMT(o->domain));
    }
}

const onx_opset *onx_check_import(const onx_checker *c, onx_str domain) {
    const void *owner = c->function ? (const void *)c->function : c->model;
    return onx_map_get(&c->imports, owner, onx_domain_plain(domain));
}

static void check_opsets(onx_checker *c, const onx_model *model) {
    size_t n = model->opset_import.count;
    if (!n && model->ir_version >= 3)
        onx_check_tell(c, ONX_RULE_OPSET_MISSING, model, "add an opset_import",
                       "the model imports no opsets");
    if (n && model->ir_version >= 1 && model->ir_version < 3)
        onx_check_tell(c, ONX_RULE_OPSET_EARLY, model, "set ir_version to 3 or more",
                       "a model of IR version %d cannot import opsets", (int)model->ir_version);
    onx_check_imports(c, model, &model->opset_import);
}

/* ── Metadata ────────────────────────────────────────────────────────────────────────────────── */

void onx_check_metadata(onx_checker *c, const onx_msg *owner, const onx_list *entries) {
    bool of_model = owner->desc == &onx_desc_model;
    if (!entries->count) return;
    if (!of_model)
        onx_check_ir(c, ONX_RULE_IR_TYPE, owner, 10, "metadata of graphs, nodes, values, tensors");
    ONX_EACH (onx_entry, e, *entries)
        if (!onx_check_once(c, &c->names, entries, e->key))
            onx_check_tell(c, of_model ? ONX_RULE_METADATA_DUPLICATE : ONX_RULE_METADATA_REPEATED,
                           owner, "remove one of the two", "the metadata have the key '%.*s' twice",
                           ONX_FMT(e->key));
}

/* ── Training ────────────────────────────────────────────────────────────────────────────────── */

static bool is_variable(const onx_graph *graph, onx_str name) {
    const onx_value *value = graph ? onx_value_find(graph, name) : NULL;
    return value && value->init;
}

static bool is_result(const onx_graph *graph, onx_str name) {
    const onx_value *value = graph ? onx_value_find(graph, name) : NULL;
    return value && onx_value_is_output(value);
}

/* `results`: where the values come from; the model's own outputs may serve for updates. */
static void check_bindings(onx_checker *c, const onx_training *t, const onx_list *bindings,
                           const onx_graph *results, const void *owner, const char *what) {
    ONX_EACH (onx_entry, e, *bindings) {
        if (!is_variable(c->model->graph, e->key) && !is_variable(t->algorithm, e->key))
            onx_check_tell(c, ONX_RULE_TRAINING_KEY, t, "bind to a variable: an initializer",
                           "the %s binding sets '%.*s', which is not an initializer", what,
                           ONX_FMT(e->key));
        else if (!onx_check_once(c, &c->names, owner, e->key))
            onx_check_tell(c, ONX_RULE_TRAINING_KEY, t, "keep one of the two",
                           "%s bindings set '%.*s' twice", what, ONX_FMT(e->key));
        bool update = bindings == &t->update_binding;
        if (!is_result(results, e->value) && !(update && is_result(c->model->graph, e->value)))
            onx_check_tell(c, ONX_RULE_TRAINING_VALUE, t, "make it an output of that graph",
                           "the %s binding takes '%.*s', which is not an output of its graph", what,
                           ONX_FMT(e->value));
    }
}

void onx_check_training(onx_checker *c, const onx_training *t) {
    if (t->initialization && t->initialization->input.count)
        onx_check_tell(c, ONX_RULE_TRAINING_INPUT, t, "make its inputs initializers",
                       "the initialization of training has %zu inputs",
                       t->initialization->input.count);
    check_bindings(c, t, &t->initialization_binding, t->initialization, &t->initialization_binding,
                   "initialization");
    check_bindings(c, t, &t->update_binding, t->algorithm, &c->model->training_info, "update");
}

void onx_check_model(onx_checker *c, const onx_model *model) {
    check_ir_version(c, model);
    check_opsets(c, model);
    onx_check_metadata(c, &model->msg, &model->metadata_props);
    onx_check_devices(c, model);
    if (!model->graph)
        onx_check_tell(c, ONX_RULE_MODEL_GRAPH, model, "add a graph", "the model has no graph");
}
