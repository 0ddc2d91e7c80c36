/* script_parse.c: statements and functions of TorchScript's source.
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

onx_status onx_script_end_line(onx_script_parser *p) {
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
    return onx_script_end_line(p);
}

static onx_status parse_return(onx_script_parser *p, onx_script_stmt *s) {
    if (p->lexer.token.kind != ONX_TOKEN_NEWLINE) ONX_TRY(parse_value(p, s));
    return onx_script_end_line(p);
}

static onx_status parse_pass(onx_script_parser *p, onx_script_stmt *s) {
    (void)s;
    return onx_script_end_line(p);
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

onx_status onx_script_open(onx_script_parser *p) {
    ONX_TRY(onx_script_expect(p, ':'));
    ONX_TRY(onx_script_end_line(p));
    return expect_kind(p, ONX_TOKEN_INDENT, "an indented line");
}

static onx_status parse_suite(onx_script_parser *p, onx_script_block *out) {
    size_t base = p->pending_count;
    ONX_TRY(onx_script_open(p));
    while (!onx_script_closes(p)) {
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

onx_status onx_script_func_parse(onx_script_parser *p, onx_script_func *f) {
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
