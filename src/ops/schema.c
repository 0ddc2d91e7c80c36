/* schema.c: a row of an operator as a public structure: the signature taken apart, sets of types
 * written out, all versions named. */
#include "base/options.h"
#include "ops/custom.h"
#include "ops/signature.h"

typedef struct holder {
    onx_schema public; /* first: it is what the caller sees */
    onx_arena arena;
    onx_buf text; /* what is being put together */
} holder;

/* ── Texts ───────────────────────────────────────────────────────────────────────────────────── */

static const char *keep(holder *s, onx_str text) {
    onx_str copy;
    if (onx_arena_str(&s->arena, text, &copy)) return copy.data;
    s->text.failed = true;
    return NULL;
}

/* What was put together, and a new beginning. */
static const char *take(holder *s) {
    const char *text = keep(s, (onx_str){s->text.data, s->text.size});
    s->text.size = 0;
    return text;
}

/* The word inside all parentheses: "float" of "seq(float)" and of "map(int64, float)". */
static onx_str innermost(onx_str type) {
    size_t end = type.size, from;
    while (end && type.data[end - 1] == ')') end--;
    for (from = end; from && !strchr("(, ", type.data[from - 1]);) from--;
    return (onx_str){type.data + from, end - from};
}

/* A type as ONNX's schemas write it, with `dtype` in place of the word inside. Only the values of
 * maps and what is in sparse tensors is not called a tensor there. */
static const char *spell(holder *s, onx_str type, onx_str word, onx_dtype dtype) {
    size_t before = (size_t)(word.data - type.data), after = before + word.size;
    onx_str head = {type.data, before};
    bool bare = onx_str_ends(head, ONX_LIT("sparse_tensor(")) || onx_str_ends(head, ONX_LIT(" ")) ||
                onx_str_ends(head, ONX_LIT(","));
    onx_buf_put(&s->text, head.data, head.size);
    onx_buf_printf(&s->text, bare ? "%s" : "tensor(%s)", onx_dtype_name(dtype));
    onx_buf_put(&s->text, type.data + after, type.size - after);
    return take(s);
}

/* ── Parts ───────────────────────────────────────────────────────────────────────────────────── */

static size_t count_types(onx_str alternatives) {
    onx_str one;
    size_t n = 0;
    while (onx_signature_cut(&alternatives, '|', &one))
        n += (size_t)__builtin_popcount(onx_signature_types(innermost(one)));
    return n;
}

static bool fill_type(holder *s, const onx_constraint *from, onx_schema_type *to) {
    size_t count = count_types(from->types);
    const char **allowed = onx_arena_array(&s->arena, count + 1, sizeof *allowed);
    onx_str rest = from->types, one;
    to->name = keep(s, from->name);
    to->allowed = allowed;
    while (allowed && onx_signature_cut(&rest, '|', &one)) {
        onx_str word = innermost(one);
        uint32_t types = onx_signature_types(word);
        for (int d = 1; d < ONX_DTYPE_COUNT; d++)
            if (types >> d & 1) allowed[to->n++] = spell(s, one, word, (onx_dtype)d);
    }
    return allowed != NULL;
}

static const char *param_type(holder *s, const onx_signature *signature, const onx_param *param) {
    for (size_t i = 0; i < signature->n_constraints; i++)
        if (onx_str_eq(signature->constraints[i].name, param->type)) return keep(s, param->type);
    onx_str word = innermost(param->type);
    uint32_t types = onx_signature_types(word);
    int dtype = 1;
    while (dtype + 1 < ONX_DTYPE_COUNT && !(types >> dtype & 1)) dtype++;
    return spell(s, param->type, word, (onx_dtype)dtype);
}

static onx_schema_param *fill_params(holder *s, const onx_signature *signature,
                                     const onx_param *params, size_t n) {
    onx_schema_param *out = onx_arena_array(&s->arena, n + 1, sizeof *out);
    for (size_t i = 0; out && i < n; i++)
        out[i] =
            (onx_schema_param){keep(s, params[i].name), param_type(s, signature, &params[i]),
                               params[i].optional, params[i].variadic, params[i].heterogeneous};
    return out;
}

static onx_schema_attr *fill_attrs(holder *s, const onx_signature *signature) {
    onx_schema_attr *out = onx_arena_array(&s->arena, signature->n_attrs + 1, sizeof *out);
    for (size_t i = 0; out && i < signature->n_attrs; i++) {
        const onx_attr_decl *decl = &signature->attrs[i];
        out[i] = (onx_schema_attr){keep(s, decl->name), decl->type, decl->required,
                                   decl->text.data ? keep(s, decl->text) : NULL};
    }
    return out;
}

static onx_schema_type *fill_types(holder *s, const onx_signature *signature) {
    onx_schema_type *out = onx_arena_array(&s->arena, signature->n_constraints + 1, sizeof *out);
    for (size_t i = 0; out && i < signature->n_constraints; i++)
        if (!fill_type(s, &signature->constraints[i], &out[i])) return NULL;
    return out;
}

