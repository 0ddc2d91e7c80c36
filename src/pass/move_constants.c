/* move_constants.c: constants as nodes, as initializers, as inputs with a default.
 *
 * The messages that are needed are made first; then values change their definition from one to the
 * other, which needs no memory. Payloads move as they are. */
#include "ir/edit.h"
#include "ir/type_text.h"
#include "pass/surgery.h"

typedef struct move {
    onx_value *value;
    onx_node *node; /* that is to go, or to come */
    onx_tensor *tensor;
    onx_sparse *sparse;
    onx_value_info *info; /* of a new input */
    onx_ref *ref;         /* of the new definition; not attached yet */
} move;

typedef struct mover {
    onx_model *model;
    onx_diag *diag;
    onx_arena arena;
    move *v;
    size_t n, cap;
} mover;

static onx_status add(mover *m, const move *one) {
    if (!onx_arena_grow(&m->arena, &m->v, &m->cap, m->n, sizeof *m->v))
        return onx_fail_nomem(m->diag);
    m->v[m->n++] = *one;
    return ONX_OK;
}

static onx_ref *new_ref(const mover *m, void *owner, onx_ref_kind kind, onx_str *slot) {
    onx_ref *ref = onx_arena_alloc(&m->model->msg.doc->arena, sizeof *ref);
    if (ref) *ref = (onx_ref){.owner = owner, .slot = slot, .kind = (uint8_t)kind};
    return ref;
}

/* ─ Constant nodes to initializers ───────────────────────────────────────────────────────────── */

static onx_status make_strings(onx_tensor *tensor, const onx_strs *list, const onx_str *one) {
    const onx_str *strings = list ? list->v : one;
    size_t n = list ? list->n : 1;
    onx_i32_set(tensor, ONX_ROW(tensor, data_type), ONX_DTYPE_STRING);
    for (size_t i = 0; i < n; i++)
        if (!onx_strs_push(tensor->msg.doc, &tensor->string_data, strings[i])) return ONX_NO_MEMORY;
    bool ok = !list || onx_i64s_push(tensor->msg.doc, &tensor->dims, (int64_t)n);
    return ok ? ONX_OK : ONX_NO_MEMORY;
}

/* value_int, value_floats and the like, as a tensor. */
static onx_status make_tensor(const mover *m, const onx_attr *a, onx_tensor **out) {
    onx_tensor *tensor = onx_msg_new(m->model->msg.doc, &onx_desc_tensor);
    int64_t n = (int64_t)onx_attr_count(a);
    if (!tensor) return onx_fail_nomem(m->diag);
    *out = tensor;
    switch (onx_attr_type_of(a)) {
    case ONX_ATTR_INT:
        return onx_tensor_set(tensor, ONX_DTYPE_I64, 0, NULL, &a->i, sizeof a->i, m->diag);
    case ONX_ATTR_FLOAT:
        return onx_tensor_set(tensor, ONX_DTYPE_F32, 0, NULL, &a->f, sizeof a->f, m->diag);
    case ONX_ATTR_INTS:
        return onx_tensor_set(tensor, ONX_DTYPE_I64, 1, &n, a->ints.v,
                              a->ints.n * sizeof *a->ints.v, m->diag);
    case ONX_ATTR_FLOATS:
        return onx_tensor_set(tensor, ONX_DTYPE_F32, 1, &n, a->floats.v,
                              a->floats.n * sizeof *a->floats.v, m->diag);
    case ONX_ATTR_STRING:
        return make_strings(tensor, NULL, &a->s) ? onx_fail_nomem(m->diag) : ONX_OK;
    default: return make_strings(tensor, &a->strings, NULL) ? onx_fail_nomem(m->diag) : ONX_OK;
    }
}

