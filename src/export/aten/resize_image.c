/* resize_image.c: images of PyTorch enlarged and reduced: upsample_* in all forms.
 *
 * A scale that is given counts, not the ratio of sizes that comes of it; the size is the input's
 * times the scale, rounded down. Coordinates are those of pixel centres, unless corners are
 * aligned; `nearest` is as if pixels were points at their left edges. */
#include "export/aten/nn_args.h"

#include <math.h>

typedef struct method {
    const char *name; /* in the operator's: "bilinear2d" holds "linear" */
    const char *mode, *coordinates, *nearest;
    double cubic; /* coefficient */
    bool aligns;  /* has an argument align_corners */
} method;

/* The first whose name is in the operator's. */
static const method methods[] = {
    {"nearest_exact", "nearest", "half_pixel", "round_prefer_ceil", 0, false},
    {"nearest", "nearest", "asymmetric", "floor", 0, false},
    {"bicubic2d_aa", "cubic", "half_pixel", NULL, -0.5, true},
    {"bicubic", "cubic", "half_pixel", NULL, -0.75, true},
    {"linear", "linear", "half_pixel", NULL, 0, true},
};

typedef struct resize {
    onx_value *input;
    size_t axes;
    const method *method;
    const onx_xv *sizes;       /* axes of them; NULL: by scales */
    double scale[ONX_NN_AXES]; /* 0: none is given */
    bool align, antialias;
} resize;

static const method *method_of(const onx_export *x) {
    size_t i = 0, n = strcspn(x->op, "(");
    for (; i + 1 < ONX_COUNT(methods); i++) {
        const char *at = strstr(x->op, methods[i].name);
        if (at && (size_t)(at - x->op) < n) break;
    }
    return &methods[i];
}

static bool has_scales(const resize *r) {
    for (size_t i = 0; i < r->axes; i++)
        if (r->scale[i] <= 0) return false;
    return true;
}

/* Where corners are aligned only sizes count, which whole scales lead to in any arithmetic. */
static bool is_scaled(const resize *r) {
    for (size_t i = 0; r->align && i < r->axes; i++)
        if (r->scale[i] != floor(r->scale[i])) return false;
    return has_scales(r);
}

/* A float that gives the size that PyTorch computes in doubles. */
static float exact_scale(onx_export *x, const resize *r, size_t i) {
    float scale = (float)r->scale[i];
    int64_t in;
    if (!onx_x_known_dim(x, r->input, i + 2, &in)) return scale;
    double want = floor((double)in * r->scale[i]);
    for (int k = 0; k < 4 && floor((double)in * (double)scale) < want; k++)
        scale = nextafterf(scale, INFINITY);
    return scale;
}

static onx_value *scales_of(onx_export *x, const resize *r) {
    float scales[ONX_NN_AXES + 2] = {1, 1};
    int64_t n = (int64_t)r->axes + 2;
    for (size_t i = 0; i < r->axes; i++) scales[i + 2] = exact_scale(x, r, i);
    return onx_x_constant(x, ONX_DTYPE_F32, 1, &n, scales, (size_t)n * sizeof *scales);
}

static onx_value *sizes_of(onx_export *x, const resize *r) {
    onx_xv all[ONX_NN_AXES + 2];
    for (size_t i = 0; i < r->axes + 2; i++) {
        all[i] = onx_x_size_of(x, r->input, i);
        if (i < 2) continue;
        if (r->sizes)
            all[i] = r->sizes[i - 2];
        else
            all[i] = onx_x_to_int(x, onx_x_arith(x, "mul", all[i], onx_xv_float(r->scale[i - 2])));
    }
    return onx_x_shape(x, r->axes + 2, all);
}

/* Are the sizes those that the input has? */
static bool is_same_size(onx_export *x, const resize *r) {
    for (size_t i = 0; i < r->axes; i++) {
        if (r->scale[i] > 0 ? r->scale[i] != 1 : r->sizes[i].sym != onx_x_dim(x, r->input, i + 2))
            return false;
    }
    return onx_x_ok(x);
}

static onx_value *make(onx_export *x, resize *r) {
    onx_xattr attrs[8] = {{.name = NULL}}, *at = attrs;
    bool scaled = is_scaled(r);
    if (!r->input || is_same_size(x, r)) return r->input;
    if (r->antialias && r->align) {
        onx_x_fail(x, ONX_UNSUPPORTED, "antialias with align_corners, which ONNX has not");
        onx_x_hint(x, "resize with align_corners=False");
        return NULL;
    }
    if (r->antialias) *at++ = ONX_AI("antialias", 1);
    *at++ = ONX_AS("coordinate_transformation_mode",
                   r->align ? "align_corners" : r->method->coordinates);
    if (r->method->cubic != 0) *at++ = ONX_AF("cubic_coeff_a", r->method->cubic);
    if (r->antialias) *at++ = ONX_AI("exclude_outside", 1);
    *at++ = ONX_AS("mode", r->method->mode);
    if (r->method->nearest) *at = ONX_AS("nearest_mode", r->method->nearest);
    return onx_emit_wide_with(x, "Resize", attrs, r->input, NULL, scaled ? scales_of(x, r) : NULL,
                              scaled ? NULL : sizes_of(x, r));
}

