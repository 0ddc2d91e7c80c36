/* sym_order.c: which of two expressions is the larger: ranges, proofs, and minimum, maximum and
 * broadcasting, in normal form: no operand that another one makes superfluous, none that is itself
 * a minimum (of a minimum), sorted, and nothing that could be taken out. */
#include "ir/sym_internal.h"

static const onx_str no_name = {NULL, 0};

/* ── Ranges ──────────────────────────────────────────────────────────────────────────────────── */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Both ends of a sum or of a multiple; what is not bounded stays so. */
static int64_t add_end(int64_t a, int64_t b, int64_t open) {
    int64_t sum;
    return a == open || b == open || !onx_add_i64(a, b, &sum) ? open : sum;
}
static int64_t scale_end(int64_t end, int64_t by, int64_t open) {
    int64_t product;
    bool is_open = end == INT64_MIN || end == INT64_MAX || !onx_mul_i64(end, by, &product);
    return is_open ? open : product;
}

static onx_range scale(onx_range r, int64_t by) {
    onx_range up = {scale_end(r.lo, by, INT64_MIN), scale_end(r.hi, by, INT64_MAX)};
    onx_range down = {scale_end(r.hi, by, INT64_MIN), scale_end(r.lo, by, INT64_MAX)};
    return by > 0 ? up : down;
}

static onx_range term_range(const onx_term *t) {
    onx_range r = t->n ? t->factors[0]->range : (onx_range){1, 1};
    for (uint32_t i = 1; i < t->n; i++) {
        onx_range next = t->factors[i]->range;
        if (r.lo < 0 || next.lo < 0) return (onx_range){INT64_MIN, INT64_MAX};
        r.lo = scale_end(r.lo, next.lo, 0);
        r.hi = next.hi == INT64_MAX ? INT64_MAX : scale_end(r.hi, next.hi, INT64_MAX);
    }
    return scale(r, t->coef);
}

onx_range onx_terms_range(const onx_term *terms, size_t n) {
    onx_range sum = {0, 0};
    for (size_t i = 0; i < n; i++) {
        onx_range r = term_range(&terms[i]);
        sum.lo = add_end(sum.lo, r.lo, INT64_MIN);
        sum.hi = add_end(sum.hi, r.hi, INT64_MAX);
    }
    return sum;
}

static onx_range quotient_range(onx_range a, const onx_sym *b) {
    onx_range r = {INT64_MIN, INT64_MAX};
    int64_t by;
    if (onx_sym_is_int(b, &by) && by > 0) {
        if (a.lo != INT64_MIN) (void)onx_divide_ints(a.lo, by, &r.lo);
        if (a.hi != INT64_MAX) (void)onx_divide_ints(a.hi, by, &r.hi);
    } else if (a.lo >= 0 && b->range.lo >= 0) { /* and b is not 0 */
        r = (onx_range){0, a.hi};
    }
    return r;
}

/* Whole numbers around it. */
static onx_range ratio_range(onx_range a, const onx_sym *b) {
    onx_range r = quotient_range(a, b);
    if (r.hi != INT64_MAX) r.hi++;
    return r;
}

onx_range onx_atom_range(onx_atom_kind kind, const onx_sym *a, const onx_sym *b) {
    if (kind == ONX_ATOM_NAME) return (onx_range){0, INT64_MAX};
    if (kind == ONX_ATOM_FLOOR) return quotient_range(a->range, b);
    if (kind == ONX_ATOM_RATIO) return ratio_range(a->range, b);
    int64_t lo = least(a->range.lo, b->range.lo), hi = most(a->range.hi, b->range.hi);
    if (kind == ONX_ATOM_MIN) hi = least(a->range.hi, b->range.hi);
    if (kind == ONX_ATOM_MAX) lo = most(a->range.lo, b->range.lo);
    return (onx_range){lo, hi};
}

/* ── Proofs ──────────────────────────────────────────────────────────────────────────────────── */

enum { EFFORT = 16 }; /* substitutions for one proof */

static bool nonnegative(onx_syms *syms, const onx_sym *s, int *effort);

