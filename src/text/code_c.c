/* code_c.c: programs in C: the statements that fill graphs. The values of a graph are found by
 * their names, so that its functions need not hand them to each other. */
#include "text/code_c.h"

#include "ir/type_text.h"

#include <stdio.h>

void onx_code_c_str(onx_code *code, onx_str text, const onx_msg *where) {
    if (text.size && memchr(text.data, '\0', text.size))
        onx_code_fail(code, ONX_UNSUPPORTED, where, "a text with a NUL byte cannot be set from C");
    onx_code_quote_str(code, text, ONX_QUOTE_C);
}

void onx_code_c_merge(onx_code *code, const char *call, const onx_msg *msg) {
    onx_code_printf(code, "    check(%s, ", call);
    onx_code_quote_msg(code, msg, true, ONX_QUOTE_C);
    onx_code_puts(code, ", NULL));\n");
}

void onx_code_c_unknown(onx_code *code, const char *call, const onx_msg *msg) {
    onx_buf *text = &code->scratch;
    text->size = 0;
    for (const onx_unknown *u = msg->unknown; u; u = u->next) {
        onx_buf_puts(text, "[onx.unknown]: \"");
        for (size_t i = 0; i < u->bytes.size; i++)
            onx_buf_printf(text, "\\%03o", (unsigned char)u->bytes.data[i]);
        onx_buf_puts(text, "\"\n");
    }
    if (!text->size) return;
    onx_code_printf(code, "    check(%s, ", call);
    onx_code_quote_str(code, (onx_str){text->data, text->size}, ONX_QUOTE_C);
    onx_code_puts(code, ", NULL));\n");
}

void onx_code_c_entry(onx_code *code, char kind, const onx_list *all, const onx_entry *e) {
    const char *name = kind == 'm' ? "model" : kind == 'g' ? "graph" : "node";
    char call[40];
    if (onx_code_c_plain_entries(all)) {
        onx_code_printf(code, "    check(onx_%s_set_meta(%c, ", name, kind);
        onx_code_c_str(code, e->key, &e->msg);
        onx_code_puts(code, ", ");
        onx_code_c_str(code, e->value, &e->msg);
        onx_code_puts(code, "));\n");
        return;
    }
    snprintf(call, sizeof call, "onx_%s_add_fields(%c", name, kind);
    onx_code_c_merge(code, call, &e->msg);
}

static void put_type(onx_code *code, const onx_type *type) {
    code->scratch.size = 0;
    if (!type) {
        onx_code_puts(code, "NULL");
        return;
    }
    onx_type_print(type, &code->scratch);
    onx_code_quote_str(code, (onx_str){code->scratch.data, code->scratch.size}, ONX_QUOTE_C);
}

/* ── Functions ───────────────────────────────────────────────────────────────────────────────── */

static void begin(onx_code *code, const char *ident) {
    onx_code_printf(code, "static void %s(onx_graph *g) {\n", ident);
    code->declared = false;
}

static void end(onx_code *code) {
    onx_code_puts(code, "}\n\n");
}

