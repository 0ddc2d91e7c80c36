/* step_shape.c: shapes and constants: Reshape, Shape, Pad, TopK, Constant and what fills shapes. */
#include "pass/convert/steps.h"

/* ─ Reshape: a size of 0 may mean 0 since 14 ─────────────────────────────────────────────────── */

/* Is the size never 0, or the one that a 0 takes over there? */
static bool means_same(const onx_convert *c, const onx_node *node, const onx_fact *shape,
                       size_t i) {
    const onx_fact *data = onx_convert_in(c, node, 0);
    const onx_sym *size = shape->elems[i];
    int64_t number;
    if (size && onx_sym_is_int(size, &number) && number != 0) return true;
    return size && data->ranked && i < data->rank && data->dims[i] == size;
}

static onx_status allowzero_down(onx_convert *c, onx_node *node) {
    const onx_fact *shape = onx_convert_in(c, node, 1);
    ONX_TRY(onx_convert_plain(c, node, "allowzero"));
    if (!onx_convert_int(c, node, "allowzero")) return ONX_OK;
    if (!shape->elems)
        return onx_convert_refuse(c, "a size of 0 means 0 (allowzero), and 'shape' is not known");
    for (size_t i = 0; i < shape->n_elems; i++)
        if (!means_same(c, node, shape, i))
            return onx_convert_refuse(
                c, "size %zu of 'shape' may be 0, which means 0 (allowzero), and not so there", i);
    return onx_convert_drop_attr(c, node, "allowzero");
}

/* ─ Shape: of some of the dimensions since 15 ────────────────────────────────────────────────── */

static onx_status part_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "start"));
    ONX_TRY(onx_convert_plain(c, node, "end"));
    int64_t start = onx_convert_int(c, node, "start");
    int64_t end = onx_op_has(node, "end") ? onx_convert_int(c, node, "end") : INT64_MAX;
    if (start == 0 && end == INT64_MAX) {
        ONX_TRY(onx_convert_drop_attr(c, node, "start"));
        return onx_convert_drop_attr(c, node, "end");
    }
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "all = Shape (data)\n"
                   "starts = Constant <value: tensor = int64[1] {%lld}> ()\n"
                   "ends = Constant <value: tensor = int64[1] {%lld}> ()\n"
                   "shape = Slice (all, starts, ends)\n",
                   (long long)start, (long long)end);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Pad: of some of the dimensions since 18, round and round since 19 ────────────────────────── */

static onx_status pad_axes_down(onx_convert *c, onx_node *node) {
    size_t rank, n, m, at;
    int64_t *axes, *pads;
    onx_value *value;
    if (!onx_convert_has(node, 3)) return ONX_OK;
    if (!onx_convert_rank(c, node, 0, &rank) || !onx_convert_ints(c, node, 3, &n, &axes) ||
        !onx_convert_ints(c, node, 1, &m, &pads))
        return onx_convert_refuse(c, "'axes' or 'pads' is computed, or the rank is not known");
    if (m != 2 * n) return onx_convert_refuse(c, "there are %zu pads for %zu axes", m, n);
    int64_t *all = onx_arena_array(&c->arena, 2 * rank + 1, sizeof *all);
    if (!all) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < n; i++) {
        if (!onx_axis(axes[i], rank, &at)) return onx_convert_refuse(c, "an axis is out of range");
        all[at] = pads[i];
        all[rank + at] = pads[n + i];
    }
    ONX_TRY(onx_convert_list(c, "pads", 2 * rank, all, &value));
    ONX_TRY(onx_convert_set_input(c, node, 1, value));
    return onx_convert_set_input(c, node, 3, NULL);
}

static onx_status wrap_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "mode"));
    if (!onx_str_is(onx_convert_string(c, node, "mode"), "wrap")) return ONX_OK;
    return onx_convert_refuse(c, "there is no mode 'wrap' there");
}

/* ─ TopK: the smallest, in any order, since 11 ───────────────────────────────────────────────── */

static onx_status largest_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "largest"));
    ONX_TRY(onx_convert_drop_attr(c, node, "sorted")); /* any order may be the sorted one */
    if (onx_convert_int(c, node, "largest")) return onx_convert_drop_attr(c, node, "largest");
    return onx_convert_expand(c, node,
                              "negative = Neg (X)\n"
                              "least, Indices = TopK <axis: int = @axis> (negative, K)\n"
                              "Values = Neg (least)\n");
}

