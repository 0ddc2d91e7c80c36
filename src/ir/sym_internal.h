/* sym_internal.h: how expressions are stored; for the files ir/sym*.c. */
#ifndef ONX_SYM_INTERNAL_H
#define ONX_SYM_INTERNAL_H

#include "ir/sym.h"

typedef enum onx_atom_kind {
    ONX_ATOM_NAME,
    ONX_ATOM_FLOOR,
    ONX_ATOM_MIN,
    ONX_ATOM_MAX,
    ONX_ATOM_BROADCAST,
    ONX_ATOM_RATIO, /* not rounded: no integer */
} onx_atom_kind;

/* Between which numbers something lies; INT64_MIN and INT64_MAX: not bounded. */
typedef struct onx_range {
    int64_t lo, hi;
} onx_range;

typedef struct onx_atom {
    onx_atom_kind kind;
    uint32_t id;    /* order of creation: factors are sorted by it */
    uint32_t depth; /* of nesting: at most ONX_SYM_DEPTH, so recursion over atoms is shallow */
    uint32_t size;  /* of the tree below it, counted in atoms: at most ONX_SYM_SIZE */
    onx_range range;
    onx_str name;
    const onx_sym *self;  /* the atom alone as an expression */
    const onx_sym *a, *b; /* a / b, min(a, b), max(a, b), broadcast(a, b), a / b */
} onx_atom;

/* coef * factors[0] * factors[1] … ; factors sorted, repeated for powers. */
typedef struct onx_term {
    int64_t coef; /* not 0, not INT64_MIN */
    uint32_t n;
    const onx_atom *factors[ONX_SYM_FACTORS];
} onx_term;

/* A sum of terms with different factors, sorted; no terms: 0. */
struct onx_sym {
    onx_range range;
    uint32_t n, depth, size, id; /* depth: the greatest of its atoms; size: their sum */
    onx_term terms[];
};

struct onx_syms {
    onx_context *ctx;
    onx_arena arena;
    onx_map atoms, polys; /* keys are the bytes that describe them */
    uint32_t next_id;     /* of atoms and expressions */
    bool failed;          /* memory ran out */
};

/* The one expression with these terms, which need not be sorted or distinct. `terms` is scratch. */
const onx_sym *onx_sym_intern(onx_syms *syms, onx_term *terms, size_t n);
const onx_sym *onx_sym_atom(onx_syms *syms, onx_atom_kind kind, onx_str name, const onx_sym *a,
                            const onx_sym *b);

/* sym_order.c: where an atom lies, and an expression of these terms. */
onx_range onx_atom_range(onx_atom_kind kind, const onx_sym *a, const onx_sym *b);
onx_range onx_terms_range(const onx_term *terms, size_t n);

/* sym_ops.c */
bool onx_divide_ints(int64_t a, int64_t b, int64_t *out); /* rounds down; false: cannot be */

#endif
