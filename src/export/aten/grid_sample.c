/* grid_sample.c: images and volumes sampled at the points of a grid: GridSample of ONNX. Before
 * opset 20 it has no volumes: then the elements around each point are gathered and weighted, all at
 * once, along an axis of their own. */
#include "export/aten/nn_args.h"

typedef enum sampling { LINEAR, NEAREST, CUBIC } sampling;
typedef enum beyond { ZEROS, BORDER, REFLECTION } beyond;

typedef struct sampler {
    onx_value *input, *grid;
    size_t axes;
    sampling mode;
    beyond padding;
    bool corners;
    onx_dtype dtype; /* of coordinates */
    onx_value *size; /* [axes] in the order of a point: width first */
} sampler;

#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)

static onx_value *clipped(onx_export *x, const sampler *s, onx_value *c) {
    return G("Min", N("Max", c, 0), N("Sub", s->size, 1));
}

/* Between -1/2 and size - 1/2, or at the corners, to and fro. */
static onx_value *reflected(onx_export *x, const sampler *s, onx_value *c) {
    double low = s->corners ? 0 : -0.5;
    onx_value *span = s->corners ? N("Max", N("Sub", s->size, 1), 1) : s->size;
    onx_value *far = F("Abs", N("Sub", c, low));
    onx_value *twice = N("Mul", span, 2);
    onx_value *rest = onx_emit_with(x, "Mod", ONX_ATTRS(ONX_AI("fmod", 1)), far, twice);
    onx_value *back = G("Min", rest, G("Sub", twice, rest));
    return N("Add", back, low);
}

static onx_value *padded(onx_export *x, const sampler *s, onx_value *c) {
    if (s->padding == ZEROS) return c;
    return clipped(x, s, s->padding == REFLECTION ? reflected(x, s, c) : c);
}

/* [batch, points, 1, axes]: from -1 … 1 to pixels. */
static onx_value *coordinates(onx_export *x, const sampler *s) {
    onx_xv shape[] = {onx_x_size_of(x, s->grid, 0), onx_xv_int(x, -1), onx_xv_int(x, 1),
                      onx_xv_int(x, (int64_t)s->axes)};
    onx_value *g = onx_x_cast(x, onx_x_reshape(x, s->grid, 4, shape), s->dtype);
    g = N("Add", g, 1);
    if (s->corners) return N("Mul", G("Mul", g, N("Sub", s->size, 1)), 0.5);
    return N("Mul", N("Sub", G("Mul", g, s->size), 1), 0.5);
}

/* [taps, axes]: the pixels around a point, counted from the one below it. */
static onx_value *offsets(onx_export *x, const sampler *s) {
    double v[8 * ONX_NN_AXES];
    int64_t n = 2, dims[] = {1, (int64_t)s->axes};
    for (size_t k = 0; k < s->axes; k++) dims[0] *= n;
    for (int64_t i = 0; i < dims[0]; i++) {
        int64_t rest = i;
        for (int64_t k = 0; k < dims[1]; k++, rest /= n) v[i * dims[1] + k] = (double)(rest % n);
    }
    return onx_nn_floats(x, s->dtype, 2, dims, v);
}

/* [batch, points, taps] of where the pixels are in a plane, and what they count (NULL: 1). */
static bool find_taps(onx_export *x, const sampler *s, onx_value **places, onx_value **weights) {
    int64_t last = -1;
    onx_xv strides[ONX_NN_AXES] = {onx_xv_int(x, 1)};
    onx_value *c = padded(x, s, coordinates(x, s)), *w = NULL;
    onx_value *taps = s->mode == NEAREST ? F("Round", c) : G("Add", F("Floor", c), offsets(x, s));
    if (s->mode != NEAREST) {
        w = onx_emit(x, "Sub", onx_x_number(x, s->dtype, 1), F("Abs", G("Sub", c, taps)));
        w = onx_x_reduce(x, "ReduceProd", w, 1, &last, false);
    }
    onx_value *at = clipped(x, s, taps);
    if (s->padding == ZEROS) {
        onx_value *in = onx_x_cast(x, G("Equal", taps, at), s->dtype);
        in = onx_x_reduce(x, "ReduceMin", in, 1, &last, false);
        w = w ? G("Mul", w, in) : in;
    }
    for (size_t k = 1; k < s->axes; k++)
        strides[k] =
            onx_x_arith(x, "mul", strides[k - 1], onx_x_size_of(x, s->input, s->axes + 2 - k));
    at = G("Mul", onx_x_cast(x, at, ONX_DTYPE_I64), onx_x_shape(x, s->axes, strides));
    *places = onx_x_reduce(x, "ReduceSum", at, 1, &last, false);
    *weights = w;
    return onx_x_ok(x);
}

