/* onnx_print.c: models as ONNX text, as the onnx package writes it, and notes for what that leaves
 * out.
 *
 * Guarantees: onx_text_parse makes an equal model of it; and the onnx package reads it too, but for
 * what it has no syntax for (see doc/text-format.md). Writes as it goes: memory does not grow with
 * the model.
 *
 * Graphs hold nodes, which hold attributes, which hold graphs: the walk down and up is along
 * parents and siblings, with one function for what stands before the children, between them, and
 * behind them.
 */
#include "text/onnx_print.h"

#include "base/number.h"
#include "base/utf8.h"
#include "text/text.h"
#include "text/tree.h"

/* ── Names and strings ───────────────────────────────────────────────────────────────────────── */

void onx_newline(onx_printer *pr) {
    onx_out_putc(&pr->out, '\n');
    onx_out_spaces(&pr->out, 3 * pr->indent);
}

void onx_print_number(onx_printer *pr, int64_t v) {
    char text[ONX_NUMBER_MAX];
    onx_out_put(&pr->out, text, onx_print_i64(v, text));
}

/* Bytes that cannot stand in text become '?'; the note has the real ones. */
void onx_print_string(onx_printer *pr, onx_str s) {
    onx_out_putc(&pr->out, '"');
    for (size_t i = 0, n; i < s.size; i += n) {
        const char *p = s.data + i;
        n = onx_utf8_size(p, s.data + s.size);
        if (*p == '"' || *p == '\\') onx_out_putc(&pr->out, '\\');
        onx_out_put(&pr->out, n && *p ? p : "?", n ? n : 1);
        if (n == 0) n = 1;
    }
    onx_out_putc(&pr->out, '"');
}

void onx_print_name(onx_printer *pr, onx_str s) {
    if (onx_is_identifier(s) && !onx_is_type_word(s))
        onx_out_put(&pr->out, s.data, s.size);
    else
        onx_print_string(pr, s);
}

void onx_print_names(onx_printer *pr, const onx_strs *names) {
    for (size_t i = 0; i < names->n; i++) {
        if (i > 0) onx_out_puts(&pr->out, ", ");
        onx_print_name(pr, names->v[i]);
    }
}

/* Keys of a header: the first one opens it. */
static void put_key(onx_printer *pr, const char **lead, const char *key) {
    onx_out_puts(&pr->out, *lead);
    onx_out_puts(&pr->out, "\n   ");
    onx_out_puts(&pr->out, key);
    onx_out_puts(&pr->out, ": ");
    *lead = ",";
}

static void put_scalar_key(onx_printer *pr, const char **lead, const void *msg,
                           const onx_field *field) {
    if (!onx_msg_has(msg, field)) return;
    put_key(pr, lead, field->name);
    const void *slot = onx_field_ptr(msg, field);
    if (field->kind == ONX_FIELD_I64)
        onx_print_number(pr, *(const int64_t *)slot);
    else
        onx_print_string(pr, *(const onx_str *)slot);
}

void onx_print_entries(onx_printer *pr, const onx_list *entries) {
    onx_out_putc(&pr->out, '[');
    ONX_EACH (const onx_entry, entry, *entries) {
        if (entry->msg.prev) onx_out_puts(&pr->out, ", ");
        onx_print_string(pr, entry->key);
        onx_out_puts(&pr->out, ": ");
        onx_print_string(pr, entry->value);
    }
    onx_out_putc(&pr->out, ']');
}

/* Always written: a header needs a key. */
static void put_opsets(onx_printer *pr, const char **lead, const onx_list *opsets) {
    put_key(pr, lead, "opset_import");
    onx_out_putc(&pr->out, '[');
    ONX_EACH (const onx_opset, opset, *opsets) {
        if (opset->msg.prev) onx_out_puts(&pr->out, ", ");
        onx_print_string(pr, opset->domain);
        onx_out_puts(&pr->out, " : ");
        onx_print_number(pr, opset->version);
    }
    onx_out_putc(&pr->out, ']');
}

static bool opsets_are_plain(const onx_list *opsets) {
    const uint32_t both = ONX_BIT(opset, domain) | ONX_BIT(opset, version);
    ONX_EACH (const onx_opset, opset, *opsets) {
        onx_note note = onx_note_of(opset, both, both);
        if (note.left || note.gone || opset->msg.unknown) return false;
    }
    return true;
}

/* ── Types and values ────────────────────────────────────────────────────────────────────────── */

void onx_print_type(onx_printer *pr, const onx_type *type) {
    pr->scratch.size = 0;
    onx_type_print(type, &pr->scratch);
    if (pr->scratch.failed && !pr->out.status) pr->out.status = onx_fail_nomem(pr->out.diag);
    if (pr->out.status == ONX_OK) onx_out_put(&pr->out, pr->scratch.data, pr->scratch.size);
}

