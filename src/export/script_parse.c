/* script_parse.c: one file of TorchScript's source to a tree: statements, functions, classes.
 * Recursive descent; blocks and expressions together go no deeper than ONX_SCRIPT_DEPTH. */
#include "export/script_parse.h"

#include <stdio.h>

/* ── Tokens ── */

onx_status onx_script_refuse(onx_script_parser *p, onx_status status, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return onx_fail(p->diag, status, "%s", text);
}

onx_status onx_script_advance(onx_script_parser *p) {
    onx_status status = onx_script_lex(&p->lexer, p->diag);
    if (status) p->lexer.token.text = (onx_str){p->lexer.text.data + p->lexer.at, 0};
    return status;
}

uint32_t onx_script_here(const onx_script_parser *p) {
    return (uint32_t)(p->lexer.token.text.data - p->file->text.data);
}

bool onx_script_at(const onx_script_parser *p, char mark) {
    return p->lexer.token.kind == ONX_TOKEN_MARK && p->lexer.token.text.data[0] == mark;
}

bool onx_script_at_word(const onx_script_parser *p, const char *word) {
    return p->lexer.token.kind == ONX_TOKEN_NAME && onx_str_is(p->lexer.token.text, word);
}

onx_status onx_script_accept(onx_script_parser *p, char mark, bool *found) {
    *found = onx_script_at(p, mark);
    return *found ? onx_script_advance(p) : ONX_OK;
}

onx_status onx_script_expect(onx_script_parser *p, char mark) {
    if (onx_script_at(p, mark)) return onx_script_advance(p);
    return onx_script_refuse(p, ONX_MALFORMED, "'%.*s' where '%c' should be",
                             ONX_FMT(p->lexer.token.text), mark);
}

static onx_status expect_kind(onx_script_parser *p, onx_script_token_kind kind, const char *what) {
    if (p->lexer.token.kind == kind) return onx_script_advance(p);
    return onx_script_refuse(p, ONX_MALFORMED, "'%.*s' where %s should be",
                             ONX_FMT(p->lexer.token.text), what);
}

onx_status onx_script_expect_name(onx_script_parser *p, onx_str *out) {
    *out = p->lexer.token.text;
    return expect_kind(p, ONX_TOKEN_NAME, "a name");
}

onx_status onx_script_push(onx_script_parser *p, void *item) {
    if (!onx_arena_grow(p->arena, &p->pending, &p->pending_cap, p->pending_count, sizeof item))
        return onx_fail_nomem(p->diag);
    p->pending[p->pending_count++] = item;
    return ONX_OK;
}

onx_status onx_script_take(onx_script_parser *p, size_t base, void *array, size_t *n) {
    *n = p->pending_count - base;
    void **items = onx_arena_array(p->arena, *n, sizeof *items);
    if (!items) return onx_fail_nomem(p->diag);
    if (*n) memcpy(items, p->pending + base, *n * sizeof *items);
    memcpy(array, &items, sizeof items);
    p->pending_count = base;
    return ONX_OK;
}

/* ── Statements ── */

static onx_status parse_suite(onx_script_parser *p, onx_script_block *out);

static onx_status bind(onx_script_parser *p, onx_str name, int32_t *slot) {
    *slot = (int32_t)((intptr_t)onx_map_get(&p->scope, NULL, name) - 1);
    if (*slot >= 0) return ONX_OK;
    if (!onx_arena_grow(p->arena, &p->locals, &p->local_cap, p->local_count, sizeof *p->locals) ||
        !onx_map_put(&p->scope, NULL, name, (void *)(intptr_t)(p->local_count + 1)))
        return onx_fail_nomem(p->diag);
    *slot = (int32_t)p->local_count;
    p->locals[p->local_count++] = (onx_script_local){name, 0};
    return ONX_OK;
}