/* ─ Constant: numbers and strings without a tensor since 12, sparse tensors since 11 ─────────── */

static onx_status set_value(onx_convert *c, onx_node *node, const onx_attr *attr, onx_status status,
                            onx_tensor *tensor) {
    if (status) return status;
    status = onx_node_set_tensor(node, "value", tensor);
    onx_tensor_free(tensor);
    if (status) return onx_fail_nomem(&c->diag);
    return onx_convert_drop_attr(c, node, onx_str_z(attr->name));
}

static onx_status strings_tensor(onx_convert *c, const onx_attr *attr, onx_tensor **out) {
    bool is_list = onx_attr_type_of(attr) == ONX_ATTR_STRINGS;
    size_t n = is_list ? attr->strings.n : 1;
    int64_t dims[1] = {(int64_t)n};
    const char **strings = onx_arena_array(&c->arena, n + 1, sizeof *strings);
    if (!strings) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < n; i++) {
        onx_str s = is_list ? attr->strings.v[i] : attr->s;
        if (s.size && memchr(s.data, '\0', s.size))
            return onx_convert_refuse(c, "a string has a zero byte in it");
        strings[i] = onx_str_z(s);
    }
    return onx_tensor_new_strings(c->model->msg.doc->ctx, NULL, is_list, dims, strings, out,
                                  &c->diag);
}

static onx_status value_tensor(onx_convert *c, const onx_attr *attr, onx_tensor **out) {
    onx_context *ctx = c->model->msg.doc->ctx;
    int64_t n = (int64_t)onx_attr_count(attr);
    switch (onx_attr_type_of(attr)) {
    case ONX_ATTR_FLOAT:
        return onx_tensor_new(ctx, NULL, ONX_DTYPE_F32, 0, NULL, &attr->f, 4, out, &c->diag);
    case ONX_ATTR_INT:
        return onx_tensor_new(ctx, NULL, ONX_DTYPE_I64, 0, NULL, &attr->i, 8, out, &c->diag);
    case ONX_ATTR_FLOATS:
        return onx_tensor_new(ctx, NULL, ONX_DTYPE_F32, 1, &n, attr->floats.v, 4 * (size_t)n, out,
                              &c->diag);
    case ONX_ATTR_INTS:
        return onx_tensor_new(ctx, NULL, ONX_DTYPE_I64, 1, &n, attr->ints.v, 8 * (size_t)n, out,
                              &c->diag);
    case ONX_ATTR_STRING:
    case ONX_ATTR_STRINGS: return strings_tensor(c, attr, out);
    default: return onx_convert_refuse(c, "its attribute is of the wrong type");
    }
}

static onx_status forms_down(onx_convert *c, onx_node *node) {
    static const char *const names[] = {"value_float", "value_floats", "value_int",
                                        "value_ints",  "value_string", "value_strings"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        const onx_attr *attr = onx_node_attr(node, names[i]);
        onx_tensor *tensor = NULL;
        if (!attr) continue;
        ONX_TRY(onx_convert_plain(c, node, names[i]));
        onx_status status = value_tensor(c, attr, &tensor);
        return set_value(c, node, attr, status, tensor);
    }
    return ONX_OK;
}

/* ─ ConstantOfShape is, before 9, one element expanded ───────────────────────────────────────── */

