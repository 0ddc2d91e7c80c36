/* body.c: the body of an operator that is a function, as a function that can be walked or inlined.
 *
 * The row has the nodes, as text or written by its code for one call; the signature has the rest:
 *
 *     <domain: "", opset_import: ["": 12]>
 *     Celu <alpha: float = 1.0> (X) => (Y) { … }
 *
 * Values of a variadic parameter x are called x0, x1, … in it, as many as the call has. */
#include "ops/op.h"
#include "text/text.h"

bool onx_op_has_body(const onx_op *op) {
    return op && (op->function || op->body);
}

/* How many values of the call belong to parameter `index`, the last of which may be variadic. */
static size_t param_values(const onx_param *param, size_t index, size_t n_call) {
    if (!param->variadic) return 1;
    return n_call > index ? n_call - index : 0;
}

static void put_params(onx_buf *out, const onx_param *params, size_t n, size_t n_call) {
    const char *comma = "";
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < param_values(&params[i], i, n_call); j++) {
            onx_buf_printf(out, "%s%.*s", comma, ONX_FMT(params[i].name));
            if (params[i].variadic) onx_buf_printf(out, "%zu", j);
            comma = ", ";
        }
    }
}

static void put_attrs(onx_buf *out, const onx_signature *signature) {
    for (size_t i = 0; i < signature->n_attrs; i++) {
        const onx_attr_decl *attr = &signature->attrs[i];
        onx_buf_printf(out, "%s%.*s", i ? ", " : " <", ONX_FMT(attr->name));
        if (!attr->text.data) continue;
        onx_buf_printf(out, ": %s = ", onx_attr_type_name(attr->type));
        onx_buf_put(out, attr->text.data, attr->text.size);
    }
    if (signature->n_attrs) onx_buf_puts(out, ">");
}

/* Take "<18>" off the front of the nodes: the version of ai.onnx that they mean; 0: it is not
 * there. */
static int64_t take_import(onx_str *nodes) {
    int64_t version = 0;
    size_t i = 0;
    while (i < nodes->size && (nodes->data[i] == ' ' || nodes->data[i] == '\n')) i++;
    if (i == nodes->size || nodes->data[i] != '<') return 0;
    for (i++; i < nodes->size && nodes->data[i] >= '0' && nodes->data[i] <= '9'; i++)
        version = version < 1000 ? version * 10 + (nodes->data[i] - '0') : version;
    if (i == nodes->size || nodes->data[i] != '>') return 0;
    *nodes = (onx_str){nodes->data + i + 1, nodes->size - i - 1};
    return version;
}

static void put_imports(onx_buf *out, const onx_op *op, int64_t version) {
    const char *domain = op->domain ? op->domain : "";
    onx_buf_printf(out, "<domain: \"%s\", opset_import: [", domain);
    if (*domain) onx_buf_printf(out, "\"%s\": %d, ", domain, (int)op->since);
    onx_buf_printf(out, "\"\": %lld]>\n", (long long)(version ? version : op->since));
}

static void put_function(onx_buf *out, const onx_op *op, const onx_signature *signature,
                         const onx_node *node, onx_str nodes) {
    int64_t version = take_import(&nodes);
    onx_buf_puts(out, "body () => () {}\n");
    put_imports(out, op, version);
    onx_buf_puts(out, op->name);
    put_attrs(out, signature);
    onx_buf_puts(out, " (");
    put_params(out, signature->inputs, signature->n_inputs, node->input.n);
    onx_buf_puts(out, ") => (");
    put_params(out, signature->outputs, signature->n_outputs, node->output.n);
    onx_buf_puts(out, ") {\n");
    onx_buf_put(out, nodes.data, nodes.size);
    onx_buf_puts(out, "\n}\n");
}

/* A mistake in a row is reported with the operator it belongs to. */
static onx_status parse(const onx_op *op, onx_context *ctx, onx_str text, onx_model **out,
                        onx_diag *diag) {
    onx_doc *doc;
    onx_model *model = NULL;
    ONX_TRY(onx_doc_new(ctx, &doc, diag));
    onx_status status = onx_text_parse(doc, text, &model, diag);
    if (status && status != ONX_NO_MEMORY)
        onx_diag_hint(diag, "the body of %s %d is wrong: a mistake in its row", op->name,
                      (int)op->since);
    if (!status) status = onx_model_link(model, diag);
    if (!status) {
        *out = model;
        return ONX_OK;
    }
    if (model && model->values.ctx) onx_map_fini(&model->values);
    onx_doc_free(doc);
    return status;
}

/* The nodes: as the row has them, or as its code writes them to `scratch`. */
static onx_status get_nodes(const onx_op *op, const onx_node *node, size_t n_in,
                            const onx_fact *const *ins, onx_buf *scratch, onx_str *out,
                            onx_diag *diag) {
    *out = onx_str_of(op->function);
    if (!op->body) return ONX_OK;
    ONX_TRY(op->body(op, node, n_in, ins, scratch, diag));
    if (scratch->failed) return onx_fail_nomem(diag);
    *out = (onx_str){scratch->data, scratch->size};
    return ONX_OK;
}

static onx_status write_body(const onx_op *op, const onx_node *node, size_t n_in,
                             const onx_fact *const *ins, onx_arena *arena, onx_buf *nodes,
                             onx_buf *text, onx_diag *diag) {
    onx_signature signature;
    onx_str body;
    ONX_TRY(onx_signature_parse(op, arena, &signature, diag));
    ONX_TRY(get_nodes(op, node, n_in, ins, nodes, &body, diag));
    put_function(text, op, &signature, node, body);
    return text->failed ? onx_fail_nomem(diag) : ONX_OK;
}

onx_status onx_op_body(const onx_op *op, const onx_node *node, size_t n_in,
                       const onx_fact *const *ins, onx_context *ctx, onx_model **out,
                       onx_diag *diag) {
    if (!onx_op_has_body(op))
        return onx_fail(diag, ONX_NOT_FOUND, "%s is not a function", op ? op->name : "it");
    ctx = onx_context_or_default(ctx);
    onx_arena arena;
    onx_buf nodes, text;
    onx_arena_init(&arena, ctx);
    onx_buf_init(&nodes, ctx);
    onx_buf_init(&text, ctx);
    onx_status status = write_body(op, node, n_in, ins, &arena, &nodes, &text, diag);
    if (!status) status = parse(op, ctx, (onx_str){text.data, text.size}, out, diag);
    onx_buf_fini(&text);
    onx_buf_fini(&nodes);
    onx_arena_fini(&arena);
    return status;
}
