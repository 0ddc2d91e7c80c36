/* resize_ref.c: Resize and Upsample: attributes, sizes, and the kernels of the family. Sizes are
 * those of inference: floor(size * scale), in double. */
#include "ops/resize/resize_ref.h"
#include "ops/resize/sample_ref.h"

#include <math.h>

/* ── Attributes ── */

static onx_status bad_word(const onx_call *call, const char *name) {
    return onx_call_fail(call, ONX_INVALID, "attribute %s is '%.*s', which means nothing here",
                         name, ONX_FMT(onx_call_string(call, name)));
}

static bool find_mode(onx_str name, onx_resize_mode *out) {
    static const char *const names[] = {"nearest", "linear", "cubic", "bilinear"};
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (onx_str_is(name, names[i]))
            return *out = i == 3 ? ONX_RESIZE_LINEAR : (onx_resize_mode)i, true;
    return false;
}

static onx_status read_policy(const onx_call *call, onx_resize_policy *out) {
    static const char *const names[] = {"stretch", "not_larger", "not_smaller"};
    onx_str name = onx_call_string(call, "keep_aspect_ratio_policy");
    *out = ONX_RESIZE_STRETCH;
    if (!name.size) return ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (onx_str_is(name, names[i])) return *out = (onx_resize_policy)i, ONX_OK;
    return bad_word(call, "keep_aspect_ratio_policy");
}

/* Upsample 1 and 7: the scales are attributes, of the last two dimensions or of all. */
static onx_status read_scales(const onx_call *call, onx_resize_state *state) {
    const float pair[] = {1, 1, onx_call_float(call, "height_scale"),
                          onx_call_float(call, "width_scale")};
    size_t n = 4;
    const float *all = call->op->since == 1 ? pair : onx_op_floats(call->node, "scales", &n);
    if (!all) return onx_call_fail(call, ONX_INVALID, "attribute scales is missing");
    if (n > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_INVALID, "attribute scales has %zu elements", n);
    state->n_scales = n;
    for (size_t i = 0; i < n; i++) state->scales[i] = (double)all[i];
    return ONX_OK;
}

/* Before opset 11 there was one way: asymmetric, and no names for it. */
onx_status onx_resize_init(onx_call *call) {
    onx_resize_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    bool blocked = call->op->domain; /* onx.internal::ResizeBlocked */
    bool chooses = blocked || (strcmp(call->op->name, "Resize") == 0 && call->op->since >= 11);
    bool listed = !chooses && strcmp(call->op->name, "Upsample") == 0 && call->op->since < 9;
    onx_str coords = {"asymmetric", 10}, rounds = {"", 0};
    if (chooses) {
        coords = onx_call_string(call, "coordinate_transformation_mode");
        rounds = onx_call_string(call, "nearest_mode");
    }
    if (!find_mode(onx_call_string(call, "mode"), &state->mode)) return bad_word(call, "mode");
    if (!onx_resize_find_coords(coords, state))
        return bad_word(call, "coordinate_transformation_mode");
    if (!onx_resize_find_round(rounds, state)) return bad_word(call, "nearest_mode");
    state->antialias = onx_call_int(call, "antialias") != 0;
    state->exclude_outside = onx_call_int(call, "exclude_outside") != 0;
    state->cubic_a = (double)onx_call_float(call, "cubic_coeff_a");
    state->extrapolation = (double)onx_call_float(call, "extrapolation_value");
    state->scales_at = listed ? SIZE_MAX : chooses ? 2 : 1;
    state->sizes_at = chooses ? 3 : SIZE_MAX;
    ONX_TRY(read_policy(call, &state->policy));
    ONX_TRY(onx_ints_attr(call, "axes", &state->axes));
    return listed ? read_scales(call, state) : ONX_OK;
}

/* ── Sizes ── */

/* A list of as many elements as there are dimensions to resize; NULL: absent, or empty. */
static const onx_operand *list_of(const onx_call *call, size_t index) {
    const onx_operand *list = onx_call_in(call, index);
    return list && list->count ? list : NULL;
}

static onx_status check_list(const onx_call *call, const onx_operand *list, const char *name,
                             size_t n) {
    if (list->rank == 1 && list->count == (int64_t)n) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "%s has %lld elements for %zu dimensions", name,
                         (long long)list->count, n);
}

