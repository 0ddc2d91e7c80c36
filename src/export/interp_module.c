/* interp_module.c: objects and constants of a TorchScript program, from the archive's pickles.
 *
 * A pickled value is converted when the program first asks for it, and only once, so that what is
 * shared in the file is shared here. Weights are named by where they are in the tree of modules,
 * "layer1.0.conv1.weight", whichever way the program gets at them. */
#include "export/interp_internal.h"

#include "base/number.h"

#include <stdio.h>

static const onx_str no_name = {NULL, 0};

const char onx_py_unset[] = "unset", onx_py_optional[] = "optional", onx_py_func[] = "function",
           onx_py_class[] = "class", onx_py_inner[] = "inner function";

/* ─ Paths ────────────────────────────────────────────────────────────────────────────────────── */

/* Tensors of one storage, and what they are called. */
typedef struct weight_name {
    const struct weight_name *next;
    const onx_torch_tensor *tensor;
    onx_str path;
} weight_name;

static const weight_name *find_name(onx_interp *in, const onx_torch_tensor *tensor) {
    const weight_name *w = onx_map_get(&in->paths, tensor->storage, no_name);
    while (w && !onx_torch_tensor_same(w->tensor, tensor)) w = w->next;
    return w;
}

static bool name_tensor(onx_interp *in, const onx_torch_tensor *tensor, onx_str path) {
    if (find_name(in, tensor)) return true;
    weight_name *w = onx_x_alloc(in->x, sizeof *w);
    if (!w) return false;
    *w = (weight_name){onx_map_get(&in->paths, tensor->storage, no_name), tensor, path};
    return onx_map_put(&in->paths, tensor->storage, no_name, w) || onx_x_nomem(in->x);
}

/* A pickle is at most ONX_PK_DEPTH deep. */
static bool name_object(onx_interp *in, const onx_pk *pk, onx_str path) {
    if (onx_map_get(&in->paths, pk, no_name)) return true;
    onx_str *kept = onx_x_alloc(in->x, sizeof *kept);
    if (!kept) return false;
    *kept = path;
    if (!onx_map_put(&in->paths, pk, no_name, kept)) return onx_x_nomem(in->x);
    const onx_pk *state = pk->object.state;
    if (!state || state->kind != ONX_PK_DICT) return true;
    for (size_t i = 0; i + 1 < state->items.n; i += 2) {
        const onx_pk *key = state->items.v[i], *value = state->items.v[i + 1];
        if (key->kind != ONX_PK_STR) continue;
        onx_str name = onx_interp_join(in, path, key->s);
        if (value->kind == ONX_PK_TENSOR && !name_tensor(in, value->tensor, name)) return false;
        if (value->kind == ONX_PK_OBJECT && !name_object(in, value, name)) return false;
    }
    return onx_x_ok(in->x);
}

bool onx_interp_name(onx_interp *in, const onx_pk *root) {
    return root->kind != ONX_PK_OBJECT || name_object(in, root, ONX_LIT(""));
}

/* ─ Values ───────────────────────────────────────────────────────────────────────────────────── */

static onx_xv load_tensor(onx_interp *in, const onx_torch_tensor *tensor, onx_str path) {
    const weight_name *known = find_name(in, tensor);
    onx_str name;
    if (known) path = known->path;
    if (!onx_arena_str(&in->x->arena, path, &name)) onx_x_nomem(in->x);
    return onx_x_weight(in->x, name.data ? name.data : "", tensor);
}

static onx_xv load_items(onx_interp *in, const onx_pk *pk, onx_str path, onx_xlist *keys,
                         onx_xlist *values) {
    char number[24];
    for (size_t i = 0; i < pk->items.n && onx_x_ok(in->x); i++) {
        bool key = keys && i % 2 == 0;
        const onx_pk *item = pk->items.v[i];
        (void)snprintf(number, sizeof number, "%zu", keys ? i / 2 : i);
        onx_str copy = no_name, name = onx_str_of(number);
        if (keys && !key && pk->items.v[i - 1]->kind == ONX_PK_STR) name = pk->items.v[i - 1]->s;
        if (!onx_arena_str(&in->x->arena, name, &copy)) onx_x_nomem(in->x);
        onx_xv v = onx_py_load(in, item, onx_interp_join(in, path, copy));
        onx_xlist_add(in->x, key ? keys : values, v);
    }
    return onx_py_none();
}

static onx_xv load_list(onx_interp *in, const onx_pk *pk, onx_str path) {
    onx_xv v = onx_xv_list(in->x, pk->kind == ONX_PK_LIST ? ONX_X_LIST : ONX_X_TUPLE, 0, NULL);
    if (v.kind != ONX_X_NONE) load_items(in, pk, path, NULL, v.list);
    return v;
}

static onx_xv load_dict(onx_interp *in, const onx_pk *pk, onx_str path) {
    onx_xv v = onx_xv_dict(in->x);
    if (v.kind != ONX_X_NONE) load_items(in, pk, path, &v.dict->keys, &v.dict->values);
    return v;
}

