/* pickle_reduce.c: what the functions and classes that pickles name stand for: tensors, storages,
 * typed lists, and objects, which are all others. Nothing is called but the functions below. */
#include "export/pickle_machine.h"

#include <stdio.h>

/* The arguments of a call. */
typedef struct call {
    const char *type; /* from the table */
    const onx_pk *const *v;
    size_t n;
} call;

static onx_status bad_arguments(onx_pk_machine *m) {
    return ONX_PK_FAIL(m, MALFORMED, "a function of the pickle is called with wrong arguments");
}

/* The argument `i`, if it is of the kind; NULL: it is not, or missing. */
static const onx_pk *argument(const call *c, size_t i, onx_pk_kind kind) {
    return i < c->n && c->v[i]->kind == kind ? c->v[i] : NULL;
}

static bool is_true(const call *c, size_t i) {
    const onx_pk *flag = argument(c, i, ONX_PK_BOOL);
    return flag && flag->i;
}

static onx_pk *writable(const onx_pk *value) {
    return (onx_pk *)(uintptr_t)value; /* all values of the machine's arena are */
}

/* ── Tensors ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status read_ints(onx_pk_machine *m, const onx_pk *tuple, const int64_t **out) {
    int64_t *v = onx_arena_array(&m->out->arena, tuple->items.n + 1, sizeof *v);
    if (!v) return onx_pk_nomem(m);
    for (size_t i = 0; i < tuple->items.n; i++) {
        if (tuple->items.v[i]->kind != ONX_PK_INT) return bad_arguments(m);
        v[i] = tuple->items.v[i]->i;
    }
    *out = v;
    return ONX_OK;
}

/* (storage, offset, sizes, strides, …) */
static onx_status read_view(onx_pk_machine *m, const call *c, onx_torch_tensor *t) {
    const onx_pk *storage = argument(c, 0, ONX_PK_STORAGE), *offset = argument(c, 1, ONX_PK_INT);
    const onx_pk *dims = argument(c, 2, ONX_PK_TUPLE), *strides = argument(c, 3, ONX_PK_TUPLE);
    if (!storage || !offset || !dims || !strides || dims->items.n != strides->items.n)
        return bad_arguments(m);
    *t = (onx_torch_tensor){.storage = storage->storage.at,
                            .dtype = storage->storage.dtype,
                            .rank = dims->items.n,
                            .offset = offset->i};
    ONX_TRY(read_ints(m, dims, &t->dims));
    return read_ints(m, strides, &t->strides);
}

static onx_status new_tensor(onx_pk_machine *m, const onx_torch_tensor *t, onx_pk **out) {
    onx_pk *value = onx_pk_new(m, ONX_PK_TENSOR);
    onx_torch_tensor *copy = onx_arena_alloc(&m->out->arena, sizeof *copy);
    if (!value || !copy) return onx_pk_nomem(m);
    *copy = *t;
    value->tensor = copy;
    *out = value;
    return ONX_OK;
}

static onx_status finish_tensor(onx_pk_machine *m, const onx_torch_tensor *t, onx_pk **out) {
    ONX_TRY(onx_torch_tensor_check(t, m->diag));
    m->out->tensors++;
    return new_tensor(m, t, out);
}

/* Views that negate or conjugate lazily say so in a dict behind the other arguments. */
static onx_status check_bits(onx_pk_machine *m, const call *c, size_t i) {
    const onx_pk *notes = argument(c, i, ONX_PK_DICT);
    const onx_pk *bits[] = {onx_pk_get(notes, ONX_LIT("conj")), onx_pk_get(notes, ONX_LIT("neg"))};
    for (size_t k = 0; k < ONX_COUNT(bits); k++)
        if (bits[k] && bits[k]->kind == ONX_PK_BOOL && bits[k]->i) {
            ONX_PK_FAIL(m, UNSUPPORTED, "a tensor is a conjugated or negated view of its data");
            onx_diag_hint(m->diag,
                          "in Python: t = t.resolve_conj().resolve_neg(), then save again");
            return ONX_UNSUPPORTED;
        }
    return ONX_OK;
}

