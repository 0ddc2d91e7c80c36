/* keeps.c: does a node mean under a newer version of its operator what it meant before?
 *
 * It does when the newer signature only adds: types, optional inputs and outputs, attributes that
 * need not be there. What a signature does not show stands in a list. What was taken away or given
 * another default counts as changed, also where a given node would not notice. */
#include "ops/op.h"

/* Versions that mean something else by what looks the same. */
static const struct {
    const char *name;
    int32_t since;
} changed[] = {
    {"GroupNormalization", 21}, /* scales channels instead of groups */
    {"PRelu", 7},               /* a slope of rank 1 belonged to the channels */
    {"RoiAlign", 16},           /* samples at the centers of pixels */
    {"Split", 18},              /* into how many parts must be said */
};

static bool has_changed(const onx_op *was, const onx_op *is) {
    for (size_t i = 0; i < ONX_COUNT(changed); i++)
        if (!strcmp(is->name, changed[i].name) && was->since < changed[i].since &&
            is->since >= changed[i].since)
            return true;
    return false;
}

static bool params_keep(const onx_param *was, size_t n_was, const onx_param *is, size_t n_is) {
    for (size_t i = 0; i < n_was; i++) {
        if (i >= n_is || !onx_str_eq(was[i].name, is[i].name) || was[i].variadic != is[i].variadic)
            return false;
        if (was[i].optional && !is[i].optional) return false;
    }
    for (size_t i = n_was; i < n_is; i++)
        if (!is[i].optional) return false;
    return true;
}

static const onx_attr_decl *find_attr(const onx_signature *signature, onx_str name) {
    for (size_t i = 0; i < signature->n_attrs; i++)
        if (onx_str_eq(signature->attrs[i].name, name)) return &signature->attrs[i];
    return NULL;
}

static bool attrs_keep(const onx_signature *was, const onx_signature *is) {
    for (size_t i = 0; i < was->n_attrs; i++) {
        const onx_attr_decl *a = &was->attrs[i], *b = find_attr(is, a->name);
        if (!b || a->type != b->type || (b->required && !a->required)) return false;
        if (!a->required && !onx_str_eq(a->text, b->text)) return false;
    }
    for (size_t i = 0; i < is->n_attrs; i++)
        if (is->attrs[i].required && !find_attr(was, is->attrs[i].name)) return false;
    return true;
}

onx_status onx_op_keeps(const onx_op *was, const onx_op *is, onx_context *ctx, bool *out,
                        onx_diag *diag) {
    onx_signature a, b;
    onx_arena arena;
    *out = was && was == is;
    if (was == is || !was || !is || is->since < was->since || is->deprecated ||
        has_changed(was, is))
        return ONX_OK;
    onx_arena_init(&arena, onx_context_or_default(ctx));
    onx_status status = onx_signature_parse(was, &arena, &a, diag);
    if (!status) status = onx_signature_parse(is, &arena, &b, diag);
    if (!status)
        *out = params_keep(a.inputs, a.n_inputs, b.inputs, b.n_inputs) &&
               params_keep(a.outputs, a.n_outputs, b.outputs, b.n_outputs) && attrs_keep(&a, &b);
    onx_arena_fini(&arena);
    return status;
}
