/* script_expr.c: expressions of TorchScript's source. Recursive descent, no deeper than
 * ONX_SCRIPT_DEPTH; the trees it makes are no higher than that either. */
#include "export/script_parse.h"

#include "base/number.h"

#include <math.h>

static onx_status new_expr(onx_script_parser *p, onx_script_expr_kind kind, uint32_t at,
                           onx_script_expr **out) {
    onx_script_expr *e = onx_arena_alloc(p->arena, sizeof *e);
    if (!e) return onx_fail_nomem(p->diag);
    *e = (onx_script_expr){.kind = kind, .at = at, .slot = -1, .height = 1};
    *out = e;
    return ONX_OK;
}

/* Give `e` the items that were pushed above `base`. */
static onx_status close_expr(onx_script_parser *p, onx_script_expr *e, size_t base) {
    size_t n;
    ONX_TRY(onx_script_take(p, base, &e->items, &n));
    e->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        if (e->items[i] && e->items[i]->height >= e->height) e->height = e->items[i]->height + 1;
    if (e->height > ONX_SCRIPT_DEPTH)
        return onx_script_refuse(p, ONX_LIMIT, "an expression more than %d levels deep",
                                 ONX_SCRIPT_DEPTH);
    return ONX_OK;
}

static onx_status parse_number(onx_script_parser *p, onx_script_expr *e) {
    onx_str text = p->lexer.token.text;
    bool imaginary = text.data[text.size - 1] == 'j';
    text.size -= imaginary;
    e->kind = ONX_EXPR_INT;
    if (!imaginary && onx_parse_i64(text, &e->i)) return onx_script_advance(p);
    double value;
    if (!onx_parse_f64(text, &value))
        return onx_script_refuse(p, ONX_MALFORMED, "'%.*s' is not a number", ONX_FMT(text));
    e->kind = imaginary ? ONX_EXPR_COMPLEX : ONX_EXPR_FLOAT;
    e->f = imaginary ? 0 : value;
    e->imag = imaginary ? value : 0;
    return onx_script_advance(p);
}

/* A number; 1.+2.j is one. */
static onx_status parse_complex(onx_script_parser *p, onx_script_expr *e) {
    ONX_TRY(parse_number(p, e));
    if (p->lexer.token.kind != ONX_TOKEN_NUMBER) return ONX_OK;
    onx_script_expr imag;
    ONX_TRY(parse_number(p, &imag));
    if (e->kind == ONX_EXPR_COMPLEX || imag.kind != ONX_EXPR_COMPLEX)
        return onx_script_refuse(p, ONX_MALFORMED, "two numbers in a row");
    e->f = e->kind == ONX_EXPR_INT ? (double)e->i : e->f;
    e->imag = imag.imag;
    e->kind = ONX_EXPR_COMPLEX;
    return ONX_OK;
}

static onx_status parse_name(onx_script_parser *p, onx_script_expr *e) {
    static const struct {
        const char *name;
        onx_script_expr_kind kind;
        int64_t i;
        double f;
    } words[] = {
        {"None", ONX_EXPR_NONE, 0, 0},   {"True", ONX_EXPR_BOOL, 1, 0},
        {"False", ONX_EXPR_BOOL, 0, 0},  {"inf", ONX_EXPR_FLOAT, 0, INFINITY},
        {"nan", ONX_EXPR_FLOAT, 0, NAN},
    };
    e->kind = ONX_EXPR_NAME;
    e->text = p->lexer.token.text;
    e->slot = (int32_t)((intptr_t)onx_map_get(&p->scope, NULL, e->text) - 1);
    if (e->slot >= 0) p->locals[e->slot].last_use = e->at;
    for (size_t i = 0; i < ONX_COUNT(words) && e->slot < 0; i++) {
        if (!onx_str_is(e->text, words[i].name)) continue;
        e->kind = words[i].kind;
        if (e->kind == ONX_EXPR_FLOAT)
            e->f = words[i].f;
        else
            e->i = words[i].i;
    }
    return onx_script_advance(p);
}