static void call(onx_code *code, const char *ident) {
    onx_code_printf(code, "    %s(g);\n", ident);
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

static void put_opsets(onx_code *code, const onx_function *f) {
    onx_code_puts(code, "    check(onx_function_set_opset(f, \"\", 0));\n");
    ONX_EACH (onx_opset, o, f->opset_import) {
        onx_code_puts(code, "    check(onx_function_set_opset(f, ");
        if (onx_msg_has(o, ONX_ROW(opset, domain)))
            onx_code_c_str(code, o->domain, &o->msg);
        else
            onx_code_puts(code, "NULL");
        onx_code_printf(code, ", %lld));\n", (long long)o->version);
    }
}

static void put_function(onx_code *code, const onx_function *f) {
    onx_code_puts(code, "    onx_function *f = onx_graph_function(g);\n");
    if (onx_msg_has(f, ONX_ROW(function, overload))) {
        onx_code_puts(code, "    check(onx_function_set_overload(f, ");
        onx_code_c_str(code, f->overload, &f->msg);
        onx_code_puts(code, "));\n");
    }
    put_opsets(code, f);
    for (size_t i = 0; i < f->attribute.n; i++) {
        onx_code_puts(code, "    check(onx_function_add_attr(f, ");
        onx_code_c_str(code, f->attribute.v[i], &f->msg);
        onx_code_puts(code, "));\n");
    }
    ONX_EACH (onx_attr, a, f->attribute_proto)
        onx_code_c_merge(code, "onx_graph_add_fields(g", &a->msg);
}

static void put_doc(onx_code *code, onx_str doc, const onx_msg *where) {
    onx_code_puts(code, "    check(onx_graph_set_doc(g, ");
    onx_code_c_str(code, doc, where);
    onx_code_puts(code, "));\n");
}

static void graph(onx_code *code, const onx_graph *g) {
    const onx_function *f = g->function;
    if (f) put_function(code, f);
    if (f && onx_msg_has(f, ONX_ROW(function, doc_string))) put_doc(code, f->doc_string, &f->msg);
    if (f) return;
    if (!onx_msg_has(g, ONX_ROW(graph, name)))
        onx_code_puts(code, "    check(onx_graph_set_name(g, NULL));\n");
    if (onx_msg_has(g, ONX_ROW(graph, doc_string))) put_doc(code, g->doc_string, &g->msg);
    onx_code_c_unknown(code, "onx_graph_add_fields(g", &g->msg);
}

static void input(onx_code *code, const onx_graph *g, size_t index) {
    const onx_ref *ref = g->ins.v[index];
    const onx_value_info *info = g->function ? NULL : (const onx_value_info *)ref->owner;
    if (info && onx_code_c_is_odd(code, info)) {
        onx_code_c_merge(code, "onx_graph_add_fields(g", &info->msg);
        return;
    }
    onx_code_puts(code, "    onx_graph_add_input(g, ");
    onx_code_c_str(code, ref->value->name, &g->msg);
    onx_code_puts(code, ", ");
    put_type(code, info ? info->type : NULL);
    onx_code_puts(code, ");\n");
}

static void output(onx_code *code, const onx_graph *g, size_t index) {
    const onx_ref *ref = g->outs.v[index];
    const onx_value_info *info = g->function ? NULL : (const onx_value_info *)ref->owner;
    if (info && onx_code_c_is_odd(code, info)) {
        onx_code_c_merge(code, "onx_graph_add_fields(g", &info->msg);
        return;
    }
    code->used |= ONX_USE_OUTPUT;
    onx_code_puts(code, "    output(g, ");
    onx_code_c_str(code, ref->value->name, &g->msg);
    onx_code_puts(code, ", ");
    put_type(code, info ? info->type : NULL);
    onx_code_puts(code, ");\n");
}

static void message(onx_code *code, const onx_msg *msg) {
    onx_code_c_merge(code, "onx_graph_add_fields(g", msg);
}

static void entry(onx_code *code, const onx_graph *g, const onx_entry *e) {
    const onx_function *f = g->function;
    onx_code_c_entry(code, 'g', f ? &f->metadata_props : &g->metadata_props, e);
}

/* Declared types as a table, as far as they go. */
static void infos(onx_code *code, const onx_graph *g) {
    bool open = false;
    ONX_EACH (onx_value_info, info, g->value_info) {
        bool odd = onx_code_c_is_odd(code, info);
        if (odd && open)
            onx_code_puts(code, "    };\n    types(g, sizeof t / sizeof *t, t);\n    }\n");
        if (odd) onx_code_c_merge(code, "onx_graph_add_fields(g", &info->msg);
        if (!odd && !open) onx_code_puts(code, "    {\n    static const char *const t[][2] = {\n");
        open = !odd;
        if (odd) continue;
        code->used |= ONX_USE_TYPES;
        onx_code_puts(code, "        {");
        onx_code_c_str(code, info->name, &info->msg);
        onx_code_puts(code, ", ");
        put_type(code, info->type);
        onx_code_puts(code, "},\n");
    }
    if (open) onx_code_puts(code, "    };\n    types(g, sizeof t / sizeof *t, t);\n    }\n");
}

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

static void put_names(onx_code *code, const char *macro, const onx_strs *names) {
    onx_code_puts(code, names->n ? macro : "NONE");
    for (size_t i = 0; i < names->n; i++) {
        onx_code_puts(code, i ? ", " : "(");
        onx_code_quote_str(code, names->v[i], ONX_QUOTE_C);
    }
    onx_code_puts(code, names->n ? ")" : "");
}

/* The type of the first output, in a comment. */
static void put_note(onx_code *code, const onx_node *node) {
    const onx_value *value = node->output.n ? onx_node_output(node, 0) : NULL;
    const onx_type *type = value ? onx_value_type(value) : NULL;
    code->scratch.size = 0;
    if (type) onx_type_print(type, &code->scratch);
    onx_str text = {code->scratch.data, code->scratch.size};
    if (type && onx_code_is_plain(text)) onx_code_printf(code, " /* %.*s */", ONX_FMT(text));
}

static void put_text(onx_code *code, const onx_node *node, const onx_field *row, const char *set) {
    if (!onx_msg_has(node, row)) return;
    onx_code_printf(code, "    check(%s(n, ", set);
    onx_code_c_str(code, *(const onx_str *)onx_field_ptr(node, row), &node->msg);
    onx_code_puts(code, "));\n");
}

static void put_meta(onx_code *code, const onx_node *node) {
    ONX_EACH (onx_entry, e, node->metadata_props)
        onx_code_c_entry(code, 'n', &node->metadata_props, e);
}

static void put_call(onx_code *code, const onx_node *node) {
    bool domain = onx_msg_has(node, ONX_ROW(node, domain));
    code->used |= ONX_USE_NODE;
    onx_code_puts(code, "node(g, ");
    code->scratch.size = 0;
    if (domain) onx_buf_put(&code->scratch, node->domain.data, node->domain.size);
    if (domain) onx_buf_puts(&code->scratch, "::");
    onx_buf_put(&code->scratch, node->op_type.data, node->op_type.size);
    onx_code_quote_str(code, (onx_str){code->scratch.data, code->scratch.size}, ONX_QUOTE_C);
    onx_code_puts(code, ", ");
    if (onx_msg_has(node, ONX_ROW(node, name)))
        onx_code_quote_str(code, node->name, ONX_QUOTE_C);
    else
        onx_code_puts(code, "NULL");
    onx_code_puts(code, ", ");
    put_names(code, "NAMES", &node->input);
    onx_code_puts(code, ", ");
    put_names(code, "NAMES", &node->output);
    onx_code_puts(code, ");");
    put_note(code, node);
    onx_code_puts(code, "\n");
}

static void node(onx_code *code, const onx_node *n) {
    if (onx_code_c_is_odd(code, n)) {
        onx_code_c_merge(code, "onx_graph_add_fields(g", &n->msg);
        return;
    }
    bool more = n->attribute.count || n->metadata_props.count ||
                onx_msg_has(n, ONX_ROW(node, doc_string)) ||
                onx_msg_has(n, ONX_ROW(node, overload));
    onx_code_puts(code, !more ? "    " : code->declared ? "    n = " : "    onx_node *n = ");
    code->declared = code->declared || more;
    put_call(code, n);
    put_text(code, n, ONX_ROW(node, overload), "onx_node_set_overload");
    put_text(code, n, ONX_ROW(node, doc_string), "onx_node_set_doc");
    ONX_EACH (onx_attr, a, n->attribute) onx_code_c_attr(code, a);
    put_meta(code, n);
}

const onx_code_lang onx_code_lang_c = {
    .nothing = "    (void)g;\n",
    .plan = onx_code_c_plan,
    .begin = begin,
    .end = end,
    .call = call,
    .graph = graph,
    .input = input,
    .output = output,
    .tensor = onx_code_c_tensor,
    .node = node,
    .infos = infos,
    .message = message,
    .entry = entry,
    .tail = onx_code_c_tail,
    .head = onx_code_c_head,
};
