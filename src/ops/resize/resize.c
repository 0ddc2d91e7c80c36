/* resize.c: images of another size: Resize, Upsample, GridSample, AffineGrid, CenterCropPad:
 * meaning. */
#include "ops/op.h"
#include "ops/resize/affine_grid.h"

#include <math.h>

/* ─ Sizes and axes ───────────────────────────────────────────────────────────────────────────── */

/* The dimensions that sizes are given for: those in attribute axes, or all. */
typedef struct targets {
    size_t n;
    size_t *axes;
} targets;

static onx_status read_targets(onx_infer *in, size_t rank, targets *out) {
    size_t n;
    const int64_t *axes = onx_op_ints(onx_infer_node(in), "axes", &n);
    bool *seen = onx_arena_array(onx_infer_arena(in), rank + 1, sizeof *seen);
    *out = (targets){axes && n ? n : rank, NULL};
    out->axes = onx_arena_array(onx_infer_arena(in), out->n + 1, sizeof *out->axes);
    if (!seen || !out->axes) return ONX_NO_MEMORY;
    memset(seen, 0, rank);
    for (size_t i = 0; i < out->n; i++) {
        int64_t axis = axes && n ? axes[i] : (int64_t)i;
        if (!onx_axis(axis, rank, &out->axes[i]))
            return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)axis,
                                  rank);
        if (seen[out->axes[i]])
            return onx_infer_fail(in, "attribute axes names dimension %zu twice", out->axes[i]);
        seen[out->axes[i]] = true;
    }
    return ONX_OK;
}

/* Input `index` is a list with one element for each target. */
static onx_status check_count(onx_infer *in, size_t index, const targets *t) {
    onx_extent n = {"number of dimensions to resize and of elements given for them",
                    onx_sym_int(onx_infer_syms(in), (int64_t)t->n)};
    return onx_infer_unify(in, index, 1, (onx_extent *[]){&n});
}

static const onx_sym *elem_of(const onx_fact *fact, size_t index) {
    return fact->elems && index < fact->n_elems ? fact->elems[index] : NULL;
}

/* floor(size * scale); where one of them is not a number, only if floats are exact. */
static const onx_sym *scaled(onx_infer *in, const onx_sym *size, const onx_sym *scale) {
    onx_syms *syms = onx_infer_syms(in);
    double factor;
    int64_t n;
    if (!onx_sym_is_int(size, &n) || !onx_sym_is_real(syms, scale, &factor))
        return scale && onx_sym_is_binary(scale)
                   ? onx_sym_floor(syms, onx_sym_mul(syms, size, scale))
                   : NULL;
    double product = floor((double)n * factor);
    return product >= 0 && product < 0x1p62 ? onx_sym_int(syms, (int64_t)product) : NULL;
}

/* `scales` NULL: not known. */
static onx_status scale_dims(onx_infer *in, const targets *t, size_t n,
                             const onx_sym *const *scales, const onx_sym **dims) {
    if (scales && n != t->n)
        return onx_infer_fail(in, "there are %zu scales for %zu dimensions", n, t->n);
    for (size_t i = 0; i < t->n; i++) {
        const onx_sym **dim = &dims[t->axes[i]], *before = *dim;
        double factor = 1;
        bool known = scales && onx_sym_is_real(onx_infer_syms(in), scales[i], &factor);
        if (known && !(factor > 0))
            return onx_infer_fail(in, "scale %zu is %g, which is not positive", i, factor);
        *dim = scales ? scaled(in, before, scales[i]) : NULL;
        if (known && before && !*dim)
            onx_infer_lost(in, 0, t->axes[i], "%g times a size is not an expression of integers",
                           factor);
    }
    return ONX_OK;
}

/* ─ Resize and Upsample ──────────────────────────────────────────────────────────────────────── */

