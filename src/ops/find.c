/* find.c: from a name and a version to the row of an operator.
 *
 * A scan over all rows, without tables made at run time: about half a microsecond when every
 * operator of ONNX has its rows. */
#include "ops/op.h"

onx_str onx_domain_plain(onx_str domain) {
    return onx_str_is(domain, "ai.onnx") ? (onx_str){"", 0} : domain;
}

static bool is_named(const onx_op *op, onx_str name) {
    return op->name[0] == name.data[0] && strncmp(op->name, name.data, name.size) == 0 &&
           op->name[name.size] == '\0';
}

static bool is_in_domain(const onx_op *op, onx_str domain) {
    return onx_str_eq(domain, onx_str_of(op->domain ? op->domain : ""));
}

const onx_op *onx_op_find(onx_str domain, onx_str name, int64_t opset) {
    domain = onx_domain_plain(domain);
    if (!name.size || memchr(name.data, '\0', name.size)) return NULL;
    const onx_op *best = NULL;
    for (const onx_family *family = onx_op_table; family->name && !best; family++) {
        for (const onx_op *op = family->ops; op->name; op++)
            if (is_named(op, name) && is_in_domain(op, domain) && op->since <= opset) best = op;
    }
    return best;
}

/* The version of `domain` that an import list names; files older than imports mean the first. */
static int64_t imported(const onx_list *imports, onx_str domain, int64_t ir_version) {
    ONX_EACH (onx_opset, o, *imports)
        if (onx_str_eq(onx_domain_plain(o->domain), domain)) return o->version;
    return ir_version < 3 && !domain.size ? 1 : 0;
}

static const onx_list *imports_of(const onx_node *node) {
    const onx_graph *graph = node->graph;
    while (graph->outer) graph = graph->outer;
    return graph->function ? &graph->function->opset_import : &graph->model->opset_import;
}

static int64_t seen_by(const onx_node *node, onx_str domain) {
    return imported(imports_of(node), domain, node->graph->model->ir_version);
}

const onx_op *onx_op_of(const onx_node *node) {
    onx_str domain = onx_domain_plain(node->domain);
    return onx_op_lookup(node->msg.doc->ctx, domain, node->op_type, seen_by(node, domain));
}

const onx_op *onx_op_recall(onx_map *seen, const onx_node *node) {
    if (onx_domain_plain(node->domain).size || !node->op_type.size) return onx_op_of(node);
    const void *version = (const void *)(uintptr_t)seen_by(node, (onx_str){"", 0});
    const onx_op *op = onx_map_get(seen, version, node->op_type);
    if (op) return op;
    op = onx_op_of(node);
    /* Without memory it is looked for again the next time. */
    if (op && !onx_map_put(seen, version, onx_str_of(op->name), (void *)(uintptr_t)op)) return op;
    return op;
}

int64_t onx_op_opset(const onx_node *node) {
    return seen_by(node, (onx_str){"", 0});
}
