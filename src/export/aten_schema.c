/* aten_schema.c: the rows of the operator tables by name; schemas are parsed when first asked for.
 *
 *     name.overload(Type name, Type[2]? name=default, *, Type name) -> (Type, Type)
 */
#include "export/aten.h"

typedef struct reader {
    const char *at;
} reader;

static void skip(reader *r) {
    while (*r->at == ' ') r->at++;
}

static bool take(reader *r, const char *text) {
    skip(r);
    size_t n = strlen(text);
    if (strncmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

/* Up to one of the characters, brackets and quotes being whole. */
static onx_str upto(reader *r, const char *ends) {
    skip(r);
    const char *from = r->at;
    int open = 0;
    char quote = 0;
    for (; *r->at; r->at++) {
        char c = *r->at;
        if (quote) {
            if (c == quote) quote = 0;
            continue;
        }
        if (!open && strchr(ends, c)) break;
        if (c == '"' || c == '\'') quote = c;
        open += (c == '[' || c == '(') - (c == ']' || c == ')');
    }
    size_t n = (size_t)(r->at - from);
    while (n && from[n - 1] == ' ') n--;
    return (onx_str){from, n};
}

/* "int[2]?": what is in front of it, and what it says. */
static void read_type(onx_str text, onx_xparam *out) {
    if (text.size && text.data[text.size - 1] == '?') out->optional = true, text.size--;
    const char *open = text.size ? memchr(text.data, '[', text.size) : NULL;
    if (open) {
        out->list = true;
        for (const char *c = open + 1; *c >= '0' && *c <= '9'; c++)
            out->n = out->n * 10 + (size_t)(*c - '0');
        text.size = (size_t)(open - text.data);
        if (text.size && text.data[text.size - 1] == '?') text.size--; /* Tensor?[] */
    }
    out->type = text;
}

static bool read_param(onx_export *x, reader *r, bool *named, onx_xschema *s, size_t *cap) {
    onx_xparam p = {.named = *named};
    if (take(r, "*")) {
        *named = true;
        return true;
    }
    read_type(upto(r, " "), &p);
    p.name = upto(r, "=,)");
    if (take(r, "=")) p.preset = upto(r, ",)");
    if (!onx_arena_grow(&x->arena, &s->params, cap, s->n_params, sizeof p)) return onx_x_nomem(x);
    s->params[s->n_params++] = p;
    return true;
}

/* How many results: those in the parentheses behind the arrow, or one. */
static size_t count_outs(reader *r) {
    size_t n = 1;
    if (!take(r, "->") || !take(r, "(")) return 1;
    if (take(r, ")")) return 0;
    while (upto(r, ",)"), *r->at == ',') r->at++, n++;
    return n;
}

static bool parse(onx_export *x, onx_xschema *s) {
    reader r = {strchr(s->row->schema, '(') + 1};
    bool named = false;
    size_t cap = 0;
    while (!take(&r, ")") && *r.at)
        if (take(&r, ","))
            continue;
        else if (!read_param(x, &r, &named, s, &cap))
            return false;
    s->n_outs = count_outs(&r);
    s->parsed = true;
    return true;
}

/* ─ By name ──────────────────────────────────────────────────────────────────────────────────── */

static onx_xkeeping keeping_of(onx_str name, onx_xkeeping family) {
    for (const onx_aten_exception *e = onx_aten_exceptions; e->name; e++)
        if (onx_str_is(name, e->name)) return e->keeping;
    return family;
}

static bool list_row(onx_export *x, const onx_aten *row, onx_xkeeping keeping) {
    onx_xschema *s = onx_x_alloc(x, sizeof *s);
    if (!s) return false;
    const char *open = strchr(row->schema, '(');
    const char *start = row->schema, *dot = NULL;
    for (const char *c = start; c < open; c++)
        if (*c == '.') dot = c;
    s->row = row;
    s->name = (onx_str){start, (size_t)((dot ? dot : open) - start)};
    s->keeping = keeping_of(s->name, keeping);
    if (dot) s->overload = (onx_str){dot + 1, (size_t)(open - dot - 1)};
    onx_xschema *first = onx_map_get(&x->rows, NULL, s->name);
    if (!first) return onx_map_put(&x->rows, NULL, s->name, s) || onx_x_nomem(x);
    while (first->next) first = first->next;
    first->next = s;
    return true;
}

static bool list_rows(onx_export *x) {
    for (const onx_aten_family *f = onx_aten_families; f->rows; f++)
        for (const onx_aten *row = f->rows; row->schema; row++)
            if (!list_row(x, row, f->keeping)) return false;
    return true;
}

onx_xschema *onx_xschema_find(onx_export *x, onx_str name) {
    if (!onx_x_ok(x) || (!x->rows.used && !list_rows(x))) return NULL;
    onx_xschema *first = onx_map_get(&x->rows, NULL, name);
    for (onx_xschema *s = first; s; s = s->next)
        if (!s->parsed && !parse(x, s)) return NULL;
    return first;
}
