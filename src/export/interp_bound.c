/* interp_bound.c: objects of classes that are written in C++, of which an archive has the state,
 * but no code. Those of quantized and of mobile models are packed weights: they become tuples, as
 * the operators that take them have it (aten/quantized_layers.c, quantized_states.c, prepacked.c).
 */
#include "export/interp_internal.h"
#include "export/torch_tensor.h"

/* ─ Convolutions ─────────────────────────────────────────────────────────────────────────────── */

/* (weight, bias, stride, padding, output_padding, dilation, groups, transposed), from one of
 *     ("2", [numbers, weight], [bias])                         numbers: a tensor
 *     (3, [number …], [None, weight, bias])
 *     (weight, bias, [stride], [padding], [dilation], groups)  each number a tensor of its own
 * where the numbers are: dimensions, then of each dimension strides, paddings, dilations and
 * output paddings, then groups and transposed. */
enum { MOST_NUMBERS = 1 + 4 * 3 + 2 };

typedef struct numbers {
    int64_t v[MOST_NUMBERS];
    size_t n;
} numbers;

static const onx_pk *item_of(const onx_pk *list, size_t i) {
    bool holds = list && (list->kind == ONX_PK_LIST || list->kind == ONX_PK_TUPLE);
    return holds && i < list->items.n ? list->items.v[i] : NULL;
}

static bool read_tensor(onx_interp *in, const onx_pk *pk, numbers *to) {
    onx_tensor *tensor = NULL;
    uint64_t count;
    onx_doc *doc = in->x->model->msg.doc;
    if (onx_torch_tensor_load(doc, pk->tensor, &tensor, &in->x->diag) ||
        onx_tensor_count(tensor, &count, NULL) || count > MOST_NUMBERS - to->n)
        return false;
    if (onx_tensor_read_as(tensor, ONX_DTYPE_I64, to->v + to->n, count * sizeof *to->v, NULL))
        return false;
    to->n += count;
    return true;
}

/* Numbers, tensors of numbers, and lists of either: one after the other. */
static bool read_numbers(onx_interp *in, const onx_pk *pk, numbers *to) {
    if (!pk) return false;
    if (pk->kind == ONX_PK_TENSOR) return read_tensor(in, pk, to);
    for (size_t i = 0; pk->kind == ONX_PK_LIST && i < pk->items.n; i++) {
        const onx_pk *item = pk->items.v[i];
        if (item->kind == ONX_PK_TENSOR) {
            if (!read_tensor(in, item, to)) return false;
            continue;
        }
        if (item->kind != ONX_PK_INT || to->n == MOST_NUMBERS) return false;
        to->v[to->n++] = item->i;
    }
    return pk->kind == ONX_PK_LIST;
}

/* The oldest form has the numbers in an order of its own, and none for transposed ones. */
static bool read_oldest(onx_interp *in, const onx_pk *state, numbers *to) {
    const onx_pk *strides = item_of(state, 2);
    int64_t axes = strides && strides->kind == ONX_PK_LIST ? (int64_t)strides->items.n : 0;
    to->v[to->n++] = axes;
    for (size_t i = 2; i < 5; i++)
        if (axes > 3 || !read_numbers(in, item_of(state, i), to)) return false;
    for (int64_t i = 0; i < axes && to->n < MOST_NUMBERS; i++) to->v[to->n++] = 0;
    if (!read_numbers(in, item_of(state, 5), to) || to->n == MOST_NUMBERS) return false;
    to->v[to->n++] = 0;
    return true;
}

static onx_xv list_of(onx_interp *in, const numbers *all, size_t which) {
    onx_xv list = onx_xv_list(in->x, ONX_X_LIST, 0, NULL);
    size_t axes = (size_t)all->v[0];
    for (size_t i = 0; i < axes && onx_x_ok(in->x); i++)
        onx_xlist_add(in->x, list.list, onx_xv_int(in->x, all->v[1 + which * axes + i]));
    return list;
}

static onx_xv bad_state(onx_interp *in, const onx_pk *pk, onx_str path) {
    if (onx_x_ok(in->x))
        onx_x_fail(in->x, ONX_MALFORMED, "'%.*s', a '%.*s', is not as PyTorch writes it",
                   ONX_FMT(path), ONX_FMT(pk->type));
    return onx_py_none();
}

static onx_xv load_part(onx_interp *in, const onx_pk *pk, onx_str path, onx_str name) {
    return pk ? onx_py_load(in, pk, onx_interp_join(in, path, name)) : onx_py_none();
}

