/* tree.c: the elements of fields, and message trees as events. See tree.h. */
#include "text/tree.h"

static const struct {
    uint8_t elem;
    bool repeated;
} kinds[] = {
    [ONX_FIELD_I32] = {ONX_ELEM_I32, false},       [ONX_FIELD_I64] = {ONX_ELEM_I64, false},
    [ONX_FIELD_F32] = {ONX_ELEM_F32, false},       [ONX_FIELD_STR] = {ONX_ELEM_STR, false},
    [ONX_FIELD_BYTES] = {ONX_ELEM_BYTES, false},   [ONX_FIELD_MSG] = {ONX_ELEM_MSG, false},
    [ONX_FIELD_I64S] = {ONX_ELEM_I64, true},       [ONX_FIELD_F32S] = {ONX_ELEM_F32, true},
    [ONX_FIELD_STRS] = {ONX_ELEM_STR, true},       [ONX_FIELD_BYTESS] = {ONX_ELEM_BYTES, true},
    [ONX_FIELD_MSGS] = {ONX_ELEM_MSG, true},       [ONX_FIELD_PACKED_F32] = {ONX_ELEM_F32, true},
    [ONX_FIELD_PACKED_F64] = {ONX_ELEM_F64, true}, [ONX_FIELD_PACKED_I32] = {ONX_ELEM_I32, true},
    [ONX_FIELD_PACKED_I64] = {ONX_ELEM_I64, true}, [ONX_FIELD_PACKED_U64] = {ONX_ELEM_U64, true},
};

onx_elem_kind onx_field_elem(const onx_field *field) {
    return kinds[field->kind].elem;
}

bool onx_field_repeated(const onx_field *field) {
    return kinds[field->kind].repeated;
}

/* One number of a packed payload; it was checked when it was read. */
static bool packed_next(onx_elems *e, onx_str payload, onx_elem *out) {
    const char *p = payload.data + e->at, *end = payload.data + payload.size;
    size_t n;
    if (e->field->kind == ONX_FIELD_PACKED_F32 || e->field->kind == ONX_FIELD_PACKED_F64) {
        n = e->field->kind == ONX_FIELD_PACKED_F32 ? sizeof out->f : sizeof out->d;
        if (payload.size - e->at < n) return false;
        memcpy(out, p, n);
    } else {
        n = onx_varint_get(p, end, &out->u);
        if (e->field->kind == ONX_FIELD_PACKED_I32) out->i = (int32_t)out->i;
    }
    e->at += n;
    return n > 0;
}

bool onx_elems_next(onx_elems *e, onx_elem *out) {
    const void *slot = onx_field_ptr(e->msg, e->field);
    if (e->field->kind >= ONX_FIELD_PACKED_F32) {
        const onx_str *payload = slot;
        return payload->size > 0 && packed_next(e, *payload, out);
    }
    size_t i = e->at++;
    const onx_strs *array = slot; /* all arrays have the same layout */
    if (i >= (onx_field_repeated(e->field) ? array->n : 1)) return false;
    switch ((onx_field_kind)e->field->kind) {
    case ONX_FIELD_I32: out->i = *(const int32_t *)slot; break;
    case ONX_FIELD_I64: out->i = *(const int64_t *)slot; break;
    case ONX_FIELD_F32: out->f = *(const float *)slot; break;
    case ONX_FIELD_STR:
    case ONX_FIELD_BYTES: out->s = *(const onx_str *)slot; break;
    case ONX_FIELD_I64S: out->i = ((const onx_i64s *)slot)->v[i]; break;
    case ONX_FIELD_F32S: out->f = ((const onx_f32s *)slot)->v[i]; break;
    case ONX_FIELD_STRS:
    case ONX_FIELD_BYTESS: out->s = array->v[i]; break;
    default: return false;
    }
    return true;
}

const char *onx_enum_find(const onx_enum_name *enums, int64_t value) {
    for (; enums && enums->name; enums++)
        if (enums->value == value) return enums->name;
    return NULL;
}

bool onx_enum_value(const onx_enum_name *enums, onx_str name, int64_t *out) {
    for (; enums && enums->name; enums++) {
        if (!onx_str_is(name, enums->name)) continue;
        *out = enums->value;
        return true;
    }
    return false;
}

onx_tree onx_tree_begin(const void *root) {
    return (onx_tree){.root = root};
}

const onx_field *onx_tree_holder(const onx_tree *tree) {
    return tree->msg == tree->root ? NULL : &tree->msg->parent->desc->fields[tree->msg->field];
}

static bool enter(onx_tree *tree, const onx_msg *msg) {
    tree->event = ONX_TREE_ENTER;
    tree->msg = msg;
    tree->next = 0;
    return true;
}

bool onx_tree_next(onx_tree *tree) {
    if (!tree->msg) return enter(tree, tree->root);
    if (tree->event == ONX_TREE_LEAVE) {
        const onx_field *holder = onx_tree_holder(tree);
        if (!holder) return false;
        if (onx_field_repeated(holder) && tree->msg->next) return enter(tree, tree->msg->next);
        tree->next = tree->msg->field + 1u;
        tree->msg = tree->msg->parent;
    }
    while (tree->next < tree->msg->desc->n_fields) {
        const onx_field *field = &tree->msg->desc->fields[tree->next++];
        if (!onx_msg_has(tree->msg, field)) continue;
        const void *slot = onx_field_ptr(tree->msg, field);
        if (field->kind == ONX_FIELD_MSG) return enter(tree, *(onx_msg *const *)slot);
        if (field->kind == ONX_FIELD_MSGS) return enter(tree, ((const onx_list *)slot)->first);
        tree->event = ONX_TREE_FIELD;
        tree->field = field;
        return true;
    }
    tree->event = ONX_TREE_LEAVE;
    return true;
}