/* A list that is there and, as far as is known, not empty. */
static bool is_given(const onx_infer *in, size_t index) {
    const onx_fact *fact = onx_infer_in(in, index);
    int64_t n;
    bool empty = fact->ranked && fact->rank == 1 && onx_sym_is_int(fact->dims[0], &n) && n == 0;
    return onx_infer_has_in(in, index) && !empty;
}

/* The largest (or smallest) scale that keeps all sizes at most (at least) what is wanted. */
static void keep_ratio(onx_infer *in, const targets *t, bool smaller, const onx_sym **dims) {
    const onx_fact *sizes = onx_infer_in(in, 3);
    double scale = smaller ? HUGE_VAL : 0;
    bool known = true;
    int64_t n, wanted;
    for (size_t i = 0; i < t->n && known; i++) {
        known = onx_sym_is_int(dims[t->axes[i]], &n) && n > 0 &&
                onx_sym_is_int(elem_of(sizes, i), &wanted) && wanted >= 0;
        double one = known ? (double)wanted / (double)n : 0;
        scale = smaller ? fmin(scale, one) : fmax(scale, one);
    }
    for (size_t i = 0; i < t->n; i++) {
        const onx_sym **dim = &dims[t->axes[i]];
        double size = known && onx_sym_is_int(*dim, &n) ? round(scale * (double)n) : 0x1p62;
        *dim = size < 0x1p62 ? onx_sym_int(onx_infer_syms(in), (int64_t)size) : NULL;
        if (!known)
            onx_infer_lost(in, 0, t->axes[i], "the aspect ratio depends on sizes not known");
    }
}

static onx_status size_dims(onx_infer *in, const targets *t, const onx_sym **dims) {
    onx_str policy = onx_infer_string(in, "keep_aspect_ratio_policy");
    if (policy.size && !onx_str_is(policy, "stretch") && t->n > 1) {
        keep_ratio(in, t, onx_str_is(policy, "not_larger"), dims);
        return ONX_OK;
    }
    for (size_t i = 0; i < t->n; i++) dims[t->axes[i]] = elem_of(onx_infer_in(in, 3), i);
    return ONX_OK;
}

static onx_status check_resize(onx_infer *in, bool has_scales, bool has_sizes) {
    int32_t since = onx_infer_op(in)->since;
    if (has_scales == has_sizes && (since >= 13 || !has_sizes))
        return onx_infer_fail(in, "there are %s: one of them must be given",
                              has_sizes ? "scales and sizes" : "neither scales nor sizes");
    ONX_TRY(onx_infer_choice(in, "mode", "nearest linear cubic"));
    ONX_TRY(
        onx_infer_choice(in, "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil"));
    ONX_TRY(onx_infer_choice(in, "coordinate_transformation_mode",
                             "half_pixel pytorch_half_pixel align_corners asymmetric "
                             "tf_crop_and_resize tf_half_pixel_for_nn half_pixel_symmetric"));
    if (since < 18) return ONX_OK;
    ONX_TRY(onx_infer_choice(in, "keep_aspect_ratio_policy", "stretch not_larger not_smaller"));
    if (has_scales && !onx_str_is(onx_infer_string(in, "keep_aspect_ratio_policy"), "stretch"))
        return onx_infer_fail(in, "keep_aspect_ratio_policy is for sizes; there are scales");
    return ONX_OK;
}

/* Output 0, where `index` is the input with the scales and `sizes` whether sizes replace them. */
static onx_status resized(onx_infer *in, size_t index, bool sizes) {
    const onx_fact *x = onx_infer_in(in, 0);
    targets t = {0};
    const onx_fact *scales = onx_infer_in(in, index);
    if (!x->ranked) return onx_infer_unranked(in, 0, x->dtype);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    ONX_TRY(read_targets(in, x->rank, &t));
    ONX_TRY(check_count(in, sizes ? 3 : index, &t));
    ONX_TRY(sizes ? size_dims(in, &t, dims)
                  : scale_dims(in, &t, scales->n_elems, scales->elems, dims));
    return onx_infer_tensor(in, 0, x->dtype, x->rank, dims);
}