static onx_status scale_axis(const onx_call *call, onx_resize_axis *axis, double scale) {
    double size = floor((double)axis->in * scale);
    if (!(scale > 0 && isfinite(scale)))
        return onx_call_fail(call, ONX_INVALID, "a scale is %g: it must be positive", scale);
    if (!(size < 0x1p62))
        return onx_call_fail(call, ONX_LIMIT, "%lld times %g is too large a size",
                             (long long)axis->in, scale);
    axis->scale = scale;
    axis->out = (int64_t)size;
    return ONX_OK;
}

static onx_status by_scales(const onx_call *call, onx_resize_plan *plan, size_t n,
                            const size_t *targets) {
    const onx_resize_state *state = call->state;
    const onx_operand *list = list_of(call, state->scales_at);
    float scale;
    if (list) ONX_TRY(check_list(call, list, "scales", n));
    if (!list && state->n_scales != n)
        return onx_call_fail(call, ONX_INVALID, "there are %zu scales for %zu dimensions",
                             state->n_scales, n);
    for (size_t i = 0; i < n; i++) {
        double value = state->scales[i];
        if (list) {
            memcpy(&scale, (const char *)list->data + i * sizeof scale, sizeof scale);
            value = (double)scale;
        }
        ONX_TRY(scale_axis(call, &plan->axes[targets[i]], value));
    }
    return ONX_OK;
}

/* One scale for all: the largest (smallest) with which no size is above (below) what is wanted. */
static onx_status keep_ratio(const onx_call *call, onx_resize_plan *plan, size_t n,
                             const size_t *targets) {
    bool smaller = ((const onx_resize_state *)call->state)->policy == ONX_RESIZE_NOT_LARGER;
    double scale = smaller ? HUGE_VAL : 0;
    for (size_t i = 0; i < n; i++)
        scale = smaller ? fmin(scale, plan->axes[targets[i]].scale)
                        : fmax(scale, plan->axes[targets[i]].scale);
    for (size_t i = 0; i < n; i++) {
        onx_resize_axis *axis = &plan->axes[targets[i]];
        double size = round(scale * (double)axis->in);
        if (!(size < 0x1p62))
            return onx_call_fail(call, ONX_INVALID, "sizes cannot keep the ratio of dimensions");
        axis->scale = scale;
        axis->out = (int64_t)size;
    }
    return ONX_OK;
}

static onx_status by_sizes(const onx_call *call, onx_resize_plan *plan, size_t n,
                           const size_t *targets) {
    const onx_resize_state *state = call->state;
    const onx_operand *list = list_of(call, state->sizes_at);
    ONX_TRY(check_list(call, list, "sizes", n));
    for (size_t i = 0; i < n; i++) {
        onx_resize_axis *axis = &plan->axes[targets[i]];
        axis->out = onx_operand_int(list, (int64_t)i);
        if (axis->out < 0)
            return onx_call_fail(call, ONX_INVALID, "sizes has the element %lld, which is below 0",
                                 (long long)axis->out);
        axis->scale = (double)axis->out / (double)axis->in;
    }
    return state->policy == ONX_RESIZE_STRETCH ? ONX_OK : keep_ratio(call, plan, n, targets);
}

/* The dimensions that scales, sizes and roi are for. */
static onx_status find_targets(const onx_call *call, size_t rank, size_t *n, size_t *targets) {
    const onx_ints *axes = &((const onx_resize_state *)call->state)->axes;
    bool seen[ONX_RANK_MAX] = {false};
    *n = axes->n ? axes->n : rank;
    if (*n > rank)
        return onx_call_fail(call, ONX_INVALID, "attribute axes has %zu elements for rank %zu", *n,
                             rank);
    for (size_t i = 0; i < *n; i++) {
        targets[i] = i;
        if (axes->n) ONX_TRY(onx_axis_of(call, axes->v[i], rank, &targets[i]));
        if (seen[targets[i]])
            return onx_call_fail(call, ONX_INVALID, "attribute axes names dimension %zu twice",
                                 targets[i]);
        seen[targets[i]] = true;
    }
    return ONX_OK;
}

