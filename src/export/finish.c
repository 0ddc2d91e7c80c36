/* finish.c: from what the lowerings built to the model that was asked for: clean, of the right
 * opset, with types. */
#include "export/exporting.h"
#include "export/modules.h"
#include "ir/ir.h"

#include <stdio.h>

/* Constants folded, what nobody needs gone, patterns as one operator; without folding only what
 * leaves weights alone. */
static onx_status clean(const onx_exporting *e, const onx_model *model, onx_model **out,
                        onx_diag *diag) {
    onx_optimize_options how = ONX_INIT(onx_optimize_options);
    how.disable = "einsum";                                /* one node says more than its parts */
    if (e->options.functions) how.level = ONX_LEVEL_BASIC; /* nothing that joins modules */
    if (e->options.no_folding) how.level = ONX_LEVEL_NONE, how.enable = "dce, identity, cse";
    return onx_model_optimize(model, &how, out, NULL, diag);
}

static onx_status convert(const onx_exporting *e, const onx_model *model, onx_model **out,
                          onx_diag *diag) {
    onx_opset_target target = {NULL, e->options.opset};
    onx_convert_options how = ONX_INIT(onx_convert_options);
    how.n_targets = 1;
    how.targets = &target;
    onx_status status = onx_model_convert(model, &how, out, diag);
    if (status == ONX_UNSUPPORTED && diag) {
        onx_diag why = *diag;
        onx_diag_hint(diag, "%s%stake a newer --opset: from %d on nothing is rewritten", why.hint,
                      why.hint[0] ? "; " : "", ONX_X_BASE);
    }
    return status;
}

/* Each weight is an input of the same name, too. */
static onx_status add_inputs(onx_model *model, onx_diag *diag) {
    onx_graph *graph = model->graph;
    for (onx_tensor *t = onx_graph_initializer_first(graph); t; t = onx_tensor_next(t)) {
        char type[512];
        size_t used =
            (size_t)snprintf(type, sizeof type, "%s", onx_dtype_name(onx_tensor_dtype(t)));
        for (size_t i = 0; i < onx_tensor_rank(t) && used < sizeof type - 32; i++)
            used += (size_t)snprintf(type + used, sizeof type - used, "%c%lld", i ? ',' : '[',
                                     (long long)onx_tensor_dim(t, i));
        if (onx_tensor_rank(t)) snprintf(type + used, sizeof type - used, "]");
        if (!onx_graph_add_input(graph, onx_tensor_name(t), type))
            return onx_fail(diag, onx_model_error(model)->status, "%s",
                            onx_model_error(model)->message);
    }
    return ONX_OK;
}

/* The next stage in place of the last. */
typedef onx_status stage(const onx_exporting *e, const onx_model *model, onx_model **out,
                         onx_diag *diag);
static onx_status apply(const onx_exporting *e, stage *fn, onx_model **model, onx_diag *diag) {
    onx_model *next;
    ONX_TRY(fn(e, *model, &next, diag));
    onx_model_free(*model);
    *model = next;
    return ONX_OK;
}

static onx_status add_opsets(const onx_exporting *e, onx_model *model) {
    for (size_t i = 0; i < e->options.n_opsets; i++)
        ONX_TRY(
            onx_model_set_opset(model, e->options.opsets[i].domain, e->options.opsets[i].version));
    return ONX_OK;
}

onx_status onx_export_finish(onx_exporting *e, onx_model **out, onx_diag *diag) {
    onx_model *model = e->x.model;
    e->x.model = NULL;
    onx_facts_free(e->x.facts);
    e->x.facts = NULL;
    onx_export_tell(e, ONX_EXPORT_CLEAN, "optimizing");
    onx_status status = apply(e, clean, &model, diag);
    if (!status && e->options.opset < ONX_X_BASE) {
        onx_export_tell(e, ONX_EXPORT_CONVERT, "converting");
        status = apply(e, convert, &model, diag);
        if (!status) status = apply(e, clean, &model, diag);
    }
    if (!status && e->options.functions) status = onx_export_modules(&e->x, model, diag);
    onx_export_tell(e, ONX_EXPORT_INFER, "inferring types");
    if (!status) status = onx_model_infer(model, NULL, diag);
    if (!status && e->options.initializers_as_inputs) status = add_inputs(model, diag);
    if (!status) status = add_opsets(e, model);
    if (!status) status = onx_model_set_producer(model, "onx", onx_version());
    if (status)
        onx_model_free(model);
    else
        *out = model;
    return status;
}