/* The one attribute that says what a Constant is; NULL: it is none, or none that can be moved. */
static const onx_attr *constant_of(const onx_node *node) {
    static const char *const names[] = {"value",        "sparse_value", "value_int",
                                        "value_ints",   "value_float",  "value_floats",
                                        "value_string", "value_strings"};
    static const onx_attr_type types[] = {ONX_ATTR_TENSOR, ONX_ATTR_SPARSE_TENSOR, ONX_ATTR_INT,
                                          ONX_ATTR_INTS,   ONX_ATTR_FLOAT,         ONX_ATTR_FLOATS,
                                          ONX_ATTR_STRING, ONX_ATTR_STRINGS};
    const onx_attr *a = (const onx_attr *)node->attribute.first;
    if (!onx_str_is(node->op_type, "Constant") || *onx_node_domain(node)) return NULL;
    if (node->attribute.count != 1 || node->output.n != 1 || a->ref_attr_name.size) return NULL;
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (onx_str_is(a->name, names[i])) return onx_attr_type_of(a) == types[i] ? a : NULL;
    return NULL;
}

static bool is_own_name(const onx_value *value) {
    return value && onx_value_find(value->graph, value->name) == value;
}

static onx_status plan_initializer(mover *m, onx_node *node) {
    const onx_attr *a = constant_of(node);
    move one = {.value = onx_node_output(node, 0), .node = node};
    if (!a || !is_own_name(one.value) || onx_value_is_output(one.value)) return ONX_OK;
    one.sparse = onx_attr_type_of(a) == ONX_ATTR_SPARSE_TENSOR ? a->sparse_tensor : NULL;
    one.tensor = one.sparse ? one.sparse->values : a->t;
    if (one.sparse && !one.tensor) return ONX_OK;
    if (!one.tensor) ONX_TRY(make_tensor(m, a, &one.tensor));
    one.ref = new_ref(m, one.tensor, ONX_REF_INIT, &one.tensor->name);
    return one.ref ? add(m, &one) : onx_fail_nomem(m->diag);
}

static void become_initializer(const move *one) {
    onx_value *value = one->value;
    onx_graph *graph = value->graph;
    onx_tensor *tensor = one->tensor;
    onx_ref_detach(one->node->outs[0]);
    one->node->outs[0] = NULL;
    value->def = NULL;
    if (one->sparse)
        onx_msg_remove(one->sparse);
    else
        onx_msg_remove(tensor);
    onx_msg_unlink_names(one->node);
    onx_msg_remove(one->node);
    tensor->ref = one->ref;
    onx_ref_attach(tensor->ref, value);
    tensor->name = value->name;
    onx_msg_set_has(tensor, ONX_ROW(tensor, name));
    onx_msg_touch(tensor);
    value->init = tensor;
    value->sparse = one->sparse;
    if (one->sparse)
        onx_msg_append(graph, ONX_ROW(graph, sparse_initializer), one->sparse);
    else
        onx_msg_append(graph, ONX_ROW(graph, initializer), tensor);
}

/* ─ Initializers to Constant nodes ───────────────────────────────────────────────────────────── */

/* Training changes its variables: they are named in bindings. */
static bool is_variable(const onx_value *value) {
    for (const onx_ref *r = value->first; r; r = r->next)
        if (r->kind == ONX_REF_OTHER && r->owner->parent &&
            r->owner->parent->desc == &onx_desc_training)
            return true;
    return false;
}

static onx_node *make_node(const mover *m, bool sparse) {
    onx_doc *doc = m->model->msg.doc;
    onx_node *node = onx_msg_new(doc, &onx_desc_node);
    onx_attr *attr = onx_msg_new(doc, &onx_desc_attr);
    if (!node || !attr || onx_str_set(node, ONX_ROW(node, op_type), "Constant") ||
        onx_str_set(attr, ONX_ROW(attr, name), sparse ? "sparse_value" : "value") ||
        !onx_strs_push(doc, &node->output, (onx_str){"", 0}))
        return NULL;
    onx_i32_set(attr, ONX_ROW(attr, type), sparse ? ONX_ATTR_SPARSE_TENSOR : ONX_ATTR_TENSOR);
    onx_msg_append(node, ONX_ROW(node, attribute), attr);
    node->outs = onx_arena_array(&doc->arena, 1, sizeof *node->outs);
    node->outs_cap = 1;
    return node->outs ? node : NULL;
}