/* (storage, offset, sizes, strides, requires_grad, hooks[, notes]) */
static onx_status call_tensor(onx_pk_machine *m, const call *c, onx_pk **out) {
    onx_torch_tensor t;
    ONX_TRY(read_view(m, c, &t));
    ONX_TRY(check_bits(m, c, 6));
    t.requires_grad = is_true(c, 4);
    return finish_tensor(m, &t, out);
}

/* (storage, offset, sizes, strides, requires_grad, hooks, dtype[, notes]) */
static onx_status call_tensor_v3(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *dtype = argument(c, 6, ONX_PK_GLOBAL);
    const onx_torch_dtype_info *info = dtype ? onx_torch_dtype_of_name(dtype->s) : NULL;
    onx_torch_tensor t;
    ONX_TRY(read_view(m, c, &t));
    ONX_TRY(check_bits(m, c, 7));
    if (!info) return ONX_PK_FAIL(m, UNSUPPORTED, "a tensor has no known element type");
    t.dtype = info->dtype;
    t.requires_grad = is_true(c, 4);
    return finish_tensor(m, &t, out);
}

/* (scheme, scale, zero point) or (scheme, scales, zero points, axis) */
static onx_status read_quant(onx_pk_machine *m, const onx_pk *tuple, onx_torch_quant *q) {
    call c = {.v = tuple->items.v, .n = tuple->items.n};
    const onx_pk *scheme = argument(&c, 0, ONX_PK_GLOBAL);
    const onx_pk *scale = argument(&c, 1, ONX_PK_FLOAT), *zero = argument(&c, 2, ONX_PK_INT);
    const onx_pk *scales = argument(&c, 1, ONX_PK_TENSOR), *zeros = argument(&c, 2, ONX_PK_TENSOR);
    const onx_pk *axis = argument(&c, 3, ONX_PK_INT);
    if (scheme && scale && zero && onx_str_is(scheme->s, "torch.per_tensor_affine"))
        *q = (onx_torch_quant){.scale = scale->f, .zero_point = zero->i};
    else if (scheme && scales && zeros && axis)
        *q = (onx_torch_quant){.per_channel = true,
                               .scales = scales->tensor,
                               .zero_points = zeros->tensor,
                               .axis = axis->i};
    else
        return ONX_PK_FAIL(m, UNSUPPORTED, "a tensor is quantized in a way that is not known");
    return ONX_OK;
}

/* (storage, offset, sizes, strides, quantization, requires_grad, hooks) */
static onx_status call_qtensor(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *tuple = argument(c, 4, ONX_PK_TUPLE);
    onx_torch_tensor t;
    ONX_TRY(read_view(m, c, &t));
    if (!tuple) return bad_arguments(m);
    onx_torch_quant *quant = onx_arena_alloc(&m->out->arena, sizeof *quant);
    if (!quant) return onx_pk_nomem(m);
    ONX_TRY(read_quant(m, tuple, quant));
    t.quant = quant;
    return finish_tensor(m, &t, out);
}

/* (tensor, requires_grad, hooks[, state]) */
static onx_status call_parameter(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *data = argument(c, 0, ONX_PK_TENSOR);
    if (!data) return bad_arguments(m);
    onx_torch_tensor t = *data->tensor;
    t.is_parameter = true;
    t.requires_grad = is_true(c, 1);
    return new_tensor(m, &t, out);
}

/* (function, type, arguments, state): a tensor of a Python class. Arguments lie deeper than what
 * they are arguments of, so this ends. */
static onx_status call_from_type(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *function = argument(c, 0, ONX_PK_GLOBAL), *args = argument(c, 2, ONX_PK_TUPLE);
    if (!function || !args) return bad_arguments(m);
    return onx_pk_call(m, function, writable(args), out);
}

/* ── Python's own ────────────────────────────────────────────────────────────────────────────── */

/* (list,): TorchScript's typed lists */
static onx_status call_typed(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *list = argument(c, 0, ONX_PK_LIST);
    if (!list) return bad_arguments(m);
    writable(list)->type = onx_str_of(c->type);
    *out = writable(list);
    return ONX_OK;
}

/* (list or dict, "List[int]") */
static onx_status call_tag(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *type = argument(c, 1, ONX_PK_STR);
    if (!type || (c->v[0]->kind != ONX_PK_LIST && c->v[0]->kind != ONX_PK_DICT))
        return bad_arguments(m);
    writable(c->v[0])->type = type->s;
    *out = writable(c->v[0]);
    return ONX_OK;
}

