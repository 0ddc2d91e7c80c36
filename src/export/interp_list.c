/* interp_list.c: Python's lists, and what lists and dicts have in common. Programs take them apart,
 * change them and put them together while they are run. What is in them may be anything, also what
 * is not known. */
#include "export/interp_builtin.h"

static bool is_list(const onx_xv *v) {
    return onx_xv_is_list(v);
}

onx_xv onx_py_list_new(onx_interp *in, size_t n, const onx_xv *v) {
    if (!onx_py_spend(in, n)) return onx_py_none();
    return onx_py_fresh(in, onx_xv_list(in->x, ONX_X_LIST, n, v));
}

/* An index, counted from the end when negative; `end`: may be behind the last. */
static bool index_of(onx_interp *in, const onx_xv *v, size_t n, bool end, size_t *out) {
    int64_t i;
    if (!onx_xv_known_int(v, &i))
        return onx_x_fail(in->x, ONX_UNSUPPORTED, "an index into a list depends on data");
    i += i < 0 ? (int64_t)n : 0;
    if (i < 0 || (uint64_t)i >= n + end)
        return onx_x_fail(in->x, ONX_INVALID, "an index beyond a list of %zu", n);
    *out = (size_t)i;
    return true;
}

void onx_py_list_remove(onx_xlist *list, size_t i) {
    memmove(list->v + i, list->v + i + 1, (list->n - i - 1) * sizeof *list->v);
    list->n--;
}

static bool list_insert(onx_interp *in, onx_xlist *list, size_t i, onx_xv v) {
    if (!onx_xlist_add(in->x, list, v)) return false;
    memmove(list->v + i + 1, list->v + i, (list->n - 1 - i) * sizeof *list->v);
    list->v[i] = v;
    return true;
}

/* The element equal to `v`; n: none. */
size_t onx_py_position(onx_interp *in, const onx_xlist *list, const onx_xv *v) {
    if (!onx_py_spend(in, list->n)) return list->n;
    for (size_t i = 0; i < list->n && onx_x_ok(in->x); i++) {
        bool equal = false;
        onx_xv same = onx_py_equal(in, &list->v[i], v);
        if (!onx_xv_known_bool(&same, &equal) && onx_x_ok(in->x))
            onx_x_fail(in->x, ONX_UNSUPPORTED,
                       "whether a list or dict has a value depends on data");
        if (equal) return i;
    }
    return list->n;
}

/* ─ Both ─────────────────────────────────────────────────────────────────────────────────────── */

static bool length(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    size_t count = 0;
    const onx_xv *v = &a[0].v;
    (void)row, (void)n;
    if (v->kind == ONX_X_TENSOR)
        *out = onx_x_size_of(in->x, onx_xt_value(in->x, v->tensor), 0);
    else if (v->kind == ONX_X_DICT)
        *out = onx_xv_int(in->x, (int64_t)v->dict->keys.n);
    else if (onx_py_items(v, &count))
        *out = onx_xv_int(in->x, (int64_t)count);
    else
        return false;
    return true;
}

static bool get_item(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    (void)row, (void)n;
    *out = onx_py_item(in, &a[0].v, &a[1].v);
    return true;
}

static bool same_shape(onx_export *x, const onx_xv *a, const onx_xv *b) {
    if (a->kind != b->kind) return false;
    if (a->kind != ONX_X_TENSOR) return onx_xv_is_number(a);
    onx_value *va = onx_xv_value(x, a), *vb = onx_xv_value(x, b);
    size_t rank = onx_x_rank(x, va);
    bool same = a->tensor->dtype == b->tensor->dtype && rank == onx_x_rank(x, vb);
    for (size_t i = 0; same && i < rank; i++) same = onx_x_dim(x, va, i) == onx_x_dim(x, vb, i);
    return same;
}

