/* pt2_symbols.c: names for the symbols of a program, from the sizes of its inputs.
 *
 *     x: [s77, 3]             s77 is x_dim_0, or what the user calls that dimension
 *     y: [s77, 2*s5 + 1]      where no dimension is s5 itself, this one is y_dim_1, and s5 is
 *                             (y_dim_1 - 1)/2
 *     z: [s5*s6]              z_dim_0: a size of its own; that it is a product is noted
 *
 * So every size is a number, a name that a dimension has, or computed from such. */
#include "export/pt2_walk.h"

typedef struct terms { /* the symbols of an expression */
    onx_pt2_walk *w;
    onx_str symbol; /* the last one that has no name yet */
    size_t n;       /* how often such came up */
    bool mixed;     /* there are others */
    int64_t at;     /* what it stands for, when that is asked */
    bool as_number;
} terms;

static const onx_sym *lookup(void *user, onx_str name) {
    terms *t = user;
    const onx_sym *known = onx_map_get(&t->w->symbols, NULL, name);
    if (known) return t->mixed = true, known;
    if (t->n && !onx_str_eq(t->symbol, name)) t->mixed = true;
    t->symbol = name;
    t->n++;
    return t->as_number ? onx_sym_int(t->w->x->syms, t->at) : onx_sym_name(t->w->x->syms, name);
}

static const onx_sym *parse(onx_str expr, terms *t) {
    return onx_pt2_expr(t->w->x->syms, expr, lookup, t);
}

/* "x_dim_0", or what the user calls it. */
static const onx_sym *size_name(onx_pt2_walk *w, const char *input, size_t axis, size_t rank) {
    const char *given = onx_xnames_size(w->names, input, axis, rank);
    onx_buf text;
    onx_buf_init(&text, w->x->ctx);
    if (given)
        onx_buf_puts(&text, given);
    else
        onx_buf_printf(&text, "%s_dim_%zu", input, axis);
    const onx_sym *sym =
        text.failed ? NULL : onx_sym_name(w->x->syms, (onx_str){text.data, text.size});
    onx_buf_fini(&text);
    return sym ? sym : onx_x_nomem(w->x);
}

static bool define(onx_pt2_walk *w, onx_str symbol, const onx_sym *sym) {
    if (!sym) return onx_x_nomem(w->x);
    return onx_map_put(&w->symbols, NULL, symbol, (void *)(uintptr_t)sym) || onx_x_nomem(w->x);
}

/* The expression where its one symbol is a number. */
static bool value_at(onx_pt2_walk *w, onx_str expr, int64_t at, int64_t *out) {
    terms t = {.w = w, .as_number = true, .at = at};
    const onx_sym *sym = parse(expr, &t);
    return sym && onx_sym_is_int(sym, out);
}

/* a*s + b = d, for the only symbol s without a name: s = (d - b)/a. */
static const onx_sym *solve(onx_pt2_walk *w, onx_str expr, const onx_sym *d) {
    int64_t v[3];
    for (int i = 0; i < 3; i++)
        if (!value_at(w, expr, i + 2, &v[i])) return NULL;
    int64_t a = v[1] - v[0], b = v[0] - 2 * a;
    if (a <= 0 || v[2] - v[1] != a) return NULL;
    onx_syms *syms = w->x->syms;
    return onx_sym_floordiv(syms, onx_sym_sub(syms, d, onx_sym_int(syms, b)), onx_sym_int(syms, a));
}

/* Of one dimension; first for symbols that stand alone, then for those in sums and products. */
static bool name_symbol(onx_pt2_walk *w, const onx_pt2_tensor *tensor, const char *input,
                        size_t axis, bool alone) {
    terms t = {.w = w};
    onx_str expr = tensor->sizes[axis].expr;
    const onx_sym *sym = parse(expr, &t);
    if (!sym || t.n == 0 || t.mixed) return true;
    if (t.n == 1 && sym == onx_sym_name(w->x->syms, t.symbol))
        return define(w, t.symbol, size_name(w, input, axis, tensor->rank));
    const onx_sym *name = alone ? NULL : size_name(w, input, axis, tensor->rank);
    const onx_sym *solved = name ? solve(w, expr, name) : NULL;
    return onx_x_ok(w->x) && (!solved || define(w, t.symbol, solved));
}

const char *onx_pt2_input_name(onx_pt2_walk *w, size_t i, size_t at) {
    const onx_pt2_arg *arg = &w->program->graph->in[at];
    onx_str own = arg->kind == ONX_PT2_NAME ? arg->str : w->program->in[at].target, copy;
    if (!onx_arena_str(&w->x->arena, own, &copy)) return onx_x_nomem(w->x);
    return onx_xnames_input(w->names, i, copy.data);
}

static bool name_all(onx_pt2_walk *w, bool alone) {
    const onx_pt2 *p = w->program;
    for (size_t i = 0, user = 0; i < p->n_in; i++) {
        const onx_pt2_arg *arg = &p->graph->in[i];
        if (p->in[i].kind != ONX_PT2_IN_USER || arg->kind != ONX_PT2_NAME) continue;
        const char *name = onx_pt2_input_name(w, user++, i);
        const onx_pt2_tensor *tensor = onx_map_get(&p->tensors, p->graph, arg->str);
        for (size_t k = 0; name && tensor && k < tensor->rank; k++)
            if (tensor->sizes[k].expr.data && !name_symbol(w, tensor, name, k, alone)) return false;
    }
    return onx_x_ok(w->x);
}

bool onx_pt2_symbols(onx_pt2_walk *w) {
    return name_all(w, true) && name_all(w, false);
}

static void note_form(onx_pt2_walk *w, const char *name, size_t axis, const onx_sym *form) {
    onx_buf text;
    onx_buf_init(&text, w->x->ctx);
    if (form) onx_sym_print(form, &text);
    onx_x_note(w->x, "dimension %zu of '%s' must be %.*s: so it was exported", axis, name,
               ONX_FMT(((onx_str){text.data, text.size})));
    onx_buf_fini(&text);
}

bool onx_pt2_input_sizes(onx_pt2_walk *w, const onx_pt2_tensor *tensor, const char *name,
                         const onx_sym **out) {
    for (size_t i = 0; i < tensor->rank; i++) {
        const onx_pt2_size *size = &tensor->sizes[i];
        const char *wish = onx_xnames_size(w->names, name, i, tensor->rank);
        if (!size->expr.data) {
            out[i] = onx_sym_int(w->x->syms, size->value);
            if (wish)
                onx_x_note(w->x,
                           "dimension %zu of '%s' is %lld, not '%s': it was fixed in Python "
                           "(dynamic_shapes of torch.export.export)",
                           i, name, (long long)size->value, wish);
            continue;
        }
        terms t = {.w = w};
        const onx_sym *form = parse(size->expr, &t), *own = size_name(w, name, i, tensor->rank);
        if (!own) return false;
        out[i] = form && !t.n && !onx_sym_has(form, own) ? form : own;
        if (out[i] != form) note_form(w, name, i, form);
    }
    return onx_x_ok(w->x);
}