/* () or, of Python 2, ([[key, value], …],) */
static onx_status call_dict(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *pairs = argument(c, 0, ONX_PK_LIST);
    onx_pk *dict = onx_pk_new(m, ONX_PK_DICT);
    if (!dict) return onx_pk_nomem(m);
    if (c->n && !pairs) return bad_arguments(m);
    for (size_t i = 0; pairs && i < pairs->items.n; i++) {
        const onx_pk *pair = pairs->items.v[i];
        if ((pair->kind != ONX_PK_LIST && pair->kind != ONX_PK_TUPLE) || pair->items.n != 2)
            return bad_arguments(m);
        ONX_TRY(onx_pk_set(m, dict, writable(pair->items.v[0]), writable(pair->items.v[1])));
    }
    *out = dict;
    return ONX_OK;
}

/* ("cuda", 0) or ("cpu",) */
static onx_status call_device(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *type = argument(c, 0, ONX_PK_STR), *index = argument(c, 1, ONX_PK_INT);
    onx_pk *value = onx_pk_new(m, ONX_PK_DEVICE);
    if (!type) return bad_arguments(m);
    if (!value) return onx_pk_nomem(m);
    char number[32] = "";
    if (index) snprintf(number, sizeof number, ":%lld", (long long)index->i);
    size_t digits = strlen(number);
    char *text = onx_arena_alloc(&m->out->arena, type->s.size + digits + 1);
    if (!text) return onx_pk_nomem(m);
    memcpy(text, type->s.data, type->s.size);
    memcpy(text + type->s.size, number, digits);
    value->s = (onx_str){text, type->s.size + digits};
    *out = value;
    return ONX_OK;
}

static onx_status call_complex(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *re = argument(c, 0, ONX_PK_FLOAT), *im = argument(c, 1, ONX_PK_FLOAT);
    onx_pk *value = onx_pk_new(m, ONX_PK_COMPLEX);
    if (!re || !im) return bad_arguments(m);
    if (!value) return onx_pk_nomem(m);
    value->complex.re = re->f;
    value->complex.im = im->f;
    *out = value;
    return ONX_OK;
}

/* torch.Size: a tuple */
static onx_status call_size(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *tuple = argument(c, 0, ONX_PK_TUPLE);
    if (!tuple) return bad_arguments(m);
    *out = writable(tuple);
    return ONX_OK;
}

/* ── Calls ───────────────────────────────────────────────────────────────────────────────────── */

/* Anything else: an instance of a class, or what an unknown function would give. */
static onx_status new_object(onx_pk_machine *m, onx_str type, onx_pk *args, onx_pk **out) {
    onx_pk *object = onx_pk_new(m, ONX_PK_OBJECT);
    if (!object) return onx_pk_nomem(m);
    object->type = type;
    if (args->kind != ONX_PK_TUPLE || args->items.n) {
        ONX_TRY(onx_pk_join(m, object, args));
        object->object.args = args;
    }
    *out = object;
    return ONX_OK;
}

/* (class, base, state): an instance, as Python 2's protocol writes it */
static onx_status call_reconstructor(onx_pk_machine *m, const call *c, onx_pk **out) {
    const onx_pk *class = argument(c, 0, ONX_PK_GLOBAL);
    onx_pk *none = onx_pk_new(m, ONX_PK_TUPLE);
    if (!none) return onx_pk_nomem(m);
    if (!class) return bad_arguments(m);
    return new_object(m, class->s, none, out);
}

static const struct known {
    const char *name;
    onx_status (*run)(onx_pk_machine *m, const call *c, onx_pk **out);
    const char *type;
} known[] = {
    {"torch._utils._rebuild_tensor", call_tensor, NULL},
    {"torch._utils._rebuild_tensor_v2", call_tensor, NULL},
    {"torch._utils._rebuild_tensor_v3", call_tensor_v3, NULL},
    {"torch._utils._rebuild_qtensor", call_qtensor, NULL},
    {"torch._utils._rebuild_parameter", call_parameter, NULL},
    {"torch._utils._rebuild_parameter_with_state", call_parameter, NULL},
    {"torch._tensor._rebuild_from_type_v2", call_from_type, NULL},
    {"torch.jit._pickle.build_intlist", call_typed, "List[int]"},
    {"torch.jit._pickle.build_doublelist", call_typed, "List[float]"},
    {"torch.jit._pickle.build_boollist", call_typed, "List[bool]"},
    {"torch.jit._pickle.build_tensorlist", call_typed, "List[Tensor]"},
    {"torch.jit._pickle.restore_type_tag", call_tag, NULL},
    {"torch.device", call_device, NULL},
    {"torch.Size", call_size, NULL},
    {"collections.OrderedDict", call_dict, NULL},
    {"builtins.complex", call_complex, NULL},
    {"__builtin__.complex", call_complex, NULL},
    {"copyreg._reconstructor", call_reconstructor, NULL},
    {"copy_reg._reconstructor", call_reconstructor, NULL},
};