static onx_status fill_down(onx_convert *c, onx_node *node) {
    const onx_attr *attr = onx_node_attr(node, "value");
    const onx_tensor *given = attr && !attr->ref_attr_name.size ? onx_attr_tensor(attr) : NULL;
    onx_dtype dtype = given ? onx_tensor_dtype(given) : ONX_DTYPE_F32;
    alignas(16) char element[16] = {0};
    size_t size;
    onx_value *value;
    if (attr && !given) return onx_convert_refuse(c, "its value is not known");
    if (!onx_dtype_bytes(dtype, 1, &size) || size > sizeof element)
        return onx_convert_refuse(c, "its value is of a type without a size");
    if (given && onx_tensor_read(given, element, size, NULL))
        return onx_convert_refuse(c, "its value must be one element");
    ONX_TRY(onx_convert_tensor(c, "value", dtype, 0, NULL, element, size, &value));
    onx_value *shape = onx_node_input(node, 0);
    ONX_TRY(onx_convert_set_input(c, node, 1, shape));
    ONX_TRY(onx_convert_set_input(c, node, 0, value));
    ONX_TRY(onx_convert_drop_attr(c, node, "value"));
    return onx_node_set_op(node, "Expand") ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* ─ Other names for the same ─────────────────────────────────────────────────────────────────── */

static onx_status rename_op(onx_convert *c, onx_node *node) {
    const char *const *names = c->at.step->data; /* the older one, the newer one */
    return onx_node_set_op(node, names[c->at.up]) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* ─ Flatten: of all types since 9; as a matrix it can be reshaped ────────────────────────────── */

static onx_status flatten_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    int64_t axis = onx_convert_int(c, node, "axis");
    if (!dtype || onx_convert_is_float(dtype) || axis < 0 || axis > 1) return ONX_OK;
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "shape = Constant <value: tensor = int64[2] {%d, -1}> ()\n"
                   "output = Reshape (input, shape)\n",
                   axis ? 0 : 1);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ DepthToSpace: columns and rows first (CRD) since 11 ──────────────────────────────────────── */

static onx_status depth_down(onx_convert *c, onx_node *node) {
    int64_t dims[3], size;
    ONX_TRY(onx_convert_plain(c, node, "mode"));
    ONX_TRY(onx_convert_plain(c, node, "blocksize"));
    if (!onx_str_is(onx_convert_string(c, node, "mode"), "CRD")) return ONX_OK;
    size = onx_convert_int(c, node, "blocksize");
    for (size_t i = 0; i < 3; i++)
        if (!onx_convert_dim(c, node, 0, i + 1, &dims[i]) || dims[i] >= INT32_MAX)
            return onx_convert_refuse(c,
                                      "there is no mode 'CRD' there, and the shape is not known");
    if (size < 1 || size > 1 << 15 || dims[0] % (size * size))
        return onx_convert_refuse(c, "'blocksize' does not divide the channels");
    long long b = (long long)size, depth = (long long)(dims[0] / (size * size));
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(
        &text,
        "apart = Constant <value: tensor = int64[6] {0, %lld, %lld, %lld, %lld, %lld}> ()\n"
        "together = Constant <value: tensor = int64[4] {0, %lld, %lld, %lld}> ()\n"
        "blocks = Reshape (input, apart)\n"
        "turned = Transpose <perm: ints = [0, 1, 4, 2, 5, 3]> (blocks)\n"
        "output = Reshape (turned, together)\n",
        depth, b, b, (long long)dims[1], (long long)dims[2], depth, (long long)dims[1] * b,
        (long long)dims[2] * b);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Optionals: since 18 also of what is none ─────────────────────────────────────────────────── */

static onx_status has_element_down(onx_convert *c, onx_node *node) {
    onx_type_kind kind = onx_convert_in(c, node, 0)->kind;
    if (!onx_convert_has(node, 0))
        return onx_convert_expand(c, node, "output = Constant <value: tensor = bool {0}> ()");
    if (kind == ONX_TYPE_NONE || kind == ONX_TYPE_OPTIONAL) return ONX_OK;
    return onx_convert_expand(c, node, "output = Constant <value: tensor = bool {1}> ()");
}

static onx_status get_element_down(onx_convert *c, onx_node *node) {
    onx_type_kind kind = onx_convert_in(c, node, 0)->kind;
    if (kind == ONX_TYPE_NONE || kind == ONX_TYPE_OPTIONAL) return ONX_OK;
    return onx_convert_expand(c, node, "output = Identity (input)");
}

const onx_convert_step onx_step_has_element = {NULL, has_element_down, NULL};
const onx_convert_step onx_step_get_element = {NULL, get_element_down, NULL};
const onx_convert_step onx_step_flatten = {NULL, flatten_down, NULL};
const onx_convert_step onx_step_depth = {NULL, depth_down, NULL};
const onx_convert_step onx_step_allowzero = {NULL, allowzero_down, NULL};
const onx_convert_step onx_step_part = {NULL, part_down, NULL};
const onx_convert_step onx_step_pad_axes = {NULL, pad_axes_down, NULL};
const onx_convert_step onx_step_wrap = {NULL, wrap_down, NULL};
const onx_convert_step onx_step_largest = {NULL, largest_down, NULL};
const onx_convert_step onx_step_forms = {NULL, forms_down, NULL};
const onx_convert_step onx_step_fill = {NULL, fill_down, NULL};
const onx_convert_step onx_step_scatter = {rename_op, rename_op,
                                           (const char *const[]){"Scatter", "ScatterElements"}};