static onx_status infer_resize(onx_infer *in) {
    bool sizes = is_given(in, 3), scales = is_given(in, 2);
    ONX_TRY(check_resize(in, scales, sizes));
    return resized(in, 2, sizes);
}

/* Resize 10, and Upsample 9 and 10. */
static onx_status infer_resize10(onx_infer *in) {
    return resized(in, 1, false);
}

/* The scales are attributes: for all dimensions, or for height and width of an image. */
static onx_status infer_upsample(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const float pair[] = {onx_infer_float(in, "height_scale"), onx_infer_float(in, "width_scale")};
    bool listed = onx_infer_op(in)->since > 1;
    size_t n = 2, first = listed ? 0 : 2;
    const float *factors = listed ? onx_op_floats(onx_infer_node(in), "scales", &n) : pair;
    if (!factors) return onx_infer_fail(in, "attribute scales is missing");
    if (!x->ranked) return onx_infer_unranked(in, 0, x->dtype);
    if (n + first != x->rank)
        return onx_infer_fail(in, "the scales are for %zu dimensions; X has %zu", n + first,
                              x->rank);
    size_t *axes = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *axes);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *dims);
    const onx_sym **scales = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *scales);
    if (!axes || !dims || !scales) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        axes[i] = first + i;
        scales[i] = onx_sym_real(onx_infer_syms(in), (double)factors[i]);
    }
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    ONX_TRY(scale_dims(in, &(targets){n, axes}, n, scales, dims));
    return onx_infer_tensor(in, 0, x->dtype, x->rank, dims);
}

/* ─ GridSample and AffineGrid ────────────────────────────────────────────────────────────────── */

/* X[n,c,d1,…,dr] at grid[n,e1,…,er,r]: [n,c,e1,…,er]. */
static onx_status infer_grid_sample(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *grid = onx_infer_in(in, 1);
    bool only2d = onx_infer_op(in)->since < 20;
    onx_extent batch = {"batch size", NULL}, depth = {"size of a position in the grid", NULL};
    size_t rank = x->ranked ? x->rank : grid->ranked ? grid->rank : only2d ? 4 : 0;
    ONX_TRY(
        onx_infer_choice(in, "mode", only2d ? "bilinear nearest bicubic" : "linear nearest cubic"));
    ONX_TRY(onx_infer_choice(in, "padding_mode", "zeros border reflection"));
    if (!rank && !x->ranked && !grid->ranked) return onx_infer_unranked(in, 0, x->dtype);
    if (rank < 3 || (only2d && rank != 4))
        return onx_infer_fail(in, "X has %zu dimensions; it needs batch, channels and %s", rank,
                              only2d ? "two more" : "at least one more");
    if (x->ranked && grid->ranked && x->rank != grid->rank)
        return onx_infer_fail(in, "X has %zu dimensions, the grid %zu", x->rank, grid->rank);
    depth.size = onx_sym_int(onx_infer_syms(in), (int64_t)rank - 2);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    if (grid->ranked) {
        ONX_TRY(onx_infer_meet(in, &depth, grid->dims[rank - 1]));
        ONX_TRY(onx_infer_meet(in, &batch, grid->dims[0]));
    }
    if (x->ranked) ONX_TRY(onx_infer_meet(in, &batch, x->dims[0]));
    dims[0] = batch.size;
    dims[1] = x->ranked ? x->dims[1] : NULL;
    for (size_t i = 2; i < rank; i++) dims[i] = grid->ranked ? grid->dims[i - 1] : NULL;
    return onx_infer_tensor(in, 0, x->dtype, rank, dims);
}