static onx_status plan_node(mover *m, onx_tensor *tensor, onx_sparse *sparse) {
    move one = {.value = tensor && tensor->ref ? tensor->ref->value : NULL,
                .tensor = tensor,
                .sparse = sparse};
    if (!is_own_name(one.value) || is_variable(one.value)) return ONX_OK;
    if (one.value->input && (m->model->ir_version >= 4 || one.value->graph->outer)) return ONX_OK;
    one.node = make_node(m, sparse != NULL);
    one.ref = one.node ? new_ref(m, one.node, ONX_REF_OUTPUT, NULL) : NULL;
    return one.ref ? add(m, &one) : onx_fail_nomem(m->diag);
}

/* In front of the node that was the first, so that all can use it. */
static void become_node(const move *one, onx_node *first) {
    onx_value *value = one->value;
    onx_node *node = one->node;
    onx_attr *attr = (onx_attr *)node->attribute.first;
    onx_ref_detach(one->tensor->ref);
    one->tensor->ref = NULL;
    value->init = NULL;
    value->sparse = NULL;
    onx_msg_remove(one->sparse ? &one->sparse->msg : &one->tensor->msg);
    onx_msg_clear(one->tensor, ONX_ROW(tensor, name));
    onx_msg_touch(one->tensor);
    if (one->sparse)
        onx_msg_append(attr, ONX_ROW(attr, sparse_tensor), one->sparse);
    else
        onx_msg_append(attr, ONX_ROW(attr, t), one->tensor);
    node->graph = value->graph;
    node->output.v[0] = value->name;
    node->outs[0] = one->ref;
    onx_ref_attach(one->ref, value);
    value->def = node;
    value->def_index = 0;
    onx_msg_insert(value->graph, ONX_ROW(graph, node), first, node);
}

/* ─ Initializers and inputs ──────────────────────────────────────────────────────────────────── */

static onx_status make_type(const mover *m, const move *one, onx_type **out) {
    onx_buf text;
    onx_buf_init(&text, m->model->msg.doc->ctx);
    const onx_i64s *dims = one->sparse ? &one->sparse->dims : &one->tensor->dims;
    onx_buf_puts(&text, onx_dtype_name(onx_tensor_dtype(one->tensor)));
    for (size_t i = 0; i < dims->n; i++)
        onx_buf_printf(&text, "%s%lld", i ? "," : "[", (long long)dims->v[i]);
    if (dims->n) onx_buf_putc(&text, ']');
    onx_status status = text.failed ? onx_fail_nomem(m->diag)
                                    : onx_type_parse(m->model->msg.doc,
                                                     (onx_str){text.data, text.size}, out, m->diag);
    onx_buf_fini(&text);
    return status;
}

static onx_status plan_input(mover *m, onx_tensor *tensor, onx_sparse *sparse) {
    onx_doc *doc = m->model->msg.doc;
    move one = {.value = tensor && tensor->ref ? tensor->ref->value : NULL,
                .tensor = tensor,
                .sparse = sparse};
    onx_type *type;
    if (!is_own_name(one.value) || one.value->input) return ONX_OK;
    one.info = onx_msg_new(doc, &onx_desc_value_info);
    if (!one.info) return onx_fail_nomem(m->diag);
    ONX_TRY(make_type(m, &one, &type));
    onx_msg_append(one.info, ONX_ROW(value_info, type), type);
    one.ref = new_ref(m, one.info, ONX_REF_INFO, &one.info->name);
    onx_refs *ins = &m->model->graph->ins; /* room for all that are planned, and one more */
    bool room = onx_arena_grow(&doc->arena, &ins->v, &ins->cap, ins->n + m->n, sizeof *ins->v);
    return one.ref && room ? add(m, &one) : onx_fail_nomem(m->diag);
}

