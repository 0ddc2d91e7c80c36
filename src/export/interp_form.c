/* interp_form.c: one form for values that differ, and the way there and back. */
#include "export/interp_form.h"
#include "export/interp_builtin.h"

enum { DEPTH = 32 };

typedef enum form_kind {
    ANY,   /* not set: whatever the other is */
    NONE,  /* None */
    LEAF,  /* a tensor, a number; or what must be one thing either way */
    PARTS, /* a list, tuple, dict or named tuple of so many */
    MAYBE, /* None, or parts[0] */
    STACK, /* a list of any length */
} form_kind;

struct onx_py_form {
    form_kind kind;
    onx_xv v; /* a value that has it; of STACK, an element */
    size_t n;
    const onx_py_form **parts;
};

static const onx_py_form any = {.kind = ANY};

static onx_py_form *new_form(onx_interp *in, form_kind kind, onx_xv v, size_t n) {
    onx_py_form *f = onx_x_alloc(in->x, sizeof *f);
    const onx_py_form **parts = onx_x_array(in->x, n + 1, sizeof *parts);
    if (!f || !parts) return NULL;
    *f = (onx_py_form){kind, v, n, parts};
    return f;
}

static bool is_record(const onx_xv *v) {
    const onx_py_object *object = v->kind == ONX_X_OBJECT ? v->object : NULL;
    return object && object->cls->kind == ONX_CLASS_NAMED_TUPLE;
}

/* What a value consists of; NULL: it is one thing. */
static const onx_xv *parts_of(const onx_xv *v, size_t *n) {
    if (v->kind == ONX_X_OBJECT && !is_record(v)) return NULL;
    if (v->kind != ONX_X_DICT) return onx_py_items(v, n);
    *n = v->dict->values.n;
    return v->dict->values.v;
}

static const onx_py_form *form_of(onx_interp *in, const onx_xv *v, unsigned depth) {
    size_t n = 0;
    const onx_py_maybe *maybe = onx_py_maybe_of(v);
    if (!onx_py_spend(in, 1)) return NULL;
    if (v->kind == ONX_X_UNKNOWN) return &any;
    if (v->kind == ONX_X_NONE) return new_form(in, NONE, *v, 0);
    if (onx_py_is_stack(in, v)) return new_form(in, STACK, onx_py_stack_sample(in, v), 0);
    const onx_xv *parts = maybe ? &maybe->value : parts_of(v, &n);
    onx_py_form *f = NULL;
    if (maybe)
        f = new_form(in, MAYBE, *v, n = 1);
    else
        f = new_form(in, parts ? PARTS : LEAF, *v, n);
    if (depth == DEPTH)
        return onx_x_fail(in->x, ONX_LIMIT, "lists within more than %d lists", DEPTH);
    for (size_t i = 0; f && i < n; i++)
        if (!(f->parts[i] = form_of(in, &parts[i], depth + 1))) return NULL;
    return f;
}

/* ─ Joining ──────────────────────────────────────────────────────────────────────────────────── */

static const onx_py_form *merge(onx_interp *in, const onx_py_form *a, const onx_py_form *b,
                                bool *changed);

static const onx_py_form *merge_maybe(onx_interp *in, const onx_py_form *a, const onx_py_form *b,
                                      bool *changed) {
    const onx_py_form *there[] = {a, b};
    for (size_t i = 0; i < 2; i++)
        there[i] = there[i]->kind == MAYBE  ? there[i]->parts[0]
                   : there[i]->kind == NONE ? &any
                                            : there[i];
    onx_py_form *f = new_form(in, MAYBE, a->v, 1);
    *changed |= a->kind != MAYBE;
    if (f) f->parts[0] = merge(in, there[0], there[1], changed);
    return f && f->parts[0] ? f : NULL;
}

/* An element of a list of either; UNKNOWN: there is none. */
static onx_xv sample_of(const onx_py_form *f) {
    if (f->kind == STACK) return f->v;
    return f->n ? f->parts[0]->v : onx_py_unknown();
}

static bool is_list(const onx_py_form *f) {
    return f->kind == STACK || (f->kind == PARTS && f->v.kind == ONX_X_LIST);
}

static const onx_py_form *merge_lists(onx_interp *in, const onx_py_form *a, const onx_py_form *b,
                                      bool *changed) {
    onx_xv sample = sample_of(a);
    if (sample.kind == ONX_X_UNKNOWN) sample = sample_of(b);
    if (sample.kind != ONX_X_TENSOR && !onx_xv_is_number(&sample)) return a;
    *changed |= a->kind != STACK;
    return new_form(in, STACK, sample, 0);
}

static bool same_keys(onx_interp *in, const onx_py_form *a, const onx_py_form *b) {
    bool same = true;
    for (size_t i = 0; a->v.kind == ONX_X_DICT && i < a->n && same; i++) {
        onx_xv equal = onx_py_equal(in, &a->v.dict->keys.v[i], &b->v.dict->keys.v[i]);
        same = onx_xv_known_bool(&equal, &same) && same;
    }
    if (!same) onx_x_fail(in->x, ONX_UNSUPPORTED, "the keys of a dict depend on data");
    return same;
}

