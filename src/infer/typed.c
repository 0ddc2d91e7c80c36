/* typed.c: types of outputs from the signature alone: where an output has the type of an input, or
 * can have only one. Shapes stay unknown. */
#include "infer/infer_internal.h"
#include "infer/type_fact.h"

/* The parameter of value `index`; the last one may be variadic. NULL: there is none. */
static const onx_param *param_at(const onx_param *params, size_t n, size_t index) {
    if (index < n) return &params[index];
    return n && params[n - 1].variadic ? &params[n - 1] : NULL;
}

/* An input that has the type which `param` names, and is known. */
static const onx_fact *partner(const onx_infer *in, const onx_signature *s,
                               const onx_param *param) {
    for (size_t i = 0; i < onx_infer_n_in(in); i++) {
        const onx_param *other = param_at(s->inputs, s->n_inputs, i);
        const onx_fact *fact = onx_infer_in(in, i);
        if (other && !other->heterogeneous && fact->kind && onx_str_eq(other->type, param->type))
            return fact;
    }
    return NULL;
}

/* What the type can be, as written; a variable stands for its alternatives. */
static onx_str alternatives(const onx_signature *s, const onx_param *param) {
    for (size_t i = 0; i < s->n_constraints; i++)
        if (onx_str_eq(s->constraints[i].name, param->type)) return s->constraints[i].types;
    return param->type;
}

static onx_status type_output(onx_infer *in, const onx_signature *s, const onx_param *param,
                              onx_fact *out) {
    const onx_fact *same = param->heterogeneous ? NULL : partner(in, s, param);
    if (same) {
        *out = (onx_fact){.kind = same->kind, .dtype = same->dtype, .elem = same->elem};
        return ONX_OK;
    }
    bool readable;
    onx_fact fact;
    ONX_TRY(onx_type_fact(in->facts, alternatives(s, param), false, &fact, &readable));
    if (readable) *out = fact;
    return ONX_OK;
}

onx_status onx_infer_typed(onx_infer *in) {
    onx_signature s;
    ONX_TRY(onx_signature_parse(in->op, onx_infer_arena(in), &s, in->diag));
    for (size_t i = 0; i < onx_infer_n_out(in); i++) {
        const onx_param *param = param_at(s.outputs, s.n_outputs, i);
        if (param) ONX_TRY(type_output(in, &s, param, onx_infer_out(in, i)));
    }
    return ONX_OK;
}
