/* factory.c: tensors from nothing: filled ones, ranges, windows, the numbers of a program.
 *
 * What is known becomes a constant where it is small; sizes that are not known make nodes. What
 * PyTorch leaves uninitialised is 0. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

#include <math.h>

enum { CONSTANT = 16384 }; /* elements that are written out rather than computed */

/* ─ Filled tensors ───────────────────────────────────────────────────────────────────────────── */

static void give_filled(onx_export *x, const onx_xv *size, const onx_xv *number, onx_dtype dtype,
                        onx_xv *out) {
    if (onx_dtype_is_complex(dtype)) {
        onx_xv real;
        give_filled(x, size, number, onx_complex_part(dtype), &real);
        onx_value *re = onx_x_ok(x) ? onx_xv_value(x, &real) : NULL;
        onx_value *zero = re ? onx_x_number(x, onx_x_dtype(x, re), 0) : NULL;
        *out = onx_xv_complex(x, onx_complex_pair(x, re, onx_lower_expand_like(x, zero, re)));
        return;
    }
    onx_value *value = onx_x_as(x, number, dtype);
    onx_x_give(x, out, onx_x_fill(x, value, size->list->n, size->list->v));
}

/* zeros, ones, empty: by the name of the row, "new_ones" too. */
static onx_xv number_of_name(onx_export *x) {
    onx_str op = onx_x_op(x);
    bool ones = false;
    for (size_t i = 0; i + 4 <= op.size; i++) ones |= memcmp(op.data + i, "ones", 4) == 0;
    return onx_xv_int(x, ones);
}

static void lower_filled(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[1]);
    onx_xv number = number_of_name(x);
    give_filled(x, &a[0], &number, dtype ? dtype : ONX_DTYPE_F32, out);
}

static void lower_empty_strided(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[2]);
    onx_xv zero = onx_xv_int(x, 0);
    give_filled(x, &a[0], &zero, dtype ? dtype : ONX_DTYPE_F32, out);
}

static void lower_full(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[2]);
    give_filled(x, &a[0], &a[1], dtype ? dtype : onx_x_promote(x, 1, &a[1]), out);
}

static void lower_new(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[2]);
    onx_xv number = number_of_name(x);
    give_filled(x, &a[1], &number, dtype ? dtype : a->tensor->dtype, out);
}

static void lower_new_empty_strided(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[3]);
    onx_xv zero = onx_xv_int(x, 0);
    give_filled(x, &a[1], &zero, dtype ? dtype : a->tensor->dtype, out);
}

static void lower_new_full(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[3]);
    give_filled(x, &a[1], &a[2], dtype ? dtype : a->tensor->dtype, out);
}

/* A complex tensor's value has the shape of its pairs already: only 0 is the same for both. */
static void give_like(onx_export *x, const onx_xv *v, const onx_xv *number, const onx_xv *dtype_arg,
                      onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg);
    onx_value *like = onx_xv_value(x, v);
    if (!dtype) dtype = v->tensor->dtype;
    if (onx_xv_is_complex(v) || onx_dtype_is_complex(dtype)) {
        size_t rank = onx_xv_rank(x, v);
        onx_xv list = onx_xv_list(x, ONX_X_LIST, 0, NULL);
        for (size_t i = 0; rank != SIZE_MAX && i < rank && onx_x_ok(x); i++)
            onx_xlist_add(x, list.list, onx_x_size_of(x, like, i));
        if (onx_x_ok(x)) give_filled(x, &list, number, dtype, out);
        return;
    }
    onx_x_give(x, out, onx_lower_expand_like(x, onx_x_as(x, number, dtype), like));
}

static void lower_like(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv number = number_of_name(x);
    give_like(x, a, &number, &a[1], out);
}

static void lower_full_like(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_like(x, a, &a[1], &a[2], out);
}

/* ─ Constants computed here ──────────────────────────────────────────────────────────────────── */

typedef double number_at(const void *user, size_t i);

static onx_value *constant_of(onx_export *x, onx_dtype dtype, size_t n, number_at *at,
                              const void *user) {
    size_t bytes;
    int64_t dim = (int64_t)n;
    double *v = onx_x_array(x, n + 1, sizeof *v);
    for (size_t i = 0; v && i < n; i++) v[i] = at(user, i);
    if (!v || !onx_dtype_bytes(dtype, n, &bytes)) return NULL;
    void *data = onx_x_alloc(x, bytes + 1);
    if (!data || onx_dtype_convert(ONX_DTYPE_F64, v, dtype, data, n, false)) return NULL;
    return onx_x_constant(x, dtype, 1, &dim, data, bytes);
}

