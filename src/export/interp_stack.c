/* interp_stack.c: lists that a loop of the model's fills. How long they become only the model
 * knows, so such a list is a tensor: its elements along a first axis. It can be stacked, joined,
 * counted, indexed, cut and made longer. While it is filled it can only be appended to. What a
 * tensor is taken apart into along an axis whose size only the model knows is such a list, too. */
#include "export/interp_internal.h"
#include "ir/sym_internal.h"

typedef struct stack {
    onx_xv all;     /* the tensor; NONE while the list is filled */
    onx_xkind kind; /* of the elements: TENSOR, or a number */
    bool gone;      /* it is a plain list again */
} stack;

static stack *stack_of(const onx_interp *in, const onx_xv *v) {
    bool may = v->kind == ONX_X_LIST && in->stacks.used;
    stack *s = may ? onx_map_get(&in->stacks, v->list, (onx_str){NULL, 0}) : NULL;
    return s && !s->gone ? s : NULL;
}

static stack *add_stack(onx_interp *in, const onx_xv *list) {
    stack *s = stack_of(in, list);
    if (s) return s;
    s = onx_x_alloc(in->x, sizeof *s);
    if (s && !onx_map_put(&in->stacks, list->list, (onx_str){NULL, 0}, s)) onx_x_nomem(in->x);
    return s;
}

/* ─ Filling ──────────────────────────────────────────────────────────────────────────────────── */

onx_xv onx_py_stack_open(onx_interp *in) {
    onx_xv list = onx_py_fresh(in, onx_xv_list(in->x, ONX_X_LIST, 0, NULL));
    if (onx_x_ok(in->x)) add_stack(in, &list);
    return list;
}

onx_xv onx_py_stack_turn(onx_interp *in, const onx_xv *list) {
    bool one = list->list->n == 1;
    onx_xv v = one ? list->list->v[0] : onx_py_none();
    stack *s = stack_of(in, list);
    if (!one || (v.kind != ONX_X_TENSOR && !onx_xv_is_number(&v))) {
        onx_x_fail(in->x, ONX_UNSUPPORTED,
                   "a loop that depends on data appends more than a tensor or a number to a list");
        return v;
    }
    s->kind = v.kind;
    return onx_xv_tensor(in->x, onx_xv_value(in->x, &v));
}

/* What was in the list before the loop, as a tensor. */
static onx_xv before(onx_interp *in, const onx_xv *list, const stack *s) {
    if (s->all.kind != ONX_X_NONE) return s->all;
    onx_xv copy = onx_xv_list(in->x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < list->list->n && onx_x_ok(in->x); i++) {
        onx_value *value = onx_xv_value(in->x, &list->list->v[i]);
        onx_xlist_add(in->x, copy.list, onx_xv_tensor(in->x, value));
    }
    return onx_aten_do(in->x, "stack", 1, &copy);
}

/* Of elements like `sample`: none. */
static onx_xv nothing(onx_interp *in, const onx_xv *sample) {
    onx_export *x = in->x;
    onx_value *value = onx_xv_value(x, sample);
    size_t rank = onx_x_rank(x, value);
    const onx_sym *dims[ONX_RANK_MAX + 1] = {onx_sym_int(x->syms, 0)};
    if (rank > ONX_RANK_MAX) return onx_py_none();
    for (size_t i = 0; i < rank; i++) dims[i + 1] = onx_x_dim(x, value, i);
    onx_value *zero = onx_x_number(x, onx_x_dtype(x, value), 0);
    onx_xv none = onx_xv_tensor(x, onx_x_expand(x, zero, rank + 1, dims));
    if (sample->kind == ONX_X_TENSOR && none.kind == ONX_X_TENSOR)
        none.tensor->dtype = sample->tensor->dtype;
    return none;
}

onx_xv onx_py_stack_all(onx_interp *in, const onx_xv *list, const onx_xv *sample) {
    const stack none = {.all = onx_py_none()}, *s = stack_of(in, list);
    if (list->kind != ONX_X_LIST || !onx_x_ok(in->x)) return *list;
    return s || list->list->n ? before(in, list, s ? s : &none) : nothing(in, sample);
}

