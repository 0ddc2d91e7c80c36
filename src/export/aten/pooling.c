/* pooling.c: pools of PyTorch with windows of a given size, and what undoes the largest-value pool.
 *
 * With ceil_mode a window may hang over the end but not begin there, in PyTorch as in ONNX. Indices
 * of ONNX count through the whole tensor, those of PyTorch through one image. */
#include "export/aten/nn_args.h"

typedef struct pool {
    onx_value *input;
    size_t axes;
    int64_t kernel[ONX_NN_AXES], stride[ONX_NN_AXES], dilation[ONX_NN_AXES];
    int64_t pads[2 * ONX_NN_AXES];
    bool ceil, added; /* added: the input had no batch */
} pool;

/* What is left over of the last step along an axis; -1: not known. */
static int64_t leftover(onx_export *x, const pool *p, size_t i) {
    int64_t size, reach = p->dilation[i] * (p->kernel[i] - 1) + 1;
    if (!onx_x_known_dim(x, p->input, i + 2, &size) || p->stride[i] < 1) return -1;
    return (size + 2 * p->pads[i] - reach) % p->stride[i];
}

/* A window as long as its axis, whose size only a run knows, is all of it: the axis is reduced, and
 * the window there, and its step, are 1. */
static void reduce_whole(onx_export *x, pool *p, const char *reduce, onx_xv *kernel,
                         onx_xv *stride) {
    int64_t axes[ONX_NN_AXES], known;
    size_t n = 0;
    onx_xv left[2][ONX_NN_AXES], one = onx_xv_int(x, 1);
    if (!reduce || !onx_xv_is_list(kernel) || kernel->list->n != p->axes || !p->input) return;
    bool steps = onx_xv_is_list(stride) && stride->list->n == p->axes;
    for (size_t i = 0; i < p->axes; i++) {
        onx_xv v = kernel->list->v[i];
        bool whole = v.kind == ONX_X_INT && !onx_xv_known_int(&v, &known) && v.sym && !p->pads[i] &&
                     v.sym == onx_x_dim(x, p->input, i + 2) && p->dilation[i] == 1;
        if (whole) axes[n++] = (int64_t)i + 2;
        left[0][i] = whole ? one : v;
        left[1][i] = whole || !steps ? one : stride->list->v[i];
    }
    if (!n) return;
    p->input = onx_x_reduce(x, reduce, p->input, n, axes, true);
    if (steps) *stride = onx_xv_list(x, ONX_X_LIST, p->axes, left[1]);
    *kernel = onx_xv_list(x, ONX_X_LIST, p->axes, left[0]);
}

/* (self, kernel_size, stride, padding …). `reduce` pools all of an axis; NULL: nothing does. */
static bool read_pool(onx_export *x, pool *p, const onx_xv *a, const onx_xv *dilation,
                      const onx_xv *ceil, const char *reduce) {
    static const int64_t ones[ONX_NN_AXES] = {1, 1, 1};
    onx_xv kernel = a[1], stride = a[2];
    *p = (pool){.axes = onx_nn_axes(x)};
    p->input = onx_nn_batch(x, onx_nn_tensor(x, &a[0]), p->axes, &p->added);
    memcpy(p->dilation, ones, sizeof ones);
    if (!onx_nn_ints(x, &a[3], "padding", p->axes, p->pads) ||
        (dilation && !onx_nn_ints(x, dilation, "dilation", p->axes, p->dilation)))
        return false;
    reduce_whole(x, p, reduce, &kernel, &stride);
    if (!onx_nn_ints(x, &kernel, "kernel_size", p->axes, p->kernel) ||
        !onx_nn_ints(x, onx_nn_is_empty(&stride) ? &kernel : &stride, "stride", p->axes, p->stride))
        return false;
    for (size_t i = 0; i < p->axes; i++) {
        p->pads[p->axes + i] = p->pads[i];
        p->ceil |= onx_xv_true(ceil) && leftover(x, p, i) != 0;
    }
    return true;
}

