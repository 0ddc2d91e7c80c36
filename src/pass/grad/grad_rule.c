/* grad_rule.c: one node differentiated: the text of its rule made whole, and inlined.
 *
 *     Mul, by both inputs:   Grad (x0, x1, y0, dy0) => (dx0, dx1) {
 *                                dx0 = Mul (dy0, x1)  dx1 = Mul (dy0, x0) }
 *
 * The call gets the inputs, outputs and gradients of the node, and its attributes; what the node
 * lacks, the call lacks. */
#include "pass/grad/gradient.h"

#include "pass/pass.h"

#include <stdio.h>

const onx_grad_rule *onx_grad_rule_find(const onx_op *op) {
    static const onx_grad_rule *const tables[] = {onx_grad_eltwise, onx_grad_move, onx_grad_reduce,
                                                  onx_grad_linear, onx_grad_norm};
    for (size_t t = 0; op && t < ONX_COUNT(tables); t++)
        for (const onx_grad_rule *rule = tables[t]; rule->op; rule++)
            if (strcmp(rule->op, op->name) == 0 &&
                strcmp(rule->domain ? rule->domain : "", op->domain ? op->domain : "") == 0)
                return rule;
    return NULL;
}

bool onx_grad_rule_ignores(const onx_grad_rule *rule, size_t input) {
    return rule->constant || (input < 32 && rule->ignores >> input & 1);
}
bool onx_grad_rule_has(const onx_grad_rule *rule, size_t input) {
    bool written = rule->write || (input < ONX_COUNT(rule->by) && rule->by[input]);
    return written && !onx_grad_rule_ignores(rule, input);
}

/* ─ For writers ──────────────────────────────────────────────────────────────────────────────── */

const onx_fact *onx_grad_in(const onx_grad *g, size_t index) {
    return onx_facts_of(g->facts, onx_node_input(g->node, index));
}
const onx_fact *onx_grad_out(const onx_grad *g, size_t index) {
    return onx_facts_of(g->facts, onx_node_output(g->node, index));
}
bool onx_grad_wants(const onx_grad *g, size_t index) {
    return index < g->node->input.n && g->wants[index];
}

onx_status onx_grad_rank(const onx_grad *g, size_t index, size_t *out) {
    const onx_fact *fact = onx_grad_in(g, index);
    *out = fact->rank;
    if (fact->ranked) return ONX_OK;
    return onx_fail(g->diag, ONX_UNSUPPORTED,
                    "the derivative of %s needs the rank of its input %zu, which is not known",
                    g->op->name, index);
}

void onx_grad_put(onx_grad *g, const char *fmt, ...) {
    char line[1000];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    onx_buf_puts(&g->text, line);
    onx_buf_putc(&g->text, '\n');
}

/* Axes are an attribute before 18, of ReduceSum before 13, and an input since. */
void onx_grad_put_reduce(onx_grad *g, const char *op, const char *to, const char *from,
                         int64_t first, size_t n) {
    bool input = g->opset >= (strcmp(op, "ReduceSum") == 0 ? 13 : 18);
    if (input)
        onx_buf_printf(&g->text, "%s_axes = Constant <value: tensor = int64[%zu] {", to, n);
    else
        onx_buf_printf(&g->text, "%s = %s <keepdims: int = 1, axes: ints = [", to, op);
    for (size_t i = 0; i < n; i++)
        onx_buf_printf(&g->text, "%s%lld", i ? ", " : "", (long long)(first + (int64_t)i));
    if (input)
        onx_grad_put(g, "}> () %s = %s <keepdims: int = 1> (%s, %s_axes)", to, op, from, to);
    else
        onx_grad_put(g, "]> (%s)", from);
}

void onx_grad_put_shape(onx_grad *g, const char *to, const char *from, const char *sizes) {
    size_t n = 1;
    for (const char *c = sizes; *c; c++) n += *c == ',';
    onx_grad_put(g, "%s_sizes = Constant <value: tensor = int64[%zu] {%s}> ()", to, *sizes ? n : 0,
                 sizes);
    onx_grad_put(g, "%s = Reshape (%s, %s_sizes)", to, from, to);
}

/* A size of 0 means one of the input's before 14, which only matters where nothing is there. */
void onx_grad_put_like(onx_grad *g, const char *to, const char *from, const char *like) {
    onx_grad_put(g, "%s_shape = Shape (%s)", to, like);
    onx_grad_put(g, "%s = Reshape%s (%s, %s_shape)", to,
                 g->opset >= 14 ? " <allowzero: int = 1>" : "", from, to);
}

static onx_str attrs_of(const onx_op *op) {
    const char *open = strchr(op->signature, '{'), *close = open ? strchr(open, '}') : NULL;
    return close ? (onx_str){open, (size_t)(close - open) + 1} : ONX_LIT("");
}