/* The versions before that of `op`, and after it, one by one. */
static bool fill_versions(holder *s, const onx_context *ctx, const onx_op *op) {
    onx_str domain = onx_str_of(op->domain ? op->domain : ""), name = onx_str_of(op->name);
    const onx_op *at = onx_op_lookup(ctx, domain, name, INT64_MAX);
    size_t n = 0;
    for (const onx_op *v = at; v; v = onx_op_lookup(ctx, domain, name, v->since - 1)) n++;
    int64_t *versions = onx_arena_array(&s->arena, n + 1, sizeof *versions);
    s->public.versions = versions;
    s->public.n_versions = n;
    for (; versions && at; at = onx_op_lookup(ctx, domain, name, at->since - 1))
        versions[--n] = at->since;
    return versions != NULL;
}

static onx_status fill(holder *s, const onx_context *ctx, const onx_op *op, onx_diag *diag) {
    onx_signature signature;
    onx_schema *to = &s->public;
    ONX_TRY(onx_signature_parse(op, &s->arena, &signature, diag));
    to->domain = keep(s, onx_str_of(op->domain ? op->domain : ""));
    to->name = keep(s, onx_str_of(op->name));
    to->since = op->since;
    to->deprecated = op->deprecated;
    to->infers = op->infer != NULL;
    to->is_function = op->function || op->body;
    to->function = op->function ? keep(s, onx_str_of(op->function)) : NULL;
    bool added = !onx_op_find(onx_str_of(to->domain), onx_str_of(op->name), op->since);
    to->n_kernels = added ? ((const onx_custom_op *)op)->n_kernels : 0;
    to->n_inputs = signature.n_inputs;
    to->n_outputs = signature.n_outputs;
    to->n_attrs = signature.n_attrs;
    to->n_types = signature.n_constraints;
    to->inputs = fill_params(s, &signature, signature.inputs, signature.n_inputs);
    to->outputs = fill_params(s, &signature, signature.outputs, signature.n_outputs);
    to->attrs = fill_attrs(s, &signature);
    to->types = fill_types(s, &signature);
    bool complete = to->inputs && to->outputs && to->attrs && to->types && !s->text.failed;
    return complete && fill_versions(s, ctx, op) ? ONX_OK : onx_fail_nomem(diag);
}

/* ── Names that are not there ────────────────────────────────────────────────────────────────── */

static void nearer(const onx_op *op, onx_str name, size_t *least, const onx_op **best) {
    if (op->domain && strcmp(op->domain, "onx.internal") == 0) return;
    size_t d = onx_str_distance(onx_str_of(op->name), name, *least);
    if (d < *least) *least = d, *best = op;
}

static const onx_op *nearest(const onx_context *ctx, onx_str name) {
    size_t least = 2 + name.size / 4;
    const onx_op *best = NULL, *custom;
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++) nearer(op, name, &least, &best);
    for (size_t i = 0; (custom = onx_op_custom_at(ctx, i)); i++)
        nearer(custom, name, &least, &best);
    return best;
}

static onx_status not_found(const onx_context *ctx, onx_str domain, onx_str name, int64_t version,
                            onx_diag *diag) {
    bool named = onx_op_lookup(ctx, domain, name, INT64_MAX) != NULL;
    if (named)
        return onx_fail(diag, ONX_NOT_FOUND, "opset %lld does not have '%.*s' yet",
                        (long long)version, ONX_FMT(name));
    const onx_op *near = nearest(ctx, name);
    onx_fail(diag, ONX_NOT_FOUND, "there is no operator '%.*s'%s%.*s", ONX_FMT(name),
             domain.size ? " in the domain " : "", ONX_FMT(domain));
    if (near)
        onx_diag_hint(diag, "is '%s%s%s' meant?", near->domain ? near->domain : "",
                      near->domain && near->domain[0] ? "::" : "", near->name);
    return ONX_NOT_FOUND;
}

/* ── The whole ───────────────────────────────────────────────────────────────────────────────── */

onx_status onx_schema_find(onx_context *ctx, const char *domain, const char *name, int64_t version,
                           const onx_schema **out, onx_diag *diag) {
    if (!name || !out) return onx_fail(diag, ONX_USAGE, "a name and a place for it are needed");
    ctx = onx_context_or_default(ctx);
    onx_str in = onx_domain_plain(onx_str_of(domain ? domain : ""));
    const onx_op *op = onx_op_lookup(ctx, in, onx_str_of(name), version ? version : INT64_MAX);
    if (!op) return not_found(ctx, in, onx_str_of(name), version, diag);
    holder *s = onx_mem_alloc(ctx, sizeof *s);
    if (!s) return onx_fail_nomem(diag);
    *s = (holder){.public = {0}};
    onx_context_retain(ctx);
    onx_arena_init(&s->arena, ctx);
    onx_buf_init(&s->text, ctx);
    onx_status status = fill(s, ctx, op, diag);
    if (status)
        onx_schema_free(&s->public);
    else
        *out = &s->public;
    return status;
}

void onx_schema_free(const onx_schema *schema) {
    if (!schema) return;
    holder *s = (holder *)(uintptr_t)schema;
    onx_context *ctx = s->arena.ctx;
    onx_buf_fini(&s->text);
    onx_arena_fini(&s->arena);
    onx_mem_free(ctx, s, sizeof *s);
    onx_context_free(ctx);
}
