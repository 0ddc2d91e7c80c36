/* sym_replace.c: an expression with others in the place of its names. What comes out is in normal
 * form, as everything that is made with sym.h. */
#include "ir/sym_internal.h"

static const onx_sym *replace_atom(onx_syms *syms, const onx_atom *atom, onx_sym_replacer *fn,
                                   void *user) {
    if (atom->kind == ONX_ATOM_NAME) {
        const onx_sym *other = fn(user, syms, atom->name);
        return other ? other : onx_sym_name(syms, atom->name);
    }
    const onx_sym *a = onx_sym_replace(syms, atom->a, fn, user);
    const onx_sym *b = onx_sym_replace(syms, atom->b, fn, user);
    switch (atom->kind) {
    case ONX_ATOM_FLOOR: return onx_sym_floordiv(syms, a, b);
    case ONX_ATOM_MIN: return onx_sym_min(syms, a, b);
    case ONX_ATOM_MAX: return onx_sym_max(syms, a, b);
    default: return onx_sym_broadcast(syms, a, b);
    }
}

/* Recurses over atoms, ONX_SYM_DEPTH deep at most. */
const onx_sym *onx_sym_replace(onx_syms *syms, const onx_sym *sym, onx_sym_replacer *fn,
                               void *user) {
    const onx_sym *sum = sym ? onx_sym_int(syms, 0) : NULL;
    for (uint32_t i = 0; sum && i < sym->n; i++) {
        const onx_sym *product = onx_sym_int(syms, sym->terms[i].coef);
        for (uint32_t j = 0; product && j < sym->terms[i].n; j++)
            product =
                onx_sym_mul(syms, product, replace_atom(syms, sym->terms[i].factors[j], fn, user));
        sum = onx_sym_add(syms, sum, product);
    }
    return sum;
}
