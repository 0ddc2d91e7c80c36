/* map_body.c: SequenceMap as a function: a Loop over the items of its first input, around the nodes
 * of the node's own graph.
 *
 *     out_sequence0, … = Loop (length, true, [], …) <body = (i, on, in0, …) => (next, out0, …) {
 *         x = SequenceAt (input_sequence, i)      for each input; Identity where it is no sequence
 *         …                                       the nodes of the graph
 *         out0 = SequenceInsert (in0, y)          for each output
 *     }>
 *
 * NOT_FOUND: the graph reaches for values around it or has nodes of other domains, which a function
 * cannot, or has a name that is needed here. */
#include "ops/sequence/map_body.h"

#include "base/io.h"
#include "ops/control/control.h"
#include "text/text.h"

/* What all inner names begin with. */
#define INNER "SequenceMap_"

/* ─ Graphs that can be moved ─────────────────────────────────────────────────────────────────── */

static bool is_inside(const onx_graph *graph, const onx_graph *outer) {
    while (graph && graph != outer) graph = onx_graph_outer(graph);
    return graph != NULL;
}

/* The graphs inside `root`, itself first, parents before children; NULL: that was the last. */
static const onx_graph *next_graph(const onx_graph *graph, const onx_graph *root) {
    const onx_graph *next = onx_graph_sub_first(graph);
    for (; !next && graph != root; graph = onx_graph_outer(graph)) next = onx_graph_sub_next(graph);
    return next;
}

static bool node_fits(const onx_node *node, const onx_graph *root) {
    if (onx_domain_plain(node->domain).size) return false;
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        if (value && value->graph != node->graph && !is_inside(value->graph, root)) return false;
    }
    return true;
}

static bool name_fits(onx_str name) {
    static const char *const taken[] = {INNER, "input_sequence", "additional_inputs",
                                        "out_sequence"};
    for (size_t i = 0; i < ONX_COUNT(taken); i++) {
        size_t n = strlen(taken[i]);
        if (name.size >= n && memcmp(name.data, taken[i], n) == 0) return false;
    }
    return true;
}

static bool has_all(const onx_graph *graph, const onx_refs *refs) {
    for (size_t i = 0; i < refs->n; i++)
        if (!refs->v[i] || !refs->v[i]->value || refs->v[i]->value->graph != graph) return false;
    return true;
}

static bool graph_fits(const onx_graph *root) {
    if (root->sparse_initializer.count || !has_all(root, &root->ins) || !has_all(root, &root->outs))
        return false;
    for (const onx_value *v = onx_graph_value_first(root); v; v = onx_value_next(v))
        if (!name_fits(v->name)) return false;
    for (const onx_graph *graph = root; graph; graph = next_graph(graph, root))
        ONX_EACH (const onx_node, node, graph->node)
            if (!node_fits(node, root)) return false;
    return true;
}

/* ─ Its text ─────────────────────────────────────────────────────────────────────────────────── */

static onx_dtype item_type(const onx_body *body, size_t output) {
    const onx_type *type = onx_body_out_type(body, output);
    return onx_type_kind_of(type) == ONX_TYPE_TENSOR ? onx_type_dtype(type) : ONX_DTYPE_NONE;
}

static onx_status put_name(const onx_graph *graph, onx_str name, onx_buf *out, onx_diag *diag) {
    onx_writer writer = onx_buf_writer(out);
    return onx_text_print_name(graph->msg.doc->ctx, name, &writer, diag);
}

/* ", seq(float[]) name0, …" for all outputs. */
static void put_carried(const onx_body *body, const char *name, onx_buf *out) {
    for (size_t i = 0; i < body->n_out; i++)
        onx_buf_printf(out, ", seq(%s[]) " INNER "%s%zu", onx_dtype_name(item_type(body, i)), name,
                       i);
}

static void put_call(const onx_body *body, onx_buf *out) {
    onx_buf_puts(out, INNER "n = SequenceLength (input_sequence)\n" INNER
                            "go = Constant <value = bool {1}> ()\n");
    for (size_t i = 0; i < body->n_out; i++)
        onx_buf_printf(out, INNER "none%zu = SequenceEmpty <dtype = %d> ()\n", i,
                       (int)item_type(body, i));
    for (size_t i = 0; i < body->n_out; i++)
        onx_buf_printf(out, "%sout_sequence%zu", i ? ", " : "", i);
    onx_buf_puts(out, " = Loop (" INNER "n, " INNER "go");
    for (size_t i = 0; i < body->n_out; i++) onx_buf_printf(out, ", " INNER "none%zu", i);
    onx_buf_puts(out, ") <body = " INNER "body (int64 " INNER "i, bool " INNER "on");
    put_carried(body, "in", out);
    onx_buf_puts(out, ") => (bool " INNER "next");
    put_carried(body, "out", out);
    onx_buf_putc(out, ')');
}

/* Input `index` of the graph, for one round. */
static onx_status put_item(const onx_body *body, size_t index, const onx_fact *fact, onx_buf *out,
                           onx_diag *diag) {
    bool is_list = fact->kind == ONX_TYPE_SEQUENCE;
    ONX_TRY(put_name(body->graph, body->graph->ins.v[index]->value->name, out, diag));
    onx_buf_puts(out, is_list ? " = SequenceAt (" : " = Identity (");
    if (index)
        onx_buf_printf(out, "additional_inputs%zu", index - 1);
    else
        onx_buf_puts(out, "input_sequence");
    onx_buf_puts(out, is_list ? ", " INNER "i)\n" : ")\n");
    return ONX_OK;
}

static onx_status put_graph(const onx_body *body, const onx_fact *const *ins, onx_buf *out,
                            onx_diag *diag) {
    onx_writer writer = onx_buf_writer(out);
    ONX_TRY(onx_text_print_values(body->graph, &writer, diag));
    onx_buf_puts(out, " {\n" INNER "next = Identity (" INNER "on)\n");
    for (size_t i = 0; i < body->n_in; i++) ONX_TRY(put_item(body, i, ins[i], out, diag));
    ONX_TRY(onx_text_print_nodes(body->graph, &writer, diag));
    for (size_t i = 0; i < body->n_out; i++) {
        onx_buf_printf(out, INNER "out%zu = SequenceInsert (" INNER "in%zu, ", i, i);
        ONX_TRY(put_name(body->graph, body->graph->outs.v[i]->value->name, out, diag));
        onx_buf_puts(out, ")\n");
    }
    onx_buf_puts(out, "}>");
    return ONX_OK;
}

onx_status onx_map_body(const onx_op *op, const onx_node *node, size_t n_in,
                        const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_body body;
    bool known = onx_body_find(node, "body", &body) && body.n_in == n_in && n_in > 0 &&
                 body.n_out == node->output.n && ins[0]->kind == ONX_TYPE_SEQUENCE;
    for (size_t i = 0; known && i < n_in; i++) known = ins[i]->kind != ONX_TYPE_NONE;
    for (size_t i = 0; known && i < body.n_out; i++) known = item_type(&body, i) != ONX_DTYPE_NONE;
    if (!known)
        return onx_fail(diag, ONX_NOT_FOUND,
                        "the types of the inputs or outputs of %s are not known", op->name);
    if (!graph_fits(body.graph))
        return onx_fail(diag, ONX_NOT_FOUND,
                        "the graph of %s uses what a function cannot: values around it, other "
                        "domains, or names that begin with " INNER,
                        op->name);
    onx_buf_printf(out, "<%lld> ", (long long)onx_op_opset(node));
    put_call(&body, out);
    return put_graph(&body, ins, out, diag);
}
