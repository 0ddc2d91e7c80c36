/* resize_axis_ref.c: which elements of an axis become one of the resized axis, and with what
 * weights. Coordinates are computed in double. The nearest element is found for the coordinate as a
 * float: scales are floats, and 1 / (1/3) is meant to be 3. Weights beyond the ends of the axis are
 * added to those of the ends, or dropped (exclude_outside). */
#include "ops/resize/resize_ref.h"

#include <math.h>

/* ── Coordinates ── */

/* The length of the resized axis; not an integer where it follows from a scale. */
static double length_of(const onx_resize_axis *axis) {
    return axis->scale * (double)axis->in;
}

static double half_pixel(const onx_resize_axis *axis, double x) {
    return (x + 0.5) / axis->scale - 0.5;
}
static double half_pixel_symmetric(const onx_resize_axis *axis, double x) {
    double adjustment = (double)axis->out / length_of(axis);
    return (double)axis->in / 2 * (1 - adjustment) + half_pixel(axis, x);
}
static double pytorch_half_pixel(const onx_resize_axis *axis, double x) {
    return length_of(axis) > 1 ? half_pixel(axis, x) : 0;
}
static double tf_half_pixel_for_nn(const onx_resize_axis *axis, double x) {
    return (x + 0.5) / axis->scale;
}
static double align_corners(const onx_resize_axis *axis, double x) {
    double length = length_of(axis);
    return length > 1 ? x * (double)(axis->in - 1) / (length - 1) : 0;
}
static double asymmetric(const onx_resize_axis *axis, double x) {
    return x / axis->scale;
}
static double tf_crop_and_resize(const onx_resize_axis *axis, double x) {
    double last = (double)(axis->in - 1), length = length_of(axis);
    if (!(length > 1)) return 0.5 * (axis->start + axis->end) * last;
    return axis->start * last + x * (axis->end - axis->start) * last / (length - 1);
}

bool onx_resize_find_coords(onx_str name, onx_resize_state *state) {
    static const struct {
        const char *name;
        onx_resize_coords *fn;
    } all[] = {
        {"half_pixel", half_pixel},
        {"half_pixel_symmetric", half_pixel_symmetric},
        {"pytorch_half_pixel", pytorch_half_pixel},
        {"tf_half_pixel_for_nn", tf_half_pixel_for_nn},
        {"align_corners", align_corners},
        {"asymmetric", asymmetric},
        {"tf_crop_and_resize", tf_crop_and_resize},
    };
    state->coords = NULL;
    for (size_t i = 0; i < ONX_COUNT(all); i++)
        if (onx_str_is(name, all[i].name)) state->coords = all[i].fn;
    state->crops = state->coords == tf_crop_and_resize;
    return state->coords != NULL;
}

/* ── The nearest element ── */

static double prefer_floor(const onx_resize_axis *axis, double x) {
    (void)axis;
    return ceil(x - 0.5);
}
static double prefer_ceil(const onx_resize_axis *axis, double x) {
    (void)axis;
    return floor(x + 0.5);
}
static double down(const onx_resize_axis *axis, double x) {
    (void)axis;
    return floor(x);
}
static double up(const onx_resize_axis *axis, double x) {
    (void)axis;
    return ceil(x);
}
/* As it was before there was a choice. */
static double plain(const onx_resize_axis *axis, double x) {
    return axis->scale < 1 ? ceil(x) : floor(x);
}

bool onx_resize_find_round(onx_str name, onx_resize_state *state) {
    static const struct {
        const char *name;
        double (*fn)(const onx_resize_axis *axis, double x);
    } all[] = {
        {"round_prefer_floor", prefer_floor},
        {"round_prefer_ceil", prefer_ceil},
        {"floor", down},
        {"ceil", up},
        {"", plain},
    };
    state->round = NULL;
    for (size_t i = 0; i < ONX_COUNT(all); i++)
        if (onx_str_is(name, all[i].name)) state->round = all[i].fn;
    return state->round != NULL;
}

/* ── Weights ── */

static double linear_at(double t) {
    return t < 1 ? 1 - t : 0;
}
static double cubic_at(double t, double a) {
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}
static double weight_at(const onx_resize_state *state, double t) {
    t = fabs(t);
    return state->mode == ONX_RESIZE_LINEAR ? linear_at(t) : cubic_at(t, state->cubic_a);
}

/* How much narrower than elements of the input the filter sees them. */
static double squeeze_of(const onx_resize_state *state, const onx_resize_axis *axis) {
    return state->antialias && axis->scale < 1 ? axis->scale : 1;
}
static double radius_of(const onx_resize_state *state, const onx_resize_axis *axis) {
    return (state->mode == ONX_RESIZE_LINEAR ? 1 : 2) / squeeze_of(state, axis);
}

void onx_resize_width(const onx_resize_state *state, onx_resize_axis *axis) {
    double most = (double)axis->in;
    double width = state->mode == ONX_RESIZE_NEAREST ? 1 : ceil(2 * radius_of(state, axis));
    axis->width = axis->same ? 1 : (size_t)(width < most ? width : most);
}

bool onx_resize_table_bytes(const onx_resize_state *state, const onx_resize_axis *axis,
                            size_t *bytes) {
    size_t each = sizeof(int64_t);
    if (axis->same) return *bytes = 0, true;
    if (state->mode != ONX_RESIZE_NEAREST &&
        (!onx_mul_size(axis->width, sizeof(double), bytes) || !onx_add_size(each, *bytes, &each)))
        return false;
    return onx_mul_size((size_t)axis->out, each, bytes);
}

static int64_t clamp(double at, int64_t most) {
    return at > 0 ? at < (double)most ? (int64_t)at : most : 0;
}

/* The weights for coordinate x: those of the elements nearer than the filter is wide. */
static int64_t weigh(const onx_resize_state *state, const onx_resize_axis *axis, double x,
                     double *weight) {
    double squeeze = squeeze_of(state, axis), radius = radius_of(state, axis), sum = 0, inside = 0;
    int64_t low = (int64_t)floor(x - radius) + 1, high = (int64_t)ceil(x + radius) - 1;
    int64_t first = clamp((double)low, axis->in - (int64_t)axis->width);
    for (size_t i = 0; i < axis->width; i++) weight[i] = 0;
    for (int64_t at = low; at <= high; at++) {
        double w = weight_at(state, ((double)at - x) * squeeze);
        bool outside = at < 0 || at >= axis->in;
        sum += w;
        if (!outside) inside += w;
        if (!outside || !state->exclude_outside)
            weight[clamp((double)at, axis->in - 1) - first] += w;
    }
    if (state->exclude_outside) sum = inside;
    for (size_t i = 0; i < axis->width && sum != 0; i++) weight[i] /= sum;
    return first;
}

onx_resize_table onx_resize_table_make(const onx_resize_state *state, const onx_resize_axis *axis,
                                       char *memory) {
    onx_resize_table table = {(int64_t *)(void *)memory, NULL};
    table.weight = (double *)(void *)(table.first + axis->out);
    for (int64_t o = 0; o < axis->out; o++) {
        double x = state->coords(axis, (double)o);
        if (state->crops && !(x >= 0 && x <= (double)(axis->in - 1)))
            table.first[o] = -1;
        else if (state->mode == ONX_RESIZE_NEAREST)
            table.first[o] = clamp(state->round(axis, (double)(float)x), axis->in - 1);
        else
            table.first[o] = weigh(state, axis, x, table.weight + (size_t)o * axis->width);
    }
    return table;
}