onx_status onx_grad_put_attrs(onx_grad *g) {
    onx_arena arena;
    onx_signature signature;
    onx_arena_init(&arena, g->text.ctx);
    onx_status status = onx_signature_parse(g->op, &arena, &signature, g->diag);
    for (size_t i = 0; !status && i < signature.n_attrs; i++) {
        const onx_attr_decl *a = &signature.attrs[i];
        onx_buf_printf(&g->text, "%s%.*s: %s = @%.*s", i ? ", " : " <", ONX_FMT(a->name),
                       onx_attr_type_name(a->type), ONX_FMT(a->name));
    }
    if (!status && signature.n_attrs) onx_buf_puts(&g->text, "> ");
    onx_arena_fini(&arena);
    return status;
}

/* ─ Numbers ──────────────────────────────────────────────────────────────────────────────────── */

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_';
}

/* A constant of a type, for "$2.5" or "$alpha". */
static void put_number(onx_buf *out, const onx_op *op, const onx_node *node, const char *word,
                       size_t n, size_t index, onx_dtype dtype) {
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)n, word);
    bool is_number = *word >= '0' && *word <= '9';
    onx_buf_printf(out, "number%zu%s = Constant <value: tensor = double {", index,
                   dtype == ONX_DTYPE_F64 ? "" : "_f64");
    if (is_number)
        onx_buf_puts(out, name);
    else
        onx_buf_printf(out, "%.17g", (double)onx_op_float(op, node, name));
    onx_buf_puts(out, "}> ()\n");
    if (dtype != ONX_DTYPE_F64)
        onx_buf_printf(out, "number%zu = Cast <to: int = %d> (number%zu_f64)\n", index, (int)dtype,
                       index);
}

/* The text with names in place of numbers, after the constants of these names. */
static void put_text(onx_buf *out, const onx_op *op, const onx_node *node, const char *text,
                     onx_dtype dtype) {
    onx_buf body;
    size_t numbers = 0;
    onx_buf_init(&body, out->ctx);
    while (*text) {
        if (*text != '$') {
            onx_buf_putc(&body, *text++);
            continue;
        }
        size_t n = 1;
        while (is_word(text[n])) n++;
        put_number(out, op, node, text + 1, n - 1, numbers, dtype);
        onx_buf_printf(&body, "number%zu", numbers++);
        text += n;
    }
    onx_buf_put(out, body.data, body.size);
    out->failed |= body.failed;
    onx_buf_fini(&body);
}

/* ─ Calls ────────────────────────────────────────────────────────────────────────────────────── */

static bool has_part(const onx_grad *g, size_t input) {
    return g->wants[input] && onx_grad_rule_has(g->rule, input);
}

static bool is_summed(const onx_grad *g, size_t input) {
    return g->rule->broadcasts && !onx_pass_same_shape(onx_grad_in(g, input), onx_grad_out(g, 0));
}

static onx_status write_rule(onx_grad *g) {
    const onx_grad_rule *rule = g->rule;
    if (rule->common) onx_grad_put(g, "%s", rule->common);
    if (rule->write) ONX_TRY(rule->write(g));
    for (size_t i = 0; i < g->node->input.n; i++) {
        if (!has_part(g, i)) continue;
        if (!rule->write) onx_grad_put(g, "%s", rule->by[i]);
        if (is_summed(g, i)) onx_grad_put(g, "sum%zu = onx.internal.SumTo (dx%zu, x%zu)", i, i, i);
    }
    onx_buf_putc(&g->text, '\0');
    return g->text.failed ? onx_fail_nomem(g->diag) : ONX_OK;
}

static void put_names(onx_buf *out, const char *name, size_t n, const char **comma) {
    for (size_t i = 0; i < n; i++) {
        onx_buf_printf(out, "%s%s%zu?:T", *comma, name, i);
        *comma = ", ";
    }
}

/* Names for the inputs that the node has, and for those that it could have. */
static size_t n_names(const onx_grad *g) {
    enum { FEW = 8 };
    return g->node->input.n > FEW ? g->node->input.n : FEW;
}

static void put_signature(const onx_grad *g, onx_buf *out) {
    const char *comma = "";
    onx_buf_puts(out, "(");
    put_names(out, "x", n_names(g), &comma);
    put_names(out, "y", g->node->output.n, &comma);
    put_names(out, "dy", g->node->output.n, &comma);
    onx_buf_puts(out, ") -> (");
    comma = "";
    for (size_t i = 0; i < g->node->input.n; i++) {
        if (!has_part(g, i)) continue;
        onx_buf_printf(out, "%s%s%zu?:T", comma, is_summed(g, i) ? "sum" : "dx", i);
        comma = ", ";
    }
    onx_str attrs = attrs_of(g->op);
    onx_buf_printf(out, ") %.*s [T:f]", (int)attrs.size, attrs.data);
    onx_buf_putc(out, '\0');
}

/* The call becomes the nodes of the text. */
static onx_status inline_call(onx_node *call, int64_t opset, const char *signature,
                              const char *text, onx_diag *diag) {
    onx_op op = {"Grad", (int32_t)opset, .signature = signature, .function = text};
    onx_model *body = NULL;
    ONX_TRY(onx_op_body(&op, call, 0, NULL, call->msg.doc->ctx, &body, diag));
    onx_status status = onx_node_inline(call, onx_model_function_first(body), NULL, diag);
    onx_model_free(body);
    return status;
}

