/* adaptive_pool.c: pools of PyTorch with results of a given size. Result i of n covers an input of
 * size s from floor(i*s/n) up to ceil((i + 1)*s/n). Where these windows are of one size and as far
 * apart they are an ordinary pool; else the mean along an axis is a product with a matrix, and the
 * largest is looked for among elements that are gathered. */
#include "export/aten/nn_args.h"

enum { MOST = 1 << 24 }; /* elements of a matrix or a table of places */

typedef struct adaptive {
    onx_value *input;
    size_t axes;
    onx_xv out[ONX_NN_AXES];
    int64_t in_size[ONX_NN_AXES], out_size[ONX_NN_AXES]; /* -1: not known */
    bool added;
} adaptive;

static int64_t begin_of(int64_t i, int64_t in, int64_t out) {
    return i * in / out;
}
static int64_t end_of(int64_t i, int64_t in, int64_t out) {
    return ((i + 1) * in + out - 1) / out;
}

static bool read_adaptive(onx_export *x, adaptive *p, const onx_xv *a) {
    *p = (adaptive){.axes = onx_nn_axes(x)};
    p->input = onx_nn_batch(x, onx_nn_tensor(x, &a[0]), p->axes, &p->added);
    if (!p->input) return false;
    if (!onx_xv_is_list(&a[1]) || (a[1].list->n != p->axes && a[1].list->n != 1)) {
        onx_x_fail(x, ONX_INVALID, "'output_size' must be %zu integers", p->axes);
        return false;
    }
    for (size_t i = 0; i < p->axes; i++) {
        onx_xv size = a[1].list->v[a[1].list->n == 1 ? 0 : i];
        p->out[i] = onx_xv_is(&size, ONX_X_NONE) ? onx_x_size_of(x, p->input, i + 2) : size;
        if (!onx_x_known_dim(x, p->input, i + 2, &p->in_size[i])) p->in_size[i] = -1;
        if (!onx_xv_known_int(&p->out[i], &p->out_size[i])) p->out_size[i] = -1;
    }
    return true;
}

static bool is_global(const adaptive *p) {
    for (size_t i = 0; i < p->axes; i++)
        if (p->out_size[i] != 1) return false;
    return true;
}

static bool is_kept(onx_export *x, const adaptive *p, size_t i) {
    return p->out[i].sym && p->out[i].sym == onx_x_dim(x, p->input, i + 2);
}

/* Are the windows along axis `i` of one size and as far apart? */
static bool is_even(const adaptive *p, size_t i, int64_t *kernel, int64_t *stride) {
    int64_t in = p->in_size[i], out = p->out_size[i];
    if (in < 1 || out < 1 || in > INT32_MAX || out > INT32_MAX) return false;
    *kernel = end_of(0, in, out);
    *stride = out > 1 ? begin_of(1, in, out) : 1;
    for (int64_t k = 1; k < out; k++)
        if (begin_of(k, in, out) != k * *stride || end_of(k, in, out) != k * *stride + *kernel)
            return false;
    return *stride > 0;
}

static bool even_pool(onx_export *x, const adaptive *p, const char *op, size_t n, onx_value **y) {
    int64_t kernel[ONX_NN_AXES], stride[ONX_NN_AXES];
    onx_xattr attrs[4] = {{.name = NULL}};
    for (size_t i = 0; i < p->axes; i++)
        if (!is_even(p, i, &kernel[i], &stride[i])) return false;
    attrs[0] = ONX_AL("kernel_shape", p->axes, kernel);
    onx_nn_attr(&attrs[1], "strides", p->axes, stride, 1);
    onx_emit_wide_node(x, op, attrs, 1, &p->input, n, y);
    return true;
}

/* ─ The mean ─────────────────────────────────────────────────────────────────────────────────── */

/* [in, out]: what every element counts in every mean. */
static onx_value *known_weights(onx_export *x, onx_dtype dtype, int64_t in, int64_t out) {
    int64_t dims[] = {in, out};
    size_t count;
    if (!onx_mul_size((size_t)in, (size_t)out, &count) || count > MOST)
        return onx_x_fail(x, ONX_LIMIT, "an adaptive pool from %lld to %lld", (long long)in,
                          (long long)out);
    double *w = onx_x_array(x, count + 1, sizeof *w);
    for (int64_t k = 0; w && k < out; k++) {
        int64_t begin = begin_of(k, in, out), end = end_of(k, in, out);
        for (int64_t i = begin; i < end; i++) w[i * out + k] = 1 / (double)(end - begin);
    }
    return w ? onx_nn_floats(x, dtype, 2, dims, w) : NULL;
}