static void put_value_info(onx_printer *pr, const onx_value_info *info, const char *lead) {
    bool typed = info->type && onx_type_kind_of(info->type) != ONX_TYPE_NONE;
    bool plain = typed && onx_type_is_plain(info->type);
    onx_note note =
        onx_note_of(info, ONX_BIT(value_info, name) | (plain ? ONX_BIT(value_info, type) : 0),
                    ONX_BIT(value_info, name));
    onx_note_print(pr, info, note, lead);
    if (typed) {
        onx_print_type(pr, info->type);
        onx_out_putc(&pr->out, ' ');
    }
    onx_print_name(pr, info->name);
}

static void put_value_infos(onx_printer *pr, const onx_list *infos) {
    onx_out_putc(&pr->out, '(');
    ONX_EACH (const onx_value_info, info, *infos) {
        if (info->msg.prev) onx_out_putc(&pr->out, ',');
        put_value_info(pr, info, info->msg.prev ? " " : "");
    }
    onx_out_putc(&pr->out, ')');
}

/* Initializers and types of inner values, one to a line. */
static void put_values(onx_printer *pr, const onx_list *initializers, const onx_list *infos) {
    if (initializers->count + infos->count == 0) return;
    bool first = true;
    onx_newline(pr);
    onx_out_putc(&pr->out, '<');
    pr->indent++;
    ONX_EACH (const onx_tensor, tensor, *initializers) {
        if (!first) onx_out_putc(&pr->out, ',');
        first = false;
        onx_newline(pr);
        onx_print_tensor(pr, tensor, false, NULL);
    }
    ONX_EACH (const onx_value_info, info, *infos) {
        if (!first) onx_out_putc(&pr->out, ',');
        first = false;
        onx_newline(pr);
        put_value_info(pr, info, NULL);
    }
    pr->indent--;
    onx_newline(pr);
    onx_out_putc(&pr->out, '>');
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

/* As the value of an attribute, the name must be told from a type and from the float of the onnx
 * package's lexer: letters that read "inf", "nan" or "infinity", unless a digit follows. */
static bool name_fits_attr(onx_str name) {
    static const char *const floats[] = {"inf", "nan", "infinity"};
    size_t n = 0;
    if (!onx_is_identifier(name) || onx_is_type_word(name)) return false;
    while (n < name.size && (name.data[n] | 0x20) >= 'a' && (name.data[n] | 0x20) <= 'z') n++;
    for (size_t i = 0; i < ONX_COUNT(floats); i++) {
        size_t same = 0;
        while (same < n && (name.data[same] | 0x20) == floats[i][same]) same++;
        if (same == n && floats[i][n] == '\0' && (n == name.size || name.data[n] == '_'))
            return false;
    }
    return true;
}

static void open_graph(onx_printer *pr, const onx_graph *g) {
    bool in_attr = g->msg.parent && g->msg.parent->desc == &onx_desc_attr;
    bool in_list = in_attr && onx_desc_attr.fields[g->msg.field].kind == ONX_FIELD_MSGS;
    bool named = !in_attr || name_fits_attr(g->name);
    uint32_t name = ONX_BIT(graph, name);
    uint32_t plain = ONX_BIT(graph, input) | ONX_BIT(graph, output) | ONX_BIT(graph, value_info) |
                     ONX_BIT(graph, initializer) | ONX_BIT(graph, node) | (named ? name : 0);
    const char *lead = g->msg.prev || !in_list ? " " : "";
    if (g->msg.prev) onx_out_putc(&pr->out, ',');
    onx_note_print(pr, g, onx_note_of(g, plain, name), in_attr ? lead : NULL);
    if (named)
        onx_print_name(pr, g->name);
    else
        onx_out_putc(&pr->out, '_');
    onx_out_putc(&pr->out, ' ');
    put_value_infos(pr, &g->input);
    onx_out_puts(&pr->out, " => ");
    put_value_infos(pr, &g->output);
    put_values(pr, &g->initializer, &g->value_info);
    onx_newline(pr);
    onx_out_putc(&pr->out, '{');
    pr->indent++;
}

static void close_body(onx_printer *pr) {
    pr->indent--;
    onx_newline(pr);
    onx_out_putc(&pr->out, '}');
}

/* ── Functions ───────────────────────────────────────────────────────────────────────────────── */

static void open_function(onx_printer *pr, const onx_function *f) {
    uint32_t plain = ONX_BIT(function, name) | ONX_BIT(function, input) |
                     ONX_BIT(function, output) | ONX_BIT(function, attribute) |
                     ONX_BIT(function, node) | ONX_BIT(function, doc_string) |
                     ONX_BIT(function, domain) | ONX_BIT(function, attribute_proto) |
                     ONX_BIT(function, value_info) | ONX_BIT(function, overload);
    if (opsets_are_plain(&f->opset_import)) plain |= ONX_BIT(function, opset_import);
    onx_note_print(pr, f, onx_note_of(f, plain, ONX_BIT(function, name)), NULL);
    const char *lead = "<";
    put_scalar_key(pr, &lead, f, ONX_ROW(function, domain));
    put_scalar_key(pr, &lead, f, ONX_ROW(function, overload));
    put_opsets(pr, &lead, &f->opset_import);
    put_scalar_key(pr, &lead, f, ONX_ROW(function, doc_string));
    onx_out_puts(&pr->out, "\n>\n");
    onx_print_name(pr, f->name);
    onx_out_putc(&pr->out, ' ');
    if (f->attribute.n + f->attribute_proto.count > 0) onx_out_putc(&pr->out, '<');
    onx_print_names(pr, &f->attribute);
}

static void put_signature(onx_printer *pr, const onx_function *f) {
    if (f->attribute.n + f->attribute_proto.count > 0) onx_out_puts(&pr->out, "> ");
    onx_out_putc(&pr->out, '(');
    onx_print_names(pr, &f->input);
    onx_out_puts(&pr->out, ") => (");
    onx_print_names(pr, &f->output);
    onx_out_putc(&pr->out, ')');
    put_values(pr, &(onx_list){0}, &f->body.value_info);
    onx_newline(pr);
    onx_out_putc(&pr->out, '{');
    pr->indent++;
}

/* ── The walk ────────────────────────────────────────────────────────────────────────────────── */

static void put_before(onx_printer *pr, const onx_msg *msg) {
    if (msg->desc == &onx_desc_graph)
        open_graph(pr, (const onx_graph *)msg);
    else if (msg->desc == &onx_desc_node)
        onx_print_node(pr, (const onx_node *)msg);
    else if (msg->desc == &onx_desc_attr)
        onx_print_attr(pr, (const onx_attr *)msg);
    else
        open_function(pr, (const onx_function *)msg);
}

/* The child after `prev`, or the first one; of a function: defaults of attributes, then nodes. */
static const onx_msg *next_child(onx_printer *pr, const onx_msg *msg, const onx_msg *prev) {
    if (msg->desc == &onx_desc_attr) {
        if (!prev) return onx_attr_first_graph((const onx_attr *)msg);
        return msg->desc->fields[prev->field].kind == ONX_FIELD_MSGS ? prev->next : NULL;
    }
    if (prev && prev->next) return prev->next;
    if (msg->desc == &onx_desc_function && (!prev || prev->desc == &onx_desc_attr)) {
        const onx_function *f = (const onx_function *)msg;
        if (!prev && f->attribute_proto.first) return f->attribute_proto.first;
        put_signature(pr, f);
        return f->body.node.first;
    }
    if (prev) return NULL;
    return msg->desc == &onx_desc_graph ? ((const onx_graph *)msg)->node.first
                                        : ((const onx_node *)msg)->attribute.first;
}

static void put_behind(onx_printer *pr, const onx_msg *msg) {
    if (msg->desc == &onx_desc_node)
        onx_print_node_end(pr, (const onx_node *)msg);
    else if (msg->desc == &onx_desc_attr)
        onx_print_attr_end(pr, (const onx_attr *)msg);
    else
        close_body(pr);
}

/* A graph or function with all that is in it. */
static void put_tree(onx_printer *pr, const onx_msg *root) {
    const onx_msg *msg = root, *prev = NULL;
    put_before(pr, root);
    while (msg) {
        const onx_msg *child = next_child(pr, msg, prev);
        if (child) {
            put_before(pr, child);
            msg = child;
            prev = NULL;
        } else {
            put_behind(pr, msg);
            prev = msg;
            msg = msg == root ? NULL : msg->parent;
        }
    }
    onx_out_putc(&pr->out, '\n');
}

/* ── The model ───────────────────────────────────────────────────────────────────────────────── */

/* Is nothing to be said but that one field, `text`, is empty? */
static bool is_simple(const onx_msg *msg, onx_note note, uint32_t field, onx_str text) {
    return !msg->unknown && !note.gone && !(note.left & ~field) && !(note.left && text.size > 0);
}

/* Set what most nodes and most tensors would say in their notes, of those that say no more than
 * this: the domain is ""; the payload is raw, the name is "". */
static void choose_each(onx_printer *pr, const onx_model *model) {
    uint32_t domain = ONX_BIT(node, domain), name = ONX_BIT(tensor, name);
    size_t nodes[2] = {0, 0}, tensors[4] = {0, 0, 0, 0}, most = 0;
    onx_msg *msg;
    for (onx_walk walk = onx_walk_begin(model); (msg = onx_walk_next(&walk));) {
        if (msg->desc == &onx_desc_node) {
            onx_note note = onx_node_note((const onx_node *)msg);
            if (is_simple(msg, note, domain, ((const onx_node *)msg)->domain))
                nodes[note.left != 0]++;
        } else if (msg->desc == &onx_desc_tensor && msg->parent->desc != &onx_desc_sparse) {
            const onx_tensor *t = (const onx_tensor *)msg;
            onx_note note = onx_tensor_note(t, msg->parent->desc == &onx_desc_attr);
            if (is_simple(msg, note, name, t->name)) tensors[note.raw + 2 * (note.left != 0)]++;
        }
    }
    for (size_t i = 1; i < 4; i++)
        if (tensors[i] > tensors[most]) most = i;
    pr->each_node.left = nodes[1] > nodes[0] ? domain : 0;
    pr->each_tensor.left = most & 2 ? name : 0;
    pr->each_tensor.raw = most & 1;
}

static void put_header(onx_printer *pr, const onx_model *m) {
    uint32_t plain = ONX_BIT(model, ir_version) | ONX_BIT(model, producer_name) |
                     ONX_BIT(model, producer_version) | ONX_BIT(model, domain) |
                     ONX_BIT(model, model_version) | ONX_BIT(model, doc_string) |
                     ONX_BIT(model, graph) | ONX_BIT(model, functions);
    bool plain_meta = onx_entries_are_plain(&m->metadata_props);
    if (opsets_are_plain(&m->opset_import)) plain |= ONX_BIT(model, opset_import);
    if (plain_meta) plain |= ONX_BIT(model, metadata_props);
    onx_note_print_each(pr);
    onx_note_print(pr, m, onx_note_of(m, plain, ONX_BIT(model, graph)), NULL);
    const char *lead = "<";
    put_scalar_key(pr, &lead, m, ONX_ROW(model, ir_version));
    put_opsets(pr, &lead, &m->opset_import);
    put_scalar_key(pr, &lead, m, ONX_ROW(model, producer_name));
    put_scalar_key(pr, &lead, m, ONX_ROW(model, producer_version));
    put_scalar_key(pr, &lead, m, ONX_ROW(model, domain));
    put_scalar_key(pr, &lead, m, ONX_ROW(model, model_version));
    put_scalar_key(pr, &lead, m, ONX_ROW(model, doc_string));
    if (plain_meta && m->metadata_props.count > 0) {
        put_key(pr, &lead, "metadata_props");
        onx_print_entries(pr, &m->metadata_props);
    }
    onx_out_puts(&pr->out, "\n>\n");
}

onx_status onx_text_print(const onx_model *model, const onx_writer *writer, onx_diag *diag) {
    onx_printer pr = {.indent = 0};
    onx_out_init(&pr.out, writer, diag);
    onx_buf_init(&pr.scratch, model->msg.doc->ctx);
    choose_each(&pr, model);
    put_header(&pr, model);
    if (model->graph)
        put_tree(&pr, &model->graph->msg);
    else
        onx_out_puts(&pr.out, "\"\" () => () {}\n");
    ONX_EACH (const onx_function, function, model->functions) put_tree(&pr, &function->msg);
    onx_buf_fini(&pr.scratch);
    return onx_out_flush(&pr.out);
}

/* ── Parts ───────────────────────────────────────────────────────────────────────────────────── */

static void start(onx_printer *pr, onx_context *ctx, const onx_writer *writer, onx_diag *diag) {
    *pr = (onx_printer){.indent = 1};
    onx_out_init(&pr->out, writer, diag);
    onx_buf_init(&pr->scratch, ctx);
}

static onx_status finish(onx_printer *pr) {
    onx_buf_fini(&pr->scratch);
    return onx_out_flush(&pr->out);
}

onx_status onx_text_print_values(const onx_graph *graph, const onx_writer *writer, onx_diag *diag) {
    onx_printer pr;
    start(&pr, graph->msg.doc->ctx, writer, diag);
    put_values(&pr, &graph->initializer, &graph->value_info);
    return finish(&pr);
}

onx_status onx_text_print_nodes(const onx_graph *graph, const onx_writer *writer, onx_diag *diag) {
    onx_printer pr;
    start(&pr, graph->msg.doc->ctx, writer, diag);
    ONX_EACH (const onx_node, node, graph->node) put_tree(&pr, &node->msg);
    return finish(&pr);
}

onx_status onx_text_print_name(onx_context *ctx, onx_str name, const onx_writer *writer,
                               onx_diag *diag) {
    onx_printer pr;
    start(&pr, ctx, writer, diag);
    onx_print_name(&pr, name);
    return finish(&pr);
}
