/* step_axis.c: axes: counted from the end, coerced to matrices, looked at from the other side. */
#include "pass/convert/steps.h"

/* ─ Axes counted from the end, since 11 ──────────────────────────────────────────────────────── */

/* Where the rank is not known they stay: nothing forbids them before, either. */
static onx_status signs_down(onx_convert *c, onx_node *node) {
    size_t rank;
    onx_attr *axis = onx_node_attr(node, "axis"), *axes = onx_node_attr(node, "axes");
    if (!onx_convert_rank(c, node, 0, &rank)) return ONX_OK;
    if (axes && onx_str_is(node->op_type, "Unsqueeze")) rank += axes->ints.n;
    if (axis && onx_attr_type_of(axis) == ONX_ATTR_INT && !axis->ref_attr_name.size &&
        axis->i < 0 && onx_node_set_int(node, "axis", axis->i + (int64_t)rank))
        return onx_fail_nomem(&c->diag);
    if (!axes || onx_attr_type_of(axes) != ONX_ATTR_INTS || axes->ref_attr_name.size) return ONX_OK;
    int64_t *list = onx_arena_array(&c->arena, axes->ints.n + 1, sizeof *list);
    if (!list) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < axes->ints.n; i++)
        list[i] = axes->ints.v[i] + (axes->ints.v[i] < 0 ? (int64_t)rank : 0);
    return onx_node_set_ints(node, "axes", axes->ints.n, list) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* Slice: axes are an input. */
static onx_status slice_signs_down(onx_convert *c, onx_node *node) {
    size_t n, rank;
    int64_t *axes;
    onx_value *value;
    bool any = false;
    if (!onx_convert_rank(c, node, 0, &rank) || !onx_convert_ints(c, node, 3, &n, &axes))
        return ONX_OK;
    for (size_t i = 0; i < n; i++)
        if (axes[i] < 0) axes[i] += (int64_t)rank, any = true;
    if (!any) return ONX_OK;
    ONX_TRY(onx_convert_list(c, "axes", n, axes, &value));
    return onx_convert_set_input(c, node, 3, value);
}

/* ─ Softmax and its kin: along one axis since 13, before over all from it on ─────────────────── */

/* The axis; -1 when it is the last one, whatever the rank. */
static onx_status softmax_axis(onx_convert *c, const onx_node *node, int64_t *axis) {
    size_t rank, at;
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    *axis = onx_convert_int(c, node, "axis");
    if (!onx_convert_rank(c, node, 0, &rank)) return ONX_OK;
    if (!onx_axis(*axis, rank, &at)) return ONX_OK;
    *axis = at + 1 == rank ? -1 : (int64_t)at;
    return ONX_OK;
}

static onx_status softmax_up(onx_convert *c, onx_node *node) {
    int64_t axis;
    ONX_TRY(softmax_axis(c, node, &axis));
    if (axis == -1) return onx_node_set_int(node, "axis", -1) ? onx_fail_nomem(&c->diag) : ONX_OK;
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "shape = Shape (input)\n"
                   "flat = Flatten <axis: int = %lld> (input)\n"
                   "result = %s <axis: int = 1> (flat)\n"
                   "output = Reshape (result, shape)\n",
                   (long long)axis, c->at.before->name);
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status softmax_down(onx_convert *c, onx_node *node) {
    int64_t axis;
    size_t rank;
    ONX_TRY(softmax_axis(c, node, &axis));
    bool ranked = onx_convert_rank(c, node, 0, &rank);
    int64_t last = ranked ? (int64_t)rank - 1 : -1;
    if (axis == -1) return onx_node_set_int(node, "axis", last) ? onx_fail_nomem(&c->diag) : ONX_OK;
    if (!ranked || axis < 0)
        return onx_convert_refuse(c, "which axis is the last one is not known");
    onx_buf perm = onx_convert_text(c), text = onx_convert_text(c);
    for (int64_t i = 0; i <= last; i++) /* that axis and the last one change places */
        onx_buf_printf(&perm, "%s%lld", i ? ", " : "",
                       (long long)(i == axis   ? last
                                   : i == last ? axis
                                               : i));
    onx_buf_putc(&perm, '\0');
    if (!perm.failed)
        onx_buf_printf(&text,
                       "turned = Transpose <perm: ints = [%s]> (input)\n"
                       "result = %s <axis: int = %lld> (turned)\n"
                       "output = Transpose <perm: ints = [%s]> (result)\n",
                       perm.data, c->at.before->name, (long long)last, perm.data);
    bool failed = perm.failed;
    onx_buf_fini(&perm);
    text.failed |= failed;
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ ArgMax, ArgMin: the last of equal elements is the first one from behind ──────────────────── */

static onx_status last_index_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "select_last_index"));
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    if (!onx_convert_int(c, node, "select_last_index")) return ONX_OK;
    long long axis = (long long)onx_convert_int(c, node, "axis");
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "axes = Constant <value: tensor = int64[1] {%lld}> ()\n"
                   "back = Constant <value: tensor = int64[1] {-1}> ()\n"
                   "end = Constant <value: tensor = int64[1] {-9223372036854775807}> ()\n"
                   "turned = Slice (data, back, end, axes, back)\n"
                   "index = %s <axis: int = %lld, keepdims: int = @keepdims> (turned)\n"
                   "shape = Shape (data)\n"
                   "axis = Constant <value: tensor = int64 {%lld}> ()\n"
                   "size = Gather (shape, axis)\n"
                   "one = Constant <value: tensor = int64 {1}> ()\n"
                   "last = Sub (size, one)\n"
                   "reduced = Sub (last, index)\n",
                   axis, c->at.before->name, axis, axis);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Split: into a number of parts, the last of which may be smaller, since 18 ────────────────── */

