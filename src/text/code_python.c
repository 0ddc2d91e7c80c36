/* code_python.c: programs in Python: the statements that fill graphs and functions. Messages are
 * protobuf's own, so everything can be said; the functions of onnx.helper are used where they make
 * the same. */
#include "text/code_python.h"

#include "base/utf8.h"
#include "ir/type_text.h"
#include "text/tree.h"

#include <math.h>

static const onx_str no_name = {NULL, 0};

bool onx_code_py_is_odd(const onx_code *code, const void *msg) {
    return onx_map_get(&code->odd, msg, no_name) != NULL;
}

bool onx_code_is_utf8(onx_str text) {
    const char *p = text.size ? text.data : "", *end = p + text.size;
    for (size_t n; p < end; p += n)
        if (!(n = onx_utf8_size(p, end))) return false;
    return true;
}

void onx_code_py_str(onx_code *code, onx_str text, const onx_msg *where) {
    if (!onx_code_is_utf8(text))
        onx_code_fail(code, ONX_UNSUPPORTED, where, "a text that is not UTF-8 is none in Python");
    onx_code_quote_str(code, text, ONX_QUOTE_TEXT);
}

void onx_code_py_strs(onx_code *code, const onx_strs *names, const onx_msg *where) {
    onx_code_puts(code, "[");
    for (size_t i = 0; i < names->n; i++) {
        if (i) onx_code_puts(code, ", ");
        onx_code_py_str(code, names->v[i], where);
    }
    onx_code_puts(code, "]");
}

/* ── Messages ────────────────────────────────────────────────────────────────────────────────── */

static bool is_textual_field(const onx_msg *msg, const onx_field *field) {
    onx_elems elems = {msg, field, 0};
    onx_elem v;
    onx_elem_kind kind = onx_field_elem(field);
    if (kind != ONX_ELEM_STR && kind != ONX_ELEM_F32 && kind != ONX_ELEM_F64) return true;
    while (onx_elems_next(&elems, &v)) {
        if (kind == ONX_ELEM_STR ? !onx_code_is_utf8(v.s)
                                 : isnan(kind == ONX_ELEM_F32 ? (double)v.f : v.d))
            return false;
    }
    return true;
}

bool onx_code_py_is_textual(const onx_msg *root) {
    onx_tree tree = onx_tree_begin(root);
    while (onx_tree_next(&tree)) {
        if (tree.event == ONX_TREE_FIELD && !is_textual_field(tree.msg, tree.field)) return false;
        if (tree.event == ONX_TREE_ENTER && tree.msg->unknown) return false;
    }
    return true;
}

void onx_code_py_message(onx_code *code, const char *into, const onx_msg *msg) {
    const char *name = msg->desc->name;
    if (onx_code_py_is_textual(msg)) {
        onx_code_puts(code, into ? "    parse(" : "parse(");
        if (into)
            onx_code_puts(code, into);
        else
            onx_code_printf(code, "%s()", name);
        onx_code_puts(code, ", ");
        onx_code_quote_msg(code, msg, false, ONX_QUOTE_TEXT);
    } else {
        onx_writer writer = onx_buf_writer(&code->scratch);
        code->scratch.size = 0;
        if (onx_wire_encode(msg, &writer, NULL) != ONX_OK) onx_code_no_memory(code);
        if (into)
            onx_code_printf(code, "    %s.MergeFromString(", into);
        else
            onx_code_printf(code, "%s.FromString(", name);
        onx_code_quote_str(code, (onx_str){code->scratch.data, code->scratch.size},
                           ONX_QUOTE_BYTES);
    }
    onx_code_puts(code, into ? ")\n" : ")");
}

static void message(onx_code *code, const onx_msg *msg) {
    onx_code_py_add(code, "g", msg);
}

/* ── Planning ────────────────────────────────────────────────────────────────────────────────── */

static bool names_ok(const onx_strs *names) {
    for (size_t i = 0; i < names->n; i++)
        if (!onx_code_is_utf8(names->v[i])) return false;
    return true;
}