onx_xv onx_py_stack_new(onx_interp *in, onx_xv all, onx_xkind kind) {
    onx_xv list = onx_py_fresh(in, onx_xv_list(in->x, ONX_X_LIST, 0, NULL));
    stack *s = onx_x_ok(in->x) ? add_stack(in, &list) : NULL;
    if (s) *s = (stack){.all = all, .kind = kind};
    return list;
}

void onx_py_stack_copy(onx_interp *in, const onx_xv *from, const onx_xv *to) {
    const stack *a = stack_of(in, from);
    stack *b = a ? add_stack(in, to) : stack_of(in, to);
    if (a && b)
        *b = *a;
    else if (b)
        b->gone = true;
}

void onx_py_stack_close(onx_interp *in, const onx_xv *list, const onx_xv *filled, onx_xv all) {
    const stack *inner = stack_of(in, filled);
    stack *s = add_stack(in, list);
    if (!s || !inner || !onx_x_ok(in->x)) return;
    if (list->list->n || s->all.kind != ONX_X_NONE) {
        onx_xv both[] = {before(in, list, s), all};
        onx_xv parts = onx_xv_list(in->x, ONX_X_LIST, 2, both);
        all = onx_aten_do(in->x, "cat", 1, &parts);
    }
    *s = (stack){.all = all, .kind = inner->kind};
    list->list->n = 0;
}

/* ─ Using ────────────────────────────────────────────────────────────────────────────────────── */

bool onx_py_is_stack(const onx_interp *in, const onx_xv *v) {
    return stack_of(in, v) != NULL;
}

/* A size that came up on the way, from data: the names that inference gives begin with '?'. */
static void look_for_data(void *user, const onx_sym *name) {
    bool *found = user;
    onx_str text = name->terms[0].factors[0]->name;
    *found |= text.size && text.data[0] == '?';
}

static bool is_from_data(const onx_sym *size) {
    bool found = false;
    onx_sym_names(size, look_for_data, &found);
    return found;
}

/* A length that depends on data is a number of the model's, for which nothing is guessed. */
onx_xv onx_py_stack_length(onx_interp *in, const onx_xv *v) {
    const stack *s = stack_of(in, v);
    if (s->all.kind == ONX_X_TENSOR) {
        onx_xv n = onx_x_size_of(in->x, onx_xt_value(in->x, s->all.tensor), 0);
        bool data = n.sym && is_from_data(n.sym);
        return data ? onx_xv_run(ONX_X_INT, onx_x_size(in->x, n.sym)) : n;
    }
    onx_x_fail(in->x, ONX_UNSUPPORTED, "a loop that depends on data looks at the list it fills");
    return onx_py_none();
}

static onx_xv element(onx_interp *in, const stack *s, onx_xv index) {
    onx_xv args[] = {s->all, onx_xv_int(in->x, 0), index};
    onx_xv v = onx_aten_do(in->x, "select", 3, args);
    if (s->kind == ONX_X_TENSOR || v.kind != ONX_X_TENSOR) return v;
    return onx_x_item(in->x, v.tensor);
}

onx_xv onx_py_stack_item(onx_interp *in, const onx_xv *v, onx_xv index) {
    const stack *s = stack_of(in, v);
    if (s && s->all.kind == ONX_X_TENSOR) return element(in, s, index);
    if (s) return onx_py_stack_length(in, v); /* fails */
    stack made = {.kind = v->list->n ? v->list->v[0].kind : ONX_X_NONE};
    for (size_t i = 0; i < v->list->n; i++)
        if (v->list->v[i].kind != made.kind) made.kind = ONX_X_NONE;
    if (made.kind != ONX_X_TENSOR && made.kind != ONX_X_INT && made.kind != ONX_X_FLOAT &&
        made.kind != ONX_X_BOOL) {
        onx_x_fail(in->x, ONX_UNSUPPORTED, "which element of a list is taken depends on data");
        onx_x_hint(in->x, "make the list a tensor (torch.stack), and index that");
        return onx_py_none();
    }
    made.all = onx_py_none();
    made.all = before(in, v, &made);
    return onx_x_ok(in->x) ? element(in, &made, index) : onx_py_none();
}