typedef struct line {
    double start, step, end;
    size_t n;
    double base; /* of a logspace; 0: the numbers themselves */
} line;

static double line_at(const void *user, size_t i) {
    const line *l = user;
    bool front = l->n == 1 || i < l->n / 2;
    double v = front ? l->start + l->step * (double)i : l->end - l->step * (double)(l->n - 1 - i);
    return l->base != 0 ? pow(l->base, v) : v;
}

static double step_at(const void *user, size_t i) {
    const line *l = user;
    return l->start + l->step * (double)i;
}

/* ─ Ranges ───────────────────────────────────────────────────────────────────────────────────── */

/* Integers: Range. Known floats: as many as PyTorch computes in double precision. */
/* Whole numbers, also as floats, count in integers. */
static bool is_whole(onx_export *x, const onx_xv *v) {
    double known;
    return v->kind == ONX_X_INT || (v->kind == ONX_X_FLOAT && onx_xv_known_float(x, v, &known) &&
                                    known == rint(known) && fabs(known) < 0x1p53);
}

static void give_arange(onx_export *x, const onx_xv range[3], const onx_xv *dtype_arg,
                        onx_xv *out) {
    line l = {.start = 0};
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg), own = onx_x_promote(x, 3, range);
    if (!dtype) dtype = own;
    bool known = onx_xv_known_float(x, &range[0], &l.start) &&
                 onx_xv_known_float(x, &range[1], &l.end) &&
                 onx_xv_known_float(x, &range[2], &l.step);
    if (known && l.step == 0) {
        onx_x_fail(x, ONX_INVALID, "a range with a step of 0");
        return;
    }
    double n = known ? ceil((l.end - l.start) / l.step) : 0;
    if (known && n <= CONSTANT && onx_dtype_is_float(own)) {
        onx_x_give(x, out, constant_of(x, dtype, n > 0 ? (size_t)n : 0, step_at, &l));
        return;
    }
    bool whole = is_whole(x, &range[0]) && is_whole(x, &range[1]) && is_whole(x, &range[2]);
    onx_dtype made = onx_dtype_is_float(own) && !whole ? ONX_DTYPE_F32 : ONX_DTYPE_I64;
    onx_value *v = onx_emit(x, "Range", onx_x_as(x, &range[0], made), onx_x_as(x, &range[1], made),
                            onx_x_as(x, &range[2], made));
    onx_x_give(x, out, onx_x_cast(x, v, dtype));
}

static void lower_arange(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv range[3] = {onx_xv_int(x, 0), a[0], onx_xv_int(x, 1)};
    give_arange(x, range, &a[1], out);
}
static void lower_arange_start(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_arange(x, a, &a[3], out);
}

/* Its end is part of a range(). */
static void lower_range(onx_export *x, const onx_xv *a, onx_xv *out) {
    double start = onx_xv_real(x, &a[0], 0), end = onx_xv_real(x, &a[1], 0);
    line l = {.start = start, .step = onx_xv_real(x, &a[2], 1)};
    double n = l.step != 0 ? floor((end - start) / l.step) + 1 : 0;
    onx_dtype dtype = onx_xv_dtype(x, &a[3]);
    if (n < 0 || n > CONSTANT * 64.0)
        onx_x_fail(x, ONX_INVALID, "a range of %g numbers", n);
    else
        onx_x_give(x, out, constant_of(x, dtype ? dtype : ONX_DTYPE_F32, (size_t)n, step_at, &l));
}

/* With ends or steps that are not known: start + i·(end - start)/(steps - 1). */
static onx_value *line_nodes(onx_export *x, const onx_xv *start, const onx_xv *end,
                             const onx_xv *steps) {
    onx_value *from = onx_x_as(x, start, ONX_DTYPE_F32), *to = onx_x_as(x, end, ONX_DTYPE_F32);
    onx_xv gaps =
        onx_x_arith(x, "max", onx_x_arith(x, "sub", *steps, onx_xv_int(x, 1)), onx_xv_int(x, 1));
    onx_value *step =
        onx_emit(x, "Div", onx_emit(x, "Sub", to, from), onx_x_as(x, &gaps, ONX_DTYPE_F32));
    onx_value *numbers = onx_x_cast(x, onx_x_count(x, steps), ONX_DTYPE_F32);
    return onx_emit(x, "Add", from, onx_emit(x, "Mul", numbers, step));
}