static onx_status split_up(onx_convert *c, onx_node *node) {
    if (onx_convert_has(node, 1)) return ONX_OK;
    return onx_node_set_int(node, "num_outputs", (int64_t)node->output.n) ? onx_fail_nomem(&c->diag)
                                                                          : ONX_OK;
}

/* The sizes of the parts, computed when the model runs. */
static onx_status split_dynamic(onx_convert *c, onx_node *node, long long axis, size_t n) {
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "shape = Shape (input)\n"
                   "axes = Constant <value: tensor = int64[1] {%lld}> ()\n"
                   "size = Gather (shape, axes)\n"
                   "n = Constant <value: tensor = int64[1] {%zu}> ()\n"
                   "m = Constant <value: tensor = int64[1] {%zu}> ()\n"
                   "more = Add (size, m)\n"
                   "part = Div (more, n)\n"
                   "parts = Mul (part, m)\n"
                   "last = Sub (size, parts)\n"
                   "sizes = Concat <axis: int = 0> (",
                   axis, n, n - 1);
    for (size_t i = 0; i + 1 < n; i++) onx_buf_puts(&text, "part, ");
    onx_buf_puts(&text, "last)\n");
    for (size_t i = 0; i < n; i++) onx_buf_printf(&text, "%soutputs%zu", i ? ", " : "", i);
    onx_buf_printf(&text, " = Split <axis: int = %lld> (input, sizes)\n", axis);
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status split_down(onx_convert *c, onx_node *node) {
    size_t n = node->output.n, rank, at;
    int64_t size, part;
    onx_value *value;
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    if (onx_convert_has(node, 1) || !onx_op_has(node, "num_outputs"))
        return onx_convert_drop_attr(c, node, "num_outputs");
    int64_t axis = onx_convert_int(c, node, "axis");
    if (n < 2) return onx_convert_drop_attr(c, node, "num_outputs");
    if (!onx_convert_rank(c, node, 0, &rank) || !onx_axis(axis, rank, &at) ||
        !onx_convert_dim(c, node, 0, at, &size))
        return split_dynamic(c, node, (long long)axis, n);
    int64_t *sizes = onx_arena_array(&c->arena, n, sizeof *sizes);
    if (!sizes) return onx_fail_nomem(&c->diag);
    part = size / (int64_t)n + (size % (int64_t)n != 0);
    for (size_t i = 0; i < n; i++, size -= part) sizes[i] = size < part ? size : part;
    if (sizes[n - 1] < 0)
        return onx_convert_refuse(c, "there is not enough along the axis for %zu parts", n);
    if (sizes[n - 1] != part) {
        ONX_TRY(onx_convert_list(c, "split", n, sizes, &value));
        ONX_TRY(onx_convert_set_input(c, node, 1, value));
    }
    return onx_convert_drop_attr(c, node, "num_outputs");
}

const onx_convert_step onx_step_signs = {NULL, signs_down, NULL};
const onx_convert_step onx_step_slice_signs = {NULL, slice_signs_down, NULL};
const onx_convert_step onx_step_softmax = {softmax_up, softmax_down, NULL};
const onx_convert_step onx_step_last_index = {NULL, last_index_down, NULL};
const onx_convert_step onx_step_num_outputs = {split_up, split_down, NULL};
