/* step_resize.c: Upsample and Resize.
 *
 *     Upsample 7 (X) scales ▶ 9 (X, scales) ▶ Resize 10 ▶ 11 (X, roi, scales, sizes) ▶ 13 ▶ 18 ▶ 19
 *
 * Before 11 there is one way to place and round: coordinates are divided by the scale, and
 * 'nearest' takes the element below, or, where it gets smaller, the one above. */
#include "pass/convert/steps.h"

enum { RESIZE_X, RESIZE_ROI, RESIZE_SCALES, RESIZE_SIZES };

static onx_status set_string(onx_convert *c, onx_node *node, const char *name, const char *value) {
    return onx_node_set_string(node, name, value) ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* Do all scales make it larger, or keep it; do all make it smaller, or keep it? */
static bool scales_go(onx_convert *c, const onx_node *node, size_t input, bool *up, bool *down) {
    size_t n;
    float *scales;
    if (!onx_convert_floats(c, node, input, &n, &scales)) return false;
    *up = *down = true;
    for (size_t i = 0; i < n; i++) {
        *up &= scales[i] >= 1;
        *down &= scales[i] <= 1;
    }
    return true;
}

/* ─ 10: Resize may also make smaller ─────────────────────────────────────────────────────────── */

static onx_status upsample_up(onx_convert *c, onx_node *node) {
    return onx_node_set_op(node, "Resize") ? onx_fail_nomem(&c->diag) : ONX_OK;
}

static onx_status resize_first_down(onx_convert *c, onx_node *node) {
    bool up, down;
    if (!scales_go(c, node, 1, &up, &down) || !up)
        return onx_convert_refuse(c,
                                  "Upsample takes its place there, and its scales are at least 1");
    return onx_node_set_op(node, "Upsample") ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* ─ 11: where elements lie ───────────────────────────────────────────────────────────────────── */

static onx_status add_empty(onx_convert *c, const char *hint, onx_value **out) {
    return onx_convert_tensor(c, hint, ONX_DTYPE_F32, 1, (const int64_t[]){0}, NULL, 0, out);
}

static onx_status places_up(onx_convert *c, onx_node *node) {
    bool up = true, down = false, nearest;
    onx_value *roi, *scales;
    ONX_TRY(onx_convert_plain(c, node, "mode"));
    nearest = onx_str_is(onx_convert_string(c, node, "mode"), "nearest");
    bool known = scales_go(c, node, 1, &up, &down);
    if (nearest && known && !up && !down)
        return onx_convert_refuse(c, "it makes some dimensions larger and others smaller");
    ONX_TRY(set_string(c, node, "coordinate_transformation_mode", "asymmetric"));
    if (nearest) ONX_TRY(set_string(c, node, "nearest_mode", up ? "floor" : "ceil"));
    ONX_TRY(add_empty(c, "roi", &roi));
    scales = onx_node_input(node, 1);
    ONX_TRY(onx_convert_set_input(c, node, RESIZE_SCALES, scales));
    return onx_convert_set_input(c, node, RESIZE_ROI, roi);
}

/* Scales that give just these sizes, where all of them are known. */
static onx_status scales_of_sizes(onx_convert *c, onx_node *node) {
    size_t n;
    int64_t *sizes, dim;
    onx_value *value;
    if (!onx_convert_ints(c, node, RESIZE_SIZES, &n, &sizes))
        return onx_convert_refuse(c, "there are no 'sizes' there, and here they are computed");
    float *scales = onx_arena_array(&c->arena, n + 1, sizeof *scales);
    if (!scales) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < n; i++) {
        if (!onx_convert_dim(c, node, 0, i, &dim) || dim < 1 || dim > 1 << 20 || sizes[i] < 1 ||
            sizes[i] > 1 << 20)
            return onx_convert_refuse(c, "there are no 'sizes' there, and scales are not known");
        scales[i] = (float)sizes[i] / (float)dim;
        if ((int64_t)((float)dim * scales[i]) != sizes[i])
            return onx_convert_refuse(c, "no scale gives %lld of %lld elements",
                                      (long long)sizes[i], (long long)dim);
    }
    ONX_TRY(onx_convert_tensor(c, "scales", ONX_DTYPE_F32, 1, (const int64_t[]){(int64_t)n}, scales,
                               n * sizeof *scales, &value));
    return onx_convert_set_input(c, node, RESIZE_SCALES, value);
}

static onx_status check_places(onx_convert *c, const onx_node *node) {
    static const char *const names[] = {"mode", "coordinate_transformation_mode", "nearest_mode"};
    bool up, down, nearest;
    for (size_t i = 0; i < ONX_COUNT(names); i++) ONX_TRY(onx_convert_plain(c, node, names[i]));
    onx_str mode = onx_convert_string(c, node, "mode");
    onx_str round = onx_convert_string(c, node, "nearest_mode");
    nearest = onx_str_is(mode, "nearest");
    if (!nearest && !onx_str_is(mode, "linear"))
        return onx_convert_refuse(c, "there is no mode '%.*s' there", ONX_FMT(mode));
    if (!onx_str_is(onx_convert_string(c, node, names[1]), "asymmetric"))
        return onx_convert_refuse(c, "there, coordinates are 'asymmetric'");
    if (onx_convert_has(node, RESIZE_SIZES) || !nearest) return ONX_OK;
    if (!scales_go(c, node, RESIZE_SCALES, &up, &down))
        return onx_convert_refuse(c, "how 'nearest' rounds there depends on scales not known");
    if ((up && onx_str_is(round, "floor")) || (down && onx_str_is(round, "ceil"))) return ONX_OK;
    return onx_convert_refuse(c, "'nearest' does not round that way there");
}

static onx_status places_down(onx_convert *c, onx_node *node) {
    static const char *const gone[] = {"coordinate_transformation_mode", "nearest_mode",
                                       "cubic_coeff_a", "exclude_outside", "extrapolation_value"};
    onx_status status = check_places(c, node);
    if (!status && onx_convert_has(node, RESIZE_SIZES)) status = scales_of_sizes(c, node);
    if (status == ONX_UNSUPPORTED) return onx_convert_resample(c, node);
    ONX_TRY(status);
    onx_value *scales = onx_node_input(node, RESIZE_SCALES);
    for (size_t i = 3; i >= 1; i--) ONX_TRY(onx_convert_set_input(c, node, i, NULL));
    ONX_TRY(onx_convert_set_input(c, node, 1, scales));
    for (size_t i = 0; i < ONX_COUNT(gone); i++) ONX_TRY(onx_convert_drop_attr(c, node, gone[i]));
    return ONX_OK;
}

/* ─ 13: what is not needed may be missing; before, it is empty ───────────────────────────────── */

static bool is_empty(const onx_convert *c, const onx_node *node, size_t input) {
    int64_t size;
    return onx_convert_dim(c, node, input, 0, &size) && size == 0;
}

static onx_status missing_up(onx_convert *c, onx_node *node) {
    for (size_t i = RESIZE_ROI; i <= RESIZE_SCALES; i++)
        if (onx_convert_has(node, i) && is_empty(c, node, i) &&
            (i == RESIZE_ROI || onx_convert_has(node, RESIZE_SIZES)))
            ONX_TRY(onx_convert_set_input(c, node, i, NULL));
    return ONX_OK;
}

static onx_status missing_down(onx_convert *c, onx_node *node) {
    static const char *const names[] = {NULL, "roi", "scales"};
    for (size_t i = RESIZE_ROI; i <= RESIZE_SCALES; i++) {
        onx_value *value;
        if (onx_convert_has(node, i)) continue;
        ONX_TRY(add_empty(c, names[i], &value));
        ONX_TRY(onx_convert_set_input(c, node, i, value));
    }
    return ONX_OK;
}

/* ─ 18: some of the axes ─────────────────────────────────────────────────────────────────────── */

/* Scales and sizes for all axes: those of an input, put into ones or into the sizes of X. */
static onx_status all_axes(onx_convert *c, onx_node *node, const onx_attr *axes, size_t rank) {
    size_t input = onx_convert_has(node, RESIZE_SIZES) ? RESIZE_SIZES : RESIZE_SCALES, at;
    onx_value *all, *places;
    onx_node *put;
    float *ones = onx_arena_array(&c->arena, rank + 1, sizeof *ones);
    int64_t dims[1] = {(int64_t)rank}, *list;
    list = onx_arena_array(&c->arena, axes->ints.n + 1, sizeof *list);
    if (!ones || !list) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < rank; i++) ones[i] = 1;
    for (size_t i = 0; i < axes->ints.n; i++) {
        if (!onx_axis(axes->ints.v[i], rank, &at))
            return onx_convert_refuse(c, "an axis is out of range");
        list[i] = (int64_t)at;
    }
    ONX_TRY(onx_convert_list(c, "axes", axes->ints.n, list, &places));
    if (input == RESIZE_SCALES) {
        ONX_TRY(
            onx_convert_tensor(c, "ones", ONX_DTYPE_F32, 1, dims, ones, rank * sizeof *ones, &all));
    } else {
        onx_value *x = onx_node_input(node, RESIZE_X);
        ONX_TRY(onx_convert_add(c, "Shape", 1, &x, &put));
        all = onx_node_output(put, 0);
    }
    onx_value *in[] = {all, places, onx_node_input(node, input)};
    ONX_TRY(onx_convert_add(c, "ScatterElements", 3, in, &put));
    return onx_convert_set_input(c, node, input, onx_node_output(put, 0));
}