static void give_line(onx_export *x, const onx_xv *a, double base, const onx_xv *dtype_arg,
                      onx_xv *out) {
    line l = {.base = base};
    int64_t steps;
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg);
    if (!dtype) dtype = ONX_DTYPE_F32;
    if (onx_xv_known_float(x, &a[0], &l.start) && onx_xv_known_float(x, &a[1], &l.end) &&
        onx_xv_known_int(&a[2], &steps) && steps >= 0 && steps <= CONSTANT) {
        l.n = (size_t)steps;
        l.step = steps > 1 ? (l.end - l.start) / (double)(steps - 1) : 0;
        onx_x_give(x, out, constant_of(x, dtype, l.n, line_at, &l));
        return;
    }
    onx_value *v = line_nodes(x, &a[0], &a[1], &a[2]);
    if (base != 0) v = onx_emit(x, "Pow", onx_x_number(x, ONX_DTYPE_F32, base), v);
    onx_x_give(x, out, onx_x_cast(x, v, dtype));
}

static void lower_linspace(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_line(x, a, 0, &a[3], out);
}
static void lower_logspace(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_line(x, a, onx_xv_real(x, &a[3], 10), &a[4], out);
}

/* ─ Squares ──────────────────────────────────────────────────────────────────────────────────── */

static void give_eye(onx_export *x, const onx_xv *n, const onx_xv *m, const onx_xv *dtype_arg,
                     onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg);
    onx_value *rows = onx_x_unsqueeze(x, onx_x_count(x, n), 1), *columns = onx_x_count(x, m);
    onx_value *is = onx_emit(x, "Equal", rows, columns);
    onx_x_give(x, out, onx_x_cast(x, is, dtype ? dtype : ONX_DTYPE_F32));
}
static void lower_eye(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_eye(x, &a[0], &a[0], &a[1], out);
}
static void lower_eye_m(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_eye(x, &a[0], &a[1], &a[2], out);
}

/* Rows and columns of the lower or upper triangle, row by row. */
static void give_triangle(onx_export *x, const onx_xv *a, bool upper, onx_xv *out) {
    int64_t rows = onx_xv_whole(x, &a[0], 0), columns = onx_xv_whole(x, &a[1], 0);
    int64_t offset = onx_xv_whole(x, &a[2], 0), n = 0;
    onx_dtype dtype = onx_xv_dtype(x, &a[3]);
    if (rows < 0 || columns < 0 || rows > 4096 || columns > 4096) {
        onx_x_fail(x, ONX_UNSUPPORTED, "the triangle of %lld rows and %lld columns",
                   (long long)rows, (long long)columns);
        return;
    }
    size_t most = (size_t)(rows * columns);
    int64_t *places = onx_x_array(x, 2 * most + 1, sizeof *places);
    int64_t *at = onx_x_array(x, most + 1, sizeof *at);
    if (!places || !at) return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            if (upper ? j - i >= offset : j - i <= offset) places[n] = i, at[n++] = j;
    memcpy(places + n, at, (size_t)n * sizeof *at);
    onx_value *v = onx_x_constant(x, ONX_DTYPE_I64, 2, (int64_t[]){2, n}, places,
                                  2 * (size_t)n * sizeof *places);
    onx_x_give(x, out, onx_x_cast(x, v, dtype ? dtype : ONX_DTYPE_I64));
}
static void lower_tril_indices(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_triangle(x, a, false, out);
}
static void lower_triu_indices(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_triangle(x, a, true, out);
}

/* ─ Windows ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct window {
    double span;   /* what is one turn of the cosine */
    double c[3];   /* c0 - c1 cos(t) + c2 cos(2t) */
    bool triangle; /* 1 - |2i/span - 1| instead */
} window;

static double window_at(const void *user, size_t i) {
    const window *w = user;
    double t = w->span > 0 ? 6.28318530717958647692 * (double)i / w->span : 0;
    if (w->triangle) return w->span > 0 ? 1 - fabs(2 * (double)i / w->span - 1) : 1;
    return w->span > 0 ? w->c[0] - w->c[1] * cos(t) + w->c[2] * cos(2 * t) : 1;
}