onx_xv onx_py_stack_sample(onx_interp *in, const onx_xv *list) {
    return onx_py_stack_item(in, list, onx_xv_int(in->x, 0));
}

/* The first axis moved to where stack or cat puts it. */
static onx_xv join(onx_interp *in, const stack *s, size_t n, const onx_xarg *args, bool cat) {
    int64_t dim = 0, rank = (int64_t)onx_x_rank(in->x, onx_xt_value(in->x, s->all.tensor));
    if (n > 1 && !onx_xv_known_int(&args[1].v, &dim))
        onx_x_fail(in->x, ONX_UNSUPPORTED, "an axis that depends on data");
    dim += dim < 0 ? rank - cat : 0;
    onx_xv move[] = {s->all, onx_xv_int(in->x, 0), onx_xv_int(in->x, dim)};
    onx_xv moved = onx_aten_do(in->x, "movedim", 3, move);
    if (!cat || !onx_x_ok(in->x)) return moved;
    onx_xv flat[] = {moved, onx_xv_int(in->x, dim), onx_xv_int(in->x, dim + 1)};
    return onx_aten_do(in->x, "flatten", 3, flat);
}

/* ─ Operators on such lists ──────────────────────────────────────────────────────────────────── */

static onx_xv flipped(onx_interp *in, onx_xv all) {
    onx_xv zero = onx_xv_int(in->x, 0);
    onx_xv args[] = {all, onx_xv_list(in->x, ONX_X_LIST, 1, &zero)};
    return onx_aten_do(in->x, "flip", 2, args);
}

static onx_xv sliced(onx_interp *in, onx_xv all, onx_xv start, onx_xv end, onx_xv step) {
    onx_xv args[] = {all, onx_xv_int(in->x, 0), start, end, step};
    return onx_aten_do(in->x, "slice", 5, args);
}

/* `v`, a list of either kind, behind `all`. */
static onx_xv extended(onx_interp *in, onx_xv all, const onx_xv *v) {
    const stack *other = stack_of(in, v), plain = {.all = onx_py_none()};
    if (!other && (v->kind != ONX_X_LIST || !v->list->n)) return all;
    onx_xv both[] = {all, before(in, v, other ? other : &plain)};
    onx_xv parts = onx_xv_list(in->x, ONX_X_LIST, 2, both);
    return onx_aten_do(in->x, "cat", 1, &parts);
}

typedef onx_xv operation(onx_interp *in, stack *s, size_t n, const onx_xarg *a);

static onx_xv do_length(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)s, (void)n;
    return onx_py_stack_length(in, &a[0].v);
}

static onx_xv do_item(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)n;
    return element(in, s, a[1].v);
}

static onx_xv do_stack(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    return join(in, s, n, a, false);
}

static onx_xv do_cat(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    return join(in, s, n, a, true);
}

static onx_xv do_reverse(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)n;
    if (onx_py_may_change(in, &a[0].v, 0)) s->all = flipped(in, s->all);
    return onx_py_none();
}

static onx_xv do_slice(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    onx_xv at[] = {onx_py_none(), onx_py_none(), onx_xv_int(in->x, 1)}, all = s->all;
    int64_t step;
    for (size_t i = 1; i < n && i < 4; i++)
        if (a[i].v.kind != ONX_X_NONE) at[i - 1] = a[i].v;
    bool back = onx_xv_known_int(&at[2], &step) && step == -1 && at[0].kind == ONX_X_NONE &&
                at[1].kind == ONX_X_NONE;
    all = back ? flipped(in, all) : sliced(in, all, at[0], at[1], at[2]);
    return onx_py_stack_new(in, all, s->kind);
}

static onx_xv do_append(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)n;
    onx_xv one = onx_xv_list(in->x, ONX_X_LIST, 1, &a[1].v);
    if (onx_x_ok(in->x) && onx_py_may_change(in, &a[0].v, 0)) s->all = extended(in, s->all, &one);
    return a[0].v;
}

static onx_xv do_extend(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)n;
    if (onx_py_may_change(in, &a[0].v, 0)) s->all = extended(in, s->all, &a[1].v);
    return a[0].v;
}

static onx_xv do_add(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)n;
    return onx_py_stack_new(in, extended(in, s->all, &a[1].v), s->kind);
}