static onx_status add_target(onx_script_parser *p, onx_script_stmt *s, onx_str name) {
    onx_script_target *target = onx_arena_array(p->arena, 1, sizeof *target);
    if (!target) return onx_fail_nomem(p->diag);
    target->name = name;
    ONX_TRY(bind(p, name, &target->slot));
    s->targets = target;
    s->target_count = 1;
    return ONX_OK;
}

static onx_status end_line(onx_script_parser *p) {
    return expect_kind(p, ONX_TOKEN_NEWLINE, "the end of the line");
}

static onx_status take_values(onx_script_parser *p, size_t base, onx_script_stmt *s) {
    size_t n;
    ONX_TRY(onx_script_take(p, base, &s->values, &n));
    s->value_count = (uint32_t)n;
    return ONX_OK;
}

/* One expression, kept as the statement's value. */
static onx_status parse_value(onx_script_parser *p, onx_script_stmt *s) {
    size_t base = p->pending_count;
    onx_script_expr *e = NULL;
    ONX_TRY(onx_script_expr_parse(p, &e));
    ONX_TRY(onx_script_push(p, e));
    return take_values(p, base, s);
}

static onx_status make_targets(onx_script_parser *p, onx_script_stmt *s, onx_script_expr **names,
                               size_t n) {
    s->targets = onx_arena_array(p->arena, n, sizeof *s->targets);
    if (!s->targets) return onx_fail_nomem(p->diag);
    s->target_count = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        if (names[i]->kind != ONX_EXPR_NAME)
            return onx_script_refuse(p, ONX_MALFORMED, "'=' after what cannot be assigned to");
        s->targets[i].name = names[i]->text;
        ONX_TRY(bind(p, names[i]->text, &s->targets[i].slot));
    }
    return ONX_OK;
}

/* names "=" exprs, after the names and the "=". */
static onx_status parse_assign(onx_script_parser *p, onx_script_stmt *s, bool unpack) {
    onx_script_expr **left = s->values;
    size_t count = s->value_count, base = p->pending_count;
    bool trailing, place = count == 1 && !unpack && left[0]->kind != ONX_EXPR_NAME;
    s->kind = place ? ONX_STMT_SETATTR : ONX_STMT_ASSIGN;
    s->unpack = unpack;
    if (place) ONX_TRY(onx_script_push(p, left[0]));
    ONX_TRY(onx_script_exprs_parse(p, &trailing));
    ONX_TRY(take_values(p, base, s));
    if (place && (s->value_count != 2 ||
                  (left[0]->kind != ONX_EXPR_ATTR && left[0]->kind != ONX_EXPR_INDEX)))
        return onx_script_refuse(p, ONX_MALFORMED, "'=' after what cannot be assigned to");
    if (place) return ONX_OK;
    if (s->value_count != 1 && s->value_count != count)
        return onx_script_refuse(p, ONX_MALFORMED, "%zu names are assigned %u values", count,
                                 (unsigned)s->value_count);
    return make_targets(p, s, left, count);
}

/* An expression, or an assignment: which, the mark behind the expressions tells. */
static onx_status parse_plain(onx_script_parser *p, onx_script_stmt *s) {
    size_t base = p->pending_count;
    bool trailing, found;
    ONX_TRY(onx_script_exprs_parse(p, &trailing));
    ONX_TRY(take_values(p, base, s));
    s->kind = ONX_STMT_EXPR;
    ONX_TRY(onx_script_accept(p, ':', &found));
    if (found) ONX_TRY(onx_script_expr_parse(p, &s->type));
    ONX_TRY(onx_script_accept(p, '=', &found));
    if (found) ONX_TRY(parse_assign(p, s, trailing));
    if (!found && (s->value_count != 1 || trailing || s->type))
        return onx_script_refuse(p, ONX_MALFORMED, "names without '='");
    return end_line(p);
}

