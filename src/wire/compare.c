/* compare.c: are two messages the same, and deep copies. Both walk two trees in step, without
 * recursion. */
#include "wire/wire.h"

static bool strs_equal(const onx_strs *a, const onx_strs *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!onx_str_eq(a->v[i], b->v[i])) return false;
    return true;
}

/* The same numbers, maybe not in the same bytes: varints can be longer than they need to be. */
static bool packed_equal(const onx_field *field, onx_str a, onx_str b) {
    if (onx_str_eq(a, b)) return true;
    if (field->kind == ONX_FIELD_PACKED_F32 || field->kind == ONX_FIELD_PACKED_F64) return false;
    const char *p = a.data, *q = b.data, *p_end = p + a.size, *q_end = q + b.size;
    uint64_t v = 0, w = 0;
    while (p < p_end && q < q_end) {
        p += onx_varint_get(p, p_end, &v);
        q += onx_varint_get(q, q_end, &w);
        if (field->kind == ONX_FIELD_PACKED_I32 ? (uint32_t)v != (uint32_t)w : v != w) return false;
    }
    return p == p_end && q == q_end;
}

static bool field_equal(const onx_msg *a, const onx_msg *b, const onx_field *field) {
    const void *p = onx_field_ptr(a, field), *q = onx_field_ptr(b, field);
    if (onx_msg_has(a, field) != onx_msg_has(b, field)) return false;
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32:
    case ONX_FIELD_F32: return memcmp(p, q, 4) == 0;
    case ONX_FIELD_I64: return memcmp(p, q, 8) == 0;
    case ONX_FIELD_STR:
    case ONX_FIELD_BYTES: return onx_str_eq(*(const onx_str *)p, *(const onx_str *)q);
    case ONX_FIELD_MSG: return true; /* the walk goes there */
    case ONX_FIELD_MSGS: return ((const onx_list *)p)->count == ((const onx_list *)q)->count;
    case ONX_FIELD_STRS:
    case ONX_FIELD_BYTESS: return strs_equal(p, q);
    case ONX_FIELD_I64S: {
        const onx_i64s *x = p, *y = q;
        return x->n == y->n && (x->n == 0 || memcmp(x->v, y->v, x->n * sizeof *x->v) == 0);
    }
    case ONX_FIELD_F32S: {
        const onx_f32s *x = p, *y = q;
        return x->n == y->n && (x->n == 0 || memcmp(x->v, y->v, x->n * sizeof *x->v) == 0);
    }
    default: return packed_equal(field, *(const onx_str *)p, *(const onx_str *)q);
    }
}

static bool unknown_equal(const onx_unknown *a, const onx_unknown *b) {
    size_t i = 0, j = 0; /* the same bytes, maybe cut at other places */
    for (;;) {
        while (a && i == a->bytes.size) a = a->next, i = 0;
        while (b && j == b->bytes.size) b = b->next, j = 0;
        if (!a || !b) return !a && !b;
        size_t n = a->bytes.size - i < b->bytes.size - j ? a->bytes.size - i : b->bytes.size - j;
        if (memcmp(a->bytes.data + i, b->bytes.data + j, n)) return false;
        i += n;
        j += n;
    }
}

static bool differ(const onx_msg *a, const char *what, onx_diag *diag) {
    char path[200];
    onx_msg_path(a, path, sizeof path);
    onx_fail(diag, ONX_CHANGED, "the two differ in '%s'", what);
    onx_diag_place(diag, "%s", path[0] ? path : a->desc->name);
    return false;
}

static bool message_equal(const onx_msg *a, const onx_msg *b, onx_diag *diag) {
    if (a->desc != b->desc) return differ(a, "kind of message", diag);
    for (unsigned i = 0; i < a->desc->n_fields; i++)
        if (!field_equal(a, b, &a->desc->fields[i]))
            return differ(a, a->desc->fields[i].name, diag);
    return unknown_equal(a->unknown, b->unknown) || differ(a, "unknown fields", diag);
}

bool onx_msg_equal(const void *a, const void *b, onx_diag *diag) {
    onx_walk u = onx_walk_begin(a), v = onx_walk_begin(b);
    for (;;) {
        const onx_msg *x = onx_walk_next(&u), *y = onx_walk_next(&v);
        if (!x || !y) return x == y;
        if (!message_equal(x, y, diag)) return false;
    }
}