/* Which element is set only the model knows: each is what it was, or the new one. */
static void set_by_data(onx_interp *in, const onx_xlist *list, const onx_xv *index,
                        const onx_xv *v) {
    onx_export *x = in->x;
    onx_xv at = onx_x_arith(x, "mod", *index, onx_xv_int(x, (int64_t)list->n));
    for (size_t i = 0; i < list->n && onx_x_ok(x) && onx_py_spend(in, 1); i++) {
        onx_xv is = onx_x_arith(x, "eq", at, onx_xv_int(x, (int64_t)i)), *old = &list->v[i];
        if (!same_shape(x, old, v)) {
            onx_x_fail(x, ONX_UNSUPPORTED, "an index into a list depends on data");
            onx_x_hint(x, "make the list a tensor (torch.stack), and write to that");
            return;
        }
        onx_value *one = onx_emit(x, "Where", onx_x_scalar(x, &is, ONX_DTYPE_BOOL),
                                  onx_xv_value(x, v), onx_xv_value(x, old));
        onx_dtype dtype = v->kind == ONX_X_TENSOR ? v->tensor->dtype : ONX_DTYPE_NONE;
        *old = dtype ? onx_xv_tensor(x, one) : onx_xv_run(v->kind, one);
        if (dtype && onx_x_ok(x)) old->tensor->dtype = dtype;
    }
}

static bool set_item(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    size_t i = 0;
    (void)row, (void)n;
    *out = a[0].v;
    if (a[0].v.kind == ONX_X_DICT) {
        if (onx_py_may_change(in, &a[0].v, 0)) onx_py_dict_set(in, a[0].v.dict, a[1].v, a[2].v);
        return true;
    }
    if (a[0].v.kind != ONX_X_LIST) return a[0].v.kind == ONX_X_UNKNOWN;
    if (!onx_py_may_change(in, &a[0].v, 0)) return true;
    if (a[1].v.kind == ONX_X_INT && a[1].v.value && a[0].v.list->n)
        set_by_data(in, a[0].v.list, &a[1].v, &a[2].v);
    else if (index_of(in, &a[1].v, a[0].v.list->n, false, &i))
        a[0].v.list->v[i] = a[2].v;
    return true;
}

static bool delete_item(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                        onx_xv *out) {
    size_t i = 0;
    (void)row, (void)n;
    *out = onx_py_none();
    if (a[0].v.kind == ONX_X_DICT && onx_py_may_change(in, &a[0].v, 0)) {
        onx_xdict *dict = a[0].v.dict;
        i = onx_py_position(in, &dict->keys, &a[1].v);
        if (i == dict->keys.n) return onx_x_fail(in->x, ONX_INVALID, "del of a missing key");
        onx_py_list_remove(&dict->keys, i);
        onx_py_list_remove(&dict->values, i);
        return true;
    }
    if (a[0].v.kind != ONX_X_LIST) return a[0].v.kind == ONX_X_UNKNOWN;
    if (onx_py_may_change(in, &a[0].v, 0) && index_of(in, &a[1].v, a[0].v.list->n, false, &i))
        onx_py_list_remove(a[0].v.list, i);
    return true;
}

static bool contains(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    const onx_xv *v = &a[0].v;
    (void)row, (void)n;
    if (v->kind != ONX_X_DICT && !is_list(v)) return false;
    const onx_xlist *list = v->kind == ONX_X_DICT ? &v->dict->keys : v->list;
    *out = onx_xv_bool(in->x, onx_py_position(in, list, &a[1].v) < list->n);
    return true;
}

static bool clear(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)row, (void)n;
    *out = onx_py_none();
    if (a[0].v.kind == ONX_X_DICT && onx_py_may_change(in, &a[0].v, 0))
        a[0].v.dict->keys.n = a[0].v.dict->values.n = 0;
    else if (a[0].v.kind == ONX_X_LIST && onx_py_may_change(in, &a[0].v, 0))
        a[0].v.list->n = 0;
    return a[0].v.kind == ONX_X_DICT || a[0].v.kind == ONX_X_LIST;
}

