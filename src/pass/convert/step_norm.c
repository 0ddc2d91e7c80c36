/* step_norm.c: normalizations and Dropout: statistics for each feature, training, groups. */
#include "pass/convert/steps.h"

/* ─ BatchNormalization ───────────────────────────────────────────────────────────────────────── */

/* Statistics for each feature rather than each channel, which broadcast as they are. */
static onx_status spatial_up(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "spatial"));
    if (onx_convert_int(c, node, "spatial")) return onx_convert_drop_attr(c, node, "spatial");
    if (node->output.n > 1)
        return onx_convert_refuse(c, "it trains for each feature (spatial is 0)");
    if (!dtype) return onx_convert_refuse(c, "the type of 'X' is not known");
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "epsilon_f32 = Constant <value: tensor = float {%.9g}> ()\n"
                   "epsilon = Cast <to: int = %d> (epsilon_f32)\n"
                   "centred = Sub (X, mean)\n"
                   "moved = Add (var, epsilon)\n"
                   "deviation = Sqrt (moved)\n"
                   "normal = Div (centred, deviation)\n"
                   "scaled = Mul (normal, scale)\n"
                   "Y = Add (scaled, B)\n",
                   (double)onx_op_float(c->at.before, node, "epsilon"), (int)dtype);
    return onx_convert_expand_buf(c, node, &text);
}

/* Training shows in the number of outputs before 14, and in an attribute since. */
static onx_status training_up(onx_convert *c, onx_node *node) {
    bool trains = false;
    for (size_t i = 1; i < node->output.n; i++) trains |= onx_node_output(node, i) != NULL;
    for (size_t i = 3; i < node->output.n; i++)
        if (onx_convert_is_used(node, i))
            return onx_convert_refuse(c, "it has no output %zu there, and it is used", i);
    if (trains && onx_node_set_int(node, "training_mode", 1)) return onx_fail_nomem(&c->diag);
    return ONX_OK;
}

static onx_status training_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "training_mode"));
    bool trains = onx_convert_int(c, node, "training_mode") != 0;
    ONX_TRY(onx_convert_drop_attr(c, node, "training_mode"));
    while (trains && node->output.n < 5)
        if (!onx_node_add_output(node, NULL)) return onx_fail_nomem(&c->diag);
    return ONX_OK;
}

/* ─ GroupNormalization: scale and bias for each group before 21, for each channel since ──────── */

static onx_status groups_up(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "num_groups"));
    long long groups = (long long)onx_convert_int(c, node, "num_groups");
    if (groups < 1) return onx_convert_refuse(c, "'num_groups' must be positive");
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "channels = Shape <start: int = 1, end: int = 2> (X)\n"
                   "groups = Constant <value: tensor = int64[1] {%lld}> ()\n"
                   "each = Div (channels, groups)\n"
                   "one = Constant <value: tensor = int64[1] {1}> ()\n"
                   "times = Concat <axis: int = 0> (one, each)\n"
                   "column = Constant <value: tensor = int64[2] {-1, 1}> ()\n"
                   "row = Constant <value: tensor = int64[1] {-1}> ()\n"
                   "scales = Reshape (scale, column)\n"
                   "all_scales = Expand (scales, times)\n"
                   "channel_scale = Reshape (all_scales, row)\n"
                   "biases = Reshape (bias, column)\n"
                   "all_biases = Expand (biases, times)\n"
                   "channel_bias = Reshape (all_biases, row)\n"
                   "Y = GroupNormalization <epsilon: float = @epsilon, num_groups: int = "
                   "@num_groups> (X, channel_scale, channel_bias)\n",
                   groups);
    return onx_convert_expand_buf(c, node, &text);
}

/* A scale for each channel is none for each group: its body says the same. */
static onx_status groups_down(onx_convert *c, onx_node *node) {
    (void)node;
    return onx_convert_refuse(c, "there it scales by groups, and here by channels");
}

/* ─ Dropout ──────────────────────────────────────────────────────────────────────────────────── */

/* The mask is of the type of the data before 10, and of bool since. */
static onx_status mask(onx_convert *c, onx_node *node) {
    onx_dtype dtype = c->at.up ? onx_convert_in(c, node, 0)->dtype : ONX_DTYPE_BOOL;
    if (!onx_convert_is_used(node, 1)) return ONX_OK;
    if (!dtype) return onx_convert_refuse(c, "the type of 'data' is not known");
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "output, other = Dropout <ratio: float = @ratio> (data)\n"
                   "mask = Cast <to: int = %d> (other)\n",
                   (int)dtype);
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status ratio_up(onx_convert *c, onx_node *node) {
    onx_value *ratio;
    ONX_TRY(onx_convert_plain(c, node, "ratio"));
    if (!onx_op_has(node, "ratio")) return ONX_OK;
    double number = (double)onx_op_float(c->at.before, node, "ratio");
    ONX_TRY(onx_convert_scalar(c, "ratio", ONX_DTYPE_F32, number, &ratio));
    ONX_TRY(onx_convert_set_input(c, node, 1, ratio));
    return onx_convert_drop_attr(c, node, "ratio");
}

/* Nothing is dropped unless training_mode says so; then, or where that is not known, the older one
 * cannot do it. */
static onx_status ratio_down(onx_convert *c, onx_node *node) {
    size_t n;
    int64_t *mode;
    float *ratio;
    bool trains = onx_convert_has(node, 2) &&
                  !(onx_convert_ints(c, node, 2, &n, &mode) && n == 1 && mode[0] == 0);
    bool has_ratio = onx_convert_floats(c, node, 1, &n, &ratio) && n == 1;
    if (trains && !(has_ratio && ratio[0] == 0)) {
        onx_convert_refuse(c, "it may drop at random ('training_mode'), and does not there");
        onx_diag_hint(&c->diag, "leave 'training_mode' out, if the model is not for training");
        return ONX_UNSUPPORTED;
    }
    if (has_ratio && onx_node_set_float(node, "ratio", ratio[0])) return onx_fail_nomem(&c->diag);
    ONX_TRY(onx_convert_set_input(c, node, 2, NULL));
    ONX_TRY(onx_convert_set_input(c, node, 1, NULL));
    return onx_convert_drop_attr(c, node, "seed");
}

const onx_convert_step onx_step_spatial = {spatial_up, NULL, NULL};
const onx_convert_step onx_step_training = {training_up, training_down, NULL};
const onx_convert_step onx_step_groups = {groups_up, groups_down, NULL};
const onx_convert_step onx_step_mask = {mask, mask, NULL};
const onx_convert_step onx_step_ratio = {ratio_up, ratio_down, NULL};