static bool clone_array(onx_doc *doc, void *to, const void *from, size_t elem_size) {
    const onx_strs *source = from; /* all arrays have the same layout */
    onx_strs *target = to;
    *target = (onx_strs){NULL, 0, 0};
    if (source->n == 0) return true;
    void *v = onx_arena_array(&doc->arena, source->n, elem_size);
    if (!v) return false;
    memcpy(v, source->v, source->n * elem_size);
    target->v = v;
    target->n = target->cap = source->n;
    return true;
}

/* Strings are in the arena, which ends with its document. */
static bool clone_str(onx_doc *doc, onx_str *to, onx_str from, const onx_doc *owner) {
    *to = from;
    return doc == owner || !from.data || onx_doc_str(doc, from, to);
}

typedef bool clone_fn(onx_doc *doc, onx_str *to, onx_str from, const onx_doc *owner);

static bool clone_bytes(onx_doc *doc, onx_str *to, onx_str from, const onx_doc *owner) {
    return onx_doc_share(doc, owner, from, to);
}

static bool clone_strs(onx_doc *doc, onx_strs *to, const onx_strs *from, const onx_doc *owner,
                       clone_fn *clone) {
    if (!clone_array(doc, to, from, sizeof *to->v)) return false;
    for (size_t i = 0; i < to->n; i++)
        if (!clone(doc, &to->v[i], from->v[i], owner)) return false;
    return true;
}

static bool clone_field(onx_doc *doc, onx_msg *to, const onx_msg *from, const onx_field *field) {
    void *p = onx_field_ptr(to, field);
    const void *q = onx_field_ptr(from, field);
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32:
    case ONX_FIELD_F32: memcpy(p, q, 4); return true;
    case ONX_FIELD_I64: memcpy(p, q, 8); return true;
    case ONX_FIELD_STR: return clone_str(doc, p, *(const onx_str *)q, from->doc);
    case ONX_FIELD_STRS: return clone_strs(doc, p, q, from->doc, clone_str);
    case ONX_FIELD_BYTESS: return clone_strs(doc, p, q, from->doc, clone_bytes);
    case ONX_FIELD_I64S: return clone_array(doc, p, q, sizeof(int64_t));
    case ONX_FIELD_F32S: return clone_array(doc, p, q, sizeof(float));
    case ONX_FIELD_MSG:
    case ONX_FIELD_MSGS: return true;
    default: return clone_bytes(doc, p, *(const onx_str *)q, from->doc);
    }
}

static bool clone_unknown(onx_doc *doc, onx_msg *to, const onx_msg *from) {
    onx_str bytes;
    for (const onx_unknown *u = from->unknown; u; u = u->next)
        if (!clone_bytes(doc, &bytes, u->bytes, from->doc) || !onx_msg_add_unknown(to, bytes))
            return false;
    return true;
}

static onx_msg *clone_message(onx_doc *doc, const onx_msg *from) {
    onx_msg *to = onx_msg_new(doc, from->desc);
    if (!to) return NULL;
    to->has = from->has;
    to->dirty = from->dirty;
    if (!from->dirty && !clone_bytes(doc, &to->raw, from->raw, from->doc)) return NULL;
    for (unsigned i = 0; i < from->desc->n_fields; i++)
        if (!clone_field(doc, to, from, &from->desc->fields[i])) return NULL;
    return clone_unknown(doc, to, from) ? to : NULL;
}

/* A message that lacks something is no longer what its bytes say. */
onx_status onx_msg_clone_some(onx_doc *doc, const void *msg, onx_msg_keep *keep, void *user,
                              void *out, onx_diag *diag) {
    onx_msg *root = NULL, *parent = NULL;
    const onx_msg *from, *before = NULL; /* `parent` is the copy of before->parent or before */
    for (onx_walk w = onx_walk_begin(msg); (from = onx_walk_next(&w));) {
        for (; root && before != from->parent; before = before->parent) parent = parent->parent;
        if (keep && !keep(user, from)) {
            if (parent) onx_msg_touch(parent);
            onx_walk_skip(&w);
            continue;
        }
        onx_msg *to = clone_message(doc, from);
        if (!to) return onx_doc_fail(doc, diag);
        if (root) /* a copy is as much edited as what it was made from */
            onx_msg_link(parent, &from->parent->desc->fields[from->field], to);
        else
            root = to;
        parent = to;
        before = from;
    }
    memcpy(out, &root, sizeof root);
    return ONX_OK;
}

onx_status onx_msg_clone(onx_doc *doc, const void *msg, void *out, onx_diag *diag) {
    return onx_msg_clone_some(doc, msg, NULL, NULL, out, diag);
}