/* Windows of one place each. */
static bool is_nothing(const pool *p) {
    bool same = true;
    for (size_t i = 0; i < p->axes; i++)
        same = same && p->kernel[i] == 1 && p->stride[i] == 1 && p->pads[i] == 0;
    return same;
}

static void pool_attrs(const pool *p, onx_xattr *at) {
    if (p->ceil) *at++ = ONX_AI("ceil_mode", 1);
    at = onx_nn_attr(at, "dilations", p->axes, p->dilation, 1);
    *at++ = ONX_AL("kernel_shape", p->axes, p->kernel);
    at = onx_nn_attr(at, "pads", 2 * p->axes, p->pads, 0);
    onx_nn_attr(at, "strides", p->axes, p->stride, 1);
}

/* ─ The largest ──────────────────────────────────────────────────────────────────────────────── */

static void lower_max_pool(onx_export *x, const onx_xv *a, onx_xv *out) {
    pool p;
    onx_xattr attrs[8] = {{.name = NULL}};
    if (!read_pool(x, &p, a, &a[4], &a[5], "ReduceMax")) return;
    pool_attrs(&p, attrs);
    onx_value *y = is_nothing(&p) ? p.input : onx_emit_wide_with(x, "MaxPool", attrs, p.input);
    onx_x_give(x, out, onx_nn_unbatch(x, y, p.added));
}

static onx_value *in_plane(onx_export *x, const pool *p, onx_value *indices) {
    const onx_sym *plane = onx_sym_int(x->syms, 1);
    for (size_t i = 0; i < p->axes; i++)
        plane = onx_sym_mul(x->syms, plane, onx_x_dim(x, p->input, i + 2));
    return onx_emit(x, "Mod", indices, onx_x_size(x, plane));
}

static void lower_max_pool_indices(onx_export *x, const onx_xv *a, onx_xv *out) {
    pool p;
    onx_xattr attrs[8] = {{.name = NULL}};
    onx_value *y[2];
    if (!read_pool(x, &p, a, &a[4], &a[5], NULL)) return;
    pool_attrs(&p, attrs);
    if (!onx_emit_wide_node(x, "MaxPool", attrs, 1, &p.input, 2, y)) return;
    onx_x_give(x, &out[0], onx_nn_unbatch(x, y[0], p.added));
    onx_x_give(x, &out[1], onx_nn_unbatch(x, in_plane(x, &p, y[1]), p.added));
}

/* (self, indices, output_size …): every number back to its place in an image of zeros. */
static void lower_max_unpool(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool added;
    size_t axes = onx_nn_axes(x), n = axes + 2;
    onx_value *values = onx_nn_batch(x, onx_nn_tensor(x, &a[0]), axes, &added);
    onx_value *indices = onx_nn_batch(x, onx_nn_tensor(x, &a[1]), axes, &added);
    if (!values || !indices || !onx_xv_is_list(&a[2]) || a[2].list->n != axes) return;
    onx_xv whole[ONX_NN_AXES + 2], flat[3], rest = onx_xv_int(x, -1), plane = onx_xv_int(x, 1);
    for (size_t i = 0; i < n; i++)
        whole[i] = i < 2 ? onx_x_size_of(x, values, i) : a[2].list->v[i - 2];
    for (size_t i = 2; i < n; i++) plane = onx_x_arith(x, "mul", plane, whole[i]);
    flat[0] = whole[0], flat[1] = whole[1], flat[2] = rest;
    values = onx_x_reshape(x, values, 3, flat);
    indices = onx_x_reshape(x, indices, 3, flat);
    flat[2] = plane;
    onx_value *zeros = onx_x_fill(x, onx_x_number(x, onx_x_dtype(x, values), 0), 3, flat);
    onx_value *y =
        onx_emit_with(x, "ScatterElements", ONX_ATTRS(ONX_AI("axis", 2)), zeros, indices, values);
    onx_x_give(x, out, onx_nn_unbatch(x, onx_x_reshape(x, y, n, whole), added));
}

/* ─ The mean ─────────────────────────────────────────────────────────────────────────────────── */

