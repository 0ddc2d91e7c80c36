/* step_old.c: versions before 7 of ai.onnx, which are only left: in-place hints, broadcasting to
 * order, training switches, types as strings. */
#include "pass/convert/steps.h"

static onx_status drop(onx_convert *c, onx_node *node) {
    return onx_convert_drop_attr(c, node, c->at.step->data);
}

/* Selu: defaults with more digits. */
static onx_status selu_up(onx_convert *c, onx_node *node) {
    static const char *const names[] = {"alpha", "gamma"};
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (!onx_op_has(node, names[i]) &&
            onx_node_set_float(node, names[i], onx_op_float(c->at.before, node, names[i])))
            return onx_fail_nomem(&c->diag);
    return ONX_OK;
}

static onx_status concat_up(onx_convert *c, onx_node *node) {
    if (onx_op_has(node, "axis")) return ONX_OK;
    return onx_node_set_int(node, "axis", 1) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

static onx_status set_ints(onx_convert *c, onx_node *node, const char *name, size_t n,
                           const int64_t *values) {
    return onx_node_set_ints(node, name, n, values) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* ─ Broadcasting ─────────────────────────────────────────────────────────────────────────────── */

/* Input 1 with `after` dimensions of size 1 behind its own. */
static onx_status append_dims(onx_convert *c, onx_node *node, size_t rank, size_t after) {
    onx_node *wide;
    int64_t *axes = onx_arena_array(&c->arena, after + 1, sizeof *axes);
    if (!axes) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < after; i++) axes[i] = (int64_t)(rank + i);
    onx_value *value = onx_node_input(node, 1);
    ONX_TRY(onx_convert_add(c, "Unsqueeze", 1, &value, &wide));
    ONX_TRY(set_ints(c, wide, "axes", after, axes));
    return onx_convert_set_input(c, node, 1, onx_node_output(wide, 0));
}

/* B stands at `axis` of A, or at its end: there it needs dimensions behind it, or none. */
static onx_status broadcast_up(onx_convert *c, onx_node *node) {
    size_t a, b;
    ONX_TRY(onx_convert_plain(c, node, "broadcast"));
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    if (onx_convert_int(c, node, "broadcast") && onx_op_has(node, "axis")) {
        int64_t axis = onx_convert_int(c, node, "axis");
        if (!onx_convert_rank(c, node, 0, &a) || !onx_convert_rank(c, node, 1, &b))
            return onx_convert_refuse(c, "how many dimensions the inputs have is not known");
        if (axis < 0) axis = axis >= -(int64_t)a ? axis + (int64_t)a : (int64_t)a + 1;
        if ((uint64_t)axis > a || b > a - (size_t)axis)
            return onx_convert_refuse(c, "attribute 'axis' is out of range");
        size_t after = a - (size_t)axis - b;
        if (after) ONX_TRY(append_dims(c, node, b, after));
    }
    ONX_TRY(onx_convert_drop_attr(c, node, "axis"));
    return onx_convert_drop_attr(c, node, "broadcast");
}

/* PRelu: one slope for each channel. */
static onx_status prelu_up(onx_convert *c, onx_node *node) {
    size_t x, slope;
    int64_t size;
    bool one = onx_convert_dim(c, node, 1, 0, &size) && size == 1;
    if (!onx_convert_rank(c, node, 1, &slope))
        return onx_convert_refuse(c, "how many dimensions 'slope' has is not known");
    if (slope != 1 || one) return ONX_OK;
    if (!onx_convert_rank(c, node, 0, &x))
        return onx_convert_refuse(c, "how many dimensions 'X' has is not known");
    return x > 2 ? append_dims(c, node, 1, x - 2) : ONX_OK;
}

/* ─ Training ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status dropout_up(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "is_test"));
    if (!onx_convert_int(c, node, "is_test")) {
        onx_convert_refuse(c, "it drops at random (is_test is 0), and does not there");
        onx_diag_hint(&c->diag, "set is_test to 1, if the model is not for training");
        return ONX_UNSUPPORTED;
    }
    return onx_convert_drop_attr(c, node, "is_test");
}

/* ─ Types and numbers ────────────────────────────────────────────────────────────────────────── */

/* "FLOAT" and its like: the names of types, in capitals. */
static onx_dtype dtype_named(onx_str name) {
    char small[32] = "";
    for (size_t i = 0; i < name.size && name.size < sizeof small; i++) {
        char ch = name.data[i];
        small[i] = (char)(ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch);
    }
    return onx_dtype_from_name(small);
}

static onx_status cast_up(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "to"));
    onx_str name = onx_convert_string(c, node, "to");
    onx_dtype dtype = dtype_named(name);
    if (!dtype) return onx_convert_refuse(c, "there is no type '%.*s'", ONX_FMT(name));
    return onx_node_set_int(node, "to", dtype) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* LpPool, GlobalLpPool: p is an integer. */