static onx_status parse_negative(onx_script_parser *p, onx_script_expr *e) {
    ONX_TRY(onx_script_expect(p, '-'));
    ONX_TRY(parse_name(p, e));
    if (e->kind != ONX_EXPR_FLOAT)
        return onx_script_refuse(p, ONX_MALFORMED, "'-' before what is not a number");
    e->f = -e->f;
    return ONX_OK;
}

static onx_status parse_dict(onx_script_parser *p, onx_script_expr *e) {
    size_t base = p->pending_count;
    bool more = true;
    e->kind = ONX_EXPR_DICT;
    ONX_TRY(onx_script_expect(p, '{'));
    while (more && !onx_script_at(p, '}')) {
        onx_script_expr *item = NULL;
        for (int i = 0; i < 2; i++) {
            ONX_TRY(onx_script_expr_parse(p, &item));
            ONX_TRY(onx_script_push(p, item));
            if (i == 0) ONX_TRY(onx_script_expect(p, ':'));
        }
        ONX_TRY(onx_script_accept(p, ',', &more));
    }
    ONX_TRY(onx_script_expect(p, '}'));
    return close_expr(p, e, base);
}

static onx_status parse_list(onx_script_parser *p, onx_script_expr *e) {
    size_t base = p->pending_count;
    bool trailing;
    e->kind = ONX_EXPR_LIST;
    ONX_TRY(onx_script_expect(p, '['));
    if (!onx_script_at(p, ']')) ONX_TRY(onx_script_exprs_parse(p, &trailing));
    ONX_TRY(onx_script_expect(p, ']'));
    return close_expr(p, e, base);
}

/* A tuple, or an expression in brackets, which is that expression. */
static onx_status parse_round(onx_script_parser *p, onx_script_expr **e) {
    size_t base = p->pending_count;
    bool trailing = true;
    ONX_TRY(onx_script_expect(p, '('));
    if (!onx_script_at(p, ')')) ONX_TRY(onx_script_exprs_parse(p, &trailing));
    ONX_TRY(onx_script_expect(p, ')'));
    if (p->pending_count == base + 1 && !trailing) {
        *e = p->pending[--p->pending_count];
        return ONX_OK;
    }
    (*e)->kind = ONX_EXPR_TUPLE;
    return close_expr(p, *e, base);
}

static onx_status parse_primary(onx_script_parser *p, onx_script_expr **out) {
    onx_script_expr *e = NULL;
    ONX_TRY(new_expr(p, ONX_EXPR_NONE, onx_script_here(p), &e));
    *out = e;
    switch (p->lexer.token.kind) {
    case ONX_TOKEN_NAME: return parse_name(p, e);
    case ONX_TOKEN_NUMBER: return parse_complex(p, e);
    case ONX_TOKEN_STRING:
        e->kind = ONX_EXPR_STR;
        ONX_TRY(onx_script_unquote(p->arena, p->lexer.token.text, &e->text, p->diag));
        return onx_script_advance(p);
    default: break;
    }
    if (onx_script_at(p, '(')) return parse_round(p, out);
    if (onx_script_at(p, '[')) return parse_list(p, e);
    if (onx_script_at(p, '{')) return parse_dict(p, e);
    if (onx_script_at(p, '-')) return parse_negative(p, e);
    return onx_script_refuse(p, ONX_MALFORMED, "'%.*s' where an expression should be",
                             ONX_FMT(p->lexer.token.text));
}

static onx_status parse_arguments(onx_script_parser *p) {
    bool more = true;
    ONX_TRY(onx_script_expect(p, '('));
    while (more && !onx_script_at(p, ')')) {
        onx_script_expr *arg = NULL;
        bool named;
        ONX_TRY(onx_script_expr_parse(p, &arg));
        ONX_TRY(onx_script_accept(p, '=', &named));
        if (named) {
            onx_str keyword = arg->text;
            if (arg->kind != ONX_EXPR_NAME)
                return onx_script_refuse(p, ONX_MALFORMED, "'=' after what is not a name");
            ONX_TRY(onx_script_expr_parse(p, &arg));
            arg->keyword = keyword;
        }
        ONX_TRY(onx_script_push(p, arg));
        ONX_TRY(onx_script_accept(p, ',', &more));
    }
    return onx_script_expect(p, ')');
}

