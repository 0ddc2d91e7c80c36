/* pt2_text.h: programs of torch.export for tests, from lines that people can read.
 *
 *     x: f32[s0,3]; b: i64; m = aten.mul.Tensor(self=x, other=2.0); return m, b
 *     y = higher_order.cond(p, {a: f32[s0]; r = aten.neg.default(self=a); return r}, {…}, [x])
 *
 * Names with types are inputs; a type behind `->` is noted of the first result. Arguments are
 * names, numbers, True, False, None, "text", lists and graphs in braces. Names that begin with n_
 * are numbers, others tensors. Targets without "torch." or "_operator." in front are operators of
 * torch.ops. */
#ifndef ONX_TEST_PT2_TEXT_H
#define ONX_TEST_PT2_TEXT_H

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pt2_text {
    const char *at;
    onx_buf ins, outs, nodes, metas;
} pt2_text;

static inline bool pt2_take(pt2_text *t, const char *token) {
    while (isspace((unsigned char)*t->at)) t->at++;
    if (strncmp(t->at, token, strlen(token)) != 0) return false;
    t->at += strlen(token);
    return true;
}

static inline void pt2_need(pt2_text *t, const char *token) {
    if (pt2_take(t, token)) return;
    fprintf(stderr, "'%s' is expected at: %.40s\n", token, t->at);
    abort();
}

static inline onx_str pt2_word(pt2_text *t) {
    while (isspace((unsigned char)*t->at)) t->at++;
    const char *from = t->at;
    while (isalnum((unsigned char)*t->at) || *t->at == '_' || *t->at == '.') t->at++;
    return (onx_str){from, (size_t)(t->at - from)};
}

static inline void pt2_graph_text(const char **at, onx_buf *out);

static inline void pt2_name(onx_buf *out, onx_str name) {
    if (name.size > 2 && memcmp(name.data, "n_", 2) == 0)
        onx_buf_printf(out, "{\"as_sym_int\":{\"as_name\":\"%.*s\"}}", ONX_FMT(name));
    else
        onx_buf_printf(out, "{\"as_tensor\":{\"name\":\"%.*s\"}}", ONX_FMT(name));
}

/* The rest of a list: of tensors, or of numbers that may be symbolic. */
static inline void pt2_list(pt2_text *t, onx_buf *out) {
    bool numbers = !isalpha((unsigned char)*t->at) || strncmp(t->at, "n_", 2) == 0;
    onx_buf_puts(out, numbers ? "{\"as_sym_ints\":[" : "{\"as_tensors\":[");
    for (bool first = true; !pt2_take(t, "]"); first = false) {
        if (!first) pt2_need(t, ",");
        onx_buf_puts(out, first ? "" : ",");
        bool minus = pt2_take(t, "-");
        onx_str word = pt2_word(t);
        const char *form = !numbers                               ? "{\"name\":\""
                           : isalpha((unsigned char)word.data[0]) ? "{\"as_name\":\""
                                                                  : "{\"as_int\":";
        onx_buf_puts(out, form);
        onx_buf_printf(out, "%s%.*s", minus ? "-" : "", ONX_FMT(word));
        onx_buf_puts(out, form[strlen(form) - 1] == '"' ? "\"}" : "}");
    }
    onx_buf_puts(out, "]}");
}

static inline void pt2_value(pt2_text *t, onx_buf *out) {
    while (isspace((unsigned char)*t->at)) t->at++;
    if (pt2_take(t, "{")) {
        onx_buf_puts(out, "{\"as_graph\":{\"name\":\"g\",\"graph\":");
        pt2_graph_text(&t->at, out);
        onx_buf_puts(out, "}}");
        pt2_need(t, "}");
    } else if (pt2_take(t, "[")) {
        pt2_list(t, out);
    } else if (pt2_take(t, "\"")) {
        const char *end = strchr(t->at, '"');
        onx_buf_printf(out, "{\"as_string\":\"%.*s\"}", (int)(end - t->at), t->at);
        t->at = end + 1;
    } else {
        bool minus = pt2_take(t, "-");
        onx_str word = pt2_word(t);
        if (onx_str_is(word, "None"))
            onx_buf_puts(out, "{\"as_none\":true}");
        else if (onx_str_is(word, "True") || onx_str_is(word, "False"))
            onx_buf_printf(out, "{\"as_bool\":%s}", word.data[0] == 'T' ? "true" : "false");
        else if (isalpha((unsigned char)word.data[0]))
            pt2_name(out, word);
        else
            onx_buf_printf(out, "{\"%s\":%s%.*s}",
                           memchr(word.data, '.', word.size) ? "as_float" : "as_int",
                           minus ? "-" : "", ONX_FMT(word));
    }
}

static inline void pt2_call(pt2_text *t, onx_buf *out) {
    onx_str target = pt2_word(t);
    bool bare = memcmp(target.data, "torch.", 6) == 0 || target.data[0] == '_' ||
                memcmp(target.data, "math.", 5) == 0;
    onx_buf_printf(out, "{\"target\":\"%s%.*s\",\"inputs\":[", bare ? "" : "torch.ops.",
                   ONX_FMT(target));
    pt2_need(t, "(");
    for (bool first = true; !pt2_take(t, ")"); first = false) {
        if (!first) pt2_need(t, ",");
        onx_buf_puts(out, first ? "" : ",");
        const char *from = t->at;
        onx_str name = pt2_word(t);
        if (!pt2_take(t, "=")) name.size = 0, t->at = from;
        onx_buf_printf(out, "{\"name\":\"%.*s\",\"kind\":1,\"arg\":", ONX_FMT(name));
        pt2_value(t, out);
        onx_buf_puts(out, "}");
    }
}

