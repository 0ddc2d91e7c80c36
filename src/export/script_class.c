/* script_class.c: one file of TorchScript's source to a tree: its classes and functions. */
#include "export/script_parse.h"

/* ── Classes ── */

typedef struct class_caps {
    size_t attrs, methods;
} class_caps;

static onx_status add_attr(onx_script_parser *p, onx_script_class *c, class_caps *caps,
                           onx_script_attr attr) {
    if (!onx_arena_grow(p->arena, &c->attrs, &caps->attrs, c->attr_count, sizeof attr))
        return onx_fail_nomem(p->diag);
    c->attrs[c->attr_count++] = attr;
    return ONX_OK;
}

static onx_status take_strings(onx_script_parser *p, const onx_script_expr *list, onx_str **out,
                               size_t *n) {
    bool strings = list->kind == ONX_EXPR_LIST;
    for (size_t i = 0; strings && i < list->n; i++) strings = list->items[i]->kind == ONX_EXPR_STR;
    if (!strings) return onx_script_refuse(p, ONX_MALFORMED, "what should be a list of names");
    *out = onx_arena_array(p->arena, list->n, sizeof **out);
    if (!*out) return onx_fail_nomem(p->diag);
    for (size_t i = 0; i < list->n; i++) (*out)[i] = list->items[i]->text;
    *n = list->n;
    return ONX_OK;
}

/* `name = value`: the lists of a module, or a constant. */
static onx_status add_named(onx_script_parser *p, onx_script_class *c, class_caps *caps,
                            onx_str name, onx_script_expr *value) {
    const struct {
        const char *name;
        onx_str **list;
        size_t *n;
    } lists[] = {
        {"__parameters__", &c->parameters, &c->parameter_count},
        {"__buffers__", &c->buffers, &c->buffer_count},
        {"__forward_pre_hooks__", &c->pre_hooks, &c->pre_hook_count},
        {"__forward_hooks__", &c->hooks, &c->hook_count},
    };
    for (size_t i = 0; i < ONX_COUNT(lists); i++)
        if (onx_str_is(name, lists[i].name))
            return take_strings(p, value, lists[i].list, lists[i].n);
    if (onx_str_is(name, "__annotations__")) return ONX_OK;
    return add_attr(p, c, caps, (onx_script_attr){.name = name, .value = value});
}

/* name : type [= value]  |  name = value  |  __annotations__["0"] = type */
static onx_status parse_member(onx_script_parser *p, onx_script_class *c, class_caps *caps) {
    onx_script_expr *left, *type = NULL, *value = NULL;
    bool found;
    ONX_TRY(onx_script_expr_parse(p, &left));
    ONX_TRY(onx_script_accept(p, ':', &found));
    if (found) ONX_TRY(onx_script_expr_parse(p, &type));
    ONX_TRY(onx_script_accept(p, '=', &found));
    if (found) ONX_TRY(onx_script_expr_parse(p, &value));
    ONX_TRY(onx_script_end_line(p));
    if (left->kind == ONX_EXPR_INDEX && left->items[1]->kind == ONX_EXPR_STR && value)
        return add_attr(p, c, caps, (onx_script_attr){.name = left->items[1]->text, .type = value});
    if (left->kind != ONX_EXPR_NAME || (!type && !value))
        return onx_script_refuse(p, ONX_MALFORMED, "a class with a line that declares nothing");
    if (type)
        return add_attr(p, c, caps,
                        (onx_script_attr){.name = left->text, .type = type, .value = value});
    return add_named(p, c, caps, left->text, value);
}

static onx_status parse_kind(onx_script_parser *p, onx_script_class_kind *out) {
    static const struct {
        const char *name;
        onx_script_class_kind kind;
    } kinds[] = {
        {"Module", ONX_CLASS_MODULE},
        {"NamedTuple", ONX_CLASS_NAMED_TUPLE},
        {"Enum", ONX_CLASS_ENUM},
        {"Interface", ONX_CLASS_INTERFACE},
        {"ModuleInterface", ONX_CLASS_INTERFACE},
    };
    onx_str name;
    bool found;
    ONX_TRY(onx_script_accept(p, '(', &found));
    *out = ONX_CLASS_PLAIN;
    if (!found) return ONX_OK;
    ONX_TRY(onx_script_expect_name(p, &name));
    for (size_t i = 0; i < ONX_COUNT(kinds); i++)
        if (onx_str_is(name, kinds[i].name)) *out = kinds[i].kind;
    if (*out == ONX_CLASS_PLAIN)
        return onx_script_refuse(p, ONX_UNSUPPORTED, "a class made from '%.*s'", ONX_FMT(name));
    return onx_script_expect(p, ')');
}

