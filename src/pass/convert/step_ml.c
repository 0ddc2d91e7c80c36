/* step_ml.c: ai.onnx.ml: LabelEncoder by a list of classes, by keys and values, by tensors. */
#include "pass/convert/steps.h"

/* ─ 2: keys and values instead of classes, whose places are the numbers ──────────────────────── */

static onx_status places(onx_convert *c, size_t n, int64_t **out) {
    *out = onx_arena_array(&c->arena, n + 1, sizeof **out);
    if (!*out) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < n; i++) (*out)[i] = (int64_t)i;
    return ONX_OK;
}

static onx_status copy_strings(onx_convert *c, onx_node *node, const char *from, const char *to) {
    const onx_attr *attr = onx_node_attr(node, from);
    const char **strings = onx_arena_array(&c->arena, attr->strings.n + 1, sizeof *strings);
    if (!strings) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < attr->strings.n; i++) strings[i] = onx_str_z(attr->strings.v[i]);
    if (onx_node_set_strings(node, to, attr->strings.n, strings)) return onx_fail_nomem(&c->diag);
    return onx_convert_drop_attr(c, node, from);
}

static onx_status classes_up(onx_convert *c, onx_node *node) {
    const onx_attr *classes = onx_node_attr(node, "classes_strings");
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    int64_t *numbers;
    bool from_string = dtype == ONX_DTYPE_STRING;
    if (!classes || onx_attr_type_of(classes) != ONX_ATTR_STRINGS || classes->ref_attr_name.size)
        return onx_convert_refuse(c, "'classes_strings' is not known");
    if (!dtype) return onx_convert_refuse(c, "the type of 'X' is not known");
    size_t n = classes->strings.n;
    ONX_TRY(places(c, n, &numbers));
    ONX_TRY(
        copy_strings(c, node, "classes_strings", from_string ? "keys_strings" : "values_strings"));
    if (onx_node_set_ints(node, from_string ? "values_int64s" : "keys_int64s", n, numbers))
        return onx_fail_nomem(&c->diag);
    return ONX_OK;
}

static onx_status classes_down(onx_convert *c, onx_node *node) {
    bool from_string = onx_node_attr(node, "keys_strings") != NULL;
    const char *strings = from_string ? "keys_strings" : "values_strings";
    const char *ints = from_string ? "values_int64s" : "keys_int64s";
    const onx_attr *names = onx_node_attr(node, strings), *numbers = onx_node_attr(node, ints);
    bool fits = names && numbers && onx_attr_type_of(names) == ONX_ATTR_STRINGS &&
                onx_attr_type_of(numbers) == ONX_ATTR_INTS && names->strings.n == numbers->ints.n;
    for (size_t i = 0; fits && i < numbers->ints.n; i++) fits = numbers->ints.v[i] == (int64_t)i;
    if (!fits)
        return onx_convert_refuse(c, "there it maps between strings and their places in a list");
    ONX_TRY(copy_strings(c, node, strings, "classes_strings"));
    return onx_convert_drop_attr(c, node, ints);
}

/* ─ 4: the same as tensors ───────────────────────────────────────────────────────────────────── */

static const struct {
    const char *tensor, *strings, *ints, *floats;
    bool one; /* a number, not a list */
} parts[] = {
    {"keys_tensor", "keys_strings", "keys_int64s", "keys_floats", false},
    {"values_tensor", "values_strings", "values_int64s", "values_floats", false},
    {"default_tensor", "default_string", "default_int64", "default_float", true},
};

static onx_status list_strings(onx_convert *c, onx_node *node, size_t part, const onx_tensor *from,
                               size_t n) {
    const char **strings = onx_arena_array(&c->arena, n + 1, sizeof *strings);
    if (!strings) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < n; i++) {
        onx_str s;
        ONX_TRY(onx_tensor_string_at(from, i, &s, &c->diag));
        strings[i] = onx_str_z(s);
    }
    onx_status status = parts[part].one
                            ? onx_node_set_string(node, parts[part].strings, strings[0])
                            : onx_node_set_strings(node, parts[part].strings, n, strings);
    return status ? onx_fail_nomem(&c->diag) : ONX_OK;
}

static onx_status list_numbers(onx_convert *c, onx_node *node, size_t part, const onx_tensor *from,
                               size_t n) {
    bool ints = onx_tensor_dtype(from) == ONX_DTYPE_I64;
    const char *name = ints ? parts[part].ints : parts[part].floats;
    size_t bytes = n * (ints ? sizeof(int64_t) : sizeof(float));
    void *data = onx_arena_alloc(&c->arena, bytes + 1);
    if (!data) return onx_fail_nomem(&c->diag);
    ONX_TRY(onx_tensor_read(from, data, bytes, &c->diag));
    onx_status status = parts[part].one && ints ? onx_node_set_int(node, name, *(int64_t *)data)
                        : parts[part].one       ? onx_node_set_float(node, name, *(float *)data)
                        : ints                  ? onx_node_set_ints(node, name, n, data)
                                                : onx_node_set_floats(node, name, n, data);
    return status ? onx_fail_nomem(&c->diag) : ONX_OK;
}

static onx_status tensors_down(onx_convert *c, onx_node *node) {
    uint64_t n;
    for (size_t i = 0; i < ONX_COUNT(parts); i++) {
        const onx_attr *attr = onx_node_attr(node, parts[i].tensor);
        const onx_tensor *tensor = attr ? onx_attr_tensor(attr) : NULL;
        if (!attr) continue;
        onx_dtype dtype = tensor ? onx_tensor_dtype(tensor) : ONX_DTYPE_NONE;
        bool fits = dtype == ONX_DTYPE_STRING || dtype == ONX_DTYPE_I64 || dtype == ONX_DTYPE_F32;
        if (!fits || onx_tensor_check(tensor, NULL) || onx_tensor_count(tensor, &n, NULL) ||
            (parts[i].one && n != 1))
            return onx_convert_refuse(c, "there is no '%s' there, and no list holds it",
                                      parts[i].tensor);
    }
    for (size_t i = 0; i < ONX_COUNT(parts); i++) {
        const onx_attr *attr = onx_node_attr(node, parts[i].tensor);
        if (!attr) continue;
        const onx_tensor *tensor = onx_attr_tensor(attr);
        ONX_TRY(onx_tensor_count(tensor, &n, &c->diag));
        ONX_TRY(onx_tensor_dtype(tensor) == ONX_DTYPE_STRING
                    ? list_strings(c, node, i, tensor, (size_t)n)
                    : list_numbers(c, node, i, tensor, (size_t)n));
        ONX_TRY(onx_convert_drop_attr(c, node, parts[i].tensor));
    }
    return ONX_OK;
}

/* ─ 5: TreeEnsemble in place of TreeEnsembleClassifier and TreeEnsembleRegressor ─────────────── */

/* Leaves stand apart from nodes there, and carry one weight each. */
static onx_status trees(onx_convert *c, onx_node *node) {
    (void)node;
    onx_convert_refuse(c, "trees are written another way there (%s), which is not converted",
                       c->at.up ? "TreeEnsemble" : "TreeEnsembleRegressor, TreeEnsembleClassifier");
    onx_diag_hint(&c->diag, "keep ai.onnx.ml at its version: other opsets can change without it");
    return ONX_UNSUPPORTED;
}

const onx_convert_step onx_step_trees = {trees, trees, NULL};
const onx_convert_step onx_step_classes = {classes_up, classes_down, NULL};
const onx_convert_step onx_step_label_tensors = {NULL, tensors_down, NULL};