static onx_status p_up(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "p"));
    float p = onx_op_float(c->at.before, node, "p");
    if (!(p >= 1 && p < 1000) || p != (float)(int)p)
        return onx_convert_refuse(c, "'p' is an integer there, and here it is %g", (double)p);
    return onx_node_set_int(node, "p", (int)p) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

static onx_status gru_up(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "direction"));
    if (!onx_str_is(onx_convert_string(c, node, "direction"), "foward")) return ONX_OK;
    return onx_convert_drop_attr(c, node, "direction");
}

/* ─ Other forms ──────────────────────────────────────────────────────────────────────────────── */

static onx_status pad_up(onx_convert *c, onx_node *node) {
    const onx_attr *attr = onx_node_attr(node, "paddings");
    ONX_TRY(onx_convert_plain(c, node, "paddings"));
    if (!attr || onx_attr_type_of(attr) != ONX_ATTR_INTS) return ONX_OK;
    ONX_TRY(set_ints(c, node, "pads", attr->ints.n, attr->ints.v));
    return onx_convert_drop_attr(c, node, "paddings");
}

static onx_status split_up(onx_convert *c, onx_node *node) {
    size_t n;
    int64_t *sizes;
    if (!onx_convert_has(node, 1)) return ONX_OK;
    if (!onx_convert_ints(c, node, 1, &n, &sizes))
        return onx_convert_refuse(c, "'split' is an attribute there, and here it is computed");
    ONX_TRY(set_ints(c, node, "split", n, sizes));
    return onx_convert_set_input(c, node, 1, NULL);
}

/* How often along one axis, to how often along each. */
static onx_status tile_up(onx_convert *c, onx_node *node) {
    size_t n, m, rank, at;
    int64_t *tiles, *axis;
    onx_value *repeats;
    if (!onx_convert_ints(c, node, 1, &n, &tiles) || !onx_convert_ints(c, node, 2, &m, &axis) ||
        !onx_convert_rank(c, node, 0, &rank))
        return onx_convert_refuse(c, "'tiles' or 'axis' is computed, or the rank is not known");
    if (n != 1 || m != 1 || !onx_axis(axis[0], rank, &at))
        return onx_convert_refuse(c, "'axis' is out of range");
    int64_t *all = onx_arena_array(&c->arena, rank + 1, sizeof *all);
    if (!all) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < rank; i++) all[i] = i == at ? tiles[0] : 1;
    ONX_TRY(onx_convert_list(c, "repeats", rank, all, &repeats));
    ONX_TRY(onx_convert_set_input(c, node, 1, repeats));
    return onx_convert_set_input(c, node, 2, NULL);
}

static onx_status upsample_up(onx_convert *c, onx_node *node) {
    float scales[4] = {1, 1, 0, 0};
    ONX_TRY(onx_convert_plain(c, node, "height_scale"));
    ONX_TRY(onx_convert_plain(c, node, "width_scale"));
    scales[2] = onx_op_float(c->at.before, node, "height_scale");
    scales[3] = onx_op_float(c->at.before, node, "width_scale");
    if (onx_node_set_floats(node, "scales", 4, scales)) return onx_fail_nomem(&c->diag);
    ONX_TRY(onx_convert_drop_attr(c, node, "height_scale"));
    return onx_convert_drop_attr(c, node, "width_scale");
}

const onx_convert_step onx_step_sequence = {drop, NULL, "output_sequence"};
const onx_convert_step onx_step_is_test = {drop, NULL,
                                           "is_test"}; /* the number of outputs tells it */
const onx_convert_step onx_step_gemm_broadcast = {drop, NULL, "broadcast"};
const onx_convert_step onx_step_selu = {selu_up, NULL, NULL};
const onx_convert_step onx_step_concat = {concat_up, NULL, NULL};
const onx_convert_step onx_step_broadcast = {broadcast_up, NULL, NULL};
const onx_convert_step onx_step_prelu = {prelu_up, NULL, NULL};
const onx_convert_step onx_step_dropout_test = {dropout_up, NULL, NULL};
const onx_convert_step onx_step_cast_names = {cast_up, NULL, NULL};
const onx_convert_step onx_step_p = {p_up, NULL, NULL};
const onx_convert_step onx_step_gru = {gru_up, NULL, NULL};
const onx_convert_step onx_step_paddings = {pad_up, NULL, NULL};
const onx_convert_step onx_step_split_input = {split_up, NULL, NULL};
const onx_convert_step onx_step_tile = {tile_up, NULL, NULL};
const onx_convert_step onx_step_upsample_hw = {upsample_up, NULL, NULL};
