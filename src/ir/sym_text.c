/* sym_text.c: expressions as text.
 *
 * Parsing is by operator precedence with two stacks. Values are fractions while they are read,
 * because exporters write floor(h/2 - 1/2): a quotient becomes an integer only at floor, ceil, //
 * and %, or when it divides evenly.
 */
#include "base/number.h"
#include "ir/sym_internal.h"

enum { STACK = 64 };

typedef struct fraction {
    const onx_sym *num, *den;
} fraction;

typedef struct parser {
    onx_syms *syms;
    const char *p, *end;
    fraction values[STACK];
    /* + - * / : (floor division) % ^ (power) ~ (minus sign) ( , and f c m M b for functions */
    char ops[STACK];
    size_t n_values, n_ops;
    bool bad;
} parser;

static int precedence(char op) {
    return op == '+' || op == '-'                             ? 1
           : op == '*' || op == '/' || op == ':' || op == '%' ? 2
           : op == '~'                                        ? 3
           : op == '^'                                        ? 4
                                                              : 0;
}

static fraction whole(parser *p, const onx_sym *sym) {
    return (fraction){sym, onx_sym_int(p->syms, 1)};
}

static const onx_sym *rounded(parser *p, fraction f, bool up) {
    return up ? onx_sym_ceildiv(p->syms, f.num, f.den) : onx_sym_floordiv(p->syms, f.num, f.den);
}

static fraction quotient(parser *p, fraction a, fraction b) {
    return (fraction){onx_sym_mul(p->syms, a.num, b.den), onx_sym_mul(p->syms, a.den, b.num)};
}

static fraction sum(parser *p, fraction a, fraction b, bool minus) {
    if (a.den != b.den) {
        const onx_sym *den = onx_sym_mul(p->syms, a.den, b.den);
        a.num = onx_sym_mul(p->syms, a.num, b.den);
        b.num = onx_sym_mul(p->syms, b.num, a.den);
        a.den = den;
    }
    a.num = minus ? onx_sym_sub(p->syms, a.num, b.num) : onx_sym_add(p->syms, a.num, b.num);
    return a;
}

/* The exponent is a number; what is too high is not known. */
static fraction power(parser *p, fraction a, fraction b) {
    const onx_sym *one = onx_sym_int(p->syms, 1);
    fraction f = whole(p, one);
    int64_t n;
    if (b.den != one || !onx_sym_is_int(b.num, &n) || n < 0 || n > ONX_SYM_FACTORS)
        return whole(p, NULL);
    for (; n > 0; n--)
        f = (fraction){onx_sym_mul(p->syms, f.num, a.num), onx_sym_mul(p->syms, f.den, a.den)};
    return f;
}

static fraction binary(parser *p, char op, fraction a, fraction b) {
    onx_syms *s = p->syms;
    switch (op) {
    case '+': return sum(p, a, b, false);
    case '-': return sum(p, a, b, true);
    case '*': return (fraction){onx_sym_mul(s, a.num, b.num), onx_sym_mul(s, a.den, b.den)};
    case '/': return quotient(p, a, b);
    case ':': return whole(p, rounded(p, quotient(p, a, b), false));
    case '^': return power(p, a, b);
    default: { /* %: a - b * floor(a / b) */
        const onx_sym *q = rounded(p, quotient(p, a, b), false);
        return sum(p, a, (fraction){onx_sym_mul(s, b.num, q), b.den}, true);
    }
    }
}

static void apply(parser *p) {
    char op = p->ops[--p->n_ops];
    size_t needed = op == '~' ? 1 : 2;
    if (p->n_values < needed) {
        p->bad = true;
        return;
    }
    fraction *top = &p->values[p->n_values - 1];
    if (op == '~') {
        *top = sum(p, whole(p, onx_sym_int(p->syms, 0)), *top, true);
    } else {
        top[-1] = binary(p, op, top[-1], top[0]);
        p->n_values--;
    }
}

static void push_op(parser *p, char op) {
    if (p->n_ops == STACK)
        p->bad = true;
    else
        p->ops[p->n_ops++] = op;
}

static void push_value(parser *p, const onx_sym *sym) {
    if (p->n_values == STACK || !sym)
        p->bad = true;
    else
        p->values[p->n_values++] = whole(p, sym);
}