/* "f32[s0,3]". */
static inline void pt2_type(pt2_text *t, onx_buf *out) {
    static const char *const types[] = {"u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64"};
    onx_str type = pt2_word(t);
    int dtype = 12; /* bool */
    for (int i = 0; i < 8; i++)
        if (onx_str_is(type, types[i])) dtype = i + 1;
    onx_buf_printf(out, "{\"dtype\":%d,\"sizes\":[", dtype);
    if (pt2_take(t, "["))
        for (bool first = true; !pt2_take(t, "]"); first = false) {
            size_t n = strcspn(t->at += !first && *t->at == ',', ",]");
            bool number = isdigit((unsigned char)*t->at) && strspn(t->at, "0123456789") == n;
            onx_buf_puts(out, first ? "" : ",");
            if (number)
                onx_buf_printf(out, "{\"as_int\":%.*s}", (int)n, t->at);
            else
                onx_buf_printf(out, "{\"as_expr\":{\"expr_str\":\"%.*s\",\"hint\":null}}", (int)n,
                               t->at);
            t->at += n;
        }
    onx_buf_puts(out, "]}");
}

static inline void pt2_statement(pt2_text *t) {
    const char *from = t->at;
    onx_str name = pt2_word(t);
    if (onx_str_is(name, "return")) {
        do {
            onx_buf_puts(&t->outs, t->outs.size ? "," : "");
            pt2_value(t, &t->outs);
        } while (pt2_take(t, ","));
    } else if (pt2_take(t, ":")) {
        onx_buf_puts(&t->ins, t->ins.size ? "," : "");
        pt2_name(&t->ins, name);
        onx_buf_printf(&t->metas, "%s\"%.*s\":", t->metas.size ? "," : "", ONX_FMT(name));
        pt2_type(t, &t->metas);
    } else {
        onx_buf names;
        onx_buf_init(&names, t->nodes.ctx);
        t->at = from;
        do {
            onx_buf_puts(&names, names.size ? "," : "");
            pt2_name(&names, pt2_word(t));
        } while (pt2_take(t, ","));
        pt2_need(t, "=");
        onx_buf_puts(&t->nodes, t->nodes.size ? "," : "");
        pt2_call(t, &t->nodes);
        onx_buf_printf(&t->nodes, "],\"outputs\":[%.*s],\"metadata\":{}}", (int)names.size,
                       names.data);
        onx_buf_fini(&names);
        if (!pt2_take(t, "->")) return;
        onx_buf_printf(&t->metas, "%s\"%.*s\":", t->metas.size ? "," : "", ONX_FMT(name));
        pt2_type(t, &t->metas);
    }
}

static inline void pt2_graph_text(const char **at, onx_buf *out) {
    pt2_text t = {.at = *at};
    onx_buf *parts[] = {&t.ins, &t.outs, &t.nodes, &t.metas};
    for (int i = 0; i < 4; i++) onx_buf_init(parts[i], out->ctx);
    do pt2_statement(&t);
    while (pt2_take(&t, ";"));
    onx_buf_puts(out, "{\"inputs\":[");
    onx_buf_put(out, t.ins.data, t.ins.size);
    onx_buf_puts(out, "],\"outputs\":[");
    onx_buf_put(out, t.outs.data, t.outs.size);
    onx_buf_puts(out, "],\"nodes\":[");
    onx_buf_put(out, t.nodes.data, t.nodes.size);
    onx_buf_puts(out, "],\"tensor_values\":{");
    onx_buf_put(out, t.metas.data, t.metas.size);
    onx_buf_puts(out, "},\"sym_int_values\":{}}");
    for (int i = 0; i < 4; i++) onx_buf_fini(parts[i]);
    *at = t.at;
}

/* The whole as JSON, of which all inputs and outputs are the user's; ends with a NUL. */
static inline void pt2_program_text(const char *text, onx_buf *out) {
    onx_buf graph;
    const char *at = text;
    size_t n_in = 0, n_out = 1;
    onx_buf_init(&graph, out->ctx);
    pt2_graph_text(&at, &graph);
    int depth = 0;
    for (at = text; *at; at++) { /* inputs and results of the outermost graph */
        depth +=
            (*at == '{' || *at == '[' || *at == '(') - (*at == '}' || *at == ']' || *at == ')');
        if (!depth && *at == ':') n_in++;
        if (!depth && strncmp(at, "return", 6) == 0)
            for (const char *k = at; *k; k++) n_out += *k == ',';
    }
    onx_buf_puts(out, "{\"schema_version\":{\"major\":8,\"minor\":17},\"range_constraints\":{},"
                      "\"graph_module\":{\"graph\":");
    onx_buf_put(out, graph.data, graph.size);
    onx_buf_puts(out, ",\"signature\":{\"input_specs\":[");
    for (size_t i = 0; i < n_in; i++) onx_buf_printf(out, "%s{\"user_input\":{}}", i ? "," : "");
    onx_buf_puts(out, "],\"output_specs\":[");
    for (size_t i = 0; i < n_out; i++) onx_buf_printf(out, "%s{\"user_output\":{}}", i ? "," : "");
    onx_buf_puts(out, "]},\"module_call_graph\":[]}}");
    onx_buf_putc(out, '\0');
    onx_buf_fini(&graph);
}

#endif