static bool is_regular(const onx_msg *msg) {
    if (msg->desc == &onx_desc_attr) {
        const onx_attr *a = (const onx_attr *)msg;
        bool nan = isnan(a->f);
        for (size_t i = 0; i < a->floats.n; i++) nan = nan || isnan(a->floats.v[i]);
        return !nan && onx_code_attr_fits(a) && onx_code_is_utf8(a->name) &&
               onx_code_is_utf8(a->ref_attr_name);
    }
    if (msg->desc != &onx_desc_node) return true;
    const onx_node *n = (const onx_node *)msg;
    return !msg->unknown && !n->device_configurations.count && names_ok(&n->input) &&
           names_ok(&n->output) && onx_code_is_utf8(n->name) && onx_code_is_utf8(n->op_type) &&
           onx_code_is_utf8(n->domain) && onx_code_is_utf8(n->doc_string) &&
           onx_code_is_utf8(n->overload) && onx_msg_has(n, ONX_ROW(node, op_type));
}

static bool plan_root(onx_code *code, const void *root) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(root); (msg = onx_walk_next(&w));) {
        if (!is_regular(msg) && !onx_map_put(&code->odd, msg, no_name, code)) return false;
        if (msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type) onx_walk_skip(&w);
    }
    return true;
}

static bool plan(onx_code *code) {
    bool done = plan_root(code, code->model->graph);
    ONX_EACH (onx_function, f, code->model->functions) done = done && plan_root(code, f);
    return done;
}

/* ── Functions ───────────────────────────────────────────────────────────────────────────────── */

static void begin(onx_code *code, const char *ident) {
    onx_code_printf(code, "def %s(g):\n", ident);
}

/* A function of Python needs a statement; this one is there in any case. */
static void end(onx_code *code) {
    onx_code_puts(code, "    return g\n\n\n");
}