static onx_status parse_return(onx_script_parser *p, onx_script_stmt *s) {
    if (p->lexer.token.kind != ONX_TOKEN_NEWLINE) ONX_TRY(parse_value(p, s));
    return end_line(p);
}

static onx_status parse_pass(onx_script_parser *p, onx_script_stmt *s) {
    (void)s;
    return end_line(p);
}

static onx_status parse_if(onx_script_parser *p, onx_script_stmt *s) {
    ONX_TRY(parse_value(p, s));
    ONX_TRY(parse_suite(p, &s->body));
    if (!onx_script_at_word(p, "else")) return ONX_OK;
    ONX_TRY(onx_script_advance(p));
    return parse_suite(p, &s->otherwise);
}

static onx_status parse_for(onx_script_parser *p, onx_script_stmt *s) {
    onx_str name, in;
    ONX_TRY(onx_script_expect_name(p, &name));
    ONX_TRY(onx_script_expect_name(p, &in));
    if (!onx_str_is(in, "in")) return onx_script_refuse(p, ONX_MALFORMED, "'for' without 'in'");
    ONX_TRY(parse_value(p, s));
    ONX_TRY(add_target(p, s, name));
    return parse_suite(p, &s->body);
}

static onx_status parse_while(onx_script_parser *p, onx_script_stmt *s) {
    ONX_TRY(parse_value(p, s));
    return parse_suite(p, &s->body);
}

static onx_status parse_with(onx_script_parser *p, onx_script_stmt *s) {
    onx_str name;
    ONX_TRY(parse_value(p, s));
    if (onx_script_at_word(p, "as")) {
        ONX_TRY(onx_script_advance(p));
        ONX_TRY(onx_script_expect_name(p, &name));
        ONX_TRY(add_target(p, s, name));
    }
    return parse_suite(p, &s->body);
}

static onx_status parse_inner_def(onx_script_parser *p, onx_script_stmt *s) {
    onx_str name;
    ONX_TRY(onx_script_expect_name(p, &name));
    ONX_TRY(add_target(p, s, name));
    ONX_TRY(onx_script_expect(p, '('));
    ONX_TRY(onx_script_expect(p, ')'));
    if (p->lexer.token.kind == ONX_TOKEN_ARROW) {
        ONX_TRY(onx_script_advance(p));
        ONX_TRY(onx_script_expr_parse(p, &s->type));
    }
    return parse_suite(p, &s->body);
}

static onx_status parse_stmt(onx_script_parser *p, onx_script_stmt **out) {
    static const struct {
        const char *word;
        onx_script_stmt_kind kind;
        onx_status (*parse)(onx_script_parser *p, onx_script_stmt *s);
    } words[] = {
        {"pass", ONX_STMT_PASS, parse_pass},    {"return", ONX_STMT_RETURN, parse_return},
        {"if", ONX_STMT_IF, parse_if},          {"for", ONX_STMT_FOR, parse_for},
        {"while", ONX_STMT_WHILE, parse_while}, {"with", ONX_STMT_WITH, parse_with},
        {"def", ONX_STMT_DEF, parse_inner_def},
    };
    onx_script_stmt *s = onx_arena_alloc(p->arena, sizeof *s);
    if (!s) return onx_fail_nomem(p->diag);
    s->at = onx_script_here(p);
    *out = s;
    size_t which = 0;
    while (which < ONX_COUNT(words) && !onx_script_at_word(p, words[which].word)) which++;
    if (which < ONX_COUNT(words)) {
        s->kind = words[which].kind;
        ONX_TRY(onx_script_advance(p));
        ONX_TRY(words[which].parse(p, s));
    } else {
        ONX_TRY(parse_plain(p, s));
    }
    s->end = onx_script_here(p);
    return ONX_OK;
}