static void give_window(onx_export *x, const onx_xv *a, bool periodic, window w,
                        const onx_xv *dtype_arg, onx_xv *out) {
    int64_t n = onx_xv_whole(x, a, 0);
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg);
    if (n < 0 || n > CONSTANT * 64) {
        onx_x_fail(x, ONX_INVALID, "a window of %lld elements", (long long)n);
        return;
    }
    w.span = n == 1 ? 0 : (double)(periodic ? n : n - 1);
    onx_x_give(x, out, constant_of(x, dtype ? dtype : ONX_DTYPE_F32, (size_t)n, window_at, &w));
}

/* I0(beta·sqrt(1 - r²))/I0(beta), r from -1 to 1: I0 by its series. */
static double bessel(double v) {
    double term = 1, sum = 1;
    for (int k = 1; k < 64; k++) sum += term *= (v / 2 / k) * (v / 2 / k);
    return sum;
}

typedef struct kaiser {
    double half, beta;
} kaiser;

static double kaiser_at(const void *user, size_t i) {
    const kaiser *k = user;
    double r = k->half > 0 ? (double)i / k->half - 1 : 0;
    return bessel(k->beta * sqrt(fmax(0, 1 - r * r))) / bessel(k->beta);
}

static void lower_kaiser(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t n = onx_xv_whole(x, a, 0);
    onx_dtype dtype = onx_xv_dtype(x, &a[3]);
    kaiser k = {(double)(onx_xv_true(&a[1]) ? n : n - 1) / 2, onx_xv_real(x, &a[2], 12)};
    if (n < 0 || n > CONSTANT * 64)
        onx_x_fail(x, ONX_INVALID, "a window of %lld elements", (long long)n);
    else
        onx_x_give(x, out, constant_of(x, dtype ? dtype : ONX_DTYPE_F32, (size_t)n, kaiser_at, &k));
}

static window window_of(onx_export *x) {
    onx_str op = onx_x_op(x);
    if (onx_str_is(op, "hann_window")) return (window){.c = {0.5, 0.5, 0}};
    if (onx_str_is(op, "blackman_window")) return (window){.c = {0.42, 0.5, 0.08}};
    if (onx_str_is(op, "bartlett_window")) return (window){.triangle = true};
    return (window){.c = {0.54, 0.46, 0}};
}

static void lower_window(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_window(x, a, onx_xv_true(&a[1]), window_of(x), &a[2], out);
}
static void lower_hamming(onx_export *x, const onx_xv *a, onx_xv *out) {
    window w = {.c = {onx_xv_real(x, &a[2], 0.54), onx_xv_real(x, &a[3], 0.46), 0}};
    give_window(x, a, onx_xv_true(&a[1]), w, &a[4], out);
}

/* ─ Numbers of the program ───────────────────────────────────────────────────────────────────── */

static void lower_scalar_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[1]);
    onx_x_give(x, out, onx_x_as(x, &a[0], dtype ? dtype : ONX_DTYPE_F32));
}

enum { MAX_NESTED = 8 };

/* The type of what is in nested lists. */
static onx_dtype type_in(onx_export *x, const onx_xv *v, int depth) {
    onx_dtype dtype = ONX_DTYPE_NONE;
    if (!onx_xv_is_list(v)) return onx_x_promote(x, 1, v);
    for (size_t i = 0; i < v->list->n && depth < MAX_NESTED; i++)
        dtype = onx_x_promote2(dtype, type_in(x, &v->list->v[i], depth + 1));
    return dtype;
}

/* Nested lists of numbers, each of which may be the model's. */
static onx_value *nested(onx_export *x, const onx_xv *v, onx_dtype dtype, int depth) {
    if (!onx_xv_is_list(v)) {
        onx_value *value = onx_x_as(x, v, dtype);
        return onx_x_rank(x, value) == 1 ? onx_x_squeeze(x, value, 0) : value;
    }
    if (depth == MAX_NESTED) return onx_x_fail(x, ONX_LIMIT, "lists in lists, too deep");
    if (!v->list->n) return onx_x_constant(x, dtype, 1, (int64_t[]){0}, NULL, 0);
    onx_value **parts = onx_x_array(x, v->list->n, sizeof *parts);
    for (size_t i = 0; parts && i < v->list->n && onx_x_ok(x); i++)
        parts[i] = onx_x_unsqueeze(x, nested(x, &v->list->v[i], dtype, depth + 1), 0);
    return onx_x_ok(x) ? onx_x_concat(x, v->list->n, parts, 0) : NULL;
}