static onx_status find_sizes(const onx_call *call, onx_resize_plan *plan, size_t n,
                             const size_t *targets) {
    const onx_resize_state *state = call->state;
    bool sizes = list_of(call, state->sizes_at);
    bool scales = state->scales_at == SIZE_MAX || list_of(call, state->scales_at);
    if (!n) return ONX_OK;
    if (!sizes && !scales)
        return onx_call_fail(call, ONX_INVALID, "there are neither scales nor sizes");
    if (sizes && scales && call->op->since >= 13)
        return onx_call_fail(call, ONX_INVALID, "there are scales and sizes: one must be given");
    if (scales && !sizes && state->policy != ONX_RESIZE_STRETCH)
        return onx_call_fail(call, ONX_INVALID,
                             "keep_aspect_ratio_policy is for sizes; there are scales");
    return sizes ? by_sizes(call, plan, n, targets) : by_scales(call, plan, n, targets);
}

static onx_status check_roi(const onx_call *call, size_t n) {
    const onx_operand *roi = onx_call_in(call, 1);
    if (!((const onx_resize_state *)call->state)->crops) return ONX_OK;
    if (roi && roi->rank == 1 && roi->count == 2 * (int64_t)n) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "tf_crop_and_resize needs a roi with %zu elements: start and end for each "
                         "of %zu dimensions",
                         2 * n, n);
}

onx_status onx_resize_bind(onx_call *call, onx_resize_plan *plan) {
    const onx_resize_state *state = call->state;
    const onx_operand *x = call->in[0];
    size_t n = 0, targets[ONX_RANK_MAX];
    int64_t dims[ONX_RANK_MAX];
    *plan = (onx_resize_plan){.rank = x->rank, .last = x->rank};
    for (size_t i = 0; i < x->rank; i++)
        plan->axes[i] = (onx_resize_axis){x->dims[i], x->dims[i], 1, 0, 1, SIZE_MAX, true, 1};
    ONX_TRY(find_targets(call, x->rank, &n, targets));
    ONX_TRY(find_sizes(call, plan, n, targets));
    ONX_TRY(check_roi(call, n));
    for (size_t i = 0; i < n; i++) {
        onx_resize_axis *axis = &plan->axes[targets[i]];
        axis->roi = i;
        axis->same = !state->crops && axis->in == axis->out && fabs(axis->scale - 1) < 1e-9;
        if (!axis->same && (plan->last == x->rank || targets[i] > plan->last))
            plan->last = targets[i];
    }
    for (size_t i = 0; i < x->rank; i++) dims[i] = plan->axes[i].out;
    return onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank, dims);
}

static onx_status bind(onx_call *call) {
    ONX_TRY(onx_resize_bind(call, call->plan));
    return onx_resize_place(call);
}

/* ── Kernels of the family ── */

#define RESIZE                                                                                     \
    .plan_bytes = sizeof(onx_resize_plan), .init = onx_resize_init, .bind = bind,                  \
    .run = onx_resize_run
#define OBJECTS .flags = ONX_KERNEL_OBJECTS
/* What images are made of. */
#define ELEMENTS (ONX_T_NUMBERS | ONX_T(BOOL) | ONX_T(STRING) | ONX_T(C64) | ONX_T(C128))
#define SCALES .types = {ELEMENTS, ONX_T(F32)}, .host = 2
#define SIZES .types = {ELEMENTS, ONX_T_FLOATS, ONX_T(F32), ONX_T(I64)}, .host = 4 | 8

extern onx_kernel_rows onx_kernels_resize_ref;
onx_kernel_rows onx_kernels_resize_ref = {
    {.op = "Resize", .first = 10, .last = 10, .name = "resize", OBJECTS, SCALES, RESIZE},
    {.op = "Resize", .first = 11, .name = "resize", OBJECTS, SIZES, RESIZE},
    {.op = "Upsample",
     .first = 1,
     .last = 7,
     .name = "upsample",
     OBJECTS,
     .types = {ELEMENTS},
     RESIZE},
    {.op = "Upsample", .first = 9, .name = "upsample", OBJECTS, SCALES, RESIZE},
    {.op = "GridSample",
     .first = 16,
     .types = {ELEMENTS, ONX_T_FLOATS},
     .name = "grid_sample",
     OBJECTS,
     .init = onx_grid_sample_init,
     .bind = onx_grid_sample_bind,
     .run = onx_grid_sample_run},
    {.op = "AffineGrid",
     .first = 20,
     .types = {ONX_T_FLOATS, ONX_T(I64)},
     .name = "affine_grid",
     .host = 2,
     .init = onx_affine_grid_init,
     .bind = onx_affine_grid_bind,
     .run = onx_affine_grid_run},
    {0},
};