static const char *name_like(onx_graph *graph, const onx_value *value) {
    char hint[256];
    (void)snprintf(hint, sizeof hint, "grad_%.*s", ONX_FMT(value->name));
    return onx_graph_new_name(graph, hint);
}

/* A node with all that the rule may use; `outs` are its outputs. */
static onx_status make_call(onx_grad *g, onx_graph *graph, onx_arena *arena, onx_value **dxs,
                            onx_node **out) {
    const onx_node *node = g->node;
    size_t n_in = node->input.n, n_out = node->output.n, n = n_names(g);
    onx_value **ins = onx_arena_array(arena, n + 2 * n_out, sizeof(onx_value *));
    if (!ins) return onx_fail_nomem(g->diag);
    for (size_t i = 0; i < n_in; i++) ins[i] = onx_node_input(node, i);
    for (size_t i = 0; i < n_out; i++) {
        ins[n + i] = onx_node_output(node, i);
        ins[n + n_out + i] = g->dys[i];
    }
    onx_node *call = onx_graph_add_node(graph, "Grad", n + 2 * n_out, ins, 0, NULL);
    for (size_t i = 0; i < n_in && call; i++) {
        if (!has_part(g, i)) continue;
        const char *name = name_like(graph, ins[i]);
        dxs[i] = name ? onx_node_add_output(call, name) : NULL;
        if (!dxs[i]) return onx_fail_nomem(g->diag);
    }
    if (!call) return onx_fail_nomem(g->diag);
    ONX_EACH (const onx_attr, a, node->attribute)
        if (a->name.size && !a->g && !a->graphs.count) ONX_TRY(onx_node_set_attr(call, a, g->diag));
    *out = call;
    return ONX_OK;
}

static onx_status apply(onx_grad *g, onx_graph *graph, onx_arena *arena, onx_buf *signature,
                        onx_buf *text, onx_value **dxs) {
    onx_node *call = NULL;
    onx_dtype dtype = onx_grad_out(g, 0)->dtype;
    ONX_TRY(write_rule(g));
    if (!dtype && strchr(g->text.data, '$'))
        return onx_fail(g->diag, ONX_UNSUPPORTED,
                        "the derivative of %s needs the type of its output, which is not known",
                        g->op->name);
    put_text(text, g->op, g->node, g->text.data, dtype);
    onx_buf_putc(text, '\0');
    put_signature(g, signature);
    if (text->failed || signature->failed) return onx_fail_nomem(g->diag);
    ONX_TRY(make_call(g, graph, arena, dxs, &call));
    return inline_call(call, g->opset, signature->data, text->data, g->diag);
}

onx_status onx_grad_apply(onx_grad *g, onx_graph *graph, onx_value **dxs) {
    onx_context *ctx = graph->msg.doc->ctx;
    onx_arena arena;
    onx_buf signature, text;
    onx_arena_init(&arena, ctx);
    onx_buf_init(&signature, ctx);
    onx_buf_init(&text, ctx);
    onx_buf_init(&g->text, ctx);
    onx_status status = apply(g, graph, &arena, &signature, &text, dxs);
    onx_buf_fini(&g->text);
    onx_buf_fini(&text);
    onx_buf_fini(&signature);
    onx_arena_fini(&arena);
    return status;
}

onx_status onx_grad_emit(onx_graph *graph, int64_t opset, onx_dtype dtype, const char *text,
                         onx_value *x0, const char *name, onx_value **dx0, onx_diag *diag) {
    onx_node *call = onx_graph_add_node(graph, "Grad", 1, &x0, 1, &name);
    onx_buf whole;
    if (!call) return onx_fail_nomem(diag);
    *dx0 = onx_node_output(call, 0);
    onx_buf_init(&whole, graph->msg.doc->ctx);
    put_text(&whole, NULL, call, text, dtype);
    onx_buf_putc(&whole, '\0');
    onx_status status = whole.failed
                            ? onx_fail_nomem(diag)
                            : inline_call(call, opset, "(x0:T) -> (dx0:T) [T:f]", whole.data, diag);
    onx_buf_fini(&whole);
    return status;
}

onx_status onx_grad_give(onx_node *node, int64_t opset, onx_diag *diag) {
    onx_buf signature, text;
    onx_buf_init(&signature, node->msg.doc->ctx);
    onx_buf_init(&text, node->msg.doc->ctx);
    const char *comma = "";
    onx_buf_puts(&signature, "(");
    put_names(&signature, "x", node->input.n, &comma);
    onx_buf_puts(&signature, ") -> (");
    comma = "";
    put_names(&signature, "dx", node->output.n, &comma);
    onx_buf_puts(&signature, ") [T:f]");
    onx_buf_putc(&signature, '\0');
    for (size_t i = 0; i < node->output.n; i++)
        if (onx_node_output(node, i)) onx_buf_printf(&text, "dx%zu = Identity (x%zu)\n", i, i);
    onx_buf_putc(&text, '\0');
    onx_status status = signature.failed || text.failed
                            ? onx_fail_nomem(diag)
                            : inline_call(node, opset, signature.data, text.data, diag);
    onx_buf_fini(&text);
    onx_buf_fini(&signature);
    return status;
}
