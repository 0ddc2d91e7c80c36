/* sizes.c: symbolic sizes as values of the model, and shapes made of them.
 *
 * Every name of a size has owners: values with a dimension of that size. Where a size is needed as
 * data it is computed from the shapes of its owners, once in each graph; where Reshape can do with
 * 0 or -1 it is not needed at all. */
#include "export/export.h"
#include "ir/edit.h"
#include "ir/sym_internal.h"

static const onx_str no_name = {NULL, 0};

typedef struct owner {
    struct owner *next;
    onx_value *value;
    size_t axis;
} owner;

/* The name that the size is, alone; NULL: it is more than that. */
static const onx_atom *name_of(const onx_sym *sym) {
    if (!sym || sym->n != 1 || sym->terms[0].coef != 1 || sym->terms[0].n != 1) return NULL;
    const onx_atom *atom = sym->terms[0].factors[0];
    return atom->kind == ONX_ATOM_NAME ? atom : NULL;
}

/* The owner that the current graph sees; NULL: none. */
static const owner *owner_of(const onx_export *x, const onx_sym *sym) {
    const onx_atom *name = name_of(sym);
    const owner *o = name ? onx_map_get(&x->owners, name, no_name) : NULL;
    while (o && !onx_graph_sees(x->graph, o->value->graph)) o = o->next;
    return o;
}

bool onx_x_own(onx_export *x, const onx_sym *sym, onx_value *value, size_t axis) {
    const onx_atom *name = name_of(sym);
    if (!name || owner_of(x, sym)) return true;
    owner *o = onx_x_alloc(x, sizeof *o);
    if (!o) return false;
    *o = (owner){onx_map_get(&x->owners, name, no_name), value, axis};
    return onx_map_put(&x->owners, name, no_name, o) || onx_x_nomem(x);
}

/* ─ One size, as int64[1] ────────────────────────────────────────────────────────────────────── */

static onx_value *shape_part(onx_export *x, onx_value *value, size_t from, size_t to) {
    return onx_emit_with(
        x, "Shape", ONX_ATTRS(ONX_AI("start", (int64_t)from), ONX_AI("end", (int64_t)to)), value);
}

static onx_value *make(onx_export *x, const onx_sym *sym);

static onx_value *divide(onx_export *x, const onx_atom *atom) {
    onx_value *a = make(x, atom->a), *b = make(x, atom->b);
    if (atom->a->range.lo < 0 && a && b) a = onx_emit(x, "Sub", a, onx_emit(x, "Mod", a, b));
    return a && b ? onx_emit(x, "Div", a, b) : NULL;
}

/* Recursion is as deep as atoms in atoms: ONX_SYM_DEPTH. */
static onx_value *make_atom(onx_export *x, const onx_atom *atom) {
    int64_t one = 1;
    switch (atom->kind) {
    case ONX_ATOM_FLOOR: return divide(x, atom);
    case ONX_ATOM_MIN: return onx_emit(x, "Min", make(x, atom->a), make(x, atom->b));
    case ONX_ATOM_MAX: return onx_emit(x, "Max", make(x, atom->a), make(x, atom->b));
    case ONX_ATOM_BROADCAST: {
        onx_value *a = make(x, atom->a), *b = make(x, atom->b);
        return a ? onx_emit(x, "Where", onx_emit(x, "Equal", a, onx_x_ints(x, 1, &one)), b, a)
                 : NULL;
    }
    default: {
        const owner *o = atom->kind == ONX_ATOM_NAME ? owner_of(x, atom->self) : NULL;
        if (o) return shape_part(x, o->value, o->axis, o->axis + 1);
        return onx_x_fail(x, ONX_UNSUPPORTED, "the size '%.*s' cannot be computed here",
                          ONX_FMT(atom->name));
    }
    }
}

static onx_value *make_term(onx_export *x, const onx_term *term) {
    int64_t coef = term->coef;
    onx_value *product = term->n && coef == 1 ? NULL : onx_x_ints(x, 1, &coef);
    for (uint32_t i = 0; i < term->n; i++) {
        onx_value *factor = make(x, term->factors[i]->self);
        product = product ? onx_emit(x, "Mul", factor, product) : factor;
    }
    return product;
}

static onx_value *make_sum(onx_export *x, const onx_sym *sym) {
    onx_value *sum = NULL;
    if (name_of(sym) || (sym->n == 1 && sym->terms[0].coef == 1 && sym->terms[0].n == 1))
        return make_atom(x, sym->terms[0].factors[0]);
    for (uint32_t i = 0; i < sym->n && onx_x_ok(x); i++) {
        onx_value *term = make_term(x, &sym->terms[i]);
        sum = sum ? onx_emit(x, "Add", sum, term) : term;
    }
    return sum;
}