static void become_input(const move *one) {
    onx_value *value = one->value;
    onx_graph *graph = value->graph;
    onx_value_info *info = one->info;
    info->name = value->name;
    onx_msg_set_has(info, ONX_ROW(value_info, name));
    info->ref = one->ref;
    onx_ref_attach(info->ref, value);
    value->input = info;
    onx_msg_append(graph, ONX_ROW(graph, input), info);
    graph->ins.v[graph->ins.n++] = info->ref;
}

/* Inputs that have a default are none any more. */
static size_t fix_inputs(onx_graph *graph) {
    size_t kept = 0, n = graph->ins.n;
    for (size_t i = 0; i < n; i++) {
        onx_ref *ref = graph->ins.v[i];
        if (!ref->value->init) {
            graph->ins.v[kept++] = ref;
            continue;
        }
        ref->value->input = NULL;
        onx_ref_detach(ref);
        onx_msg_remove(ref->owner);
    }
    graph->ins.n = kept;
    return n - kept;
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

typedef onx_status plan_fn(mover *m, onx_tensor *tensor, onx_sparse *sparse);

static onx_status plan_initializers(mover *m, onx_graph *graph, plan_fn *plan) {
    ONX_EACH (onx_tensor, t, graph->initializer) ONX_TRY(plan(m, t, NULL));
    ONX_EACH (onx_sparse, s, graph->sparse_initializer) ONX_TRY(plan(m, s->values, s));
    return ONX_OK;
}

static onx_status plan(mover *m, onx_constants where) {
    bool hidden = onx_model_function_find(m->model, "", "Constant", "") != NULL;
    if (where == ONX_CONSTANTS_INPUTS) return plan_initializers(m, m->model->graph, plan_input);
    for (onx_graph *g = NULL; (g = onx_model_graph_next(m->model, g)) && !g->function;) {
        if (where == ONX_CONSTANTS_NODES) ONX_TRY(plan_initializers(m, g, plan_node));
        if (where == ONX_CONSTANTS_INITIALIZERS && !hidden)
            ONX_EACH (onx_node, node, g->node) ONX_TRY(plan_initializer(m, node));
    }
    return ONX_OK;
}

static void perform(const mover *m, onx_constants where) {
    onx_graph *graph = NULL;
    onx_node *first = NULL; /* of the graph, before any came in front of it */
    for (size_t i = 0; i < m->n; i++) {
        const move *one = &m->v[i];
        if (one->value->graph != graph) first = onx_graph_node_first(one->value->graph);
        graph = one->value->graph;
        if (where == ONX_CONSTANTS_INITIALIZERS)
            become_initializer(one);
        else if (where == ONX_CONSTANTS_NODES)
            become_node(one, first);
        else
            become_input(one);
    }
}

/* Before IR version 4 all initializers are inputs, of which some are to be none now: those that
 * become nodes, or all, in a newer version. */
static size_t make_room(onx_model *model, onx_constants where, size_t moved) {
    bool old = model->ir_version < 4;
    size_t fixed = 0;
    if (where == ONX_CONSTANTS_FIXED || (where == ONX_CONSTANTS_NODES && old))
        fixed = fix_inputs(model->graph);
    bool newer =
        where == ONX_CONSTANTS_FIXED ? fixed : where == ONX_CONSTANTS_INITIALIZERS && moved;
    if (old && newer) onx_i64_set(model, ONX_ROW(model, ir_version), 4);
    return where == ONX_CONSTANTS_FIXED ? fixed : 0;
}

onx_status onx_model_move_constants(onx_model *model, onx_constants where, size_t *count,
                                    onx_diag *diag) {
    if (!model || !model->graph) return onx_fail(diag, ONX_USAGE, "there is no model with a graph");
    mover m = {.model = model, .diag = diag};
    onx_arena_init(&m.arena, model->msg.doc->ctx);
    onx_status status = plan(&m, where);
    if (!status) {
        size_t fixed = make_room(model, where, m.n);
        perform(&m, where);
        if (count) *count = m.n + fixed;
    }
    onx_arena_fini(&m.arena);
    return status;
}
