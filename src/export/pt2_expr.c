/* pt2_expr.c: sizes as torch.export writes them, to symbolic ones.
 *
 * Two dialects, one grammar: what people write, and what sympy's srepr does:
 *
 *     2*s0 + 1       s0//2             Max(1, u0)
 *     Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))
 *
 *     sum      := product (('+' | '-') product)*
 *     product  := factor (('*' | '/' | '//' | '%') factor)*
 *     factor   := '-' factor | atom ['**' factor]
 *     atom     := INTEGER | NAME | "'" TEXT "'" | '(' sum ')' | NAME '(' [part (',' part)*] ')'
 *     part     := [NAME '='] sum
 *
 * At most DEPTH levels. Functions that have no meaning for sizes give "not known", as overflow does
 * (ir/sym.h). */
#include "base/number.h"
#include "export/pt2.h"

enum { DEPTH = 64, PARTS = 16, POWER = 8 };

typedef struct parser {
    onx_syms *syms;
    onx_str text;
    size_t at;
    unsigned depth;
    bool wrong;
    onx_pt2_symbol_fn *name;
    void *user;
} parser;

typedef const onx_sym *binary_fn(onx_syms *syms, const onx_sym *a, const onx_sym *b);
typedef const onx_sym *unary_fn(onx_syms *syms, const onx_sym *a);

/* ─ Functions ────────────────────────────────────────────────────────────────────────────────── */

static const onx_sym *floor_div(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    if (!a || !b) return NULL;
    if (onx_sym_is_whole(a) && onx_sym_is_whole(b)) return onx_sym_floordiv(syms, a, b);
    return onx_sym_floor(syms, onx_sym_ratio(syms, a, b));
}

static const onx_sym *modulo(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return onx_sym_sub(syms, a, onx_sym_mul(syms, b, floor_div(syms, a, b)));
}

static const onx_sym *power(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    int64_t n;
    const onx_sym *one = onx_sym_int(syms, 1), *result = one;
    if (!a || !b || !onx_sym_is_int(b, &n) || n > POWER || n < -POWER) return NULL;
    for (int64_t i = 0; i < (n < 0 ? -n : n); i++) result = onx_sym_mul(syms, result, a);
    return n < 0 ? onx_sym_ratio(syms, one, result) : result;
}

static const onx_sym *same(onx_syms *syms, const onx_sym *a) {
    (void)syms;
    return a;
}

static const onx_sym *magnitude(onx_syms *syms, const onx_sym *a) {
    return onx_sym_max(syms, a, onx_sym_sub(syms, onx_sym_int(syms, 0), a));
}

/* Those of two numbers are for more than two where that makes sense. Truncation is to sizes. */
static const struct {
    const char *name;
    unary_fn *one;
    binary_fn *two;
    bool more;
} functions[] = {
    {"Integer", same, NULL, false},
    {"Identity", same, NULL, false},
    {"ToFloat", same, NULL, false},
    {"floor", onx_sym_floor, NULL, false},
    {"FloorToInt", onx_sym_floor, NULL, false},
    {"TruncToInt", onx_sym_floor, NULL, false},
    {"ceiling", onx_sym_ceil, NULL, false},
    {"CeilToInt", onx_sym_ceil, NULL, false},
    {"Abs", magnitude, NULL, false},
    {"Rational", NULL, onx_sym_ratio, false},
    {"IntTrueDiv", NULL, onx_sym_ratio, false},
    {"FloatTrueDiv", NULL, onx_sym_ratio, false},
    {"CleanDiv", NULL, floor_div, false},
    {"FloorDiv", NULL, floor_div, false},
    {"CeilDiv", NULL, onx_sym_ceildiv, false},
    {"Mod", NULL, modulo, false},
    {"PythonMod", NULL, modulo, false},
    {"Pow", NULL, power, false},
    {"PowByNatural", NULL, power, false},
    {"Add", same, onx_sym_add, true},
    {"Mul", same, onx_sym_mul, true},
    {"Max", same, onx_sym_max, true},
    {"Min", same, onx_sym_min, true},
};

static const onx_sym *apply(parser *p, onx_str name, size_t n, const onx_sym *const *parts) {
    for (size_t i = 0; i < ONX_COUNT(functions); i++) {
        if (!onx_str_is(name, functions[i].name)) continue;
        if (n == 1 && functions[i].one) return functions[i].one(p->syms, parts[0]);
        if (n < 2 || !functions[i].two || (n > 2 && !functions[i].more)) return NULL;
        const onx_sym *result = parts[0];
        for (size_t k = 1; k < n; k++) result = functions[i].two(p->syms, result, parts[k]);
        return result;
    }
    if (n == 3 && onx_str_is(name, "ModularIndexing"))
        return modulo(p->syms, floor_div(p->syms, parts[0], parts[1]), parts[2]);
    return NULL;
}

/* ─ Text ─────────────────────────────────────────────────────────────────────────────────────── */

static char peek(parser *p) {
    while (p->at < p->text.size && p->text.data[p->at] == ' ') p->at++;
    return p->at < p->text.size ? p->text.data[p->at] : '\0';
}

