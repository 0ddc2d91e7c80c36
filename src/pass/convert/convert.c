/* convert.c: a model for other versions of its opsets: onx_model_convert.
 *
 * It works on a copy, which becomes the result or goes. What cannot be kept is collected from the
 * whole model first; the copy is then not finished, and never seen. */
#include "base/options.h"
#include "pass/convert/step.h"

enum { LOWEST = 7 }; /* version of ai.onnx that is converted down to */

/* ─ Targets ──────────────────────────────────────────────────────────────────────────────────── */

static int64_t newest_version(onx_str domain) {
    int64_t newest = 0;
    if (!domain.size) return ONX_OPSET_VERSION;
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++)
            if (onx_str_is(domain, op->domain ? op->domain : "") && op->since > newest)
                newest = op->since;
    return newest;
}

static const char *domain_name(onx_str domain) {
    return domain.size ? domain.data : "ai.onnx";
}

static onx_opset *find_import(const onx_list *imports, onx_str domain) {
    ONX_EACH (onx_opset, o, *imports)
        if (onx_str_eq(onx_domain_plain(o->domain), domain)) return o;
    return NULL;
}

static onx_status check_version(onx_convert *c, int64_t from, int64_t to) {
    const char *name = domain_name(c->domain);
    int64_t newest = newest_version(c->domain);
    if (from == to) return ONX_OK;
    if (from < 1 || to < 1 || from > newest || to > newest) {
        int64_t bad = from < 1 || from > newest ? from : to;
        onx_fail(&c->diag, ONX_UNSUPPORTED, "version %lld of the opset '%.100s' is not known",
                 (long long)bad, name);
        onx_diag_hint(&c->diag, newest ? "versions 1 to %lld are" : "none is", (long long)newest);
        return ONX_UNSUPPORTED;
    }
    if (!c->domain.size && to < from && to < LOWEST)
        return onx_fail(&c->diag, ONX_UNSUPPORTED,
                        "models are converted down to version %d of '%s', not to %lld", LOWEST,
                        name, (long long)to);
    return ONX_OK;
}

/* ─ Graphs ───────────────────────────────────────────────────────────────────────────────────── */

/* One graph or function, with the opsets that it imports. */
static onx_status convert_root(onx_convert *c, onx_graph *graph, const onx_list *imports,
                               int64_t to, bool *any) {
    c->import = find_import(imports, c->domain);
    if (!c->import) return ONX_OK;
    *any = true;
    int64_t from = c->import->version;
    ONX_TRY(check_version(c, from, to));
    onx_status status = graph ? onx_convert_graph(c, graph, from, to) : ONX_OK;
    ONX_EACH (onx_opset, o, *imports)
        if (onx_str_eq(onx_domain_plain(o->domain), c->domain))
            onx_i64_set(o, ONX_ROW(opset, version), to);
    return status;
}

static onx_status convert_domain(onx_convert *c, const onx_opset_target *target) {
    bool any = false;
    c->domain = onx_domain_plain(onx_str_of(target->domain ? target->domain : ""));
    ONX_TRY(convert_root(c, c->model->graph, &c->model->opset_import, target->version, &any));
    ONX_EACH (onx_function, f, c->model->functions)
        ONX_TRY(convert_root(c, &f->body, &f->opset_import, target->version, &any));
    if (any) return ONX_OK;
    return onx_fail(&c->diag, ONX_NOT_FOUND, "the model does not import the opset '%.100s'",
                    domain_name(c->domain));
}

/* ─ Before and after ─────────────────────────────────────────────────────────────────────────── */

static onx_status find_facts_in(onx_convert *c, const onx_graph *graph) {
    if (!graph) return ONX_OK;
    ONX_EACH (onx_node, node, graph->node) ONX_TRY(onx_facts_update(c->facts, node, &c->diag));
    return ONX_OK;
}