static void give_tensor(onx_export *x, const onx_xv *v, const onx_xv *dtype_arg, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg);
    if (!dtype) dtype = type_in(x, v, 0);
    if (!dtype) dtype = ONX_DTYPE_F32;
    if (onx_dtype_is_complex(dtype))
        onx_x_fail(x, ONX_UNSUPPORTED, "a tensor of complex numbers of the program");
    else
        onx_x_give(x, out, nested(x, v, dtype, 0));
}

static void lower_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_tensor(x, &a[0], &a[1], out);
}

/* Of a tensor it is the tensor. */
static void lower_as_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[1]);
    if (!onx_xv_is(a, ONX_X_TENSOR))
        give_tensor(x, &a[0], &a[1], out);
    else if (!dtype || dtype == a->tensor->dtype)
        *out = a[0];
    else
        onx_x_give(x, out, onx_x_as(x, a, dtype));
}

#define OPTIONS                                                                                    \
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define INDICES                                                                                    \
    "(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, "            \
    "Device? device=None, bool? pin_memory=None)"
#define FORMAT "MemoryFormat? memory_format=None"
#define FILLED(name)                                                                               \
    { name "(int[] size, *, " OPTIONS ", " FORMAT ")", lower_filled, NULL }
#define NEW(name)                                                                                  \
    { name "(Tensor self, int[] size, *, " OPTIONS ")", lower_new, NULL }
#define LIKE(name)                                                                                 \
    { name "(Tensor self, *, " OPTIONS ", " FORMAT ")", lower_like, NULL }
#define WINDOW(name)                                                                               \
    { name "(int window_length, bool periodic=True, *, " OPTIONS ")", lower_window, NULL }
const onx_aten onx_aten_factory[] = {
    FILLED("zeros"),
    FILLED("ones"),
    FILLED("empty"),
    {"_efficientzerotensor(int[] size, *, " OPTIONS ")", lower_filled, NULL},
    {"empty_strided(int[] size, int[] stride, *, " OPTIONS ")", lower_empty_strided, NULL},
    {"empty_permuted(int[] size, int[] physical_layout, *, " OPTIONS ")", lower_empty_strided,
     NULL},
    {"full(int[] size, Scalar fill_value, *, " OPTIONS ")", lower_full, NULL},
    NEW("new_zeros"),
    NEW("new_ones"),
    NEW("new_empty"),
    {"new_empty_strided(Tensor self, int[] size, int[] stride, *, " OPTIONS ")",
     lower_new_empty_strided, NULL},
    {"new_full(Tensor self, int[] size, Scalar fill_value, *, " OPTIONS ")", lower_new_full, NULL},
    LIKE("zeros_like"),
    LIKE("ones_like"),
    LIKE("empty_like"),
    {"full_like(Tensor self, Scalar fill_value, *, " OPTIONS ", " FORMAT ")", lower_full_like,
     NULL},
    {"arange(Scalar end, *, " OPTIONS ")", lower_arange, NULL},
    {"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ")",
     lower_arange_start, NULL},
    {"range(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ")", lower_range, NULL},
    {"linspace(Any start, Any end, int steps=100, *, " OPTIONS ")", lower_linspace, NULL},
    {"logspace(Any start, Any end, int steps=100, float base=10., *, " OPTIONS ")", lower_logspace,
     NULL},
    {"eye(int n, *, " OPTIONS ")", lower_eye, NULL},
    {"eye.m(int n, int m, *, " OPTIONS ")", lower_eye_m, NULL},
    {"tril_indices" INDICES, lower_tril_indices, NULL},
    {"triu_indices" INDICES, lower_triu_indices, NULL},
    WINDOW("hann_window"),
    WINDOW("blackman_window"),
    WINDOW("bartlett_window"),
    WINDOW("hamming_window"),
    {"kaiser_window(int window_length, bool periodic=True, float beta=12., *, " OPTIONS ")",
     lower_kaiser, NULL},
    {"hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, "
     "float beta=0.46, *, " OPTIONS ")",
     lower_hamming, NULL},
    {"scalar_tensor(Scalar s, *, " OPTIONS ")", lower_scalar_tensor, NULL},
    {"tensor(t data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False)",
     lower_tensor, NULL},
    {"as_tensor(t data, *, ScalarType? dtype=None, Device? device=None)", lower_as_tensor, NULL},
    {NULL, NULL, NULL},
};