/* by * (s - t) + t with the atom at `at` replaced by `instead`: is that at least 0? */
static bool proves(onx_syms *syms, const onx_sym *s, const onx_term *t, uint32_t at, int64_t by,
                   const onx_sym *instead, int *effort) {
    onx_term whole = *t, others = {.coef = t->coef};
    for (uint32_t i = 0; i < t->n; i++)
        if (i != at) others.factors[others.n++] = t->factors[i];
    const onx_sym *rest = onx_sym_sub(syms, s, onx_sym_intern(syms, &whole, 1));
    const onx_sym *part = onx_sym_mul(syms, onx_sym_intern(syms, &others, 1), instead);
    const onx_sym *sum = onx_sym_add(syms, onx_sym_mul(syms, rest, onx_sym_int(syms, by)), part);
    return sum && nonnegative(syms, sum, effort);
}

/* With a bound in place of one atom, which can only make the expression smaller. */
static bool proves_by(onx_syms *syms, const onx_sym *s, const onx_term *t, uint32_t at,
                      int *effort) {
    const onx_atom *atom = t->factors[at];
    int64_t by;
    if (atom->kind == ONX_ATOM_RATIO) return false;
    if (atom->kind == ONX_ATOM_FLOOR) {
        if (!onx_sym_is_int(atom->b, &by)) return false;
        const onx_sym *low = onx_sym_sub(syms, atom->a, onx_sym_int(syms, by - 1));
        return proves(syms, s, t, at, by, t->coef < 0 ? atom->a : low, effort);
    }
    bool a = proves(syms, s, t, at, 1, atom->a, effort);
    bool either = atom->kind == (t->coef < 0 ? ONX_ATOM_MIN : ONX_ATOM_MAX);
    if (a == either) return a;
    return proves(syms, s, t, at, 1, atom->b, effort);
}

/* Recurses EFFORT deep at most. */
static bool nonnegative(onx_syms *syms, const onx_sym *s, int *effort) {
    if (s->range.lo >= 0) return true;
    if (s->range.hi < 0) return false;
    for (uint32_t i = 0; i < s->n; i++) {
        const onx_term *t = &s->terms[i];
        for (uint32_t j = 0; j < t->n; j++) {
            bool others = true; /* at least 0 */
            for (uint32_t k = 0; k < t->n; k++) others &= k == j || t->factors[k]->range.lo >= 0;
            if (t->factors[j]->kind == ONX_ATOM_NAME || !others) continue;
            if (--*effort < 0) return false;
            if (proves_by(syms, s, t, j, effort)) return true;
        }
    }
    return false;
}

bool onx_sym_at_least(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    const onx_sym *above = onx_sym_sub(syms, a, b);
    int effort = EFFORT;
    return above && nonnegative(syms, above, &effort);
}

/* ── One of several ──────────────────────────────────────────────────────────────────────────── */

enum { OPERANDS = 8 };

typedef struct choice {
    onx_syms *syms;
    onx_atom_kind kind;
    const onx_sym *of[OPERANDS];
    size_t n;
} choice;

static const onx_atom *alone(const onx_sym *s, onx_atom_kind kind) {
    bool one = s->n == 1 && s->terms[0].n == 1 && s->terms[0].coef == 1;
    return one && s->terms[0].factors[0]->kind == kind ? s->terms[0].factors[0] : NULL;
}

/* Is a the size that a and b broadcast to, if they do? So it is if it is a multiple of b, or never
 * less than b where b is 0 only if a is: of batch*seq and seq; of seq and min(seq, 512). */
static bool covers(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    const onx_sym *times = onx_sym_floordiv(syms, a, b);
    if (times && onx_sym_mul(syms, times, b) == a) return true;
    return onx_sym_at_least(syms, a, b) &&
           onx_sym_at_least(syms, b, onx_sym_min(syms, a, onx_sym_int(syms, 1)));
}

/* Does `a` make `b` superfluous? */
static bool beats(const choice *c, const onx_sym *a, const onx_sym *b) {
    int64_t one;
    switch (c->kind) {
    case ONX_ATOM_MAX: return onx_sym_at_least(c->syms, a, b);
    case ONX_ATOM_MIN: return onx_sym_at_least(c->syms, b, a);
    default: return a == b || (onx_sym_is_int(b, &one) && one == 1) || covers(c->syms, a, b);
    }
}