/* Scales that are given with sizes must be those that lead to them. */
static void drop_other_scales(onx_export *x, resize *r) {
    bool same = true;
    for (size_t i = 0; r->sizes && i < r->axes; i++) {
        int64_t in, out;
        bool known =
            onx_x_known_dim(x, r->input, i + 2, &in) && onx_xv_known_int(&r->sizes[i], &out);
        same &= r->scale[i] > 0 && (!known || floor((double)in * r->scale[i]) == (double)out);
    }
    if (!same) memset(r->scale, 0, sizeof r->scale);
}

static bool begin(onx_export *x, resize *r, const onx_xv *a) {
    *r = (resize){.input = onx_nn_tensor(x, &a[0]),
                  .axes = onx_nn_axes(x),
                  .method = method_of(x),
                  .antialias = strstr(x->op, "_aa") != NULL};
    r->align = r->method->aligns && onx_xv_true(&a[2]);
    if (onx_xv_is_list(&a[1]) && a[1].list->n == r->axes) r->sizes = a[1].list->v;
    return r->input && onx_x_rank(x, r->input) == r->axes + 2;
}

/* (input, output_size?, [align_corners,] scale_factors?) */
static void lower_vec(onx_export *x, const onx_xv *a, onx_xv *out) {
    resize r;
    if (!begin(x, &r, a)) return;
    const onx_xv *scales = &a[r.method->aligns ? 3 : 2];
    for (size_t i = 0; onx_xv_is_list(scales) && i < r.axes && i < scales->list->n; i++)
        r.scale[i] = onx_xv_real(x, &scales->list->v[i], 0);
    if (!r.sizes && !has_scales(&r))
        onx_x_fail(x, ONX_INVALID, "neither output_size nor scale_factors is given");
    onx_x_give(x, out, make(x, &r));
}

/* (self, output_size, [align_corners,] scales …) */
static void lower_sized(onx_export *x, const onx_xv *a, onx_xv *out) {
    resize r;
    if (!begin(x, &r, a)) return;
    const onx_xv *scales = &a[r.method->aligns ? 3 : 2];
    for (size_t i = 0; i < r.axes; i++) r.scale[i] = onx_xv_real(x, &scales[i], 0);
    drop_other_scales(x, &r);
    if (!r.sizes) onx_x_fail(x, ONX_INVALID, "'output_size' must be %zu integers", r.axes);
    onx_x_give(x, out, make(x, &r));
}

#define VEC(corners) "(Tensor input, int[]? output_size, " corners "float[]? scale_factors)"
#define SIZED(n, corners, scales) "(Tensor self, int[" n "] output_size" corners scales ")"
#define ALIGN ", bool align_corners"
#define ONE ", float? scales=None"
#define TWO ", float? scales_h=None, float? scales_w=None"
#define THREE ", float? scales_d=None" TWO
#define BOTH(name, n, vec, sized, scales)                                                          \
    {name ".vec" VEC(vec), lower_vec, NULL}, {                                                     \
        name SIZED(n, sized, scales), lower_sized, NULL                                            \
    }
#define PLAIN(name, n, scales) BOTH(name, n, "", "", scales)
#define ALIGNED(name, n, scales) BOTH(name, n, "bool align_corners, ", ALIGN, scales)

const onx_aten onx_aten_resize_image[] = {
    PLAIN("upsample_nearest1d", "1", ONE),
    PLAIN("upsample_nearest2d", "2", TWO),
    PLAIN("upsample_nearest3d", "3", THREE),
    PLAIN("_upsample_nearest_exact1d", "1", ONE),
    PLAIN("_upsample_nearest_exact2d", "2", TWO),
    PLAIN("_upsample_nearest_exact3d", "3", THREE),
    ALIGNED("upsample_linear1d", "1", ONE),
    ALIGNED("upsample_bilinear2d", "2", TWO),
    ALIGNED("upsample_bicubic2d", "2", TWO),
    ALIGNED("_upsample_bilinear2d_aa", "2", TWO),
    ALIGNED("_upsample_bicubic2d_aa", "2", TWO),
    ALIGNED("upsample_trilinear3d", "3", THREE),
    {.schema = NULL},
};