static const onx_py_form *merge(onx_interp *in, const onx_py_form *a, const onx_py_form *b,
                                bool *changed) {
    if (b->kind == ANY) return a;
    if (a->kind == ANY) {
        *changed |= b->kind != LEAF;
        return b;
    }
    if (a->kind == NONE && b->kind == NONE) return a;
    if (a->kind == MAYBE || b->kind == MAYBE || a->kind == NONE || b->kind == NONE)
        return merge_maybe(in, a, b, changed);
    if (is_list(a) && is_list(b) && (a->kind == STACK || b->kind == STACK || a->n != b->n))
        return merge_lists(in, a, b, changed);
    if (a->kind != PARTS || b->kind != PARTS || a->v.kind != b->v.kind || a->n != b->n) return a;
    if (!same_keys(in, a, b)) return NULL;
    onx_py_form *f = new_form(in, PARTS, a->v, a->n);
    for (size_t i = 0; f && i < f->n; i++)
        if (!(f->parts[i] = merge(in, a->parts[i], b->parts[i], changed))) return NULL;
    return f;
}

const onx_py_form *onx_py_form_join(onx_interp *in, const onx_py_form *form, const onx_xv *v,
                                    bool *changed) {
    if (!onx_x_ok(in->x)) return NULL;
    const onx_py_form *other = form_of(in, v, 0);
    return other ? merge(in, form ? form : &any, other, changed) : NULL;
}

/* ─ There and back ───────────────────────────────────────────────────────────────────────────── */

static onx_xv encode_maybe(onx_interp *in, const onx_xv *v, const onx_py_form *form) {
    const onx_py_maybe *maybe = onx_py_maybe_of(v);
    onx_xv unknown = onx_py_unknown(), pair[2] = {unknown, *v};
    if (maybe)
        pair[0] = maybe->there, pair[1] = maybe->value;
    else if (v->kind != ONX_X_UNKNOWN)
        pair[0] = onx_xv_bool(in->x, v->kind != ONX_X_NONE);
    if (v->kind == ONX_X_NONE) pair[1] = unknown;
    pair[1] = onx_py_encode(in, &pair[1], form->parts[0]);
    return onx_xv_list(in->x, ONX_X_TUPLE, 2, pair);
}

/* The same parts, or others, in a value of the kind of `like`; named tuples are tuples. */
static onx_xv rebuild(onx_interp *in, const onx_xv *like, size_t n, const onx_xv *parts) {
    if (like->kind == ONX_X_OBJECT) return onx_xv_list(in->x, ONX_X_TUPLE, n, parts);
    if (like->kind != ONX_X_DICT) return onx_xv_list(in->x, like->kind, n, parts);
    onx_xv dict = onx_py_dict_copy(in, like->dict);
    if (onx_x_ok(in->x) && n) memcpy(dict.dict->values.v, parts, n * sizeof *parts);
    return dict;
}

onx_xv onx_py_encode(onx_interp *in, const onx_xv *v, const onx_py_form *form) {
    size_t n = 0;
    onx_xv unknown = onx_py_unknown();
    if (form->kind == NONE) return onx_py_none();
    if (form->kind == MAYBE) return encode_maybe(in, v, form);
    if (form->kind == STACK && v->kind != ONX_X_UNKNOWN) return onx_py_stack_all(in, v, &form->v);
    if (form->kind != PARTS) return *v;
    const onx_xv *parts = parts_of(v, &n);
    onx_xv *made = onx_x_array(in->x, form->n + 1, sizeof *made);
    if (v->kind != ONX_X_UNKNOWN && (!parts || n != form->n)) return *v;
    for (size_t i = 0; made && i < form->n && onx_x_ok(in->x); i++)
        made[i] = onx_py_encode(in, parts ? &parts[i] : &unknown, form->parts[i]);
    return onx_x_ok(in->x) ? rebuild(in, &form->v, form->n, made) : *v;
}

static onx_xv decode_maybe(onx_interp *in, const onx_xv *v, const onx_py_form *form) {
    bool there;
    onx_py_maybe *maybe = onx_x_alloc(in->x, sizeof *maybe);
    if (!maybe || v->kind != ONX_X_TUPLE) return onx_py_unknown();
    *maybe = (onx_py_maybe){v->list->v[0], onx_py_decode(in, &v->list->v[1], form->parts[0])};
    if (!onx_xv_known_bool(&maybe->there, &there)) return onx_py_other(onx_py_optional, maybe);
    return there ? maybe->value : onx_py_none();
}

static onx_xv decode_record(onx_interp *in, const onx_py_form *form, const onx_xv *parts) {
    const onx_py_object *object = form->v.object;
    onx_xv made = onx_py_new(in, object->cls, object->path, NULL);
    if (onx_x_ok(in->x))
        memcpy(((onx_py_object *)made.object)->attrs, parts, form->n * sizeof *parts);
    return made;
}

onx_xv onx_py_decode(onx_interp *in, const onx_xv *v, const onx_py_form *form) {
    size_t n = 0;
    if (!onx_x_ok(in->x) || v->kind == ONX_X_UNKNOWN) return *v;
    if (form->kind == MAYBE) return decode_maybe(in, v, form);
    if (form->kind == STACK) return onx_py_stack_new(in, *v, form->v.kind);
    const onx_xv *parts = form->kind == PARTS ? parts_of(v, &n) : NULL;
    onx_xv *made = onx_x_array(in->x, form->n + 1, sizeof *made);
    if (!parts || n != form->n || !made) return *v;
    for (size_t i = 0; i < n; i++) made[i] = onx_py_decode(in, &parts[i], form->parts[i]);
    if (form->v.kind == ONX_X_OBJECT) return decode_record(in, form, made);
    return onx_py_fresh(in, rebuild(in, v, n, made));
}
