/* sym_divide.c: quotients of expressions, in normal form.
 *
 * A divisor that is a number is positive, and there is nothing left to divide in what is rounded:
 * coefficients lie below it, the first one at most half of it, and no factor is common to all. */
#include "ir/sym_internal.h"

#include <math.h>

static const onx_str no_name = {NULL, 0};

static const onx_sym *negated(onx_syms *syms, const onx_sym *a) {
    return onx_sym_sub(syms, onx_sym_int(syms, 0), a);
}

static const onx_sym *rounded(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return onx_sym_atom(syms, ONX_ATOM_FLOOR, no_name, a, b);
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static uint64_t magnitude(int64_t x) {
    return x < 0 ? -(uint64_t)x : (uint64_t)x;
}

/* ── By a number ─────────────────────────────────────────────────────────────────────────────── */

/* a = by * whole + rest, with coefficients of `rest` in [0, by). */
static bool reduce(onx_syms *syms, const onx_sym *a, int64_t by, const onx_sym **whole,
                   const onx_sym **rest) {
    onx_term in[ONX_SYM_TERMS], out[ONX_SYM_TERMS];
    size_t n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        int64_t q;
        if (!onx_divide_ints(a->terms[i].coef, by, &q)) return false;
        in[n_in] = out[n_out] = a->terms[i];
        in[n_in].coef = q;
        out[n_out].coef = a->terms[i].coef - q * by;
        n_in += q != 0;
        n_out += out[n_out].coef != 0;
    }
    *whole = onx_sym_intern(syms, in, n_in);
    *rest = onx_sym_intern(syms, out, n_out);
    return *whole && *rest;
}

/* floor((g*x + c)/(g*y)) = floor((x + floor(c/g))/y): g out of both. */
static const onx_sym *without_common(onx_syms *syms, const onx_sym *a, int64_t *by) {
    uint64_t g = (uint64_t)*by;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->terms[i].n) g = gcd(g, magnitude(a->terms[i].coef));
    if (g == 1) return a;
    onx_term terms[ONX_SYM_TERMS];
    size_t n = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        terms[n] = a->terms[i];
        if (!onx_divide_ints(a->terms[i].coef, (int64_t)g, &terms[n].coef)) return NULL;
        n += terms[n].coef != 0;
    }
    *by /= (int64_t)g;
    return onx_sym_intern(syms, terms, n);
}

/* floor((floor(x/q) + c)/y) = floor((x + c*q)/(q*y)); false: it is nothing of the kind. */
static bool flatten(onx_syms *syms, const onx_sym **a, int64_t *by) {
    const onx_sym *s = *a;
    if (s->n == 0 || s->n > 2 || s->terms[0].n != 1 || s->terms[0].coef != 1) return false;
    if (s->n == 2 && s->terms[1].n) return false;
    const onx_atom *atom = s->terms[0].factors[0];
    int64_t q, c = s->n == 2 ? s->terms[1].coef : 0, shift, product;
    if (atom->kind != ONX_ATOM_FLOOR || !onx_sym_is_int(atom->b, &q) || q < 1 ||
        !onx_mul_i64(c, q, &shift) || !onx_mul_i64(q, *by, &product))
        return false;
    const onx_sym *sum = onx_sym_add(syms, atom->a, onx_sym_int(syms, shift));
    if (!sum) return false;
    *a = sum;
    *by = product;
    return true;
}

/* Is the quotient one number, wherever `a` lies in its range? */
static bool is_fixed(onx_range a, int64_t by, int64_t *out) {
    int64_t hi;
    return a.lo != INT64_MIN && a.hi != INT64_MAX && onx_divide_ints(a.lo, by, out) &&
           onx_divide_ints(a.hi, by, &hi) && hi == *out;
}

/* With coefficients below `by`: a first one above its half becomes smaller by
 * floor(x/y) = -floor((y - 1 - x)/y). */
static const onx_sym *floor_rest(onx_syms *syms, const onx_sym *a, int64_t by) {
    const onx_sym *whole, *rest;
    if (a->terms[0].n == 0 || a->terms[0].coef <= by / 2)
        return rounded(syms, a, onx_sym_int(syms, by));
    const onx_sym *turned = onx_sym_sub(syms, onx_sym_int(syms, by - 1), a);
    if (!turned || !reduce(syms, turned, by, &whole, &rest)) return NULL;
    return negated(syms, onx_sym_add(syms, whole, rounded(syms, rest, onx_sym_int(syms, by))));
}

static const onx_sym *floor_reduced(onx_syms *syms, const onx_sym *a, int64_t by) {
    const onx_sym *sum = onx_sym_int(syms, 0), *whole, *rest;
    int64_t fixed;
    do {
        if (!reduce(syms, a, by, &whole, &rest)) return NULL;
        sum = onx_sym_add(syms, sum, whole);
        a = without_common(syms, rest, &by);
        if (!sum || !a) return NULL;
    } while (flatten(syms, &a, &by));
    if (by == 1) return onx_sym_add(syms, sum, a);
    if (is_fixed(a->range, by, &fixed)) return onx_sym_add(syms, sum, onx_sym_int(syms, fixed));
    return onx_sym_add(syms, sum, floor_rest(syms, a, by));
}