static onx_xv load_conv(onx_interp *in, const onx_pk *pk, onx_str path) {
    enum { STRIDES, PADDINGS, DILATIONS, OUTPUT_PADDINGS };
    const onx_pk *state = pk->object.state, *first = item_of(state, 0);
    const onx_pk *tensors = item_of(state, 1), *weight = NULL, *bias = NULL;
    numbers all = {.n = 0};
    bool read = false;
    if (first && first->kind == ONX_PK_STR) {
        weight = item_of(tensors, 1), bias = item_of(item_of(state, 2), 0);
        read = read_numbers(in, item_of(tensors, 0), &all);
    } else if (first && first->kind == ONX_PK_INT) {
        weight = item_of(item_of(state, 2), 1), bias = item_of(item_of(state, 2), 2);
        read = read_numbers(in, tensors, &all);
    } else if (first) {
        weight = first, bias = tensors;
        read = read_oldest(in, state, &all);
    }
    size_t axes = read && all.v[0] > 0 && all.v[0] <= 3 ? (size_t)all.v[0] : 0;
    if (!axes || all.n != 1 + 4 * axes + 2 || !weight) return bad_state(in, pk, path);
    onx_xv parts[] = {load_part(in, weight, path, ONX_LIT("weight")),
                      load_part(in, bias, path, ONX_LIT("bias")),
                      list_of(in, &all, STRIDES),
                      list_of(in, &all, PADDINGS),
                      list_of(in, &all, OUTPUT_PADDINGS),
                      list_of(in, &all, DILATIONS),
                      onx_xv_int(in->x, all.v[all.n - 2]),
                      onx_xv_bool(in->x, all.v[all.n - 1] != 0)};
    return onx_xv_list(in->x, ONX_X_TUPLE, ONX_COUNT(parts), parts);
}

/* ─ Others ───────────────────────────────────────────────────────────────────────────────────── */

/* (weight, bias, …): the tuple that it is. */
static onx_xv load_parts(onx_interp *in, const onx_pk *pk, onx_str path) {
    static const onx_str names[] = {{"weight", 6}, {"bias", 4}};
    const onx_pk *state = pk->object.state;
    onx_xv tuple = onx_xv_list(in->x, ONX_X_TUPLE, 0, NULL);
    if (!state || state->kind != ONX_PK_TUPLE) return bad_state(in, pk, path);
    for (size_t i = 0; i < state->items.n && onx_x_ok(in->x); i++) {
        onx_str name = i < ONX_COUNT(names) ? names[i] : ONX_LIT("part");
        onx_xlist_add(in->x, tuple.list, load_part(in, state->items.v[i], path, name));
    }
    return tuple;
}

/* (1, [weight], [], [bits]) */
static onx_xv load_table(onx_interp *in, const onx_pk *pk, onx_str path) {
    const onx_pk *weight = item_of(item_of(pk->object.state, 1), 0);
    if (!weight) return bad_state(in, pk, path);
    onx_xv part = load_part(in, weight, path, ONX_LIT("weight"));
    return onx_xv_list(in->x, ONX_X_TUPLE, 1, &part);
}

static onx_xv load_state(onx_interp *in, const onx_pk *pk, onx_str path) {
    const onx_pk *state = pk->object.state;
    if (!state || state->kind != ONX_PK_TUPLE) return bad_state(in, pk, path);
    return onx_py_load(in, state, path);
}

/* "conv1._packed_params" and "fc._packed_params._packed_params" hold what is conv1's and fc's. */
static onx_str owner_of(onx_str path) {
    static const char packed[] = "_packed";
    for (size_t i = path.size; i-- > 0;) {
        if (i && path.data[i - 1] != '.') continue;
        bool inner = path.size - i >= sizeof packed - 1;
        if (!inner || memcmp(path.data + i, packed, sizeof packed - 1)) break;
        path.size = i ? i - 1 : 0;
        i = path.size;
    }
    return path;
}

bool onx_py_load_bound(onx_interp *in, const onx_pk *pk, onx_str path, onx_xv *out) {
    static const struct {
        const char *name;
        onx_xv (*load)(onx_interp *in, const onx_pk *pk, onx_str path);
    } classes[] = {
        {"quantized.Conv2dPackedParamsBase", load_conv},
        {"quantized.Conv3dPackedParamsBase", load_conv},
        {"quantized.LinearPackedParamsBase", load_parts},
        {"quantized.EmbeddingPackedParamsBase", load_table},
        {"rnn.CellParamsBase", load_state},
        {"xnnpack.LinearOpContext", load_parts},
        {"xnnpack.Conv2dOpContext", load_parts},
        {"xnnpack.TransposeConv2dOpContext", load_parts},
    };
    static const char prefix[] = "__torch__.torch.classes.";
    size_t skip = sizeof prefix - 1;
    if (pk->type.size <= skip || memcmp(pk->type.data, prefix, skip)) return false;
    onx_str name = {pk->type.data + skip, pk->type.size - skip};
    for (size_t i = 0; i < ONX_COUNT(classes); i++)
        if (onx_str_is(name, classes[i].name)) {
            *out = classes[i].load(in, pk, owner_of(path));
            return true;
        }
    return false;
}
