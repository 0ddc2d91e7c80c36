/* write.c: what was inferred, written into the model as declared types.
 *
 * A declared type is completed in place. One that is wrong is replaced, but never that of an
 * output, which is a promise to callers. */
#include "infer/infer_internal.h"
#include "ir/edit.h"

/* ── New types ───────────────────────────────────────────────────────────────────────────────── */

static void *add(void *parent, const onx_field *field) {
    onx_msg *child = onx_msg_new(((onx_msg *)parent)->doc, field->child);
    if (child) onx_msg_append(parent, field, child);
    return child;
}

/* A size that is not known stays open. */
static bool write_dim(const onx_facts *facts, onx_dim *dim, const onx_sym *sym) {
    int64_t size;
    onx_buf name;
    if (onx_sym_extent(facts, sym) == ONX_EXTENT_UNKNOWN) return true;
    if (onx_sym_is_int(sym, &size)) {
        onx_msg_clear(dim, ONX_ROW(dim, dim_param));
        onx_i64_set(dim, ONX_ROW(dim, dim_value), size);
        return true;
    }
    onx_buf_init(&name, facts->ctx);
    onx_sym_print(sym, &name);
    onx_buf_putc(&name, '\0');
    bool done = !name.failed && !onx_str_set(dim, ONX_ROW(dim, dim_param), name.data);
    onx_buf_fini(&name);
    return done;
}

static bool write_shape(const onx_facts *facts, onx_tensor_type *tensor, const onx_field *row,
                        const onx_fact *fact) {
    onx_shape *shape = add(tensor, row);
    for (size_t i = 0; shape && i < fact->rank; i++) {
        onx_dim *dim = add(shape, ONX_ROW(shape, dim));
        if (!dim || !write_dim(facts, dim, fact->dims[i])) return false;
    }
    return shape != NULL;
}

static bool write_tensor(const onx_facts *facts, onx_type *type, const onx_fact *fact) {
    bool sparse = fact->kind == ONX_TYPE_SPARSE_TENSOR;
    onx_tensor_type *tensor =
        add(type, sparse ? ONX_ROW(type, sparse_tensor_type) : ONX_ROW(type, tensor_type));
    if (!tensor) return false;
    onx_i32_set(tensor,
                sparse ? ONX_ROW(sparse_tensor_type, elem_type) : ONX_ROW(tensor_type, elem_type),
                (int32_t)fact->dtype);
    if (!fact->ranked) return true;
    return write_shape(facts, tensor,
                       sparse ? ONX_ROW(sparse_tensor_type, shape) : ONX_ROW(tensor_type, shape),
                       fact);
}

/* Types that others are inside of: the message for one, and where its element goes. */
static onx_type *add_elem(onx_type *type, const onx_fact *fact) {
    const struct {
        onx_type_kind kind;
        const onx_field *in_type, *elem;
    } rows[] = {
        {ONX_TYPE_SEQUENCE, ONX_ROW(type, sequence_type), ONX_ROW(sequence_type, elem_type)},
        {ONX_TYPE_OPTIONAL, ONX_ROW(type, optional_type), ONX_ROW(optional_type, elem_type)},
        {ONX_TYPE_MAP, ONX_ROW(type, map_type), ONX_ROW(map_type, value_type)},
    };
    for (size_t i = 0; i < ONX_COUNT(rows); i++) {
        if (rows[i].kind != fact->kind) continue;
        void *holder = add(type, rows[i].in_type);
        if (!holder) return NULL;
        if (fact->kind == ONX_TYPE_MAP)
            onx_i32_set(holder, ONX_ROW(map_type, key_type), (int32_t)fact->dtype);
        return add(holder, rows[i].elem);
    }
    return NULL;
}

/* Can the fact be written as a type: is it known at every level? */
static bool is_whole(const onx_fact *fact) {
    while (fact->elem && (fact->dtype || fact->kind != ONX_TYPE_MAP)) fact = fact->elem;
    bool tensor = fact->kind == ONX_TYPE_TENSOR || fact->kind == ONX_TYPE_SPARSE_TENSOR;
    return tensor && fact->dtype;
}

onx_status onx_facts_type(const onx_facts *facts, const onx_fact *fact, onx_doc *doc,
                          onx_type **out, onx_diag *diag) {
    if (!is_whole(fact)) {
        *out = NULL;
        return ONX_OK;
    }
    onx_type *type = onx_msg_new(doc, &onx_desc_type), *at = type;
    for (; at && fact->elem; fact = fact->elem) at = add_elem(at, fact);
    if (!at || !write_tensor(facts, at, fact)) return onx_fail_nomem(diag);
    *out = type;
    return ONX_OK;
}