static onx_status qualify(onx_script_parser *p, onx_str prefix, onx_str name, onx_str *out) {
    char *text = onx_arena_alloc(p->arena, prefix.size + name.size + 2);
    if (!text) return onx_fail_nomem(p->diag);
    memcpy(text, prefix.data, prefix.size);
    text[prefix.size] = '.';
    memcpy(text + prefix.size + 1, name.data, name.size);
    *out = (onx_str){text, prefix.size + name.size + 1};
    return ONX_OK;
}

static onx_status parse_class(onx_script_parser *p, onx_str prefix, onx_script_class *c) {
    class_caps caps = {0};
    onx_str name;
    *c = (onx_script_class){.file = p->file, .at = onx_script_here(p)};
    ONX_TRY(onx_script_advance(p));
    ONX_TRY(onx_script_expect_name(p, &name));
    ONX_TRY(qualify(p, prefix, name, &c->name));
    ONX_TRY(parse_kind(p, &c->kind));
    ONX_TRY(onx_script_open(p));
    while (!onx_script_closes(p)) {
        if (onx_script_at_word(p, "def")) {
            if (!onx_arena_grow(p->arena, &c->methods, &caps.methods, c->method_count,
                                sizeof *c->methods))
                return onx_fail_nomem(p->diag);
            ONX_TRY(onx_script_func_parse(p, &c->methods[c->method_count++]));
        } else if (onx_script_at_word(p, "pass")) {
            ONX_TRY(onx_script_advance(p));
            ONX_TRY(onx_script_end_line(p));
        } else {
            ONX_TRY(parse_member(p, c, &caps));
        }
    }
    return onx_script_advance(p);
}

/* ── Files ── */

/* `import ...` and `op_version_set = 1` of old files. */
static onx_status skip_line(onx_script_parser *p) {
    while (p->lexer.token.kind != ONX_TOKEN_NEWLINE) ONX_TRY(onx_script_advance(p));
    return onx_script_advance(p);
}

static onx_status parse_file(onx_script_parser *p, onx_str prefix, onx_script_module *m) {
    size_t class_cap = 0, func_cap = 0;
    ONX_TRY(onx_script_advance(p));
    while (p->lexer.token.kind != ONX_TOKEN_END) {
        if (onx_script_at_word(p, "class")) {
            if (!onx_arena_grow(p->arena, &m->classes, &class_cap, m->class_count,
                                sizeof *m->classes))
                return onx_fail_nomem(p->diag);
            ONX_TRY(parse_class(p, prefix, &m->classes[m->class_count++]));
        } else if (onx_script_at_word(p, "def")) {
            if (!onx_arena_grow(p->arena, &m->funcs, &func_cap, m->func_count, sizeof *m->funcs))
                return onx_fail_nomem(p->diag);
            ONX_TRY(onx_script_func_parse(p, &m->funcs[m->func_count++]));
        } else if (onx_script_at_word(p, "import") || onx_script_at_word(p, "op_version_set")) {
            ONX_TRY(skip_line(p));
        } else {
            return onx_script_refuse(p, ONX_MALFORMED, "'%.*s' where a class or function should be",
                                     ONX_FMT(p->lexer.token.text));
        }
    }
    return ONX_OK;
}

size_t onx_script_line(const onx_script_file *file, uint32_t at) {
    size_t line = 1;
    for (size_t i = 0; i < at && i < file->text.size; i++) line += file->text.data[i] == '\n';
    return line;
}

onx_status onx_script_parse(onx_arena *arena, onx_str path, onx_str prefix, onx_str text,
                            onx_script_module *out, onx_diag *diag) {
    if (text.size > UINT32_MAX)
        return onx_fail(diag, ONX_LIMIT, "'%.*s' has more than 4 GiB of code", ONX_FMT(path));
    *out = (onx_script_module){.file = {path, text}};
    onx_script_parser p = {.arena = arena, .file = &out->file, .diag = diag};
    p.lexer = (onx_script_lexer){.text = text, .line_begins = true};
    onx_map_init(&p.scope, arena->ctx);
    onx_status status = parse_file(&p, prefix, out);
    onx_map_fini(&p.scope);
    if (status)
        onx_diag_place(diag, "%.*s, line %zu", ONX_FMT(path),
                       onx_script_line(&out->file, onx_script_here(&p)));
    return status;
}