static onx_value *make(onx_export *x, const onx_sym *sym) {
    int64_t number;
    if (!onx_x_ok(x)) return NULL;
    if (!sym) return onx_x_fail(x, ONX_UNSUPPORTED, "a size is not known");
    if (onx_sym_is_int(sym, &number)) return onx_x_ints(x, 1, &number);
    for (onx_graph *g = x->graph; g; g = g->outer) {
        onx_value *made = onx_map_get(&x->made, g, (onx_str){(const char *)&sym, sizeof sym});
        if (made) return made;
    }
    onx_value *value = make_sum(x, sym);
    const onx_sym **key = onx_x_alloc(x, sizeof *key);
    if (!value || !key) return NULL;
    *key = sym;
    if (!onx_map_put(&x->made, x->graph, (onx_str){(const char *)key, sizeof *key}, value))
        return onx_x_nomem(x);
    return value;
}

typedef struct search {
    const onx_export *x;
    bool all;
} search;

static void look_for(void *user, const onx_sym *name) {
    search *s = user;
    s->all = s->all && owner_of(s->x, name);
}

bool onx_x_has_size(onx_export *x, const onx_sym *sym) {
    search s = {x, sym != NULL};
    if (sym) onx_sym_names(sym, look_for, &s);
    return s.all;
}

onx_value *onx_x_size(onx_export *x, const onx_sym *sym) {
    int64_t number;
    if (sym && onx_sym_is_int(sym, &number)) return onx_x_int(x, number);
    return onx_x_squeeze(x, make(x, sym), 0);
}

onx_xv onx_x_size_of(onx_export *x, onx_value *value, size_t axis) {
    const onx_sym *dim = onx_x_dim(x, value, axis);
    if (dim) return onx_xv_sym(ONX_X_INT, dim);
    if (value && onx_x_ok(x))
        return onx_xv_run(ONX_X_INT, onx_x_squeeze(x, shape_part(x, value, axis, axis + 1), 0));
    return (onx_xv){.kind = ONX_X_NONE};
}

onx_value *onx_x_shape_of(onx_export *x, onx_value *value) {
    const onx_fact *fact = onx_x_fact(x, value);
    int64_t dim;
    bool known = fact->ranked;
    for (size_t i = 0; known && i < fact->rank; i++) known = onx_sym_is_int(fact->dims[i], &dim);
    if (known) return onx_x_dims(x, fact->rank, fact->dims);
    return onx_emit(x, "Shape", value);
}

/* ─ Shapes ───────────────────────────────────────────────────────────────────────────────────── */

/* Known numbers from `i` on, as one constant. */
static onx_value *known_run(onx_export *x, size_t n, const onx_xv *numbers, size_t *i) {
    size_t count = 0;
    int64_t *ints = onx_x_array(x, n + 1, sizeof *ints);
    if (!ints) return NULL;
    while (*i < n && onx_xv_known_int(&numbers[*i], &ints[count])) count++, ++*i;
    return onx_x_ints(x, count, ints);
}

/* Dimensions that follow each other in one value, from `i` on, as one part of its shape. */
static onx_value *shape_run(onx_export *x, const owner *o, size_t n, const onx_xv *numbers,
                            size_t *i) {
    size_t axis = o->axis;
    do axis++, ++*i;
    while (*i < n && numbers[*i].sym && onx_x_dim(x, o->value, axis) == numbers[*i].sym);
    if (axis == o->axis + 1) return make(x, numbers[*i - 1].sym);
    return shape_part(x, o->value, o->axis, axis);
}

static onx_value *next_part(onx_export *x, size_t n, const onx_xv *numbers, size_t *i) {
    int64_t ignored;
    const onx_xv *number = &numbers[*i];
    if (onx_xv_known_int(number, &ignored)) return known_run(x, n, numbers, i);
    const owner *o = owner_of(x, number->sym);
    if (o) return shape_run(x, o, n, numbers, i);
    ++*i;
    if (number->sym) return make(x, number->sym);
    int64_t one = 1;
    onx_value *value = onx_x_cast(x, onx_x_scalar(x, number, ONX_DTYPE_NONE), ONX_DTYPE_I64);
    return value ? onx_emit(x, "Reshape", value, onx_x_ints(x, 1, &one)) : NULL;
}

onx_value *onx_x_shape(onx_export *x, size_t n, const onx_xv *numbers) {
    size_t count = 0, i = 0;
    onx_value **parts = onx_x_array(x, n + 1, sizeof *parts);
    if (!parts) return NULL;
    if (!n) return onx_x_ints(x, 0, NULL);
    while (i < n && onx_x_ok(x)) parts[count++] = next_part(x, n, numbers, &i);
    return onx_x_ok(x) ? onx_x_concat(x, count, parts, 0) : NULL;
}

static onx_xv *numbers_of(onx_export *x, size_t n, const onx_sym *const *dims) {
    onx_xv *numbers = onx_x_array(x, n + 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < n; i++) numbers[i] = onx_xv_sym(ONX_X_INT, dims[i]);
    return numbers;
}

