/* interp_stack.c: lists that a loop of the model's fills. How long they become only the model
 * knows, so such a list is a tensor: its elements along a first axis. It can be stacked, joined,
 * counted and indexed. While it is filled it can only be appended to. */
#include "export/interp_internal.h"

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

onx_xv onx_py_stack_length(onx_interp *in, const onx_xv *v) {
    const stack *s = stack_of(in, v);
    if (s->all.kind == ONX_X_TENSOR)
        return onx_x_size_of(in->x, onx_xt_value(in->x, s->all.tensor), 0);
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

static void stack_append(onx_interp *in, const onx_xv *list, stack *s, const onx_xv *v) {
    onx_xv one = onx_xv_list(in->x, ONX_X_LIST, 1, v);
    const stack none = {.all = onx_py_none()};
    if (!onx_py_may_change(in, list, 0)) return;
    onx_xv both[] = {s->all, before(in, &one, &none)};
    onx_xv parts = onx_xv_list(in->x, ONX_X_LIST, 2, both);
    if (onx_x_ok(in->x)) s->all = onx_aten_do(in->x, "cat", 1, &parts);
}

static onx_xv stack_pop(onx_interp *in, const onx_xv *list, stack *s) {
    onx_xv last = onx_xv_int(in->x, -1), zero = onx_xv_int(in->x, 0);
    onx_xv rest[] = {s->all, zero, zero, last}, v = element(in, s, last);
    if (onx_py_may_change(in, list, 0)) s->all = onx_aten_do(in->x, "slice", 4, rest);
    return v;
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

bool onx_py_stack_call(onx_interp *in, onx_str name, size_t n, const onx_xarg *args, onx_xv *out) {
    stack *s = n ? stack_of(in, &args[0].v) : NULL;
    if (!s) return false;
    bool full = s->all.kind == ONX_X_TENSOR, cat = onx_str_is(name, "cat");
    *out = onx_py_none();
    if (!full && onx_str_is(name, "append"))
        return false;
    else if (n == 2 && onx_str_is(name, "append"))
        stack_append(in, &args[0].v, s, &args[1].v);
    else if (full && n == 1 && onx_str_is(name, "pop"))
        *out = stack_pop(in, &args[0].v, s);
    else if (onx_str_is(name, "len"))
        *out = onx_py_stack_length(in, &args[0].v);
    else if (onx_str_is(name, "__getitem__") && n == 2)
        *out = onx_py_stack_item(in, &args[0].v, args[1].v);
    else if (full && (cat || onx_str_is(name, "stack")))
        *out = join(in, s, n, args, cat);
    else if (full && onx_str_is(name, "tensor") && s->kind != ONX_X_TENSOR)
        *out = s->all;
    else
        onx_x_fail(in->x, ONX_UNSUPPORTED, "%.*s of a list whose length depends on data",
                   ONX_FMT(name));
    return true;
}