static onx_value *gathered(onx_export *x, const sampler *s, onx_value *places, onx_value *weights) {
    onx_xv rest = onx_xv_int(x, -1), one = onx_xv_int(x, 1);
    onx_xv batch = onx_x_size_of(x, s->input, 0), channels = onx_x_size_of(x, s->input, 1);
    onx_xv plane[] = {batch, channels, rest}, row[] = {batch, one, rest},
           all[] = {one, channels, one};
    onx_xv taps[] = {batch, channels, rest, onx_x_size_of(x, places, 2)};
    onx_xv shape[2 + ONX_NN_AXES] = {batch, channels};
    int64_t last = -1;
    for (size_t i = 0; i < s->axes; i++) shape[2 + i] = onx_x_size_of(x, s->grid, 1 + i);
    onx_value *at = G("Expand", onx_x_reshape(x, places, 3, row), onx_x_shape(x, 3, all));
    onx_value *v = onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", 2)),
                                 onx_x_reshape(x, s->input, 3, plane), at);
    v = onx_x_reshape(x, v, 4, taps);
    if (weights && v)
        v = G("Mul", v, onx_x_cast(x, onx_x_unsqueeze(x, weights, 1), onx_x_dtype(x, v)));
    return onx_x_reshape(x, onx_x_reduce(x, "ReduceSum", v, 1, &last, false), 2 + s->axes, shape);
}

static onx_value *by_taps(onx_export *x, sampler *s) {
    onx_value *places, *weights;
    onx_xv sizes[ONX_NN_AXES];
    for (size_t i = 0; i < s->axes; i++) sizes[i] = onx_x_size_of(x, s->input, s->axes + 1 - i);
    s->dtype = onx_x_dtype(x, s->grid) == ONX_DTYPE_F64 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
    s->size = onx_x_cast(x, onx_x_shape(x, s->axes, sizes), s->dtype);
    if (!onx_x_ok(x) || !find_taps(x, s, &places, &weights)) return NULL;
    return gathered(x, s, places, weights);
}

/* GridSample brings a point back to the border before it interpolates; PyTorch, with cubes, the 16
 * pixels around it. With one pixel more on each side there is no difference: the same points of an
 * image that is larger by 2, in which they are nearer to the middle. */
static void widen_border(onx_export *x, bool corners, onx_value **input, onx_value **grid) {
    static const int64_t pads[] = {0, 0, 1, 1, 0, 0, 1, 1};
    onx_value *ratio[2];
    onx_dtype dtype = onx_x_dtype(x, *grid);
    for (size_t i = 0; i < 2; i++) {
        onx_xv size = onx_x_size_of(x, *input, 3 - i), less = onx_xv_int(x, corners);
        size = onx_x_arith(x, "sub", size, less);
        onx_xv wide = onx_x_arith(x, "add", size, onx_xv_int(x, 2));
        size = onx_x_arith(x, "truediv", size, wide);
        ratio[i] = onx_x_unsqueeze(x, onx_x_scalar(x, &size, dtype), 0);
    }
    *grid = onx_emit(x, "Mul", *grid, onx_x_concat(x, 2, ratio, 0));
    *input = onx_emit_wide_with(x, "Pad", ONX_ATTRS(ONX_AS("mode", "edge")), *input,
                                onx_x_ints(x, 8, pads));
}

/* (input, grid, interpolation_mode, padding_mode, align_corners) */
static void lower_grid_sampler(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const char *const modes[2][3] = {{"bilinear", "nearest", "bicubic"},
                                            {"linear", "nearest", "cubic"}};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    int64_t mode = onx_xv_whole(x, &a[2], 0), padding = onx_xv_whole(x, &a[3], 0);
    sampler s = {.input = onx_nn_tensor(x, &a[0]), .grid = onx_nn_tensor(x, &a[1])};
    size_t rank = onx_x_rank(x, s.input);
    if (!s.grid || rank == SIZE_MAX) return;
    if (mode < 0 || mode > 2 || padding < 0 || padding > 2 || rank < 4 || rank > 5) {
        onx_x_fail(x, ONX_INVALID, "an interpolation or padding mode that does not exist");
        return;
    }
    s.axes = rank - 2;
    s.mode = (sampling)mode;
    s.padding = (beyond)padding;
    s.corners = onx_xv_true(&a[4]);
    onx_xattr attrs[] = {ONX_AI("align_corners", s.corners),
                         ONX_AS("mode", modes[x->opset >= 20][mode]),
                         ONX_AS("padding_mode", paddings[padding]),
                         {.name = NULL}};
    if (rank == 5 && x->opset < 20 && s.mode != CUBIC) {
        onx_x_give(x, out, by_taps(x, &s));
        return;
    }
    if (rank == 4 && s.mode == CUBIC && s.padding == BORDER)
        widen_border(x, s.corners, &s.input, &s.grid);
    onx_x_give(x, out, onx_emit_wide_with(x, "GridSample", attrs, s.input, s.grid));
}

#define SAMPLER                                                                                    \
    "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)"
const onx_aten onx_aten_grid_sample[] = {
    {"grid_sampler" SAMPLER, lower_grid_sampler, NULL},
    {"grid_sampler_2d" SAMPLER, lower_grid_sampler, NULL},
    {"grid_sampler_3d" SAMPLER, lower_grid_sampler, NULL},
    {"_grid_sampler_2d_cpu_fallback" SAMPLER, lower_grid_sampler, NULL},
    {.schema = NULL},
};