/* The same where all numbers are known: as constants. */
static onx_status known_axes(onx_convert *c, onx_node *node, const onx_attr *axes, size_t rank,
                             bool *done) {
    size_t n, at;
    float *some, *all = onx_arena_array(&c->arena, rank + 1, sizeof *all);
    onx_value *value;
    if (!all) return onx_fail_nomem(&c->diag);
    if (onx_convert_has(node, RESIZE_SIZES) ||
        !onx_convert_floats(c, node, RESIZE_SCALES, &n, &some) || n != axes->ints.n)
        return ONX_OK;
    for (size_t i = 0; i < rank; i++) all[i] = 1;
    for (size_t i = 0; i < n; i++) {
        if (!onx_axis(axes->ints.v[i], rank, &at))
            return onx_convert_refuse(c, "an axis is out of range");
        all[at] = some[i];
    }
    *done = true;
    ONX_TRY(onx_convert_tensor(c, "scales", ONX_DTYPE_F32, 1, (const int64_t[]){(int64_t)rank}, all,
                               rank * sizeof *all, &value));
    return onx_convert_set_input(c, node, RESIZE_SCALES, value);
}

static onx_status axes_down(onx_convert *c, onx_node *node) {
    const onx_attr *axes = onx_node_attr(node, "axes");
    size_t rank;
    bool done = false;
    if (onx_convert_int(c, node, "antialias"))
        return onx_convert_refuse(c, "there is no 'antialias' there");
    ONX_TRY(onx_convert_plain(c, node, "keep_aspect_ratio_policy"));
    if (!onx_convert_has(node, RESIZE_SIZES)) /* scales keep it, or not, by themselves */
        ONX_TRY(onx_convert_drop_attr(c, node, "keep_aspect_ratio_policy"));
    else if (!onx_str_is(onx_convert_string(c, node, "keep_aspect_ratio_policy"), "stretch"))
        return onx_convert_refuse(c, "there is no 'keep_aspect_ratio_policy' there");
    if (!axes) return ONX_OK;
    ONX_TRY(onx_convert_plain(c, node, "axes"));
    if (!onx_convert_rank(c, node, 0, &rank) || onx_convert_has(node, RESIZE_ROI))
        return onx_convert_refuse(c, "it has no 'axes' there, and all of them are not known");
    ONX_TRY(known_axes(c, node, axes, rank, &done));
    if (!done) ONX_TRY(all_axes(c, node, axes, rank));
    return onx_convert_drop_attr(c, node, "axes");
}