/* The sign of the first term that counts decides which way to go: floor(-x/2) = -ceil(x/2). */
static const onx_sym *floor_by_int(onx_syms *syms, const onx_sym *a, int64_t by) {
    uint32_t first = 0;
    if (by < 0) {
        by = -by;
        a = negated(syms, a);
    }
    if (!a) return NULL;
    while (first < a->n && a->terms[first].coef % by == 0) first++;
    if (first == a->n || a->terms[first].n == 0 || a->terms[first].coef > 0)
        return floor_reduced(syms, a, by);
    a = onx_sym_sub(syms, onx_sym_int(syms, by - 1), a);
    return a ? negated(syms, floor_reduced(syms, a, by)) : NULL;
}

/* ── By an expression ────────────────────────────────────────────────────────────────────────── */

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

/* What is common to all terms of both: numbers and factors. */
static onx_term common_term(const onx_sym *a, const onx_sym *b) {
    onx_term all = b->terms[0];
    uint64_t g = 0;
    for (uint32_t i = 0; i < a->n + b->n; i++) {
        const onx_term *t = i < a->n ? &a->terms[i] : &b->terms[i - a->n];
        uint32_t kept = 0, j = 0;
        for (uint32_t k = 0; k < all.n; k++) {
            while (j < t->n && t->factors[j]->id < all.factors[k]->id) j++;
            if (j < t->n && t->factors[j] == all.factors[k]) all.factors[kept++] = t->factors[j++];
        }
        all.n = kept;
        g = gcd(g, magnitude(t->coef));
    }
    all.coef = (int64_t)g;
    return all;
}

static const onx_sym *divide_all(onx_syms *syms, const onx_sym *a, const onx_term *b) {
    onx_term terms[ONX_SYM_TERMS];
    for (uint32_t i = 0; i < a->n; i++)
        if (!divide_term(&a->terms[i], b, &terms[i])) return NULL;
    return onx_sym_intern(syms, terms, a->n);
}

/* The terms of `a` that b divides, divided, and the others. */
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

/* a / b where b is a sum that divides a: long division; NULL: it does not. The first term of a
 * product is the product of the first terms. */
static const onx_sym *exact(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    const onx_sym *sum = onx_sym_int(syms, 0);
    for (size_t steps = 0; a && a->n && steps < ONX_SYM_TERMS; steps++) {
        onx_term t;
        if (!divide_term(&a->terms[0], &b->terms[0], &t)) return NULL;
        const onx_sym *part = onx_sym_intern(syms, &t, 1);
        sum = onx_sym_add(syms, sum, part);
        a = onx_sym_sub(syms, a, onx_sym_mul(syms, part, b));
    }
    return a && a->n == 0 ? sum : NULL;
}

static const onx_sym *floor_by_sym(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    const onx_sym *whole = onx_sym_int(syms, 0), *rest = a;
    onx_term common = common_term(a, b);
    int64_t by;
    a = divide_all(syms, a, &common);
    b = divide_all(syms, b, &common);
    if (!a || !b) return NULL;
    if (onx_sym_is_int(b, &by)) return floor_by_int(syms, a, by);
    const onx_sym *quotient = b->n > 1 ? exact(syms, a, b) : NULL;
    if (quotient) return quotient;
    rest = a;
    if (b->n == 1 && !split(syms, a, &b->terms[0], &whole, &rest)) return NULL;
    return rest->n == 0 ? whole : onx_sym_add(syms, whole, rounded(syms, rest, b));
}

const onx_sym *onx_sym_floordiv(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    int64_t by;
    if (!a || !b || b->n == 0) return NULL;
    if (a->n == 0) return a;
    return onx_sym_is_int(b, &by) ? floor_by_int(syms, a, by) : floor_by_sym(syms, a, b);
}

/* Rounded up is rounded down from the other side. */
const onx_sym *onx_sym_ceildiv(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return negated(syms, onx_sym_floordiv(syms, negated(syms, a), b));
}

/* ── Not rounded ─────────────────────────────────────────────────────────────────────────────── */

/* (an/ad) / (bn/bd) is (an*bd) / (ad*bn): both whole from here on, where they can be. */
static void clear_fractions(onx_syms *syms, const onx_sym **a, const onx_sym **b) {
    const onx_sym *an, *ad, *bn, *bd;
    if ((onx_sym_is_whole(*a) && onx_sym_is_whole(*b)) || !onx_sym_fraction(syms, *a, &an, &ad) ||
        !onx_sym_fraction(syms, *b, &bn, &bd))
        return;
    *a = onx_sym_mul(syms, an, bd);
    *b = onx_sym_mul(syms, ad, bn);
}