/* One more operand, unless another one makes it superfluous. False: there are too many. */
static bool add_one(choice *c, const onx_sym *s) {
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (beats(c, c->of[i], s)) return true;
    for (size_t i = 0; i < c->n; i++)
        if (!beats(c, s, c->of[i])) c->of[kept++] = c->of[i];
    c->n = kept;
    if (c->n == OPERANDS) return false;
    c->of[c->n++] = s;
    return true;
}

/* And what it is made of, if it is of the same kind: such atoms lean to the left. */
static bool add_operand(choice *c, const onx_sym *s) {
    const onx_atom *atom;
    while ((atom = alone(s, c->kind))) {
        if (!add_one(c, atom->b)) return false;
        s = atom->a;
    }
    return add_one(c, s);
}

static bool has_term(const onx_sym *s, const onx_term *t) {
    for (uint32_t i = 0; i < s->n; i++)
        if (memcmp(&s->terms[i], t, sizeof *t) == 0) return true;
    return false;
}

static int64_t constant_of(const onx_sym *s) {
    return s->n && s->terms[s->n - 1].n == 0 ? s->terms[s->n - 1].coef : 0;
}

/* What can be taken out: terms that all operands have, and the least of the constants that are
 * added to something. */
static const onx_sym *common_part(const choice *c) {
    onx_term terms[ONX_SYM_TERMS];
    size_t n = 0;
    int64_t constant = INT64_MAX, ignored;
    for (uint32_t i = 0; i < c->of[0]->n; i++) {
        const onx_term *t = &c->of[0]->terms[i];
        bool all = t->n > 0;
        for (size_t k = 1; k < c->n && all; k++) all = has_term(c->of[k], t);
        if (all) terms[n++] = *t;
    }
    for (size_t k = 0; k < c->n; k++)
        if (!onx_sym_is_int(c->of[k], &ignored)) constant = least(constant, constant_of(c->of[k]));
    const onx_sym *part = onx_sym_intern(c->syms, terms, n);
    return onx_sym_add(c->syms, part, onx_sym_int(c->syms, constant));
}

static void sort_operands(choice *c) {
    for (size_t i = 1; i < c->n; i++) {
        const onx_sym *s = c->of[i];
        size_t j = i;
        for (; j > 0 && c->of[j - 1]->id > s->id; j--) c->of[j] = c->of[j - 1];
        c->of[j] = s;
    }
}

/* Take out what is common; what is left may be made of other operands. */
static bool take_out(choice *c, const onx_sym **sum) {
    const onx_sym *part = common_part(c);
    choice left = {.syms = c->syms, .kind = c->kind};
    *sum = onx_sym_add(c->syms, *sum, part);
    for (size_t i = 0; i < c->n; i++) {
        const onx_sym *s = onx_sym_sub(c->syms, c->of[i], part);
        if (!s || !add_operand(&left, s)) return false;
    }
    *c = left;
    return *sum != NULL;
}

static const onx_sym *chosen(choice *c) {
    const onx_sym *sum = onx_sym_int(c->syms, 0);
    for (size_t rounds = 0; c->kind != ONX_ATOM_BROADCAST && c->n > 1; rounds++) {
        const onx_sym *before = sum;
        if (rounds == OPERANDS || !take_out(c, &sum)) return NULL;
        if (sum == before) break;
    }
    sort_operands(c);
    const onx_sym *all = c->of[0];
    for (size_t i = 1; i < c->n && all; i++)
        all = onx_sym_atom(c->syms, c->kind, no_name, all, c->of[i]);
    return onx_sym_add(c->syms, all, sum);
}

static const onx_sym *choose(onx_syms *syms, onx_atom_kind kind, const onx_sym *a,
                             const onx_sym *b) {
    choice c = {.syms = syms, .kind = kind};
    if (!a || !b || !add_operand(&c, a) || !add_operand(&c, b)) return NULL;
    return chosen(&c);
}

const onx_sym *onx_sym_min(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return choose(syms, ONX_ATOM_MIN, a, b);
}

const onx_sym *onx_sym_max(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return choose(syms, ONX_ATOM_MAX, a, b);
}

const onx_sym *onx_sym_broadcast(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    int64_t x, y;
    bool a_number = onx_sym_is_int(a, &x) && x != 1, b_number = onx_sym_is_int(b, &y) && y != 1;
    if (a_number && b_number && x != y) return NULL;
    if (a_number) return a;
    return b_number ? b : choose(syms, ONX_ATOM_BROADCAST, a, b);
}