/* ─ 19: another way to place, 16: another default ────────────────────────────────────────────── */

static onx_status symmetric_down(onx_convert *c, onx_node *node) {
    static const char name[] = "coordinate_transformation_mode";
    ONX_TRY(onx_convert_plain(c, node, name));
    if (!onx_str_is(onx_convert_string(c, node, name), "half_pixel_symmetric")) return ONX_OK;
    return onx_convert_refuse(c, "coordinates cannot be 'half_pixel_symmetric' there");
}

static onx_status roi_align_up(onx_convert *c, onx_node *node) {
    return set_string(c, node, "coordinate_transformation_mode", "output_half_pixel");
}

static onx_status roi_align_down(onx_convert *c, onx_node *node) {
    static const char name[] = "coordinate_transformation_mode";
    ONX_TRY(onx_convert_plain(c, node, name));
    if (onx_str_is(onx_convert_string(c, node, name), "output_half_pixel"))
        return onx_convert_drop_attr(c, node, name);
    return onx_convert_refuse(c, "coordinates are always 'output_half_pixel' there");
}

const onx_convert_step onx_step_upsample = {upsample_up, NULL, NULL};
const onx_convert_step onx_step_resize_first = {NULL, resize_first_down, NULL};
const onx_convert_step onx_step_places = {places_up, places_down, NULL};
const onx_convert_step onx_step_missing = {missing_up, missing_down, NULL};
const onx_convert_step onx_step_resize_axes = {NULL, axes_down, NULL};
const onx_convert_step onx_step_symmetric = {NULL, symmetric_down, NULL};
const onx_convert_step onx_step_roi_align = {roi_align_up, roi_align_down, NULL};