static bool copy(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)row, (void)n;
    if (a[0].v.kind == ONX_X_DICT)
        *out = onx_py_dict_copy(in, a[0].v.dict);
    else if (is_list(&a[0].v))
        *out = onx_py_list_new(in, a[0].v.list->n, a[0].v.list->v);
    else
        return a[0].v.kind == ONX_X_UNKNOWN;
    return true;
}

/* ─ Lists ────────────────────────────────────────────────────────────────────────────────────── */

static bool append(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    (void)row, (void)n;
    *out = a[0].v;
    if (a[0].v.kind != ONX_X_LIST) return a[0].v.kind == ONX_X_UNKNOWN;
    if (onx_py_may_change(in, &a[0].v, 0)) onx_xlist_add(in->x, a[0].v.list, a[1].v);
    return true;
}

static bool extend(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    (void)row, (void)n;
    *out = a[0].v;
    if (a[0].v.kind != ONX_X_LIST || !is_list(&a[1].v)) return a[0].v.kind == ONX_X_UNKNOWN;
    size_t count = a[1].v.list->n;
    if (!onx_py_may_change(in, &a[0].v, 0) || !onx_py_spend(in, count)) return true;
    for (size_t i = 0; i < count && onx_x_ok(in->x); i++)
        onx_xlist_add(in->x, a[0].v.list, a[1].v.list->v[i]);
    return true;
}

static bool insert(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    size_t i = 0;
    (void)row, (void)n;
    *out = onx_py_none();
    if (a[0].v.kind != ONX_X_LIST) return a[0].v.kind == ONX_X_UNKNOWN;
    if (onx_py_may_change(in, &a[0].v, 0) && index_of(in, &a[1].v, a[0].v.list->n, true, &i))
        list_insert(in, a[0].v.list, i, a[2].v);
    return true;
}

static bool pop(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    onx_xv last = onx_xv_int(in->x, -1);
    size_t i = 0;
    (void)row;
    if (a[0].v.kind == ONX_X_DICT && n >= 2) {
        onx_xdict *dict = a[0].v.dict;
        i = onx_py_position(in, &dict->keys, &a[1].v);
        if (i == dict->keys.n && n < 3)
            return onx_x_fail(in->x, ONX_INVALID, "pop of a missing key");
        *out = i < dict->keys.n ? dict->values.v[i] : a[2].v;
        return i == dict->keys.n || delete_item(in, row, 2, a, &last);
    }
    if (a[0].v.kind != ONX_X_LIST) return a[0].v.kind == ONX_X_UNKNOWN;
    if (!onx_py_may_change(in, &a[0].v, 0) ||
        !index_of(in, n > 1 ? &a[1].v : &last, a[0].v.list->n, false, &i))
        return true;
    *out = a[0].v.list->v[i];
    onx_py_list_remove(a[0].v.list, i);
    return true;
}

static bool reverse(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                    onx_xv *out) {
    (void)row, (void)n;
    *out = onx_py_none();
    if (a[0].v.kind != ONX_X_LIST) return false;
    onx_xlist *list = a[0].v.list;
    for (size_t i = 0; onx_py_may_change(in, &a[0].v, 0) && i < list->n / 2; i++) {
        onx_xv swapped = list->v[i];
        list->v[i] = list->v[list->n - 1 - i];
        list->v[list->n - 1 - i] = swapped;
    }
    return true;
}

static bool find(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)n;
    if (!is_list(&a[0].v)) return false;
    size_t i = onx_py_position(in, a[0].v.list, &a[1].v);
    bool found = i < a[0].v.list->n, drop = row->word[0] == 'r';
    *out = drop ? onx_py_none() : onx_xv_int(in->x, (int64_t)i);
    if (!found) return onx_x_fail(in->x, ONX_INVALID, "a value that is not in the list");
    if (drop && onx_py_may_change(in, &a[0].v, 0)) onx_py_list_remove(a[0].v.list, i);
    return true;
}