static onx_value *average(onx_export *x, const pool *p, bool counts) {
    onx_xattr attrs[8] = {{.name = NULL}}, *at = attrs;
    bool padded = false;
    if (is_nothing(p)) return p->input;
    for (size_t i = 0; i < p->axes; i++) padded |= p->pads[i] != 0;
    if (padded && counts) *at++ = ONX_AI("count_include_pad", 1);
    pool_attrs(p, at);
    return onx_emit_wide_with(x, "AveragePool", attrs, p->input);
}

/* Zeros around the input in the place of padding, and as many as ceil_mode needs at the end, so
 * that every window is whole. */
static void pad_input(onx_export *x, pool *p) {
    int64_t pads[2 * (ONX_NN_AXES + 2)] = {0};
    size_t n = p->axes + 2;
    for (size_t i = 0; i < p->axes; i++) {
        int64_t left = leftover(x, p, i), size;
        pads[2 + i] = pads[n + 2 + i] = p->pads[i];
        if (left < 0) {
            onx_x_fail(x, ONX_UNSUPPORTED,
                       "divisor_override with ceil_mode and an input of a size that is not fixed");
            return;
        }
        /* a window that would begin after the input is none */
        onx_x_known_dim(x, p->input, i + 2, &size);
        int64_t more = left ? p->stride[i] - left : 0;
        int64_t begin = size + 2 * p->pads[i] + more - p->kernel[i];
        if (p->ceil && begin < size + p->pads[i]) pads[n + 2 + i] += more;
    }
    memset(p->pads, 0, sizeof p->pads);
    p->ceil = false;
    p->input = onx_emit(x, "Pad", p->input, onx_x_ints(x, 2 * n, pads));
}

static void lower_avg_pool(onx_export *x, const onx_xv *a, onx_xv *out) {
    pool p;
    int64_t divisor, taps = 1;
    bool divided = onx_nn_axes(x) > 1 && onx_xv_known_int(&a[6], &divisor);
    if (!read_pool(x, &p, a, NULL, &a[4], divided ? NULL : "ReduceMean")) return;
    for (size_t i = 0; i < p.axes; i++) taps *= p.kernel[i];
    if (divided && p.ceil) pad_input(x, &p);
    onx_value *y = average(x, &p, divided || onx_xv_true(&a[5]));
    if (divided) y = onx_nn_times(x, y, (double)taps / (double)divisor);
    onx_x_give(x, out, onx_nn_unbatch(x, y, p.added));
}

#define POOL(n) "(Tensor self, int[" n "] kernel_size, int[" n "] stride=[], int[" n "] padding=0, "
#define MAX(n) POOL(n) "int[" n "] dilation=1, bool ceil_mode=False)"
#define AVERAGE(n) POOL(n) "bool ceil_mode=False, bool count_include_pad=True"
#define TWO " -> (Tensor, Tensor)"

const onx_aten onx_aten_pooling[] = {
    {"max_pool1d" MAX("1"), lower_max_pool, NULL},
    {"max_pool2d" MAX("2"), lower_max_pool, NULL},
    {"max_pool3d" MAX("3"), lower_max_pool, NULL},
    {"max_pool1d_with_indices" MAX("1") TWO, lower_max_pool_indices, NULL},
    {"max_pool2d_with_indices" MAX("2") TWO, lower_max_pool_indices, NULL},
    {"max_pool3d_with_indices" MAX("3") TWO, lower_max_pool_indices, NULL},
    {"quantized_max_pool1d" MAX("1"), lower_max_pool, NULL},
    {"quantized_max_pool2d" MAX("2"), lower_max_pool, NULL},
    {"max_unpool2d(Tensor self, Tensor indices, int[2] output_size)", lower_max_unpool, NULL},
    {"max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, "
     "int[3] padding)",
     lower_max_unpool, NULL},
    {"avg_pool1d" AVERAGE("1") ")", lower_avg_pool, NULL},
    {"avg_pool2d" AVERAGE("2") ", int? divisor_override=None)", lower_avg_pool, NULL},
    {"avg_pool3d" AVERAGE("3") ", int? divisor_override=None)", lower_avg_pool, NULL},
    {.schema = NULL},
};