/* How many dimensions the images have, 2 or 3; 0: not known. */
static onx_status grid_axes(onx_infer *in, size_t *out) {
    onx_extent rows = {"number of spatial dimensions", NULL}, n = {"", NULL};
    int64_t axes, columns;
    onx_extent cols = {"number of columns of theta", NULL};
    ONX_TRY(onx_infer_unify(in, 1, 1, (onx_extent *[]){&n}));
    if (onx_sym_is_int(n.size, &axes)) {
        if (axes != 4 && axes != 5)
            return onx_infer_fail(in,
                                  "size has %lld elements; it needs 4 for images, 5 for volumes",
                                  (long long)axes);
        rows.size = onx_sym_int(onx_infer_syms(in), axes - 2);
    }
    ONX_TRY(onx_infer_unify(in, 0, 3, (onx_extent *[]){NULL, &rows, &cols}));
    if (!onx_sym_is_int(rows.size, &axes)) return *out = 0, ONX_OK;
    if ((axes != 2 && axes != 3) || (onx_sym_is_int(cols.size, &columns) && columns != axes + 1))
        return onx_infer_fail(in, "theta must be [N,2,3] for images or [N,3,4] for volumes");
    *out = (size_t)axes;
    return ONX_OK;
}

static onx_status infer_affine_grid(onx_infer *in) {
    const onx_fact *theta = onx_infer_in(in, 0), *size = onx_infer_in(in, 1);
    onx_extent batch = {"batch size", elem_of(size, 0)};
    const onx_sym *dims[5] = {NULL};
    size_t axes = 0;
    ONX_TRY(grid_axes(in, &axes));
    if (!axes) return onx_infer_unranked(in, 0, theta->dtype);
    if (theta->ranked) ONX_TRY(onx_infer_meet(in, &batch, theta->dims[0]));
    dims[0] = batch.size;
    for (size_t i = 0; i < axes; i++) dims[i + 1] = elem_of(size, i + 2);
    dims[axes + 1] = onx_sym_int(onx_infer_syms(in), (int64_t)axes);
    return onx_infer_tensor(in, 0, theta->dtype, axes + 2, dims);
}

/* ─ CenterCropPad ────────────────────────────────────────────────────────────────────────────── */

static onx_status infer_center(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    targets t = {0};
    if (!x->ranked) return onx_infer_unranked(in, 0, x->dtype);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    ONX_TRY(read_targets(in, x->rank, &t));
    ONX_TRY(check_count(in, 1, &t));
    for (size_t i = 0; i < t.n; i++) dims[t.axes[i]] = elem_of(onx_infer_in(in, 1), i);
    return onx_infer_tensor(in, 0, x->dtype, x->rank, dims);
}

/* First it is padded where it is smaller, then cropped where it is larger. */
static onx_status write_center(const onx_op *op, const onx_node *node, size_t n_in,
                               const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    bool some = onx_op_has(node, "axes");
    const char *sizes = some ? "Gather (All, Axes)" : "Identity (All)";
    const char *axes = some ? ", Axes" : "";
    (void)op, (void)diag;
    bool wide = n_in > 1 && ins[1]->dtype == ONX_DTYPE_I64;
    if (some) onx_buf_puts(out, "Axes = Constant <value_ints: ints = @axes> () ");
    onx_buf_printf(out,
                   "Wanted = %s (shape)"
                   " Two = Constant <value_ints = [2]> ()"
                   " All = Shape (input_data)"
                   " Sizes = %s"
                   " Larger = Max (Sizes, Wanted)"
                   " Missing = Sub (Larger, Sizes)"
                   " Before = Div (Missing, Two)"
                   " After = Sub (Missing, Before)"
                   " Pads = Concat <axis = 0> (Before, After)"
                   " Padded = Pad (input_data, Pads%s)",
                   wide ? "Identity" : "Cast <to = 7>", sizes, some ? ", , Axes" : "");
    onx_buf_printf(out,
                   " Extra = Sub (Larger, Wanted)"
                   " Start = Div (Extra, Two)"
                   " End = Add (Start, Wanted)"
                   " output_data = Slice (Padded, Start, End%s)",
                   axes);
    return ONX_OK;
}