/* [out]: where each window begins, and where it ends. */
static bool find_windows(onx_export *x, onx_xv in, onx_xv out, onx_value *ends[2]) {
    onx_value *size = onx_x_scalar(x, &in, ONX_DTYPE_I64);
    onx_value *n = onx_x_scalar(x, &out, ONX_DTYPE_I64);
    onx_value *at = onx_emit(x, "Mul", onx_x_count(x, &out), size);
    onx_value *last = onx_emit(x, "Add", onx_emit(x, "Add", at, size), onx_nn_plus(x, n, -1));
    ends[0] = onx_emit(x, "Div", at, n);
    ends[1] = onx_emit(x, "Div", last, n);
    return onx_x_ok(x);
}

static onx_value *computed_weights(onx_export *x, onx_dtype dtype, onx_xv in, onx_xv out) {
    onx_value *i = onx_x_unsqueeze(x, onx_x_count(x, &in), 1), *ends[2];
    if (!i || !find_windows(x, in, out, ends)) return NULL;
    onx_value *inside = onx_emit(x, "And", onx_emit(x, "GreaterOrEqual", i, ends[0]),
                                 onx_emit(x, "Less", i, ends[1]));
    onx_value *count = onx_emit(x, "Sub", ends[1], ends[0]);
    return onx_emit(x, "Div", onx_x_cast(x, inside, dtype), onx_x_cast(x, count, dtype));
}

static onx_value *mean_along(onx_export *x, const adaptive *p, size_t i, onx_value *v) {
    int64_t axis = (int64_t)i + 2, last = (int64_t)p->axes + 1;
    onx_dtype dtype = onx_x_dtype(x, v);
    if (is_kept(x, p, i)) return v;
    if (p->out_size[i] == 1) return onx_x_reduce(x, "ReduceMean", v, 1, &axis, true);
    onx_value *w = p->in_size[i] > 0 && p->out_size[i] > 0
                       ? known_weights(x, dtype, p->in_size[i], p->out_size[i])
                       : computed_weights(x, dtype, onx_x_size_of(x, p->input, i + 2), p->out[i]);
    if (axis == last) return onx_emit(x, "MatMul", v, w);
    if (axis == last - 1) return onx_emit(x, "MatMul", onx_x_swap(x, w, 0, 1), v);
    v = onx_emit(x, "MatMul", onx_x_swap(x, v, axis, last), w);
    return onx_x_swap(x, v, axis, last);
}

static void lower_adaptive_avg(onx_export *x, const onx_xv *a, onx_xv *out) {
    adaptive p;
    onx_value *y;
    if (!read_adaptive(x, &p, a)) return;
    if (is_global(&p)) {
        y = onx_emit_wide(x, "GlobalAveragePool", p.input);
    } else if (!even_pool(x, &p, "AveragePool", 1, &y)) {
        y = p.input;
        for (size_t i = p.axes; i-- > 0;) y = mean_along(x, &p, i, y);
    }
    onx_x_give(x, out, onx_nn_unbatch(x, y, p.added));
}

/* ─ The largest ──────────────────────────────────────────────────────────────────────────────── */

/* [out, size of the largest window]: the elements of each window; the last one again where it is
 * shorter. */
static onx_value *window_places(onx_export *x, onx_xv in, onx_xv out) {
    onx_value *ends[2];
    if (!find_windows(x, in, out, ends)) return NULL;
    onx_value *size =
        onx_x_reduce(x, "ReduceMax", onx_emit(x, "Sub", ends[1], ends[0]), 0, NULL, false);
    onx_value *taps = onx_emit(x, "Range", onx_x_int(x, 0), size, onx_x_int(x, 1));
    onx_value *at = onx_emit(x, "Add", onx_x_unsqueeze(x, ends[0], 1), taps);
    return onx_emit(x, "Min", at, onx_nn_plus(x, onx_x_unsqueeze(x, ends[1], 1), -1));
}

/* The results of every axis, then as many elements as the windows have. */
static onx_value *flat_windows(onx_export *x, const adaptive *p, size_t n, onx_value *v) {
    onx_xv shape[3 + ONX_NN_AXES];
    for (size_t i = 0; i < n; i++) shape[i] = onx_x_size_of(x, p->input, i);
    for (size_t i = 0; i < p->axes; i++) shape[n + i] = p->out[i];
    shape[n + p->axes] = onx_xv_int(x, -1);
    return onx_x_reshape(x, v, n + p->axes + 1, shape);
}

/* Windows of every axis, as [batch, channels, results …, elements of a window]. */
static onx_value *gather_windows(onx_export *x, const adaptive *p, onx_value *const *places) {
    onx_value *v = p->input;
    int64_t perm[2 + 2 * ONX_NN_AXES] = {0, 1};
    for (size_t i = p->axes; i-- > 0;) {
        v = onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", (int64_t)i + 2)), v, places[i]);
        perm[2 + i] = 2 + 2 * (int64_t)i;
        perm[2 + p->axes + i] = 3 + 2 * (int64_t)i;
    }
    return v ? flat_windows(x, p, 2, onx_x_transpose(x, v, 2 + 2 * p->axes, perm)) : NULL;
}

