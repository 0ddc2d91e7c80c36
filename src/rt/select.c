/* select.c: which row runs a node: the first, from the best tier down, that has operator, version
 * and types, and does not refuse in its init. */
#include "rt/eval.h"

static bool takes_types(const onx_kernel *row, const onx_call *call) {
    for (size_t i = 0; i < call->n_in; i++) {
        const onx_operand *in = call->in[i];
        if (!in) continue;
        bool object = in->kind != ONX_TYPE_TENSOR || in->dtype == ONX_DTYPE_STRING;
        if (object && !(row->flags & ONX_KERNEL_OBJECTS)) return false;
        uint32_t mask = row->types[i < ONX_COUNT(row->types) ? i : ONX_COUNT(row->types) - 1];
        if (in->layout && !row->domain && !(row->flags & ONX_KERNEL_LAYOUTS)) return false;
        if (mask && in->kind == ONX_TYPE_TENSOR && !(mask >> in->dtype & 1)) return false;
    }
    return true;
}

bool onx_kernel_is_for(const onx_kernel *row, const onx_op *op) {
    if (row->only) return row->only == op;
    return row->op[0] == op->name[0] && strcmp(row->op, op->name) == 0 &&
           strcmp(row->domain ? row->domain : "", op->domain ? op->domain : "") == 0 &&
           op->since >= row->first && (!row->last || op->since <= row->last);
}

static onx_status no_row(const onx_call *call) {
    char types[200] = "";
    size_t n = 0;
    for (size_t i = 0; i < call->n_in && n < sizeof types - 1; i++) {
        const char *name = call->in[i] ? onx_dtype_name((onx_dtype)call->in[i]->dtype) : "none";
        for (const char *c = i ? ", " : ""; *c && n < sizeof types - 1; c++) types[n++] = *c;
        for (const char *c = name; *c && n < sizeof types - 1; c++) types[n++] = *c;
    }
    types[n] = 0;
    return onx_fail(call->diag, ONX_UNSUPPORTED, "there is no kernel for %s of opset %d with (%s)",
                    call->op->name, (int)call->op->since, types);
}

static void pass_layout(onx_call *call) {
    for (size_t i = 0; i < call->n_in && call->n_out && call->out[0]; i++)
        if (call->in[i] && call->in[i]->layout) call->out[0]->layout = call->in[i]->layout;
}

static bool input_of(const void *user, size_t index, onx_type_kind *kind, onx_dtype *dtype) {
    const onx_operand *in = ((const onx_call *)user)->in[index];
    if (!in) return false;
    *kind = (onx_type_kind)in->kind;
    if (in->kind == ONX_TYPE_TENSOR) *dtype = (onx_dtype)in->dtype;
    return true;
}

/* Rows rely on output 0, unless it is optional or one of many, and know of those they have. */
static onx_status check_outputs(const onx_call *call) {
    onx_signature signature;
    if (call->n_out == 1 && call->out[0]) return ONX_OK;
    ONX_TRY(onx_signature_parse(call->op, call->arena, &signature, call->diag));
    size_t n = signature.n_outputs;
    bool many = n && signature.outputs[n - 1].variadic;
    for (size_t i = n; i < call->n_out && !many; i++)
        if (call->out[i])
            return onx_fail(call->diag, ONX_INVALID, "%s has %zu outputs, not %zu", call->op->name,
                            n, call->n_out);
    if (!n || (call->n_out && call->out[0])) return ONX_OK;
    if (signature.outputs[0].optional || signature.outputs[0].variadic) return ONX_OK;
    return onx_fail(call->diag, ONX_INVALID, "output 0, '%.*s', of %s has no name",
                    ONX_FMT(signature.outputs[0].name), call->op->name);
}

onx_status onx_kernel_select(const onx_provider *provider, onx_call *call, const char **tier) {
    ONX_TRY(onx_op_check(call->op, call->n_in, input_of, call, call->diag));
    ONX_TRY(check_outputs(call));
    for (size_t t = 0; provider->tables[t]; t++) {
        for (const onx_kernel *row = provider->tables[t]; row->op; row++) {
            if (!onx_kernel_is_for(row, call->op) || !takes_types(row, call)) continue;
            if ((row->flags & ONX_KERNEL_FAST) && !provider->fast) continue;
            call->kernel = row;
            call->state = NULL;
            call->pack_format = 0;
            call->plan_bytes = row->plan_bytes;
            onx_status status = row->init ? row->init(call) : ONX_OK;
            if (status == ONX_UNSUPPORTED) continue;
            if (row->flags & ONX_KERNEL_LAYOUTS) pass_layout(call);
            *tier = provider->tiers[t];
            return status;
        }
    }
    return no_row(call);
}