/* ── Declared types ──────────────────────────────────────────────────────────────────────────── */

/* Sizes that are left open are filled in; those that a fixed size makes numbers become such. */
static bool complete_dims(onx_facts *facts, onx_shape *shape, const onx_fact *fact) {
    size_t i = 0;
    ONX_EACH (onx_dim, dim, shape->dim) {
        const onx_sym *declared = onx_declared_size(facts, dim), *sym = fact->dims[i++];
        int64_t size;
        bool written = onx_msg_has(dim, ONX_ROW(dim, dim_value));
        bool fixed = !written && onx_sym_is_int(declared, &size);
        if (!declared || fixed)
            if (!write_dim(facts, dim, fixed ? declared : sym)) return false;
    }
    return true;
}

/* Level by level; the fact agrees with the type. */
static bool complete_type(onx_facts *facts, onx_type *type, const onx_fact *fact) {
    while (fact->elem && onx_type_elem(type)) {
        type = (onx_type *)(uintptr_t)onx_type_elem(type);
        fact = fact->elem;
    }
    bool sparse = type->sparse_tensor_type != NULL;
    onx_tensor_type *tensor = sparse ? type->sparse_tensor_type : type->tensor_type;
    if (!tensor || !fact->ranked) return true;
    if (tensor->shape) return complete_dims(facts, tensor->shape, fact);
    return write_shape(facts, tensor,
                       sparse ? ONX_ROW(sparse_tensor_type, shape) : ONX_ROW(tensor_type, shape),
                       fact);
}

static onx_status replace_type(onx_facts *facts, onx_value_info *info, const onx_fact *fact,
                               onx_diag *diag) {
    onx_type *type;
    ONX_TRY(onx_facts_type(facts, fact, facts->model->msg.doc, &type, diag));
    onx_msg_clear(info, ONX_ROW(value_info, type));
    onx_msg_append(info, ONX_ROW(value_info, type), type);
    onx_msg_touch(info);
    return ONX_OK;
}

static onx_status write_value(onx_facts *facts, onx_value *value, onx_diag *diag) {
    onx_fact fact = *onx_facts_of(facts, value), declared;
    bool agree;
    if (!value->def && !value->input) return ONX_OK;
    if (!value->input && !value->output && !value->info) {
        if (!is_whole(&fact)) return ONX_OK;
        ONX_TRY(onx_value_declare(value, diag));
    }
    onx_value_info *info = value->input    ? value->input
                           : value->output ? value->output
                                           : value->info;
    if (!info->type) return is_whole(&fact) ? replace_type(facts, info, &fact, diag) : ONX_OK;
    if (onx_fact_of_type(facts, info->type, &declared) ||
        onx_fact_merge(facts, &fact, &declared, &agree))
        return onx_fail_nomem(diag);
    if (agree) return complete_type(facts, info->type, &fact) ? ONX_OK : onx_fail_nomem(diag);
    return info == value->info && is_whole(&fact) ? replace_type(facts, info, &fact, diag) : ONX_OK;
}

/* The graph after this one in the tree below `root`. */
static onx_graph *graph_after(const onx_graph *root, onx_graph *graph) {
    if (graph->first_sub) return graph->first_sub;
    while (graph != root && !graph->next_sub) graph = graph->outer;
    return graph == root ? NULL : graph->next_sub;
}

onx_status onx_model_infer(onx_model *model, const onx_infer_options *options, onx_diag *diag) {
    onx_facts *facts = NULL;
    onx_status status = ONX_OK;
    if (!model) return onx_fail(diag, ONX_USAGE, "onx_model_infer needs a model");
    ONX_TRY(onx_infer_facts(model, options, &facts, diag));
    for (onx_graph *g = model->graph; g && !status; g = graph_after(model->graph, g)) {
        for (size_t i = 0; i < g->ins.n && !status; i++)
            status = write_value(facts, g->ins.v[i]->value, diag);
        ONX_EACH (onx_node, node, g->node)
            for (size_t i = 0; i < node->output.n && !status; i++)
                if (onx_node_output(node, i))
                    status = write_value(facts, onx_node_output(node, i), diag);
    }
    onx_facts_free(facts);
    return status;
}