/* Apply what stands on the stack back to the opening parenthesis. */
static void unwind(parser *p) {
    while (!p->bad && p->n_ops && precedence(p->ops[p->n_ops - 1])) apply(p);
    if (p->n_ops == 0) p->bad = true;
}

/* An integer from the top value; not one: bad. */
static const onx_sym *take(parser *p) {
    if (p->n_values == 0) {
        p->bad = true;
        return NULL;
    }
    fraction f = p->values[--p->n_values];
    int64_t one;
    if (onx_sym_is_int(f.den, &one) && one == 1) return f.num;
    const onx_sym *q = rounded(p, f, false);
    return q && onx_sym_mul(p->syms, q, f.den) == f.num ? q : NULL;
}

/* A closing parenthesis: of a group or of a function with `commas` commas. */
static void close_group(parser *p) {
    size_t commas = 0;
    unwind(p);
    while (!p->bad && p->ops[p->n_ops - 1] == ',') {
        p->n_ops--;
        commas++;
        unwind(p);
    }
    if (p->bad) return;
    p->n_ops--; /* the parenthesis */
    char f = p->n_ops ? p->ops[p->n_ops - 1] : 0;
    bool function = f && strchr("fcmMb", f);
    if (!function) {
        p->bad = p->bad || commas;
        return;
    }
    p->n_ops--;
    if (f == 'f' || f == 'c') {
        p->bad = commas || p->n_values == 0;
        if (!p->bad) push_value(p, rounded(p, p->values[--p->n_values], f == 'c'));
        return;
    }
    const onx_sym *all = take(p);
    for (; all && commas; commas--)
        all = f == 'm'   ? onx_sym_min(p->syms, take(p), all)
              : f == 'M' ? onx_sym_max(p->syms, take(p), all)
                         : onx_sym_broadcast(p->syms, take(p), all);
    push_value(p, all);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '?';
}

static char function_of(onx_str word) {
    static const struct {
        const char *name;
        char op;
    } functions[] = {{"floor", 'f'}, {"ceil", 'c'}, {"ceiling", 'c'},
                     {"min", 'm'},   {"max", 'M'},  {"broadcast", 'b'}};
    for (size_t i = 0; i < ONX_COUNT(functions); i++) {
        const char *name = functions[i].name;
        size_t n = strlen(name), k = 0;
        while (k < n && k < word.size && (word.data[k] | 32) == name[k]) k++;
        if (k == n && k == word.size) return functions[i].op;
    }
    return 0;
}

/* A number, a name, or a function, whose parenthesis follows: true for that. */
static bool read_word(parser *p) {
    onx_str word = {p->p, 0};
    while (p->p < p->end && is_word(*p->p)) p->p++, word.size++;
    const char *next = p->p;
    while (next < p->end && *next == ' ') next++;
    bool call = next < p->end && *next == '(';
    int64_t value;
    if (call) {
        char f = function_of(word);
        if (f)
            push_op(p, f);
        else
            p->bad = true;
    } else if (word.data[0] >= '0' && word.data[0] <= '9') {
        if (onx_parse_i64(word, &value))
            push_value(p, onx_sym_int(p->syms, value));
        else
            p->bad = true;
    } else {
        push_value(p, onx_sym_name(p->syms, word));
    }
    return call;
}

/* One token; `operand` says whether a value is expected next. */
static void read_token(parser *p, bool *operand) {
    char c = *p->p;
    if (*operand && is_word(c)) {
        *operand = read_word(p);
        return;
    }
    p->p++;
    if (*operand) {
        if (c == '(')
            push_op(p, '(');
        else if (c == '-')
            push_op(p, '~');
        else
            p->bad = true;
        return;
    }
    if (c == ')') {
        close_group(p);
        return;
    }
    *operand = true;
    if (c == ',') {
        unwind(p);
        push_op(p, ',');
        return;
    }
    if (c == '/' && p->p < p->end && *p->p == '/') c = ':', p->p++;
    if (c == '*' && p->p < p->end && *p->p == '*') c = '^', p->p++;
    if (!strchr("+-*/:%^", c) || (c == '^' && p->p[-1] == '^')) p->bad = true;
    while (!p->bad && p->n_ops && precedence(p->ops[p->n_ops - 1]) >= precedence(c)) apply(p);
    push_op(p, c);
}

