/* sym_ops.c: sums and products of expressions, their values, the names in them. */
#include "ir/sym_internal.h"

static const onx_sym *combine(onx_syms *syms, const onx_sym *a, const onx_sym *b, int64_t sign) {
    int64_t x, y;
    if (!a || !b) return NULL;
    if (onx_sym_is_int(a, &x) && onx_sym_is_int(b, &y)) /* the common case */
        return onx_mul_i64(y, sign, &y) && onx_add_i64(x, y, &x) ? onx_sym_int(syms, x) : NULL;
    onx_term terms[2 * ONX_SYM_TERMS];
    memcpy(terms, a->terms, a->n * sizeof *terms);
    for (uint32_t i = 0; i < b->n; i++) {
        terms[a->n + i] = b->terms[i];
        if (!onx_mul_i64(b->terms[i].coef, sign, &terms[a->n + i].coef)) return NULL;
    }
    return onx_sym_intern(syms, terms, (size_t)a->n + b->n);
}

const onx_sym *onx_sym_add(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return combine(syms, a, b, 1);
}

const onx_sym *onx_sym_sub(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return combine(syms, a, b, -1);
}

static bool multiply_term(const onx_term *a, const onx_term *b, onx_term *out) {
    if (a->n + b->n > ONX_SYM_FACTORS || !onx_mul_i64(a->coef, b->coef, &out->coef)) return false;
    uint32_t i = 0, j = 0;
    out->n = a->n + b->n;
    for (uint32_t k = 0; k < out->n; k++) {
        bool first = j == b->n || (i < a->n && a->factors[i]->id <= b->factors[j]->id);
        out->factors[k] = first ? a->factors[i++] : b->factors[j++];
    }
    return true;
}

const onx_sym *onx_sym_mul(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    if (!a || !b || (size_t)a->n * b->n > 2 * ONX_SYM_TERMS) return NULL;
    onx_term terms[2 * ONX_SYM_TERMS];
    size_t n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++)
            if (!multiply_term(&a->terms[i], &b->terms[j], &terms[n++])) return NULL;
    return onx_sym_intern(syms, terms, n);
}

bool onx_divide_ints(int64_t a, int64_t b, int64_t *out) {
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    int64_t r = a % b;
    *out = a / b - (r && (r < 0) != (b < 0)); /* C rounds to zero */
    return true;
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

static bool eval_atom(const onx_atom *atom, onx_sym_lookup *lookup, void *user, int64_t *out) {
    int64_t a, b;
    if (atom->kind == ONX_ATOM_NAME) return lookup(user, atom->name, out);
    if (!onx_sym_eval(atom->a, lookup, user, &a) || !onx_sym_eval(atom->b, lookup, user, &b))
        return false;
    switch (atom->kind) {
    case ONX_ATOM_RATIO: return b && a % b == 0 && onx_divide_ints(a, b, out);
    case ONX_ATOM_FLOOR: return onx_divide_ints(a, b, out);
    case ONX_ATOM_MIN: *out = a < b ? a : b; return true;
    case ONX_ATOM_MAX: *out = a > b ? a : b; return true;
    default: *out = a == 1 ? b : a; return true;
    }
}

/* Recurses over atoms, ONX_SYM_DEPTH deep at most. */
bool onx_sym_eval(const onx_sym *sym, onx_sym_lookup *lookup, void *user, int64_t *value) {
    int64_t sum = 0;
    if (!sym) return false;
    for (uint32_t i = 0; i < sym->n; i++) {
        int64_t product = sym->terms[i].coef, factor;
        for (uint32_t j = 0; j < sym->terms[i].n; j++)
            if (!eval_atom(sym->terms[i].factors[j], lookup, user, &factor) ||
                !onx_mul_i64(product, factor, &product))
                return false;
        if (!onx_add_i64(sum, product, &sum)) return false;
    }
    *value = sum;
    return true;
}

/* ── Names ───────────────────────────────────────────────────────────────────────────────────── */

/* Recurses over atoms, as above; ONX_SYM_SIZE of them at most. */
void onx_sym_names(const onx_sym *sym, onx_sym_visit *visit, void *user) {
    for (uint32_t i = 0; sym && i < sym->n; i++)
        for (uint32_t j = 0; j < sym->terms[i].n; j++) {
            const onx_atom *atom = sym->terms[i].factors[j];
            if (atom->kind == ONX_ATOM_NAME) {
                visit(user, atom->self);
            } else {
                onx_sym_names(atom->a, visit, user);
                onx_sym_names(atom->b, visit, user);
            }
        }
}

typedef struct search {
    const onx_sym *name;
    bool found;
} search;

static void compare_name(void *user, const onx_sym *name) {
    search *s = user;
    s->found |= name == s->name;
}

bool onx_sym_has(const onx_sym *sym, const onx_sym *name) {
    search s = {name, sym == name && name};
    if (!s.found) onx_sym_names(sym, compare_name, &s);
    return s.found;
}