static onx_xv do_copy(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)n, (void)a;
    return onx_py_stack_new(in, s->all, s->kind);
}

static onx_xv do_pop(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    onx_xv last = onx_xv_int(in->x, -1);
    int64_t index = -1;
    if (n > 1 && (!onx_xv_known_int(&a[1].v, &index) || index != -1))
        onx_x_fail(in->x, ONX_UNSUPPORTED,
                   "pop of another than the last element of a list whose "
                   "length depends on data");
    onx_xv v = element(in, s, last);
    if (onx_py_may_change(in, &a[0].v, 0))
        s->all = sliced(in, s->all, onx_py_none(), last, onx_xv_int(in->x, 1));
    return v;
}

static onx_xv do_tensor(onx_interp *in, stack *s, size_t n, const onx_xarg *a) {
    (void)n, (void)a;
    if (s->kind == ONX_X_TENSOR) onx_x_fail(in->x, ONX_INVALID, "torch.tensor of tensors");
    return s->all;
}

static const struct {
    const char *name;
    size_t least;
    operation *run;
} operations[] = {
    {"len", 1, do_length},    {"__getitem__", 2, do_item}, {"stack", 1, do_stack},
    {"cat", 1, do_cat},       {"reverse", 1, do_reverse},  {"slice", 1, do_slice},
    {"append", 2, do_append}, {"extend", 2, do_extend},    {"add_", 2, do_extend},
    {"add", 2, do_add},       {"copy", 1, do_copy},        {"list", 1, do_copy},
    {"pop", 1, do_pop},       {"tensor", 1, do_tensor},
};

/* unbind, and split by 1, along an axis whose size only a run knows. */
static bool take_apart(onx_interp *in, onx_str name, size_t n, const onx_xarg *a, onx_xv *out) {
    bool keep = onx_str_is(name, "split") && n > 1;
    if (in->x->parts || !n || a[0].v.kind != ONX_X_TENSOR || !(keep || onx_str_is(name, "unbind")))
        return false;
    int64_t dim = 0, size;
    size_t axis, rank = onx_x_rank(in->x, onx_xt_value(in->x, a[0].v.tensor));
    if (keep && (!onx_xv_known_int(&a[1].v, &size) || size != 1)) return false;
    if (n > 1u + keep && !onx_xv_known_int(&a[1 + keep].v, &dim)) return false;
    if (rank == SIZE_MAX || !onx_x_axis(in->x, dim, rank, &axis) ||
        onx_x_known_dim(in->x, onx_xt_value(in->x, a[0].v.tensor), axis, &size))
        return false;
    onx_xv move[] = {a[0].v, onx_xv_int(in->x, (int64_t)axis), onx_xv_int(in->x, 0)};
    onx_xv all = onx_aten_do(in->x, "movedim", 3, move);
    onx_xv grow[] = {all, onx_xv_int(in->x, (int64_t)axis + 1)};
    if (keep && onx_x_ok(in->x)) all = onx_aten_do(in->x, "unsqueeze", 2, grow);
    *out = onx_py_stack_new(in, all, ONX_X_TENSOR);
    return true;
}

bool onx_py_stack_call(onx_interp *in, onx_str name, size_t n, const onx_xarg *args, onx_xv *out) {
    stack *s = n ? stack_of(in, &args[0].v) : NULL;
    if (!s) return take_apart(in, name, n, args, out);
    *out = onx_py_none();
    if (s->all.kind != ONX_X_TENSOR) {
        if (onx_str_is(name, "append")) return false;
        if (onx_str_is(name, "add") || onx_str_is(name, "add_"))
            return onx_py_builtin(in, ONX_LIT("add_"), n, args, out);
        onx_py_stack_length(in, &args[0].v); /* fails */
        return true;
    }
    for (size_t i = 0; i < ONX_COUNT(operations); i++)
        if (onx_str_is(name, operations[i].name) && n >= operations[i].least) {
            *out = operations[i].run(in, s, n, args);
            return true;
        }
    onx_x_fail(in->x, ONX_UNSUPPORTED, "%.*s of a list whose length depends on data",
               ONX_FMT(name));
    return true;
}