static const onx_sym *parse(parser *p) {
    bool operand = true;
    while (!p->bad && p->p < p->end) {
        if (*p->p == ' ')
            p->p++;
        else
            read_token(p, &operand);
    }
    while (!p->bad && p->n_ops && precedence(p->ops[p->n_ops - 1])) apply(p);
    if (p->bad || operand || p->n_ops || p->n_values != 1) return NULL;
    return take(p);
}

const onx_sym *onx_sym_parse(onx_syms *syms, onx_str text) {
    parser p = {.syms = syms, .p = text.data, .end = text.data + text.size};
    const onx_sym *sym = parse(&p);
    return sym ? sym : onx_sym_name(syms, text);
}

/* A number or one name: needs no parentheses as a divisor. */
static bool is_simple(const onx_sym *sym) {
    return sym->n == 1 && sym->terms[0].coef > 0 &&
           (sym->terms[0].n == 0 || (sym->terms[0].n == 1 && sym->terms[0].coef == 1));
}

static void print_operand(const onx_sym *sym, bool parentheses, onx_buf *out) {
    if (parentheses) onx_buf_putc(out, '(');
    onx_sym_print(sym, out);
    if (parentheses) onx_buf_putc(out, ')');
}

static void print_terms(const onx_term *terms, uint32_t n, onx_buf *out);

/* floor((x + 1)/2) is ceil(x/2). */
static void print_quotient(const onx_atom *atom, onx_buf *out) {
    const onx_sym *a = atom->a;
    const onx_term *last = &a->terms[a->n - 1];
    int64_t by;
    bool up = onx_sym_is_int(atom->b, &by) && a->n > 1 && last->n == 0 && last->coef == by - 1;
    uint32_t n = up ? a->n - 1 : a->n;
    onx_buf_puts(out, up ? "ceil(" : "floor(");
    if (n > 1) onx_buf_putc(out, '(');
    print_terms(a->terms, n, out);
    onx_buf_puts(out, n > 1 ? ")/" : "/");
    print_operand(atom->b, !is_simple(atom->b), out);
    onx_buf_putc(out, ')');
}

static void print_atom(const onx_atom *atom, onx_buf *out) {
    static const char *const names[] = {"", "", "min", "max", "broadcast", "ratio"};
    if (atom->kind == ONX_ATOM_NAME) {
        onx_buf_put(out, atom->name.data, atom->name.size);
        return;
    }
    if (atom->kind == ONX_ATOM_FLOOR) {
        print_quotient(atom, out);
        return;
    }
    onx_buf_printf(out, "%s(", names[atom->kind]);
    onx_sym_print(atom->a, out);
    onx_buf_puts(out, ", ");
    onx_sym_print(atom->b, out);
    onx_buf_putc(out, ')');
}

/* Recurses over atoms, ONX_SYM_DEPTH deep at most. */
static void print_terms(const onx_term *terms, uint32_t n, onx_buf *out) {
    for (uint32_t i = 0; i < n; i++) {
        const onx_term *t = &terms[i];
        uint64_t size = t->coef < 0 ? -(uint64_t)t->coef : (uint64_t)t->coef;
        onx_buf_puts(out, i ? t->coef < 0 ? " - " : " + " : t->coef < 0 ? "-" : "");
        if (size != 1 || t->n == 0)
            onx_buf_printf(out, "%llu%s", (unsigned long long)size, t->n ? "*" : "");
        for (uint32_t j = 0, run; j < t->n; j += run) {
            for (run = 1; j + run < t->n && t->factors[j + run] == t->factors[j];) run++;
            if (j) onx_buf_putc(out, '*');
            print_atom(t->factors[j], out);
            if (run > 1) onx_buf_printf(out, "**%u", (unsigned)run);
        }
    }
}

void onx_sym_print(const onx_sym *sym, onx_buf *out) {
    if (!sym || sym->n == 0)
        onx_buf_puts(out, sym ? "0" : "?");
    else
        print_terms(sym->terms, sym->n, out);
}