static bool count(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)row, (void)n;
    if (!is_list(&a[0].v)) return false;
    onx_xv total = onx_xv_int(in->x, 0);
    for (size_t i = 0; i < a[0].v.list->n && onx_x_ok(in->x); i++) {
        onx_xv same = onx_py_equal(in, &a[0].v.list->v[i], &a[1].v);
        if (same.kind == ONX_X_UNKNOWN) return true;
        total = onx_x_arith(in->x, "add", total, onx_x_to_int(in->x, same));
    }
    *out = total;
    return true;
}

/* list[start:end:step], as Python has it. */
static bool slice(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)row;
    if (!is_list(&a[0].v)) return false;
    int64_t size = (int64_t)a[0].v.list->n, at[3] = {0, size, 1};
    if (n > 3 && !onx_xv_known_int(&a[3].v, &at[2]) && a[3].v.kind != ONX_X_NONE) at[2] = 0;
    bool back = at[2] < 0;
    if (at[2] == 0) return onx_x_fail(in->x, ONX_UNSUPPORTED, "a slice by steps of 0, or of data");
    if (back) at[0] = size - 1, at[1] = -1;
    for (size_t i = 1; i < n && i < 3; i++) {
        if (a[i].v.kind == ONX_X_NONE) continue;
        if (!onx_xv_known_int(&a[i].v, &at[i - 1]))
            return onx_x_fail(in->x, ONX_UNSUPPORTED, "a slice of a list depends on data");
        at[i - 1] += at[i - 1] < 0 ? size : 0;
        if (at[i - 1] < -back) at[i - 1] = -back;
        if (at[i - 1] > size - back) at[i - 1] = size - back;
    }
    int64_t step = at[2] > size ? size + 1 : at[2] < -size ? -size - 1 : at[2];
    *out = onx_py_list_new(in, 0, NULL);
    for (int64_t i = at[0]; (back ? i > at[1] : i < at[1]) && onx_x_ok(in->x); i += step)
        onx_xlist_add(in->x, out->list, a[0].v.list->v[i]);
    return true;
}

static bool concat(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    if (!is_list(&a[0].v) || !is_list(&a[1].v)) return false;
    if (row->word[0] == '_') return extend(in, row, n, a, out);
    onx_xlist *x = a[0].v.list, *y = a[1].v.list;
    if (!onx_py_spend(in, y->n)) return true;
    *out = onx_py_list_new(in, x->n, x->v);
    for (size_t i = 0; i < y->n && onx_x_ok(in->x); i++) onx_xlist_add(in->x, out->list, y->v[i]);
    return true;
}

static bool repeat(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    enum { MOST = 1 << 20 };
    int64_t times;
    (void)row, (void)n;
    bool first = a[0].v.kind == ONX_X_LIST;
    const onx_xv *list = &a[first ? 0 : 1].v;
    if (list->kind != ONX_X_LIST || !onx_xv_known_int(&a[first ? 1 : 0].v, &times)) return false;
    if (times > 0 && (uint64_t)times > MOST / (list->list->n + 1))
        return onx_x_fail(in->x, ONX_LIMIT, "a list of more than %d elements", MOST);
    *out = onx_py_list_new(in, 0, NULL);
    for (int64_t k = 0; k < times && onx_py_spend(in, list->list->n + 1); k++)
        for (size_t i = 0; i < list->list->n && onx_x_ok(in->x); i++)
            onx_xlist_add(in->x, out->list, list->list->v[i]);
    return true;
}

