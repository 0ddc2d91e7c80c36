/* code_name.c: identifiers for the functions of a program, made from names of the model. */
#include "text/code.h"

enum { IDENT_MOST = 60 };

static bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters and digits stay, everything between them becomes one underscore. */
static void put_hint(onx_buf *out, onx_str hint) {
    onx_buf_puts(out, "build");
    bool gap = true;
    for (size_t i = 0; i < hint.size && out->size < IDENT_MOST; i++) {
        if (!is_alnum(hint.data[i])) {
            gap = true;
            continue;
        }
        if (gap) onx_buf_putc(out, '_');
        onx_buf_putc(out, hint.data[i]);
        gap = false;
    }
}

const char *onx_code_ident(onx_code *code, onx_str hint) {
    onx_buf *text = &code->scratch;
    onx_str ident;
    text->size = 0;
    put_hint(text, hint);
    size_t n = text->size;
    if (n == strlen("build")) onx_buf_puts(text, "_graph"), n = text->size;
    while (!text->failed && onx_map_get(&code->idents, NULL, (onx_str){text->data, text->size})) {
        text->size = n;
        onx_buf_printf(text, "_%zu", ++code->n_idents);
    }
    if (text->failed || !onx_arena_str(&code->arena, (onx_str){text->data, text->size}, &ident) ||
        !onx_map_put(&code->idents, NULL, ident, (void *)(uintptr_t)ident.data))
        return onx_code_no_memory(code), NULL;
    return ident.data;
}

const char *onx_code_graph_ident(const onx_code *code, const onx_graph *graph) {
    return onx_map_get(&code->idents, graph, (onx_str){NULL, 0});
}

/* "/encoder/layer.0/attention/MatMul": what stands before the second slash. */
static onx_str module_of_path(onx_str name) {
    size_t start = name.size && name.data[0] == '/', slashes = 0, end = 0;
    for (size_t i = start; i < name.size && slashes < 2; i++)
        if (name.data[i] == '/') slashes++, end = i;
    return end > start ? (onx_str){name.data + start, end - start} : (onx_str){"", 0};
}

/* "encoder.layer.0.attention.weight": up to the first number, or the last dot. */
static onx_str module_of_weight(onx_str name) {
    size_t end = 0, part = 0;
    bool number = false;
    for (size_t i = 0; i < name.size && !number; i++) {
        if (name.data[i] != '.') continue;
        number = i > part;
        for (size_t k = part; k < i; k++)
            number = number && name.data[k] >= '0' && name.data[k] <= '9';
        end = i;
        part = i + 1;
    }
    return (onx_str){name.data, end};
}

onx_str onx_code_module(const onx_node *node) {
    onx_str name = node->name.size ? node->name : node->output.n ? node->output.v[0] : node->name;
    onx_str module = module_of_path(name);
    for (size_t i = 0; i < node->input.n && !module.size; i++) {
        const onx_value *value = onx_node_input(node, i);
        if (value && value->init) module = module_of_weight(value->name);
    }
    return module;
}