/* The member of an Enum that has this value. */
static onx_xv load_enum(onx_interp *in, const onx_script_class *cls, const onx_pk *pk) {
    onx_xv value = onx_py_load(in, pk, ONX_LIT("enum"));
    for (size_t i = 0; i < cls->attr_count && onx_x_ok(in->x); i++) {
        onx_xv member = onx_py_eval(in, NULL, cls->attrs[i].value), same;
        bool equal = false;
        same = onx_py_equal(in, &member, &value);
        if (onx_xv_known_bool(&same, &equal) && equal) return onx_py_enum(in, cls, i);
    }
    onx_x_fail(in->x, ONX_INVALID, "the archive holds a value that '%.*s' does not have",
               ONX_FMT(cls->name));
    return onx_py_none();
}

static onx_xv load_object(onx_interp *in, const onx_pk *pk, onx_str path) {
    onx_script_symbol found;
    const onx_str *known = onx_map_get(&in->paths, pk, no_name);
    onx_xv bound;
    if (onx_py_load_bound(in, pk, path, &bound)) return bound;
    onx_status status = onx_script_find(in->script, pk->type, &found, &in->x->diag);
    if (status) in->x->status = status;
    if (!status && !found.cls) {
        onx_x_fail(in->x, ONX_UNSUPPORTED, "'%.*s' is an object of '%.*s', which has no code",
                   ONX_FMT(path), ONX_FMT(pk->type));
        onx_x_hint(in->x, "classes written in C++ cannot be read: export the model without it");
    }
    if (!onx_x_ok(in->x)) return onx_py_none();
    if (found.cls->kind == ONX_CLASS_ENUM && pk->object.args)
        return load_enum(in, found.cls, pk->object.args);
    return onx_py_new(in, found.cls, known ? *known : path, pk->object.state);
}

/* Things that can be shared. */
static onx_xv load_shared(onx_interp *in, const onx_pk *pk, onx_str path) {
    onx_xv *made = onx_map_get(&in->values, pk, no_name);
    if (made) return *made;
    made = onx_x_alloc(in->x, sizeof *made);
    if (!made) return onx_py_none();
    switch (pk->kind) {
    case ONX_PK_TENSOR: *made = load_tensor(in, pk->tensor, path); break;
    case ONX_PK_DICT: *made = load_dict(in, pk, path); break;
    case ONX_PK_OBJECT: *made = load_object(in, pk, path); break;
    default: *made = load_list(in, pk, path); break;
    }
    if (!onx_map_put(&in->values, pk, no_name, made)) onx_x_nomem(in->x);
    return *made;
}

onx_xv onx_py_load(onx_interp *in, const onx_pk *pk, onx_str path) {
    if (!onx_x_ok(in->x)) return onx_py_none();
    switch (pk->kind) {
    case ONX_PK_NONE: return onx_py_none();
    case ONX_PK_BOOL: return onx_xv_bool(in->x, pk->i != 0);
    case ONX_PK_INT: return onx_xv_int(in->x, pk->i);
    case ONX_PK_FLOAT: return onx_xv_float(pk->f);
    case ONX_PK_COMPLEX:
        return (onx_xv){.kind = ONX_X_COMPLEX, .f = pk->complex.re, .im = pk->complex.im};
    case ONX_PK_STR: return onx_xv_str(pk->s);
    case ONX_PK_DEVICE: return (onx_xv){.kind = ONX_X_DEVICE, .str = pk->s};
    case ONX_PK_LIST:
    case ONX_PK_TUPLE:
    case ONX_PK_DICT:
    case ONX_PK_OBJECT:
    case ONX_PK_TENSOR: return load_shared(in, pk, path);
    default:
        onx_x_fail(in->x, ONX_UNSUPPORTED, "'%.*s' is %s", ONX_FMT(path),
                   onx_pk_kind_name(pk->kind));
        return onx_py_none();
    }
}

/* A number that was recorded as a tensor of rank 0 counts as a number again when PyTorch loads it.
 */
static void wrap_number(onx_interp *in, const onx_pk *pk, const onx_xv *v) {
    bool wide = pk->kind == ONX_PK_TENSOR && pk->tensor->rank == 0 &&
                (pk->tensor->dtype == ONX_TORCH_F64 || pk->tensor->dtype == ONX_TORCH_I64 ||
                 pk->tensor->dtype == ONX_TORCH_C128);
    if (wide && onx_x_ok(in->x)) v->tensor->wrapped = true;
}

onx_xv onx_py_constant(onx_interp *in, onx_str name) {
    const onx_pk *all = in->constants.root;
    uint64_t i = 0;
    onx_str digits = {name.data + 1, name.size ? name.size - 1 : 0};
    bool numbered = name.size > 1 && name.data[0] == 'c' && onx_parse_digits(digits, 10, &i);
    if (!numbered || !all || all->kind != ONX_PK_TUPLE || i >= all->items.n) {
        onx_x_fail(in->x, ONX_MALFORMED, "CONSTANTS.%.*s is not among the archive's constants",
                   ONX_FMT(name));
        return onx_py_none();
    }
    onx_xv v = onx_py_load(in, all->items.v[i], name);
    wrap_number(in, all->items.v[i], &v);
    return v;
}