onx_value *onx_x_dims(onx_export *x, size_t n, const onx_sym *const *dims) {
    onx_xv *numbers = numbers_of(x, n, dims);
    return numbers ? onx_x_shape(x, n, numbers) : NULL;
}

/* ─ Reshape ──────────────────────────────────────────────────────────────────────────────────── */

static bool is_rest(const onx_xv *number) {
    int64_t value;
    return onx_xv_known_int(number, &value) && value == -1;
}

/* What -1 stands for, where that can be told: what is left of the elements. */
static const onx_sym *rest_of(onx_export *x, const onx_fact *fact, size_t n, const onx_xv *target) {
    const onx_sym *all = onx_sym_int(x->syms, 1), *others = all;
    for (size_t i = 0; i < fact->rank; i++) all = onx_sym_mul(x->syms, all, fact->dims[i]);
    for (size_t i = 0; i < n; i++)
        if (!is_rest(&target[i])) others = onx_sym_mul(x->syms, others, target[i].sym);
    int64_t zero;
    if (others && onx_sym_is_int(others, &zero) && zero == 0) return NULL;
    const onx_sym *rest = onx_sym_floordiv(x->syms, all, others);
    return rest && onx_sym_mul(x->syms, rest, others) == all ? rest : NULL;
}

/* Is it dimension `i` of the input as it is, whatever size that has? */
static bool is_kept(const onx_fact *fact, size_t i, const onx_xv *number) {
    return number->sym && i < fact->rank && fact->dims[i] == number->sym;
}

static bool is_same(const onx_fact *fact, size_t n, const onx_xv *target) {
    bool same = n == fact->rank;
    for (size_t i = 0; same && i < n; i++) same = is_kept(fact, i, &target[i]);
    return same;
}

/* Zeros for dimensions that stay, -1 for one that is open: false where that does not do. */
static bool plan(const onx_fact *fact, size_t n, const onx_xv *target, int64_t *ints) {
    size_t open = 0;
    for (size_t i = 0; i < n; i++) {
        if (onx_xv_known_int(&target[i], &ints[i])) {
            if (ints[i] == 0) return false;
            open += ints[i] == -1;
        } else if (is_kept(fact, i, &target[i])) {
            ints[i] = 0;
        } else {
            ints[i] = -1;
            open++;
        }
    }
    return open <= 1;
}

/* `like`: a value that has that shape; NULL: none is known. */
static onx_value *reshape(onx_export *x, onx_value *value, size_t n, const onx_xv *numbers,
                          onx_value *like) {
    size_t rank = onx_x_rank(x, value);
    onx_xv *target = onx_x_array(x, n + 1, sizeof *target);
    int64_t *ints = onx_x_array(x, n + 1, sizeof *ints);
    if (rank == SIZE_MAX || !target || !ints) return NULL;
    const onx_fact *fact = onx_x_fact(x, value);
    bool zero = false;
    for (size_t i = 0; i < n; i++) {
        int64_t size;
        const onx_sym *rest = is_rest(&numbers[i]) ? rest_of(x, fact, n, numbers) : NULL;
        target[i] = rest ? onx_xv_sym(ONX_X_INT, rest) : numbers[i];
        zero |= onx_xv_known_int(&target[i], &size) && size == 0;
    }
    if (is_same(fact, n, target)) return value;
    if (plan(fact, n, target, ints)) return onx_emit(x, "Reshape", value, onx_x_ints(x, n, ints));
    return onx_emit_with(x, "Reshape", zero ? ONX_ATTRS(ONX_AI("allowzero", 1)) : NULL, value,
                         like ? onx_x_shape_of(x, like) : onx_x_shape(x, n, target));
}

onx_value *onx_x_reshape(onx_export *x, onx_value *value, size_t n, const onx_xv *numbers) {
    return reshape(x, value, n, numbers, NULL);
}

onx_value *onx_x_reshape_to(onx_export *x, onx_value *value, size_t n, const onx_sym *const *dims) {
    onx_xv *numbers = numbers_of(x, n, dims);
    return numbers ? onx_x_reshape(x, value, n, numbers) : NULL;
}

onx_value *onx_x_reshape_like(onx_export *x, onx_value *value, onx_value *like) {
    size_t rank = onx_x_rank(x, like);
    onx_xv *numbers = rank == SIZE_MAX ? NULL : numbers_of(x, rank, onx_x_fact(x, like)->dims);
    return numbers ? reshape(x, value, rank, numbers, like) : NULL;
}

onx_value *onx_x_expand(onx_export *x, onx_value *value, size_t n, const onx_sym *const *dims) {
    const onx_fact *fact = onx_x_fact(x, value);
    bool same = value && fact->ranked && fact->rank == n;
    for (size_t i = 0; same && i < n; i++) same = fact->dims[i] == dims[i];
    if (same) return value;
    return value ? onx_emit(x, "Expand", value, onx_x_dims(x, n, dims)) : NULL;
}