static bool sort(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    enum { MOST = 4096 };
    bool down = false;
    if (a[0].v.kind != ONX_X_LIST) return false;
    if (n > 1) (void)onx_xv_known_bool(&a[1].v, &down);
    onx_xlist *list = a[0].v.list;
    *out = onx_py_none();
    if (row->word[0] == 'n') {
        *out = onx_py_list_new(in, list->n, list->v);
        list = out->list;
    } else if (!onx_py_may_change(in, &a[0].v, 0)) {
        return true;
    }
    if (!onx_x_ok(in->x)) return true;
    if (list->n > MOST) return onx_x_fail(in->x, ONX_LIMIT, "sorting a list of %zu", list->n);
    for (size_t i = 1; i < list->n; i++)
        for (size_t k = i; k > 0; k--) {
            double x, y;
            if (!onx_xv_known_float(in->x, &list->v[k - 1], &x) ||
                !onx_xv_known_float(in->x, &list->v[k], &y))
                return onx_x_fail(in->x, ONX_UNSUPPORTED, "the order of a list depends on data");
            if (down ? x >= y : x <= y) break;
            onx_xv swapped = list->v[k];
            list->v[k] = list->v[k - 1];
            list->v[k - 1] = swapped;
        }
    return true;
}

/* list(range(n)) */
static bool range_list(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out) {
    int64_t count;
    (void)row, (void)n;
    if (!onx_xv_known_int(&a[0].v, &count))
        return onx_x_fail(in->x, ONX_UNSUPPORTED, "the length of a list depends on data");
    *out = onx_py_list_new(in, 0, NULL);
    for (int64_t i = 0; i < count && onx_py_spend(in, 1); i++)
        onx_xlist_add(in->x, out->list, onx_xv_int(in->x, i));
    return true;
}

/* The elements, or those of the second list where they are None. */
static bool or_default(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out) {
    (void)row, (void)n;
    if (!is_list(&a[0].v) || !is_list(&a[1].v) || a[1].v.list->n < a[0].v.list->n) return false;
    const onx_xlist *list = a[0].v.list, *defaults = a[1].v.list;
    size_t skip = defaults->n - list->n;
    *out = onx_py_list_new(in, list->n, list->v);
    for (size_t i = 0; i < list->n && onx_x_ok(in->x); i++)
        if (list->v[i].kind == ONX_X_NONE) out->list->v[i] = defaults->v[skip + i];
    return true;
}

/* any and all of bools, sum of numbers. */
static bool fold(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)n;
    if (a[0].v.kind != ONX_X_LIST) return false;
    bool sum = row->word[0] == 's', any = row->word[0] == 'o';
    onx_xv total = sum ? onx_xv_int(in->x, 0) : onx_xv_bool(in->x, !any);
    for (size_t i = 0; i < a[0].v.list->n && onx_x_ok(in->x); i++) {
        onx_xv v = a[0].v.list->v[i];
        if (!sum) v = onx_py_truth(in, v);
        if (v.kind == ONX_X_UNKNOWN) return true;
        total = onx_x_arith(in->x, sum ? "add" : row->word, total, v);
    }
    *out = total;
    return true;
}

const onx_py_row onx_py_lists[] = {
    {"len", 1, 1, length, ""},
    {"__getitem__", 2, 2, get_item, ""},
    {"_set_item", 3, 3, set_item, ""},
    {"Delete", 2, 2, delete_item, ""},
    {"__contains__", 2, 2, contains, ""},
    {"clear", 1, 1, clear, ""},
    {"copy", 1, 1, copy, ""},
    {"list", 1, 1, copy, ""},
    {"append", 2, 2, append, ""},
    {"extend", 2, 2, extend, ""},
    {"insert", 3, 3, insert, ""},
    {"pop", 1, 3, pop, ""},
    {"reverse", 1, 1, reverse, ""},
    {"index", 2, 2, find, "index"},
    {"remove", 2, 2, find, "remove"},
    {"count", 2, 2, count, ""},
    {"slice", 1, 4, slice, ""},
    {"add", 2, 2, concat, ""},
    {"add_", 2, 2, concat, "_"},
    {"mul", 2, 2, repeat, ""},
    {"sort", 1, 2, sort, ""},
    {"sorted", 1, 2, sort, "new"},
    {"prim::rangelist", 1, 1, range_list, ""},
    {"list_with_default", 2, 2, or_default, ""},
    {"any", 1, 1, fold, "or"},
    {"all", 1, 1, fold, "and"},
    {"sum", 1, 1, fold, "sum"},
    {NULL, 0, 0, NULL, NULL},
};