/* ─ Objects ──────────────────────────────────────────────────────────────────────────────────── */

onx_xv onx_py_new(onx_interp *in, const onx_script_class *cls, onx_str path, const onx_pk *state) {
    onx_py_object *object = onx_x_alloc(in->x, sizeof *object);
    onx_xv *attrs = onx_x_array(in->x, cls->attr_count + 1, sizeof *attrs);
    if (!object || !attrs) return onx_py_none();
    for (size_t i = 0; i < cls->attr_count; i++) attrs[i] = onx_py_other(onx_py_unset, NULL);
    *object = (onx_py_object){.cls = cls, .path = path, .state = state, .attrs = attrs};
    onx_xv v = {.kind = ONX_X_OBJECT, .object = object, .type = cls};
    if (!state) onx_py_fresh(in, v);
    bool restored = state && onx_script_method(cls, ONX_LIT("__setstate__"));
    if (restored) {
        object->state = NULL;
        onx_xarg arg = {.v = onx_py_load(in, state, path)};
        bool outer = in->restoring;
        in->restoring = true;
        onx_py_call_method(in, &v, ONX_LIT("__setstate__"), 1, &arg);
        in->restoring = outer;
    }
    return v;
}

onx_xv onx_py_enum(onx_interp *in, const onx_script_class *cls, size_t which) {
    onx_py_object *object = onx_map_get(&in->enums, cls, cls->attrs[which].name);
    if (!object) {
        object = onx_x_alloc(in->x, sizeof *object);
        if (!object) return onx_py_none();
        *object = (onx_py_object){.cls = cls, .which = which};
        if (!onx_map_put(&in->enums, cls, cls->attrs[which].name, object)) onx_x_nomem(in->x);
    }
    return (onx_xv){.kind = ONX_X_OBJECT, .object = object, .type = cls};
}

static onx_xv get_enum(onx_interp *in, const onx_py_object *object, onx_str name) {
    const onx_script_attr *member = &object->cls->attrs[object->which];
    if (onx_str_is(name, "name")) return onx_xv_str(member->name);
    return onx_py_eval(in, NULL, member->value);
}

/* The value of an attribute that was not asked for before. */
static onx_xv load_attr(onx_interp *in, const onx_py_object *object, const onx_script_attr *attr) {
    const onx_pk *pk = object->state ? onx_pk_get(object->state, attr->name) : NULL;
    bool mode = object->cls->kind == ONX_CLASS_MODULE && onx_str_is(attr->name, "training");
    if (mode && !in->x->training) return onx_xv_bool(in->x, false);
    if (attr->value) return onx_py_eval(in, NULL, attr->value);
    if (pk) return onx_py_load(in, pk, onx_interp_join(in, object->path, attr->name));
    onx_x_fail(in->x, ONX_MALFORMED, "attribute '%.*s' of '%.*s' has no value", ONX_FMT(attr->name),
               ONX_FMT(object->cls->name));
    return onx_py_none();
}

static onx_xv *find_attr(onx_interp *in, const onx_xv *v, onx_str name) {
    if (v->kind != ONX_X_OBJECT)
        return onx_x_fail(in->x, ONX_UNSUPPORTED, "attribute '%.*s' of %s", ONX_FMT(name),
                          onx_py_kind(v));
    const onx_py_object *object = v->object;
    const onx_script_attr *attr = onx_script_attribute(object->cls, name);
    if (!attr)
        return onx_x_fail(in->x, ONX_MALFORMED, "'%.*s' has no attribute '%.*s'",
                          ONX_FMT(object->cls->name), ONX_FMT(name));
    return &object->attrs[attr - object->cls->attrs];
}

onx_xv onx_py_get(onx_interp *in, const onx_xv *v, onx_str name) {
    const onx_py_object *object = v->kind == ONX_X_OBJECT ? v->object : NULL;
    if (v->kind == ONX_X_UNKNOWN) return *v;
    if (object && object->cls->kind == ONX_CLASS_ENUM) return get_enum(in, object, name);
    onx_xv *attr = find_attr(in, v, name);
    if (!attr) return onx_py_none();
    if (onx_py_is_other(attr, onx_py_unset))
        *attr = load_attr(in, object, onx_script_attribute(object->cls, name));
    return *attr;
}

void onx_py_set(onx_interp *in, const onx_xv *v, onx_str name, onx_xv value) {
    onx_xv *attr = v->kind == ONX_X_UNKNOWN ? NULL : find_attr(in, v, name);
    if (!attr) return;
    const onx_py_object *object = v->object;
    if (in->changes && object->state) (void)onx_py_get(in, v, name);
    if (!onx_py_may_change(in, v, (size_t)(attr - object->attrs))) return;
    onx_str kept = onx_script_attribute(object->cls, name)->name;
    if (object->cls->kind == ONX_CLASS_MODULE && !in->branch && !in->restoring &&
        !onx_map_put(&in->set, object, kept, (void *)(uintptr_t)object))
        onx_x_nomem(in->x);
    *attr = value;
}