/* ─ Signatures ───────────────────────────────────────────────────────────────────────────────── */

#define RESIZE_ATTRS                                                                               \
    "mode:string=\"nearest\", coordinate_transformation_mode:string=\"half_pixel\", "              \
    "cubic_coeff_a:float=-0.75, exclude_outside:int=0, extrapolation_value:float=0.0, "            \
    "nearest_mode:string=\"round_prefer_floor\""
#define RESIZE10 "(X:T, scales:float) -> (Y:T) {mode:string=\"nearest\"} "
#define RESIZE11 "(X:T1, roi:T2, scales:float, sizes?:int64) -> (Y:T1) {" RESIZE_ATTRS "} "
#define RESIZE13 "(X:T1, roi?:T2, scales?:float, sizes?:int64) -> (Y:T1) {" RESIZE_ATTRS "} "
#define RESIZE18                                                                                   \
    "(X:T1, roi?:T2, scales?:float, sizes?:int64) -> (Y:T1) {" RESIZE_ATTRS                        \
    ", antialias:int=0, axes?:ints, keep_aspect_ratio_policy:string=\"stretch\"} "
#define UPSAMPLE1 "(X:T) -> (Y:T) {height_scale:float, mode:string=\"nearest\", width_scale:float} "
#define UPSAMPLE7 "(X:T) -> (Y:T) {mode:string=\"nearest\", scales:floats} "
#define UPSAMPLE9 "(X:T, scales:float) -> (Y:T) {mode:string=\"nearest\"} "
#define GRID_SAMPLE(mode)                                                                          \
    "(X:T1, grid:T2) -> (Y:T1) {align_corners:int=0, mode:string=\"" mode                          \
    "\", padding_mode:string=\"zeros\"} "
#define AFFINE_GRID "(theta:T1, size:T2) -> (grid:T1) {align_corners:int=0} "
#define CENTER_CROP_PAD "(input_data:T, shape:Tind) -> (output_data:T) {axes?:ints} "

extern onx_op_rows onx_ops_resize;
onx_op_rows onx_ops_resize = {
    {"Resize", 10, RESIZE10 "[T:all1]", .infer = infer_resize10},
    {"Resize", 11, RESIZE11 "[T1:all1, T2:f0]", .infer = infer_resize},
    {"Resize", 13, RESIZE13 "[T1:all13, T2:f0]", .infer = infer_resize},
    {"Resize", 18, RESIZE18 "[T1:all13, T2:f0]", .infer = infer_resize},
    {"Resize", 19, RESIZE18 "[T1:all13, T2:f0]", .infer = infer_resize},
    {"Upsample", 1, UPSAMPLE1 "[T:f0|bool|int32|int64]", .infer = infer_upsample},
    {"Upsample", 7, UPSAMPLE7 "[T:all1]", .infer = infer_upsample},
    {"Upsample", 9, UPSAMPLE9 "[T:all1]", .infer = infer_resize10},
    {"Upsample", 10, UPSAMPLE9 "[T:all1]", .infer = infer_resize10, .deprecated = true},
    {"GridSample", 16, GRID_SAMPLE("bilinear") "[T1:all1, T2:f0]", .infer = infer_grid_sample},
    {"GridSample", 20, GRID_SAMPLE("linear") "[T1:all1, T2:f0]", .infer = infer_grid_sample},
    {"GridSample", 22, GRID_SAMPLE("linear") "[T1:all13, T2:f]", .infer = infer_grid_sample},
    {"AffineGrid", 20, AFFINE_GRID "[T1:f, T2:int64]", .infer = infer_affine_grid,
     .function = onx_affine_grid},
    {"CenterCropPad", 18, CENTER_CROP_PAD "[T:all13, Tind:int32|int64]", .infer = infer_center,
     .body = write_center},
    {"ResizeBlocked", 1, RESIZE18 "[T1:float, T2:f0]", .infer = infer_resize,
     .domain = "onx.internal"},
    {0},
};