/* Where the elements of the windows are in an image: [results …, elements]. */
static onx_value *places_in_plane(onx_export *x, const adaptive *p, onx_value *const *places) {
    onx_value *sum = NULL;
    onx_xv step = onx_xv_int(x, 1);
    for (size_t i = p->axes; i-- > 0;) {
        onx_value *at = onx_emit(x, "Mul", places[i], onx_x_scalar(x, &step, ONX_DTYPE_I64));
        int64_t others[2 * ONX_NN_AXES];
        size_t n = 0;
        for (size_t k = 0; k < 2 * p->axes; k++)
            if (k % p->axes != i) others[n++] = (int64_t)k;
        if (n) at = onx_emit(x, "Unsqueeze", at, onx_x_ints(x, n, others));
        sum = sum ? onx_emit(x, "Add", sum, at) : at;
        step = onx_x_arith(x, "mul", step, onx_x_size_of(x, p->input, i + 2));
    }
    return sum ? flat_windows(x, p, 0, sum) : NULL;
}

static void uneven_max(onx_export *x, const adaptive *p, onx_value **y) {
    onx_value *places[ONX_NN_AXES];
    int64_t last = (int64_t)p->axes + 2;
    for (size_t i = 0; i < p->axes; i++)
        places[i] = window_places(x, onx_x_size_of(x, p->input, i + 2), p->out[i]);
    onx_value *v = onx_x_ok(x) ? gather_windows(x, p, places) : NULL;
    if (!v) return;
    y[0] = onx_x_reduce(x, "ReduceMax", v, 1, &last, false);
    onx_value *best = onx_emit_with(x, "ArgMax", ONX_ATTRS(ONX_AI("axis", last)), v);
    onx_value *plane = onx_emit(x, "Expand", places_in_plane(x, p, places), onx_x_shape_of(x, v));
    onx_value *found =
        onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", last)), plane, best);
    y[1] = onx_x_squeeze(x, found, last);
}

/* The largest of an image of any size, and where it is. */
static void global_max(onx_export *x, const adaptive *p, onx_value **y) {
    onx_xv flat[] = {onx_x_size_of(x, p->input, 0), onx_x_size_of(x, p->input, 1),
                     onx_xv_int(x, -1)};
    onx_xv shape[2 + ONX_NN_AXES];
    for (size_t i = 0; i < p->axes + 2; i++) shape[i] = i < 2 ? flat[i] : onx_xv_int(x, 1);
    y[0] = onx_emit_wide(x, "GlobalMaxPool", p->input);
    onx_value *best = onx_emit_with(x, "ArgMax", ONX_ATTRS(ONX_AI("axis", 2)),
                                    onx_x_reshape(x, p->input, 3, flat));
    y[1] = onx_x_reshape(x, best, p->axes + 2, shape);
}

static onx_value *index_in_plane(onx_export *x, const adaptive *p, onx_value *index) {
    int64_t plane = 1;
    for (size_t i = 0; i < p->axes; i++) plane *= p->in_size[i];
    return onx_emit(x, "Mod", index, onx_x_int(x, plane));
}

static void lower_adaptive_max(onx_export *x, const onx_xv *a, onx_xv *out) {
    adaptive p;
    onx_value *y[2] = {NULL, NULL};
    if (!read_adaptive(x, &p, a)) return;
    if (is_global(&p))
        global_max(x, &p, y);
    else if (even_pool(x, &p, "MaxPool", 2, y))
        y[1] = index_in_plane(x, &p, y[1]);
    else
        uneven_max(x, &p, y);
    for (size_t i = 0; i < 2; i++) onx_x_give(x, &out[i], onx_nn_unbatch(x, y[i], p.added));
}

#define ADAPTIVE(n) "(Tensor self, int[" n "] output_size)"

const onx_aten onx_aten_adaptive_pool[] = {
    {"adaptive_avg_pool1d" ADAPTIVE("1"), lower_adaptive_avg, NULL},
    {"adaptive_avg_pool2d" ADAPTIVE("2"), lower_adaptive_avg, NULL},
    {"_adaptive_avg_pool2d" ADAPTIVE("2"), lower_adaptive_avg, NULL},
    {"adaptive_avg_pool3d" ADAPTIVE("3"), lower_adaptive_avg, NULL},
    {"_adaptive_avg_pool3d" ADAPTIVE("3"), lower_adaptive_avg, NULL},
    {"adaptive_max_pool1d" ADAPTIVE("1") " -> (Tensor, Tensor)", lower_adaptive_max, NULL},
    {"adaptive_max_pool2d" ADAPTIVE("2") " -> (Tensor, Tensor)", lower_adaptive_max, NULL},
    {"adaptive_max_pool3d" ADAPTIVE("3") " -> (Tensor, Tensor)", lower_adaptive_max, NULL},
    {.schema = NULL},
};