static bool take(parser *p, const char *token) {
    size_t n = strlen(token);
    (void)peek(p);
    if (p->text.size - p->at < n || memcmp(p->text.data + p->at, token, n) != 0) return false;
    p->at += n;
    return true;
}

static void *wrong(parser *p) {
    p->wrong = true;
    return NULL;
}

static bool is_word(char c) {
    return onx_digit(c) < 10 || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static onx_str take_word(parser *p) {
    size_t from = (peek(p), p->at);
    while (p->at < p->text.size && is_word(p->text.data[p->at])) p->at++;
    return (onx_str){p->text.data + from, p->at - from};
}

static onx_str take_quoted(parser *p) {
    char quote = peek(p);
    const char *from = p->text.data + p->at + 1;
    const char *end = memchr(from, quote, p->text.size - p->at - 1);
    if (!end) return wrong(p), (onx_str){NULL, 0};
    p->at = (size_t)(end - p->text.data) + 1;
    return (onx_str){from, (size_t)(end - from)};
}

/* ─ Grammar ──────────────────────────────────────────────────────────────────────────────────── */

static const onx_sym *parse_sum(parser *p);

/* Symbol('s0', positive=True): the name, and nothing else of it. */
static const onx_sym *parse_symbol(parser *p) {
    char quote = peek(p);
    if (quote != '\'' && quote != '"') return wrong(p);
    onx_str name = take_quoted(p);
    while (take(p, ",")) {
        (void)take_word(p);
        if (!take(p, "=") || !take_word(p).size) return wrong(p);
    }
    if (!take(p, ")") || !name.size) return wrong(p);
    return p->name(p->user, name);
}

static const onx_sym *parse_call(parser *p, onx_str name) {
    const onx_sym *parts[PARTS];
    size_t n = 0;
    if (onx_str_is(name, "Symbol")) return parse_symbol(p);
    while (!p->wrong && !take(p, ")")) {
        if (n == PARTS || (n && !take(p, ","))) return wrong(p);
        size_t from = p->at;
        if (take_word(p).size && take(p, "=") && peek(p) != '=') {
            (void)parse_sum(p); /* evaluate=False and the like */
            continue;
        }
        p->at = from;
        parts[n++] = parse_sum(p);
    }
    return p->wrong ? NULL : apply(p, name, n, parts);
}

static const onx_sym *parse_atom(parser *p) {
    if (take(p, "(")) {
        const onx_sym *inner = parse_sum(p);
        return take(p, ")") ? inner : wrong(p);
    }
    onx_str word = take_word(p);
    int64_t number;
    if (!word.size) return wrong(p);
    if (onx_digit(word.data[0]) < 10) {
        if (!onx_parse_i64(word, &number) || peek(p) == '.') return wrong(p);
        return onx_sym_int(p->syms, number);
    }
    return take(p, "(") ? parse_call(p, word) : p->name(p->user, word);
}

static const onx_sym *parse_factor(parser *p) {
    if (p->depth >= DEPTH) return wrong(p);
    p->depth++;
    const onx_sym *result;
    if (take(p, "-")) {
        result = onx_sym_sub(p->syms, onx_sym_int(p->syms, 0), parse_factor(p));
    } else {
        result = parse_atom(p);
        if (take(p, "**")) result = power(p->syms, result, parse_factor(p));
    }
    p->depth--;
    return result;
}

static const onx_sym *parse_product(parser *p) {
    static const struct {
        const char *token;
        binary_fn *fn;
    } operators[] = {{"//", floor_div}, {"*", onx_sym_mul}, {"/", onx_sym_ratio}, {"%", modulo}};
    const onx_sym *result = parse_factor(p);
    for (size_t i = 0; i < ONX_COUNT(operators) && !p->wrong;) {
        if (!take(p, operators[i].token)) {
            i++;
            continue;
        }
        result = operators[i].fn(p->syms, result, parse_factor(p));
        i = 0;
    }
    return result;
}

static const onx_sym *parse_sum(parser *p) {
    const onx_sym *result = parse_product(p);
    while (!p->wrong) {
        if (take(p, "+"))
            result = onx_sym_add(p->syms, result, parse_product(p));
        else if (take(p, "-"))
            result = onx_sym_sub(p->syms, result, parse_product(p));
        else
            return result;
    }
    return NULL;
}

const onx_sym *onx_pt2_expr(onx_syms *syms, onx_str text, onx_pt2_symbol_fn *name, void *user) {
    parser p = {.syms = syms, .text = text, .name = name, .user = user};
    const onx_sym *result = parse_sum(&p);
    const onx_sym *num, *den;
    (void)peek(&p);
    if (p.wrong || p.at < p.text.size || !result) return NULL;
    if (onx_sym_is_whole(result)) return result;
    /* A size is whole, so what is divided can be: (1/2)*(2*s0). */
    return onx_sym_fraction(syms, result, &num, &den) ? onx_sym_floordiv(syms, num, den) : NULL;
}
