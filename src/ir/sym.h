/* sym.h: symbolic integers: the sizes of dimensions, as expressions over names.
 *
 * Expressions are polynomials with integer coefficients over atoms:
 *
 *     2*N*H + floor(S/2) + 1        atoms: N, H, S, floor(S/2)
 *
 * An atom is a name, a quotient rounded down, a minimum, a maximum, or the size that two sizes
 * broadcast to: the one that is not 1. Every expression is kept in normal form and only once in its
 * table, so equal expressions are equal pointers:
 *
 *     floor((a*x)/(a*y)) = floor(x/y)          floor((2*x + 7)/2) = x + 3
 *     floor(floor(x/2)/2) = floor(x/4)         ceil(x/2) = floor((x + 1)/2)
 *     x % y = x - y*floor(x/y)                 -floor(-x/2) = floor((x + 1)/2)
 *     min(x + 2, 5) = min(x, 3) + 2            max(x, floor(x/2)) = x
 *
 * What would overflow, divide by zero or grow past the bounds below is not represented: the
 * functions return NULL, "not known", and accept NULL. Names stand for sizes: they are at least 0,
 * and a divisor is taken not to be 0.
 *
 * Expressions live as long as their table. A table is for one thread.
 */
#ifndef ONX_SYM_H
#define ONX_SYM_H

#include "base/mem.h"

enum {
    ONX_SYM_TERMS = 32,
    ONX_SYM_FACTORS = 40,
    ONX_SYM_DEPTH = 16,       /* of atoms in atoms */
    ONX_SYM_SIZE = 256,       /* atoms, and those in them, and so on */
    ONX_SYM_BYTES = 32 << 20, /* of a table: then only numbers and names are still added */
};

typedef struct onx_sym onx_sym;
typedef struct onx_syms onx_syms;

onx_syms *onx_syms_new(onx_context *ctx) ONX_MUST_CHECK;
void onx_syms_free(onx_syms *syms);

/* Has memory run out since the table was made? What could not be made for that reason is "not
 * known", too; whoever must tell the difference asks in the end. */
bool onx_syms_failed(const onx_syms *syms);

const onx_sym *onx_sym_int(onx_syms *syms, int64_t value);
const onx_sym *onx_sym_name(onx_syms *syms, onx_str name);
const onx_sym *onx_sym_add(onx_syms *syms, const onx_sym *a, const onx_sym *b);
const onx_sym *onx_sym_sub(onx_syms *syms, const onx_sym *a, const onx_sym *b);
const onx_sym *onx_sym_mul(onx_syms *syms, const onx_sym *a, const onx_sym *b);
const onx_sym *onx_sym_floordiv(onx_syms *syms, const onx_sym *a, const onx_sym *b);
const onx_sym *onx_sym_ceildiv(onx_syms *syms, const onx_sym *a, const onx_sym *b);
const onx_sym *onx_sym_min(onx_syms *syms, const onx_sym *a, const onx_sym *b);
const onx_sym *onx_sym_max(onx_syms *syms, const onx_sym *a, const onx_sym *b);
/* Of two sizes that are equal, or one of which is 1: the other. Two different numbers, neither of
 * which is 1, give NULL. */
const onx_sym *onx_sym_broadcast(onx_syms *syms, const onx_sym *a, const onx_sym *b);
/* Is a >= b, whatever the names stand for? False: it is not, or cannot be told. */
bool onx_sym_at_least(onx_syms *syms, const onx_sym *a, const onx_sym *b);

/* Numbers that are not whole, on the way from one size to another: exporters compute in floats. A
 * ratio is exact, a/b as it is; only these functions, sums, products, minimum and maximum may be
 * given one. Rounding makes a size of it. */
const onx_sym *onx_sym_ratio(onx_syms *syms, const onx_sym *a, const onx_sym *b);
const onx_sym *onx_sym_floor(onx_syms *syms, const onx_sym *a);
const onx_sym *onx_sym_ceil(onx_syms *syms, const onx_sym *a);
/* As one fraction, both of which are whole; false: it cannot be. */
bool onx_sym_fraction(onx_syms *syms, const onx_sym *a, const onx_sym **num, const onx_sym **den);
bool onx_sym_is_whole(const onx_sym *sym);
/* A number as floating point has it: a whole number of at most 24 bits over a power of 2; NULL
 * where it is not that. And back: false where there are names in it. */
const onx_sym *onx_sym_real(onx_syms *syms, double value);
bool onx_sym_is_real(onx_syms *syms, const onx_sym *sym, double *value);
/* Is it whole, or has it only small powers of 2 below, so that float arithmetic is exact on it? */
bool onx_sym_is_binary(const onx_sym *sym);

/* Is it a plain number? Then `*value` is that. */
bool onx_sym_is_int(const onx_sym *sym, int64_t *value);

/* Every name in it, as an expression; a name that stands in several places may come several times.
 * And whether one of them is `name`. */
typedef void onx_sym_visit(void *user, const onx_sym *name);
void onx_sym_names(const onx_sym *sym, onx_sym_visit *visit, void *user);
bool onx_sym_has(const onx_sym *sym, const onx_sym *name);

/* What a dim_param means: an expression where it can be read as one, else a name. Understands + - *
 * / // % **, parentheses, floor ceil ceiling min max broadcast, in any case. */
const onx_sym *onx_sym_parse(onx_syms *syms, onx_str text);
/* In a form that onx_sym_parse reads back to the same expression. */
void onx_sym_print(const onx_sym *sym, onx_buf *out);

/* The value when names have values. `lookup` returns false for a name it does not know. False also
 * on overflow and division by zero. */
typedef bool onx_sym_lookup(void *user, onx_str name, int64_t *value);
bool onx_sym_eval(const onx_sym *sym, onx_sym_lookup *lookup, void *user, int64_t *value);

/* The expression with others in the place of its names; NULL of `fn` leaves the name as it is. */
typedef const onx_sym *onx_sym_replacer(void *user, onx_syms *syms, onx_str name);
const onx_sym *onx_sym_replace(onx_syms *syms, const onx_sym *sym, onx_sym_replacer *fn,
                               void *user);

#endif