static void call(onx_code *code, const char *ident) {
    onx_code_printf(code, "    %s(g)\n", ident);
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

static void put_function(onx_code *code, const onx_function *f) {
    static const char *const lists[] = {"input", "output", "attribute"};
    const onx_strs *const names[] = {&f->input, &f->output, &f->attribute};
    for (size_t i = 0; i < ONX_COUNT(lists); i++) {
        if (!names[i]->n) continue;
        onx_code_printf(code, "    g.%s.extend(", lists[i]);
        onx_code_py_strs(code, names[i], &f->msg);
        onx_code_puts(code, ")\n");
    }
    ONX_EACH (onx_opset, o, f->opset_import) message(code, &o->msg);
    ONX_EACH (onx_attr, a, f->attribute_proto) {
        onx_code_puts(code, "    g.attribute_proto.append(");
        onx_code_py_attr(code, a);
        onx_code_puts(code, ")\n");
    }
}

static void graph(onx_code *code, const onx_graph *g) {
    onx_code_py_fields(code, "g", g->function ? &g->function->msg : &g->msg);
    if (g->function) put_function(code, g->function);
}

/* Does onnx.helper.make_tensor_value_info make this very message? */
static bool is_plain_info(const onx_value_info *info) {
    const onx_type *type = info->type;
    const onx_tensor_type *tensor = type ? type->tensor_type : NULL;
    if (info->msg.has != ONX_BIT(value_info, name) || info->msg.unknown ||
        info->metadata_props.count || !tensor || type->msg.has || type->msg.unknown ||
        tensor->msg.unknown || !onx_msg_has(tensor, ONX_ROW(tensor_type, elem_type)) ||
        !onx_code_is_utf8(info->name))
        return false;
    if (!tensor->shape) return true;
    if (tensor->shape->msg.unknown) return false;
    ONX_EACH (onx_dim, dim, tensor->shape->dim)
        if (dim->msg.unknown || onx_msg_has(dim, ONX_ROW(dim, denotation)) ||
            !onx_code_is_utf8(dim->dim_param))
            return false;
    return true;
}

static void put_shape(onx_code *code, const onx_shape *shape) {
    bool first = true;
    onx_code_puts(code, shape ? "[" : "None");
    if (!shape) return;
    ONX_EACH (onx_dim, dim, shape->dim) {
        if (!first) onx_code_puts(code, ", ");
        first = false;
        if (onx_msg_has(dim, ONX_ROW(dim, dim_value)))
            onx_code_printf(code, "%lld", (long long)dim->dim_value);
        else if (onx_msg_has(dim, ONX_ROW(dim, dim_param)))
            onx_code_py_str(code, dim->dim_param, &dim->msg);
        else
            onx_code_puts(code, "None");
    }
    onx_code_puts(code, "]");
}

static void put_info(onx_code *code, const onx_value_info *info) {
    if (!is_plain_info(info)) {
        message(code, &info->msg);
        return;
    }
    const onx_tensor_type *tensor = info->type->tensor_type;
    onx_code_printf(code, "    g.%s.append(value(",
                    info->msg.parent->desc->fields[info->msg.field].name);
    onx_code_py_str(code, info->name, &info->msg);
    onx_code_puts(code, ", ");
    onx_code_py_dtype(code, tensor->elem_type);
    onx_code_puts(code, ", ");
    put_shape(code, tensor->shape);
    onx_code_puts(code, "))\n");
}

static void input(onx_code *code, const onx_graph *g, size_t index) {
    if (!g->function) put_info(code, (const onx_value_info *)g->ins.v[index]->owner);
}

static void output(onx_code *code, const onx_graph *g, size_t index) {
    if (!g->function) put_info(code, (const onx_value_info *)g->outs.v[index]->owner);
}

static void infos(onx_code *code, const onx_graph *g) {
    ONX_EACH (onx_value_info, info, g->value_info) put_info(code, info);
}

static void tensor(onx_code *code, const onx_tensor *t) {
    onx_code_puts(code, "    g.initializer.append(");
    onx_code_py_tensor(code, t);
    onx_code_puts(code, ")\n");
}

static void entry(onx_code *code, const onx_graph *g, const onx_entry *e) {
    (void)g;
    message(code, &e->msg);
}

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

static void put_note(onx_code *code, const onx_node *node) {
    const onx_value *value = node->output.n ? onx_node_output(node, 0) : NULL;
    const onx_type *type = value ? onx_value_type(value) : NULL;
    code->scratch.size = 0;
    if (type) onx_type_print(type, &code->scratch);
    onx_str text = {code->scratch.data, code->scratch.size};
    if (type && onx_code_is_plain(text)) onx_code_printf(code, "  # %.*s", ONX_FMT(text));
}

static void put_keyword(onx_code *code, const onx_node *n, const onx_field *row) {
    if (!onx_msg_has(n, row)) return;
    onx_code_printf(code, ", %s=", row->name);
    onx_code_py_str(code, *(const onx_str *)onx_field_ptr(n, row), &n->msg);
}

static void node(onx_code *code, const onx_node *n) {
    if (onx_code_py_is_odd(code, n)) {
        message(code, &n->msg);
        return;
    }
    onx_code_puts(code, "    node(g, ");
    onx_code_py_str(code, n->op_type, &n->msg);
    onx_code_puts(code, ", ");
    onx_code_py_strs(code, &n->input, &n->msg);
    onx_code_puts(code, ", ");
    onx_code_py_strs(code, &n->output, &n->msg);
    ONX_EACH (onx_attr, a, n->attribute) {
        onx_code_puts(code, ",\n         ");
        onx_code_py_attr(code, a);
    }
    put_keyword(code, n, ONX_ROW(node, name));
    put_keyword(code, n, ONX_ROW(node, domain));
    put_keyword(code, n, ONX_ROW(node, overload));
    put_keyword(code, n, ONX_ROW(node, doc_string));
    if (n->metadata_props.count) onx_code_puts(code, ",\n         metadata_props=[");
    ONX_EACH (onx_entry, e, n->metadata_props) {
        onx_code_py_message(code, NULL, &e->msg);
        onx_code_puts(code, e->msg.next ? ", " : "]");
    }
    onx_code_puts(code, ")");
    put_note(code, n);
    onx_code_puts(code, "\n");
}

const onx_code_lang onx_code_lang_python = {
    .nothing = "",
    .plan = plan,
    .begin = begin,
    .end = end,
    .call = call,
    .graph = graph,
    .input = input,
    .output = output,
    .tensor = tensor,
    .node = node,
    .infos = infos,
    .message = message,
    .entry = entry,
    .tail = onx_code_py_tail,
    .head = onx_code_py_head,
};
