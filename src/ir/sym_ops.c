/* sym_ops.c: arithmetic on expressions, and their values. */
#include "ir/sym_internal.h"

static const onx_sym *combine(onx_syms *syms, const onx_sym *a, const onx_sym *b, int64_t sign) {
    if (!a || !b) return NULL;
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

/* Does the product b divide the product a? The quotient, then. */
static bool divide_term(const onx_term *a, const onx_term *b, onx_term *out) {
    if (a->coef % b->coef) return false;
    uint32_t j = 0;
    *out = (onx_term){.coef = a->coef / b->coef};
    for (uint32_t i = 0; i < a->n; i++) {
        if (j < b->n && a->factors[i] == b->factors[j])
            j++;
        else
            out->factors[out->n++] = a->factors[i];
    }
    return j == b->n;
}

/* a = b * whole + rest, with as much as possible in `whole`; b is one term. */
static bool split(onx_syms *syms, const onx_sym *a, const onx_term *b, const onx_sym **whole,
                  const onx_sym **rest) {
    onx_term in[ONX_SYM_TERMS], out[ONX_SYM_TERMS];
    size_t n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (divide_term(&a->terms[i], b, &in[n_in]))
            n_in++;
        else
            out[n_out++] = a->terms[i];
    }
    *whole = onx_sym_intern(syms, in, n_in);
    *rest = onx_sym_intern(syms, out, n_out);
    return *whole && *rest;
}

static bool divide_ints(int64_t a, int64_t b, bool up, int64_t *out) {
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    int64_t q = a / b, r = a % b;
    bool below =
        r && (r < 0) != (b < 0); /* C rounds to zero: the quotient lies below q, or above */
    bool above = r && !below;
    *out = up ? q + above : q - below;
    return true;
}

/* floor(q + r) = q + floor(r) for a whole q, and the same rounded up. */
static const onx_sym *divide(onx_syms *syms, const onx_sym *a, const onx_sym *b, bool up) {
    const onx_sym *whole, *rest;
    int64_t x, y, q;
    if (!a || !b || b->n == 0) return NULL;
    if (a == b) return onx_sym_int(syms, 1);
    whole = onx_sym_int(syms, 0);
    rest = a;
    if (b->n == 1 && !split(syms, a, &b->terms[0], &whole, &rest)) return NULL;
    if (rest->n == 0) return whole;
    if (onx_sym_is_int(rest, &x) && onx_sym_is_int(b, &y))
        return divide_ints(x, y, up, &q) ? onx_sym_add(syms, whole, onx_sym_int(syms, q)) : NULL;
    onx_atom_kind kind = up ? ONX_ATOM_CEIL : ONX_ATOM_FLOOR;
    return onx_sym_add(syms, whole, onx_sym_atom(syms, kind, (onx_str){NULL, 0}, rest, b));
}

const onx_sym *onx_sym_floordiv(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return divide(syms, a, b, false);
}

const onx_sym *onx_sym_ceildiv(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return divide(syms, a, b, true);
}

/* Names are at least 0, so a sum of positive terms is, too. */
static bool is_at_least_zero(const onx_sym *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->terms[i].coef < 0) return false;
        for (uint32_t j = 0; j < s->terms[i].n; j++)
            if (s->terms[i].factors[j]->kind != ONX_ATOM_NAME) return false;
    }
    return true;
}

static const onx_sym *choose(onx_syms *syms, onx_atom_kind kind, const onx_sym *a,
                             const onx_sym *b) {
    const onx_sym *above = onx_sym_sub(syms, a, b), *below = onx_sym_sub(syms, b, a);
    if (!above || !below) return NULL;
    bool max = kind == ONX_ATOM_MAX;
    if (is_at_least_zero(above)) return max ? a : b;
    if (is_at_least_zero(below)) return max ? b : a;
    bool swap = a->id > b->id;
    return onx_sym_atom(syms, kind, (onx_str){NULL, 0}, swap ? b : a, swap ? a : b);
}

const onx_sym *onx_sym_min(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return choose(syms, ONX_ATOM_MIN, a, b);
}

const onx_sym *onx_sym_max(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return choose(syms, ONX_ATOM_MAX, a, b);
}

static bool eval_atom(const onx_atom *atom, onx_sym_lookup *lookup, void *user, int64_t *out) {
    int64_t a, b;
    if (atom->kind == ONX_ATOM_NAME) return lookup(user, atom->name, out);
    if (!onx_sym_eval(atom->a, lookup, user, &a) || !onx_sym_eval(atom->b, lookup, user, &b))
        return false;
    switch (atom->kind) {
    case ONX_ATOM_FLOOR: return divide_ints(a, b, false, out);
    case ONX_ATOM_CEIL: return divide_ints(a, b, true, out);
    case ONX_ATOM_MIN: *out = a < b ? a : b; return true;
    default: *out = a > b ? a : b; return true;
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