/* One bound of a slice, or NULL. */
static onx_status parse_bound(onx_script_parser *p) {
    onx_script_expr *bound = NULL;
    if (!onx_script_at(p, ':') && !onx_script_at(p, ']')) ONX_TRY(onx_script_expr_parse(p, &bound));
    return onx_script_push(p, bound);
}

/* x[i], x[i:j], or, of types, x[i, j], whose index is a tuple. */
static onx_status parse_index(onx_script_parser *p, onx_script_expr *e) {
    size_t base = p->pending_count;
    bool found, trailing = false;
    ONX_TRY(onx_script_expect(p, '['));
    ONX_TRY(parse_bound(p));
    ONX_TRY(onx_script_accept(p, ':', &found));
    if (found) {
        e->kind = ONX_EXPR_SLICE;
        ONX_TRY(parse_bound(p));
        return onx_script_expect(p, ']');
    }
    if (!p->pending[base]) return onx_script_refuse(p, ONX_MALFORMED, "an index that is empty");
    ONX_TRY(onx_script_accept(p, ',', &found));
    if (found && !onx_script_at(p, ']')) ONX_TRY(onx_script_exprs_parse(p, &trailing));
    if (found) {
        onx_script_expr *index = NULL;
        ONX_TRY(new_expr(p, ONX_EXPR_TUPLE, e->at, &index));
        ONX_TRY(close_expr(p, index, base));
        ONX_TRY(onx_script_push(p, index));
    }
    return onx_script_expect(p, ']');
}

/* What stands behind an expression: .name, (arguments), [index]. */
static onx_status parse_tail(onx_script_parser *p, onx_script_expr **e, bool *found) {
    static const char marks[] = {'.', '(', '['};
    static const onx_script_expr_kind kinds[] = {ONX_EXPR_ATTR, ONX_EXPR_CALL, ONX_EXPR_INDEX};
    size_t which = 0, base = p->pending_count;
    while (which < 3 && !onx_script_at(p, marks[which])) which++;
    *found = which < 3;
    if (!*found) return ONX_OK;
    onx_script_expr *outer = NULL;
    ONX_TRY(new_expr(p, kinds[which], (*e)->at, &outer));
    ONX_TRY(onx_script_push(p, *e));
    if (outer->kind == ONX_EXPR_ATTR) {
        ONX_TRY(onx_script_expect(p, '.'));
        ONX_TRY(onx_script_expect_name(p, &outer->text));
    } else {
        ONX_TRY(outer->kind == ONX_EXPR_CALL ? parse_arguments(p) : parse_index(p, outer));
    }
    *e = outer;
    return close_expr(p, outer, base);
}

onx_status onx_script_expr_parse(onx_script_parser *p, onx_script_expr **out) {
    onx_script_expr *e = NULL;
    if (p->depth == ONX_SCRIPT_DEPTH)
        return onx_script_refuse(p, ONX_LIMIT, "more than %d levels of nesting", ONX_SCRIPT_DEPTH);
    p->depth++;
    ONX_TRY(parse_primary(p, &e));
    for (bool found = true; found;) ONX_TRY(parse_tail(p, &e, &found));
    p->depth--;
    *out = e;
    return ONX_OK;
}

onx_status onx_script_exprs_parse(onx_script_parser *p, bool *trailing) {
    static const char *const ends = ")]=";
    bool more = true;
    *trailing = false;
    while (more) {
        onx_script_expr *e = NULL;
        ONX_TRY(onx_script_expr_parse(p, &e));
        ONX_TRY(onx_script_push(p, e));
        ONX_TRY(onx_script_accept(p, ',', &more));
        *trailing = more && (p->lexer.token.kind == ONX_TOKEN_NEWLINE);
        for (const char *c = ends; more && *c; c++) *trailing |= onx_script_at(p, *c);
        more = more && !*trailing;
    }
    return ONX_OK;
}
