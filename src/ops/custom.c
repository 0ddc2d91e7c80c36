/* custom.c: operators that a program adds to a context: checked, copied, put in order.
 *
 * All of a call are added, or none. They add to the tables and never replace a row of them. */
#include "ops/custom.h"

#include "base/options.h"
#include "ops/signature.h"

#include <stdlib.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name(onx_str s) {
    for (size_t i = 0; i < s.size; i++)
        if (!is_letter(s.data[i]) && !(i && is_digit(s.data[i]))) return false;
    return s.size > 0;
}

static bool is_domain(onx_str s) {
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];
        if (!is_letter(c) && !is_digit(c) && c != '.' && c != '-') return false;
    }
    return !onx_str_is(s, "onx.internal");
}

/* ── One operator ────────────────────────────────────────────────────────────────────────────── */

static onx_status check_def(const onx_op_def *def, onx_str domain, onx_diag *diag) {
    onx_str name = onx_str_of(def->name);
    if (!is_name(name))
        return onx_fail(diag, ONX_USAGE,
                        "'%.100s' cannot be the name of an operator: letters, "
                        "digits and _ can",
                        def->name ? def->name : "");
    if (!is_domain(domain))
        return onx_fail(diag, ONX_USAGE, "'%.*s' cannot be the domain of an operator",
                        ONX_FMT(domain));
    if (def->since < 0 || def->since > INT32_MAX)
        return onx_fail(diag, ONX_USAGE, "version %lld of '%.100s' is not a version",
                        (long long)def->since, def->name);
    if (!def->signature)
        return onx_fail(diag, ONX_USAGE, "the operator '%.100s' has no signature", def->name);
    if (!onx_op_find(domain, name, INT64_MAX)) return ONX_OK;
    onx_fail(diag, ONX_CONFLICT, "the operator '%.100s' exists already", def->name);
    onx_diag_hint(diag, "choose a domain of your own");
    return ONX_CONFLICT;
}

/* A copy of a text that may be absent. */
static bool copy_text(onx_arena *arena, const char *text, const char **out) {
    onx_str copy = {NULL, 0};
    if (text && !onx_arena_str(arena, onx_str_of(text), &copy)) return false;
    *out = copy.data;
    return true;
}

static onx_status check_signature(const onx_op *op, onx_context *ctx, onx_diag *diag) {
    onx_arena arena;
    onx_signature signature;
    onx_arena_init(&arena, ctx);
    onx_status status = onx_signature_parse(op, &arena, &signature, diag);
    onx_arena_fini(&arena);
    return status;
}

/* Can the body be read? There is no call yet, so a variadic parameter has no values. */
static onx_status check_function(const onx_op *op, onx_context *ctx, onx_diag *diag) {
    const onx_node call = {.input = {.n = 1}, .output = {.n = 1}};
    onx_model *body = NULL;
    if (!op->function) return ONX_OK;
    ONX_TRY(onx_op_body(op, &call, 0, NULL, ctx, &body, diag));
    onx_model_free(body);
    return ONX_OK;
}

/* Can the types of a kernel be read? They are alternatives, one list for each input. */
static bool are_types(onx_str text) {
    onx_str input, one;
    while (onx_signature_cut(&text, ',', &input))
        while (onx_signature_cut(&input, '|', &one))
            if (!onx_signature_types(one)) return false;
    return true;
}

static onx_status check_kernel(const onx_kernel_def *def, const char *op, onx_diag *diag) {
    if (!def->run)
        return onx_fail(diag, ONX_USAGE, "a kernel of the operator '%.100s' has no run", op);
    if (def->late && def->bind)
        return onx_fail(diag, ONX_USAGE, "a kernel of '%.100s' is late, but has a bind", op);
    if (def->types && !are_types(onx_str_of(def->types)))
        return onx_fail(diag, ONX_USAGE, "'%.100s' are no types that a kernel of '%.100s' can take",
                        def->types, op);
    return ONX_OK;
}

static onx_status copy_kernels(onx_arena *arena, const onx_op_def *def, onx_custom_op *op,
                               onx_diag *diag) {
    if (def->n_kernels && !def->kernels)
        return onx_fail(diag, ONX_USAGE, "the kernels of '%.100s' are missing", def->name);
    op->kernels = onx_arena_array(arena, def->n_kernels, sizeof *op->kernels);
    if (!op->kernels) return onx_fail_nomem(diag);
    const char *next = (const char *)def->kernels;
    for (; op->n_kernels < def->n_kernels; op->n_kernels++) {
        onx_kernel_def *kernel = &op->kernels[op->n_kernels];
        ONX_TRY(ONX_OPTIONS(kernel, next, diag));
        ONX_TRY(check_kernel(kernel, def->name, diag));
        if (!copy_text(arena, kernel->name ? kernel->name : def->name, &kernel->name) ||
            !copy_text(arena, kernel->types, &kernel->types))
            return onx_fail_nomem(diag);
        next += def->kernels->size;
    }
    return ONX_OK;
}