const onx_sym *onx_sym_ratio(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    const onx_sym *whole = onx_sym_int(syms, 0), *rest = a, *quotient;
    int64_t by;
    if (!a || !b || b->n == 0) return NULL;
    if (a->n == 0) return a;
    clear_fractions(syms, &a, &b);
    if (!a || !b || b->n == 0) return NULL;
    onx_term common = common_term(a, b);
    a = divide_all(syms, a, &common);
    b = divide_all(syms, b, &common);
    if (!a || !b) return NULL;
    if (onx_sym_is_int(b, &by) && by < 0) {
        a = negated(syms, a);
        b = negated(syms, b);
        by = -by;
    }
    if (!a || !b) return NULL;
    if (onx_sym_is_int(b, &by)) {
        if (!reduce(syms, a, by, &whole, &rest)) return NULL;
    } else {
        rest = a;
        if ((quotient = exact(syms, a, b))) return quotient;
    }
    if (rest->n == 0) return whole;
    return onx_sym_add(syms, whole, onx_sym_atom(syms, ONX_ATOM_RATIO, no_name, rest, b));
}

/* One term as a fraction: its ratios multiplied out. */
static bool fraction_of(onx_syms *syms, const onx_term *t, const onx_sym **num,
                        const onx_sym **den) {
    onx_term whole = {.coef = t->coef};
    *num = *den = onx_sym_int(syms, 1);
    for (uint32_t i = 0; i < t->n; i++) {
        const onx_atom *atom = t->factors[i];
        if (atom->kind == ONX_ATOM_RATIO && onx_sym_is_whole(atom->a) &&
            onx_sym_is_whole(atom->b)) {
            *num = onx_sym_mul(syms, *num, atom->a);
            *den = onx_sym_mul(syms, *den, atom->b);
        } else if (onx_sym_is_whole(atom->self)) {
            whole.factors[whole.n++] = atom;
        } else {
            return false;
        }
    }
    *num = onx_sym_mul(syms, *num, onx_sym_intern(syms, &whole, 1));
    return *num && *den;
}

bool onx_sym_fraction(onx_syms *syms, const onx_sym *a, const onx_sym **num, const onx_sym **den) {
    const onx_sym *n, *d;
    *num = onx_sym_int(syms, 0);
    *den = onx_sym_int(syms, 1);
    for (uint32_t i = 0; a && i < a->n; i++) {
        if (!fraction_of(syms, &a->terms[i], &n, &d)) return false;
        bool same = d == *den;
        *num = same ? *num : onx_sym_mul(syms, *num, d);
        *num = onx_sym_add(syms, *num, same ? n : onx_sym_mul(syms, n, *den));
        *den = same ? *den : onx_sym_mul(syms, *den, d);
    }
    return a && *num && *den;
}

const onx_sym *onx_sym_floor(onx_syms *syms, const onx_sym *a) {
    const onx_sym *num, *den;
    if (!a || onx_sym_is_whole(a)) return a;
    return onx_sym_fraction(syms, a, &num, &den) ? onx_sym_floordiv(syms, num, den) : NULL;
}

const onx_sym *onx_sym_ceil(onx_syms *syms, const onx_sym *a) {
    if (!a || onx_sym_is_whole(a)) return a;
    return negated(syms, onx_sym_floor(syms, negated(syms, a)));
}

/* Have all ratios in it a power of 2 below, or, without `binary`, are there none? */
static bool is_plain(const onx_sym *sym, bool binary) {
    for (uint32_t i = 0; sym && i < sym->n; i++)
        for (uint32_t j = 0; j < sym->terms[i].n; j++) {
            const onx_atom *atom = sym->terms[i].factors[j];
            int64_t by;
            if (atom->kind == ONX_ATOM_NAME || atom->kind == ONX_ATOM_FLOOR) continue;
            bool ratio = atom->kind == ONX_ATOM_RATIO;
            bool power =
                ratio && binary && onx_sym_is_int(atom->b, &by) && by <= 4096 && !(by & (by - 1));
            if (ratio ? !power : !is_plain(atom->a, binary) || !is_plain(atom->b, binary))
                return false;
        }
    return true;
}

bool onx_sym_is_whole(const onx_sym *sym) {
    return is_plain(sym, false);
}

bool onx_sym_is_binary(const onx_sym *sym) {
    return is_plain(sym, true);
}

const onx_sym *onx_sym_real(onx_syms *syms, double value) {
    int below;
    double above = ldexp(frexp(value, &below), 24); /* value = above / 2^(24 - below) */
    if (!isfinite(value) || above != floor(above) || below > 24 || below < -36) return NULL;
    return onx_sym_ratio(syms, onx_sym_int(syms, (int64_t)above),
                         onx_sym_int(syms, (int64_t)1 << (24 - below)));
}

bool onx_sym_is_real(onx_syms *syms, const onx_sym *sym, double *value) {
    const onx_sym *num, *den;
    int64_t n, d;
    if (!sym || !onx_sym_fraction(syms, sym, &num, &den) || !onx_sym_is_int(num, &n) ||
        !onx_sym_is_int(den, &d) || d == 0 || n > (int64_t)1 << 53 || n < -((int64_t)1 << 53))
        return false;
    *value = (double)n / (double)d;
    return true;
}