onx_status onx_pk_call(onx_pk_machine *m, const onx_pk *callee, onx_pk *args, onx_pk **out) {
    if (callee->kind != ONX_PK_GLOBAL)
        return ONX_PK_FAIL(m, MALFORMED, "the pickle calls %s", onx_pk_kind_name(callee->kind));
    if (args->kind == ONX_PK_TUPLE)
        for (const struct known *k = known; k < known + ONX_COUNT(known); k++)
            if (onx_str_is(callee->s, k->name))
                return k->run(m, &(call){k->type, args->items.v, args->items.n}, out);
    return new_object(m, callee->s, args, out);
}

/* ── Storages ────────────────────────────────────────────────────────────────────────────────── */

/* The record of a storage; without an archive, an empty one. */
static onx_status find_storage(onx_pk_machine *m, onx_str key, onx_torch_storage **out) {
    onx_torch_storage *none = m->archive ? NULL : onx_arena_alloc(&m->out->arena, sizeof *none);
    char *name = onx_arena_alloc(&m->scratch, m->prefix.size + key.size + 1);
    if (!name || (!m->archive && !none)) return onx_pk_nomem(m);
    memcpy(name, m->prefix.data, m->prefix.size);
    memcpy(name + m->prefix.size, key.data, key.size);
    *out = none;
    if (none) return ONX_OK;
    onx_str record = {name, m->prefix.size + key.size};
    return onx_torch_storage_of(m->archive, record, out, m->diag);
}

/* ("storage", class, key, location, count[, view]), or ("module", class, …) of old files. */
onx_status onx_pk_persistent(onx_pk_machine *m, onx_pk *id, onx_pk **out) {
    static const onx_str torch = {"torch.", 6};
    bool tuple = id->kind == ONX_PK_TUPLE;
    call c = {.v = tuple ? id->items.v : NULL, .n = tuple ? id->items.n : 0};
    const onx_pk *what = argument(&c, 0, ONX_PK_STR), *class = argument(&c, 1, ONX_PK_GLOBAL);
    const onx_pk *key = argument(&c, 2, ONX_PK_STR), *count = argument(&c, 4, ONX_PK_INT);
    if (what && class && onx_str_is(what->s, "module")) {
        *out = writable(class);
        return ONX_OK;
    }
    if (!what || !class || !key || !count || count->i < 0 || !onx_str_is(what->s, "storage") ||
        class->s.size < torch.size || memcmp(class->s.data, torch.data, torch.size) != 0)
        return ONX_PK_FAIL(m, MALFORMED, "a persistent id is no storage");
    onx_str name = {class->s.data + torch.size, class->s.size - torch.size};
    const onx_torch_dtype_info *info = onx_torch_dtype_of_storage(name);
    if (!info && !onx_str_is(name, "storage.UntypedStorage"))
        return ONX_PK_FAIL(m, UNSUPPORTED, "storages of %.*s are not known", ONX_FMT(class->s));
    onx_pk *value = onx_pk_new(m, ONX_PK_STORAGE);
    if (!value) return onx_pk_nomem(m);
    value->storage.dtype = info ? info->dtype : ONX_TORCH_NONE;
    ONX_TRY(find_storage(m, key->s, &value->storage.at));
    uint64_t room = value->storage.at->bytes / (info ? info->bytes : 1);
    if (room && room < (uint64_t)count->i)
        return ONX_PK_FAIL(m, MALFORMED, "record '%.*s' is too small for its %lld elements",
                           ONX_FMT(value->storage.at->record), (long long)count->i);
    *out = value;
    return ONX_OK;
}