static onx_status make_row(struct onx_custom_ops *ops, const onx_op_def *def, onx_custom_op **out,
                           onx_diag *diag) {
    onx_str domain = onx_domain_plain(onx_str_of(def->domain ? def->domain : ""));
    ONX_TRY(check_def(def, domain, diag));
    onx_custom_op *op = onx_arena_alloc(&ops->arena, sizeof *op);
    if (!op || !copy_text(&ops->arena, domain.data, &op->row.domain) ||
        !copy_text(&ops->arena, def->name, &op->row.name) ||
        !copy_text(&ops->arena, def->signature, &op->row.signature) ||
        !copy_text(&ops->arena, def->function, &op->row.function))
        return onx_fail_nomem(diag);
    op->row.since = def->since ? (int32_t)def->since : 1;
    op->row.varies = def->varies;
    op->row.infer = def->infer || !def->function ? onx_infer_custom : NULL;
    op->infer = def->infer;
    op->user = def->user;
    *out = op;
    ONX_TRY(copy_kernels(&ops->arena, def, op, diag));
    ONX_TRY(check_signature(&op->row, ops->ctx, diag));
    return check_function(&op->row, ops->ctx, diag);
}

/* ── All of them ─────────────────────────────────────────────────────────────────────────────── */

static int by_order(const void *a, const void *b) {
    const onx_op *x = &(*(onx_custom_op *const *)a)->row, *y = &(*(onx_custom_op *const *)b)->row;
    int order = onx_custom_compare(x, onx_str_of(y->domain), onx_str_of(y->name));
    return order ? order : (x->since > y->since) - (x->since < y->since);
}

static onx_status sort_rows(onx_custom_op **rows, size_t n, onx_diag *diag) {
    qsort(rows, n, sizeof(onx_custom_op *), by_order);
    for (size_t i = 1; i < n; i++)
        if (by_order(&rows[i - 1], &rows[i]) == 0)
            return onx_fail(diag, ONX_CONFLICT, "version %d of the operator '%s' is added twice",
                            (int)rows[i]->row.since, rows[i]->row.name);
    return ONX_OK;
}

/* `rows` holds what there is and, behind it, room for n more. */
static onx_status make_rows(struct onx_custom_ops *ops, size_t n, const onx_op_def *defs,
                            onx_custom_op **rows, onx_diag *diag) {
    if (ops->n) memcpy(rows, ops->rows, ops->n * sizeof(onx_custom_op *));
    const char *next = (const char *)defs;
    for (size_t i = 0; i < n; i++) {
        onx_op_def def;
        ONX_TRY(ONX_OPTIONS(&def, next, diag));
        ONX_TRY(make_row(ops, &def, &rows[ops->n + i], diag));
        next += defs->size; /* a caller may know fewer members than we do */
    }
    return sort_rows(rows, ops->n + n, diag);
}

static void free_ops(onx_context *ctx) {
    struct onx_custom_ops *ops = ctx->custom;
    if (ops->unload) ops->unload(ops);
    onx_arena_fini(&ops->arena);
    onx_mem_free(ctx, ops->rows, ops->n * sizeof(onx_custom_op *));
    onx_mem_free(ctx, ops, sizeof *ops);
}

struct onx_custom_ops *onx_custom_ops_of(onx_context *ctx) {
    if (ctx->custom) return ctx->custom;
    struct onx_custom_ops *ops = onx_mem_alloc(ctx, sizeof *ops);
    if (!ops) return NULL;
    *ops = (struct onx_custom_ops){.ctx = ctx};
    onx_arena_init(&ops->arena, ctx);
    ctx->custom_free = free_ops;
    return ctx->custom = ops;
}

onx_status onx_context_add_ops(onx_context *ctx, size_t n, const onx_op_def *defs, onx_diag *diag) {
    if (!ctx)
        return onx_fail(diag, ONX_USAGE,
                        "operators can be added to a context of your own: see onx_context_new");
    if (n && !defs) return onx_fail(diag, ONX_USAGE, "there are no operators to add");
    struct onx_custom_ops *ops = onx_custom_ops_of(ctx);
    size_t count, bytes;
    if (!ops || !onx_add_size(ops->n, n, &count) ||
        !onx_mul_size(count, sizeof(onx_custom_op *), &bytes))
        return onx_fail_nomem(diag);
    onx_custom_op **rows = onx_mem_alloc(ctx, bytes);
    if (!rows) return onx_fail_nomem(diag);
    onx_status status = make_rows(ops, n, defs, rows, diag);
    if (status) {
        onx_mem_free(ctx, rows, bytes);
        return status;
    }
    onx_mem_free(ctx, ops->rows, ops->n * sizeof(onx_custom_op *));
    ops->rows = rows;
    ops->n = count;
    return ONX_OK;
}
