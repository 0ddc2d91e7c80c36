/* interp_dict.c: Python's dicts, in the order in which their keys came. They are small: a key is
 * looked for one by one. */
#include "export/interp_builtin.h"

onx_xv *onx_py_find_key(onx_interp *in, const onx_xdict *dict, const onx_xv *key) {
    size_t i = onx_py_position(in, &dict->keys, key);
    return i < dict->keys.n ? &dict->values.v[i] : NULL;
}

void onx_py_dict_set(onx_interp *in, onx_xdict *dict, onx_xv key, onx_xv value) {
    onx_xv *found = onx_py_find_key(in, dict, &key);
    if (found)
        *found = value;
    else if (onx_x_ok(in->x) && onx_xlist_add(in->x, &dict->keys, key))
        onx_xlist_add(in->x, &dict->values, value);
}

onx_xv onx_py_dict_copy(onx_interp *in, const onx_xdict *dict) {
    onx_xv v = onx_py_fresh(in, onx_xv_dict(in->x));
    if (!onx_py_spend(in, dict->keys.n)) return v;
    for (size_t i = 0; i < dict->keys.n && onx_x_ok(in->x); i++) {
        onx_xlist_add(in->x, &v.dict->keys, dict->keys.v[i]);
        onx_xlist_add(in->x, &v.dict->values, dict->values.v[i]);
    }
    return v;
}

static bool dict_parts(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out) {
    (void)n;
    if (a[0].v.kind != ONX_X_DICT) return a[0].v.kind == ONX_X_UNKNOWN;
    const onx_xdict *dict = a[0].v.dict;
    *out = onx_py_list_new(in, 0, NULL);
    for (size_t i = 0; i < dict->keys.n && onx_x_ok(in->x); i++) {
        onx_xv pair[] = {dict->keys.v[i], dict->values.v[i]};
        onx_xv part = row->word[0] == 'k'   ? pair[0]
                      : row->word[0] == 'v' ? pair[1]
                                            : onx_xv_list(in->x, ONX_X_TUPLE, 2, pair);
        onx_xlist_add(in->x, out->list, part);
    }
    return true;
}

static bool dict_get(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    if (a[0].v.kind != ONX_X_DICT) return a[0].v.kind == ONX_X_UNKNOWN;
    onx_xv *found = onx_py_find_key(in, a[0].v.dict, &a[1].v);
    onx_xv missing = n > 2 ? a[2].v : onx_py_none();
    *out = found ? *found : missing;
    if (!found && row->word[0] == 's' && onx_py_may_change(in, &a[0].v, 0))
        onx_py_dict_set(in, a[0].v.dict, a[1].v, missing);
    return true;
}

static bool dict_update(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                        onx_xv *out) {
    (void)row, (void)n;
    *out = onx_py_none();
    if (a[0].v.kind != ONX_X_DICT || a[1].v.kind != ONX_X_DICT) return false;
    const onx_xdict *from = a[1].v.dict;
    for (size_t i = 0; onx_py_may_change(in, &a[0].v, 0) && i < from->keys.n && onx_x_ok(in->x);
         i++)
        onx_py_dict_set(in, a[0].v.dict, from->keys.v[i], from->values.v[i]);
    return true;
}

/* dict(), dict of pairs, dict of a dict. */
static bool dict_new(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    (void)row;
    if (n && a[0].v.kind == ONX_X_DICT) {
        *out = onx_py_dict_copy(in, a[0].v.dict);
        return true;
    }
    *out = onx_py_fresh(in, onx_xv_dict(in->x));
    for (size_t i = 0; n && onx_xv_is_list(&a[0].v) && i < a[0].v.list->n && onx_x_ok(in->x); i++) {
        const onx_xv *pair = &a[0].v.list->v[i];
        if (!onx_xv_is_list(pair) || pair->list->n != 2)
            return onx_x_fail(in->x, ONX_INVALID, "a dict of what are not pairs");
        onx_py_dict_set(in, out->dict, pair->list->v[0], pair->list->v[1]);
    }
    return true;
}

const onx_py_row onx_py_dicts[] = {
    {"keys", 1, 1, dict_parts, "keys"},    {"values", 1, 1, dict_parts, "values"},
    {"items", 1, 1, dict_parts, "items"},  {"get", 2, 3, dict_get, "get"},
    {"setdefault", 2, 3, dict_get, "set"}, {"update", 2, 2, dict_update, ""},
    {"dict", 0, 1, dict_new, ""},          {NULL, 0, 0, NULL, NULL},
};
