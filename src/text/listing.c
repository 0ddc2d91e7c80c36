/* listing.c: a model as a listing for people: what goes in and out, the initializers, the nodes
 * with the types that are declared, subgraphs indented below their node, then the functions.
 *
 * Guarantees: the output grows with the model, not with the number of uses of a constant; nothing
 * in the file can reach the terminal but as text. Does not say everything (ONNX text does:
 * text/onnx_print.c) and is not meant to be parsed.
 */
#include "text/listing.h"

#include "ir/edit.h"

/* ── The head ────────────────────────────────────────────────────────────────────────────────── */

static void put_opsets(onx_listing *l, const onx_list *opsets) {
    ONX_EACH (const onx_opset, opset, *opsets) {
        onx_line_puts(l, ONX_STYLE_PLAIN, ",");
        onx_line_space(l);
        if (opset->domain.size)
            onx_line_name(l, ONX_STYLE_PLAIN, opset->domain);
        else
            onx_line_puts(l, ONX_STYLE_PLAIN, "opset");
        onx_line_printf(l, ONX_STYLE_PLAIN, " %lld", (long long)opset->version);
    }
}

/* Text of several lines: the first one. */
static void put_head_text(onx_listing *l, const char *key, onx_str name, onx_str text) {
    const char *newline = text.size ? memchr(text.data, '\n', text.size) : NULL;
    if (text.size == 0) return;
    onx_line_begin(l, 0, 10);
    onx_line_puts(l, ONX_STYLE_FAINT, key);
    onx_line_pad(l, 10);
    onx_line_put(l, ONX_STYLE_PLAIN, name);
    if (name.size) onx_line_puts(l, ONX_STYLE_PLAIN, ":"), onx_line_space(l);
    onx_line_text(l, newline ? (onx_str){text.data, (size_t)(newline - text.data)} : text);
    if (newline) onx_line_puts(l, ONX_STYLE_FAINT, "…");
    onx_line_end(l);
}