/* ":" NEWLINE INDENT, and DEDENT: around what a class, function or statement holds. */
static onx_status open_suite(onx_script_parser *p) {
    ONX_TRY(onx_script_expect(p, ':'));
    ONX_TRY(end_line(p));
    return expect_kind(p, ONX_TOKEN_INDENT, "an indented line");
}
static bool in_suite(const onx_script_parser *p) {
    return p->lexer.token.kind != ONX_TOKEN_DEDENT;
}

static onx_status parse_suite(onx_script_parser *p, onx_script_block *out) {
    size_t base = p->pending_count;
    ONX_TRY(open_suite(p));
    while (in_suite(p)) {
        onx_script_stmt *s = NULL;
        ONX_TRY(parse_stmt(p, &s));
        ONX_TRY(onx_script_push(p, s));
    }
    ONX_TRY(onx_script_advance(p));
    return onx_script_take(p, base, &out->stmts, &out->n);
}

/* ── Functions ── */

static onx_status parse_arg(onx_script_parser *p, onx_script_arg *arg) {
    bool found;
    int32_t slot;
    ONX_TRY(onx_script_expect_name(p, &arg->name));
    ONX_TRY(onx_script_accept(p, ':', &found));
    if (found) ONX_TRY(onx_script_expr_parse(p, &arg->type));
    ONX_TRY(onx_script_accept(p, '=', &found));
    if (found) ONX_TRY(onx_script_expr_parse(p, &arg->value));
    size_t before = p->local_count;
    ONX_TRY(bind(p, arg->name, &slot));
    if (p->local_count == before)
        return onx_script_refuse(p, ONX_MALFORMED, "two arguments are named '%.*s'",
                                 ONX_FMT(arg->name));
    return ONX_OK;
}

static onx_status parse_args(onx_script_parser *p, onx_script_func *f) {
    size_t cap = 0;
    bool more = true;
    ONX_TRY(onx_script_expect(p, '('));
    while (more && !onx_script_at(p, ')')) {
        if (!onx_arena_grow(p->arena, &f->args, &cap, f->arg_count, sizeof *f->args))
            return onx_fail_nomem(p->diag);
        f->args[f->arg_count] = (onx_script_arg){0};
        ONX_TRY(parse_arg(p, &f->args[f->arg_count++]));
        ONX_TRY(onx_script_accept(p, ',', &more));
    }
    return onx_script_expect(p, ')');
}

static void clear_scope(onx_script_parser *p) {
    onx_context *ctx = p->scope.ctx;
    onx_map_fini(&p->scope);
    onx_map_init(&p->scope, ctx);
    p->locals = NULL;
    p->local_count = p->local_cap = 0;
}

static onx_status parse_func(onx_script_parser *p, onx_script_func *f) {
    *f = (onx_script_func){.file = p->file, .at = onx_script_here(p)};
    ONX_TRY(onx_script_advance(p));
    ONX_TRY(onx_script_expect_name(p, &f->name));
    clear_scope(p);
    ONX_TRY(parse_args(p, f));
    if (p->lexer.token.kind == ONX_TOKEN_ARROW) {
        ONX_TRY(onx_script_advance(p));
        ONX_TRY(onx_script_expr_parse(p, &f->result));
    }
    ONX_TRY(parse_suite(p, &f->body));
    f->locals = p->locals;
    f->local_count = p->local_count;
    clear_scope(p);
    return ONX_OK;
}

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
    ONX_TRY(end_line(p));
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
    ONX_TRY(open_suite(p));
    while (in_suite(p)) {
        if (onx_script_at_word(p, "def")) {
            if (!onx_arena_grow(p->arena, &c->methods, &caps.methods, c->method_count,
                                sizeof *c->methods))
                return onx_fail_nomem(p->diag);
            ONX_TRY(parse_func(p, &c->methods[c->method_count++]));
        } else if (onx_script_at_word(p, "pass")) {
            ONX_TRY(onx_script_advance(p));
            ONX_TRY(end_line(p));
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
            ONX_TRY(parse_func(p, &m->funcs[m->func_count++]));
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