static onx_status find_facts(onx_convert *c) {
    onx_facts_options options = {.report = onx_facts_ignore};
    ONX_TRY(onx_facts_new(c->model, &options, &c->facts, &c->diag));
    ONX_EACH (onx_training, t, c->model->training_info) {
        ONX_TRY(find_facts_in(c, t->initialization));
        ONX_TRY(find_facts_in(c, t->algorithm));
    }
    ONX_EACH (onx_function, f, c->model->functions) ONX_TRY(find_facts_in(c, &f->body));
    return ONX_OK;
}

/* Files older than imports mean the first version. */
static onx_status add_import(onx_convert *c) {
    onx_model *m = c->model;
    if (m->ir_version >= 3 || m->opset_import.count) return ONX_OK;
    return onx_model_set_opset(m, "", 1) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* Constants that nobody uses any more. */
static onx_status drop_loose(onx_convert *c) {
    for (size_t i = 0; i < c->n_loose; i++) {
        onx_value *value = c->loose[i];
        if (value->dead || onx_value_is_needed(value)) continue;
        if (value->def && onx_str_is(value->def->op_type, "Constant"))
            ONX_TRY(onx_node_remove(value->def, &c->diag));
        else if (value->init && !value->input && !value->sparse)
            ONX_TRY(onx_graph_remove_initializer(value->graph, value, &c->diag));
    }
    return ONX_OK;
}

/* IR version 3 is the first with imports; the versions of ai.onnx.ml came with those of ai.onnx. */
static void raise_ir_version(onx_model *model) {
    static const int64_t of_ml[] = {0, 1, 11, 16, 20, 21};
    int64_t needed = 3;
    ONX_EACH (onx_opset, o, model->opset_import) {
        onx_str domain = onx_domain_plain(o->domain);
        bool ml = onx_str_is(domain, "ai.onnx.ml") && o->version > 0 &&
                  o->version < (int64_t)ONX_COUNT(of_ml);
        int64_t opset = !domain.size ? o->version : ml ? of_ml[o->version] : 1;
        int64_t ir = onx_ir_version_for(opset);
        if (ir > needed) needed = ir;
    }
    if (model->ir_version < needed) onx_i64_set(model, ONX_ROW(model, ir_version), needed);
}

static onx_status finish(onx_convert *c) {
    if (c->problems) {
        c->diag = c->first;
        if (c->problems > 1)
            onx_diag_hint(&c->diag, "%s%sand %zu more cannot be kept", c->first.hint,
                          c->first.hint[0] ? "; " : "", c->problems - 1);
        return ONX_UNSUPPORTED;
    }
    ONX_TRY(drop_loose(c));
    raise_ir_version(c->model);
    return ONX_OK;
}

static onx_status run(onx_convert *c, const onx_convert_options *options) {
    ONX_TRY(add_import(c));
    ONX_TRY(find_facts(c));
    for (size_t i = 0; i < options->n_targets; i++)
        ONX_TRY(convert_domain(c, &options->targets[i]));
    return finish(c);
}

onx_status onx_model_convert(const onx_model *model, const onx_convert_options *options,
                             onx_model **out, onx_diag *diag) {
    onx_convert_options own;
    if (!model || !out) return onx_fail(diag, ONX_USAGE, "there is no model to convert");
    ONX_TRY(ONX_OPTIONS(&own, options, diag));
    if (own.n_targets && !own.targets) return onx_fail(diag, ONX_USAGE, "there are no targets");
    onx_convert c = {.report = own.report, .user = own.user, .diag = ONX_INIT(onx_diag)};
    ONX_TRY(onx_model_clone(model, &c.model, diag));
    onx_context *ctx = c.model->msg.doc->ctx;
    onx_arena_init(&c.arena, ctx);
    onx_map_init(&c.signatures, ctx);
    onx_status status = run(&c, &own);
    onx_facts_free(c.facts);
    onx_map_fini(&c.signatures);
    onx_arena_fini(&c.arena);
    if (status) {
        if (diag) {
            size_t size = diag->size;
            *diag = c.diag;
            diag->size = size;
        }
        onx_model_free(c.model);
        return status;
    }
    *out = c.model;
    return ONX_OK;
}