static void put_head(onx_listing *l, const onx_model *model) {
    const onx_str none = {NULL, 0};
    onx_line_begin(l, 0, 10);
    onx_line_puts(l, ONX_STYLE_FAINT, "model");
    onx_line_pad(l, 10);
    onx_line_printf(l, ONX_STYLE_PLAIN, "IR %lld", (long long)model->ir_version);
    put_opsets(l, &model->opset_import);
    if (model->producer_name.size) {
        onx_line_puts(l, ONX_STYLE_PLAIN, ", from");
        onx_line_space(l);
        onx_line_put(l, ONX_STYLE_PLAIN, model->producer_name);
        onx_line_space(l);
        onx_line_put(l, ONX_STYLE_PLAIN, model->producer_version);
    }
    onx_line_end(l);
    put_head_text(l, "doc", none, model->doc_string);
    ONX_EACH (const onx_entry, entry, model->metadata_props)
        put_head_text(l, "metadata", entry->key, entry->value);
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

static void put_signature_side(onx_listing *l, const onx_list *infos) {
    onx_line_puts(l, ONX_STYLE_PLAIN, "(");
    ONX_EACH (const onx_value_info, info, *infos) {
        if (info->msg.prev) onx_line_puts(l, ONX_STYLE_PLAIN, ","), onx_line_space(l);
        onx_line_typed_name(l, ONX_STYLE_PLAIN, info->name, info->type);
    }
    onx_line_puts(l, ONX_STYLE_PLAIN, ")");
}

static void put_name_list(onx_listing *l, const onx_strs *names) {
    for (size_t i = 0; i < names->n; i++) {
        if (i > 0) onx_line_puts(l, ONX_STYLE_PLAIN, ","), onx_line_space(l);
        onx_line_name(l, ONX_STYLE_PLAIN, names->v[i]);
    }
}

static const onx_value *info_value(const onx_value_info *info) {
    return info->ref ? info->ref->value : NULL;
}

/* Inputs that have an initializer are listed there. */
static void put_ports(onx_listing *l, const char *what, const onx_list *infos, bool are_inputs) {
    ONX_EACH (const onx_value_info, info, *infos) {
        const onx_value *value = info_value(info);
        if (are_inputs && value && value->init) continue;
        onx_line_begin(l, 2, 10);
        onx_line_puts(l, ONX_STYLE_FAINT, what);
        onx_line_pad(l, 10);
        onx_line_typed_name(l, ONX_STYLE_HEAD, info->name, info->type);
        if (!are_inputs && value && !onx_value_is_defined(value))
            onx_line_space(l), onx_line_puts(l, ONX_STYLE_BAD, "not computed by any node");
        onx_line_end(l);
    }
}

/* ── Initializers ────────────────────────────────────────────────────────────────────────────── */

static uint64_t bytes_of(const onx_tensor *tensor) {
    size_t bytes;
    return onx_tensor_bytes(tensor, &bytes, NULL) ? 0 : bytes;
}

static void put_totals(onx_listing *l, const onx_graph *g, size_t indent) {
    uint64_t elements = 0, bytes = 0, count;
    ONX_EACH (const onx_tensor, tensor, g->initializer) {
        bytes += bytes_of(tensor);
        elements += onx_tensor_count(tensor, &count, NULL) ? 0 : count;
    }
    onx_line_begin(l, indent, indent);
    onx_line_puts(l, ONX_STYLE_HEAD, "initializers");
    onx_line_pad(l, 0);
    onx_line_count(l, g->initializer.count + g->sparse_initializer.count);
    onx_line_puts(l, ONX_STYLE_PLAIN, " with ");
    onx_line_count(l, elements);
    onx_line_puts(l, ONX_STYLE_PLAIN, elements == 1 ? " element, " : " elements, ");
    onx_line_bytes(l, bytes);
    onx_line_end(l);
}

/* As wide as the widest of them, within reason. */
static size_t name_column(const onx_graph *g) {
    size_t widest = 0, width;
    ONX_EACH (const onx_tensor, tensor, g->initializer)
        if ((width = onx_name_width(tensor->name)) > widest && width <= 40) widest = width;
    return widest;
}

static void put_initializer(onx_listing *l, const onx_tensor *tensor, size_t indent, size_t names) {
    const onx_value *value = tensor->ref ? tensor->ref->value : NULL;
    onx_line_begin(l, indent, indent + 4);
    onx_line_name(l, ONX_STYLE_PLAIN, tensor->name);
    onx_line_pad(l, indent + names + 2);
    onx_line_tensor_type(l, tensor);
    onx_line_pad(l, indent + names + 24);
    if (tensor->data_type != ONX_DTYPE_STRING) onx_line_bytes(l, bytes_of(tensor));
    onx_line_pad(l, indent + names + 34);
    if (value && value->input) onx_line_puts(l, ONX_STYLE_FAINT, "input,"), onx_line_space(l);
    onx_line_values(l, tensor, l->max_elements, l->max_elements != SIZE_MAX);
    onx_line_end(l);
}

static void put_sparse(onx_listing *l, const onx_sparse *sparse, size_t indent, size_t names) {
    onx_line_begin(l, indent, indent + 4);
    if (sparse->values) onx_line_name(l, ONX_STYLE_PLAIN, sparse->values->name);
    onx_line_pad(l, indent + names + 2);
    onx_line_sparse_type(l, sparse);
    onx_line_end(l);
}

static void put_initializers(onx_listing *l, const onx_graph *g, size_t indent) {
    if (g->initializer.count + g->sparse_initializer.count == 0) return;
    size_t names = name_column(g);
    put_totals(l, g, indent);
    ONX_EACH (const onx_tensor, tensor, g->initializer)
        put_initializer(l, tensor, indent + 2, names);
    ONX_EACH (const onx_sparse, sparse, g->sparse_initializer)
        put_sparse(l, sparse, indent + 2, names);
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

/* A root: the graph of the model, or one of a training step. */
static void open_root(onx_listing *l, const onx_graph *g, const char *what) {
    onx_line_blank(l);
    onx_line_begin(l, 0, 4);
    onx_line_puts(l, ONX_STYLE_HEAD, what);
    onx_line_puts(l, ONX_STYLE_PLAIN, " ");
    onx_line_name(l, ONX_STYLE_HEAD, g->name);
    onx_line_end(l);
    put_ports(l, "input", &g->input, true);
    put_ports(l, "output", &g->output, false);
    if (g->initializer.count + g->sparse_initializer.count) onx_line_blank(l);
    put_initializers(l, g, 2);
    if (g->node.count) onx_line_blank(l);
}

/* <alpha, beta=1.0>: attributes that calls must give, and those with a default. */
static void put_parameters(onx_listing *l, const onx_function *f) {
    if (f->attribute.n + f->attribute_proto.count == 0) return;
    onx_line_puts(l, ONX_STYLE_PLAIN, "<");
    put_name_list(l, &f->attribute);
    ONX_EACH (const onx_attr, attr, f->attribute_proto) {
        bool first = f->attribute.n == 0 && !attr->msg.prev;
        if (!first) onx_line_puts(l, ONX_STYLE_PLAIN, ","), onx_line_space(l);
        onx_line_attr(l, attr);
    }
    onx_line_puts(l, ONX_STYLE_PLAIN, ">");
}

static void open_function(onx_listing *l, const onx_function *f) {
    onx_line_blank(l);
    onx_line_begin(l, 0, 4);
    onx_line_puts(l, ONX_STYLE_HEAD, "function ");
    if (f->domain.size) onx_line_name(l, ONX_STYLE_FAINT, f->domain);
    onx_line_puts(l, ONX_STYLE_FAINT, f->domain.size ? "::" : "");
    onx_line_name(l, ONX_STYLE_HEAD, f->name);
    onx_line_puts(l, ONX_STYLE_FAINT, f->overload.size ? ":" : "");
    onx_line_put(l, ONX_STYLE_FAINT, f->overload);
    put_parameters(l, f);
    onx_line_puts(l, ONX_STYLE_PLAIN, "(");
    put_name_list(l, &f->input);
    onx_line_puts(l, ONX_STYLE_PLAIN, ") →");
    onx_line_space(l);
    onx_line_puts(l, ONX_STYLE_PLAIN, "(");
    put_name_list(l, &f->output);
    onx_line_puts(l, ONX_STYLE_PLAIN, ")");
    put_opsets(l, &f->opset_import);
    onx_line_end(l);
}

static void open_sub(onx_listing *l, const onx_graph *g, size_t indent) {
    const onx_attr *attr = (const onx_attr *)g->msg.parent;
    onx_line_begin(l, indent, indent + 6);
    onx_line_name(l, ONX_STYLE_HEAD, attr->name);
    onx_line_puts(l, ONX_STYLE_PLAIN, " ");
    onx_line_name(l, ONX_STYLE_FAINT, g->name);
    put_signature_side(l, &g->input);
    onx_line_puts(l, ONX_STYLE_PLAIN, " →");
    onx_line_space(l);
    put_signature_side(l, &g->output);
    onx_line_end(l);
    put_initializers(l, g, indent + 2);
}

/* The graph of a node's attributes that comes after `g`; the first one for NULL. */
static const onx_graph *graph_after(const onx_node *n, const onx_graph *g) {
    const onx_msg *attr = g ? g->msg.parent : n->attribute.first, *next = g ? g->msg.next : NULL;
    if (g && g == ((const onx_attr *)attr)->g) next = ((const onx_attr *)attr)->graphs.first;
    if (g && !next) attr = attr->next;
    for (; attr && !next; attr = attr->next) {
        const onx_attr *a = (const onx_attr *)attr;
        next = a->g ? &a->g->msg : a->graphs.first;
    }
    return (const onx_graph *)next;
}

/* The nodes of a graph and of the graphs in it. Those that wait are known by the graphs they own;
 * `counts` has their places. */
static void put_nodes(onx_listing *l, const onx_graph *root, onx_buf *counts) {
    const onx_graph *g = root, *sub;
    const onx_node *n = onx_graph_node_first(g);
    size_t index = 0, depth = 0;
    while (n || g != root) {
        bool done = !n;
        if (done) {
            n = onx_graph_owner(g);
            depth--;
            memcpy(&index, counts->data + depth * sizeof index, sizeof index);
            counts->size = depth * sizeof index;
        } else {
            onx_line_node(l, n, index, 2 + 6 * depth);
        }
        sub = graph_after(n, done ? g : NULL);
        if (sub) {
            open_sub(l, sub, 8 + 6 * depth++);
            onx_buf_put(counts, &index, sizeof index);
            if (counts->failed) return;
            index = 0;
            g = sub;
            n = onx_graph_node_first(sub);
        } else {
            g = n->graph;
            n = onx_node_next(n);
            index++;
        }
    }
}

/* ── The model ───────────────────────────────────────────────────────────────────────────────── */

static void put_graph(onx_listing *l, const onx_graph *g, const char *what) {
    onx_buf counts;
    if (!g) return;
    onx_buf_init(&counts, g->msg.doc->ctx);
    if (g->function)
        open_function(l, g->function);
    else
        open_root(l, g, what);
    put_nodes(l, g, &counts);
    if (counts.failed && !l->out.status) l->out.status = onx_fail_nomem(l->out.diag);
    onx_buf_fini(&counts);
}

static void put_model(onx_listing *l, const onx_model *model) {
    put_head(l, model);
    put_graph(l, model->graph, "graph");
    ONX_EACH (const onx_function, f, model->functions) put_graph(l, &f->body, NULL);
    ONX_EACH (const onx_training, training, model->training_info) {
        put_graph(l, training->initialization, "training: initialization");
        put_graph(l, training->algorithm, "training: algorithm");
    }
}

/* Graphs and functions of that name, wherever they are. */
static onx_status put_named(onx_listing *l, const onx_model *model, const char *name,
                            onx_diag *diag) {
    bool found = false;
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(model); (msg = onx_walk_next(&w));) {
        const onx_graph *g = msg->desc == &onx_desc_graph      ? (const onx_graph *)msg
                             : msg->desc == &onx_desc_function ? &((const onx_function *)msg)->body
                                                               : NULL;
        if (msg->desc == &onx_desc_tensor) onx_walk_skip(&w);
        if (!g || strcmp(onx_graph_name(g), name) != 0) continue;
        put_graph(l, g, "graph");
        found = true;
    }
    if (found) return ONX_OK;
    return onx_fail(diag, ONX_NOT_FOUND, "the model has no graph or function '%.200s'", name);
}

onx_status onx_listing_print(const onx_model *model, const onx_writer *writer,
                             const onx_print_options *options, onx_diag *diag) {
    onx_listing l = {.width = options->width ? options->width : SIZE_MAX,
                     .max_elements = options->max_elements ? options->max_elements : 8,
                     .colour = options->colour};
    onx_status status = ONX_OK;
    onx_out_init(&l.out, writer, diag);
    onx_buf_init(&l.word, model->msg.doc->ctx);
    onx_buf_init(&l.scratch, model->msg.doc->ctx);
    if (options->graph)
        status = put_named(&l, model, options->graph, diag);
    else
        put_model(&l, model);
    if (!status) status = onx_out_flush(&l.out);
    onx_buf_fini(&l.word);
    onx_buf_fini(&l.scratch);
    return status;
}
