/* inline_model.c: onx_model_inline: which functions and operators are meant by their names. */
#include "base/options.h"
#include "pass/inline.h"

/* "domain::name:overload" in its parts; without an overload, its data is NULL: any. */
typedef struct pattern {
    onx_str domain, name, overload;
    bool all; /* of every domain */
} pattern;

static pattern read_pattern(const char *text) {
    const char *colons = strstr(text, "::");
    const char *name = colons ? colons + 2 : text, *colon = strchr(name, ':');
    pattern p = {.all = strcmp(text, "*") == 0};
    p.domain = onx_domain_plain((onx_str){text, colons ? (size_t)(colons - text) : 0});
    p.name = (onx_str){name, colon ? (size_t)(colon - name) : strlen(name)};
    p.overload = onx_str_of(colon ? colon + 1 : NULL);
    return p;
}

static bool matches(const char *text, onx_str domain, onx_str name, onx_str overload) {
    pattern p = read_pattern(text);
    if (p.all) return true;
    return onx_str_eq(p.domain, onx_domain_plain(domain)) &&
           (onx_str_is(p.name, "*") || onx_str_eq(p.name, name)) &&
           (!p.overload.data || onx_str_eq(p.overload, overload));
}

static bool matches_any(size_t n, const char *const *list, onx_str domain, onx_str name,
                        onx_str overload) {
    for (size_t i = 0; i < n; i++)
        if (matches(list[i], domain, name, overload)) return true;
    return false;
}

static bool wants(void *user, const onx_function *f) {
    const onx_inline_options *o = user;
    return (!o->n_only || matches_any(o->n_only, o->only, f->domain, f->name, f->overload)) &&
           !matches_any(o->n_except, o->except, f->domain, f->name, f->overload);
}

static bool expands(void *user, const onx_node *node, const onx_op *op) {
    const onx_inline_options *o = user;
    (void)op;
    return o->all_operators || matches_any(o->n_operators, o->operators, node->domain,
                                           node->op_type, (onx_str){NULL, 0});
}

/* Is there a function for each name? */
static onx_status check_names(const onx_model *model, size_t n, const char *const *list,
                              onx_diag *diag) {
    for (size_t i = 0; i < n; i++) {
        if (!list || !list[i])
            return onx_fail(diag, ONX_USAGE, "the name of a function is missing");
        bool found = strcmp(list[i], "*") == 0;
        ONX_EACH (onx_function, f, model->functions)
            found = found || matches(list[i], f->domain, f->name, f->overload);
        if (!found)
            return onx_fail(diag, ONX_NOT_FOUND, "the model has no function '%.200s'", list[i]);
    }
    return ONX_OK;
}

static bool is_operator(const char *text, const onx_op *op) {
    return onx_op_has_body(op) && matches(text, onx_str_of(op->domain ? op->domain : ""),
                                          onx_str_of(op->name), (onx_str){NULL, 0});
}

/* Is there an operator of the name with a body, in some version? */
static bool has_operator(const onx_context *ctx, const char *text) {
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++)
            if (is_operator(text, op)) return true;
    const onx_op *op;
    for (size_t i = 0; (op = onx_op_custom_at(ctx, i)); i++)
        if (is_operator(text, op)) return true;
    return false;
}

static onx_status check_operators(const onx_model *model, const onx_inline_options *o,
                                  onx_diag *diag) {
    for (size_t i = 0; i < o->n_operators; i++) {
        const char *name = o->operators ? o->operators[i] : NULL;
        if (!name) return onx_fail(diag, ONX_USAGE, "the name of an operator is missing");
        if (!has_operator(model->msg.doc->ctx, name))
            return onx_fail(diag, ONX_NOT_FOUND, "there is no operator '%.200s' that is a function",
                            name);
    }
    return ONX_OK;
}

/* The model with its functions brought to the opset versions that it imports itself. */
static onx_status align(const onx_model *model, onx_model **out, onx_diag *diag) {
    onx_convert_options options = ONX_INIT(onx_convert_options);
    onx_arena arena;
    onx_arena_init(&arena, model->msg.doc->ctx);
    onx_opset_target *targets =
        onx_arena_array(&arena, model->opset_import.count + 1, sizeof *targets);
    onx_status status = ONX_NO_MEMORY;
    ONX_EACH (onx_opset, o, model->opset_import)
        if (targets)
            targets[options.n_targets++] = (onx_opset_target){onx_opset_domain(o), o->version};
    options.targets = targets;
    if (targets) status = onx_model_convert(model, &options, out, diag);
    onx_arena_fini(&arena);
    return status;
}

static onx_status inline_copy(const onx_model *model, const onx_inline *how, onx_model **out,
                              onx_diag *diag) {
    onx_model *copy;
    ONX_TRY(onx_model_clone(model, &copy, diag));
    onx_status status = onx_inline_run(copy, how, diag);
    if (status)
        onx_model_free(copy);
    else
        *out = copy;
    return status;
}

onx_status onx_model_inline(const onx_model *model, const onx_inline_options *options,
                            onx_model **out, onx_diag *diag) {
    onx_inline_options o;
    onx_model *same;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    if (!model || !out) return onx_fail(diag, ONX_USAGE, "onx_model_inline needs a model");
    ONX_TRY(check_names(model, o.n_only, o.only, diag));
    ONX_TRY(check_names(model, o.n_except, o.except, diag));
    ONX_TRY(check_operators(model, &o, diag));
    onx_inline how = {.user = &o, .wants = wants, .keep = o.keep, .max_bytes = o.max_bytes};
    if (o.n_operators || o.all_operators) how.expands = expands;
    how.must_expand = !o.all_operators;
    onx_status status = inline_copy(model, &how, out, diag);
    if (status != ONX_UNSUPPORTED || !model->functions.count) return status;
    onx_status aligned = align(model, &same, NULL);
    if (aligned) return aligned == ONX_NO_MEMORY ? onx_fail_nomem(diag) : status;
    status = inline_copy(same, &how, out, diag);
    onx_model_free(same);
    return status;
}
