/* draw.c: random numbers: the operators of ONNX that draw them, and a note, for results differ from
 * run to run, and from PyTorch's. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

static void noted(onx_export *x) {
    onx_x_note(x, "%.*s draws random numbers when the model runs: others than PyTorch's",
               ONX_FMT(onx_x_op(x)));
}

/* Numbers of `op` (RandomUniformLike, RandomNormalLike) in the shape of `like`. */
static onx_value *drawn(onx_export *x, const char *op, const char *low_name, double low,
                        const char *high_name, double high, onx_value *like, onx_dtype dtype) {
    noted(x);
    return onx_emit_with(
        x, op, ONX_ATTRS(ONX_AF(low_name, low), ONX_AF(high_name, high), ONX_AI("dtype", dtype)),
        like);
}

static onx_value *uniform(onx_export *x, onx_value *like, onx_dtype dtype, double low,
                          double high) {
    return drawn(x, "RandomUniformLike", "low", low, "high", high, like, dtype);
}

static onx_value *gaussian(onx_export *x, onx_value *like, onx_dtype dtype, double mean,
                           double std) {
    return drawn(x, "RandomNormalLike", "mean", mean, "scale", std, like, dtype);
}

static onx_value *zeros(onx_export *x, const onx_xv *size) {
    return onx_x_fill(x, onx_x_number(x, ONX_DTYPE_F32, 0), size->list->n, size->list->v);
}

/* float32 where a type is neither given nor that of the tensor. */
static onx_dtype type_of(onx_export *x, const onx_xv *dtype_arg, const onx_xv *like) {
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg);
    if (!dtype && like) dtype = like->tensor->dtype;
    return dtype ? dtype : ONX_DTYPE_F32;
}

static void lower_rand(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, uniform(x, zeros(x, &a[0]), type_of(x, &a[1], NULL), 0, 1));
}
static void lower_randn(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, gaussian(x, zeros(x, &a[0]), type_of(x, &a[1], NULL), 0, 1));
}
static void lower_rand_like(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, uniform(x, onx_xv_value(x, a), type_of(x, &a[1], a), 0, 1));
}
static void lower_randn_like(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, gaussian(x, onx_xv_value(x, a), type_of(x, &a[1], a), 0, 1));
}

static void give_randint(onx_export *x, onx_value *like, const onx_xv *low, const onx_xv *high,
                         onx_dtype dtype, onx_xv *out) {
    double from = low ? onx_xv_real(x, low, 0) : 0, to = onx_xv_real(x, high, 0);
    onx_value *v = onx_emit(x, "Floor", uniform(x, like, ONX_DTYPE_F32, from, to));
    onx_x_give(x, out, onx_x_cast(x, v, dtype));
}
static onx_dtype whole_type(onx_export *x, const onx_xv *dtype_arg) {
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg);
    return dtype ? dtype : ONX_DTYPE_I64;
}
static void lower_randint(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_randint(x, zeros(x, &a[1]), NULL, &a[0], whole_type(x, &a[2]), out);
}
static void lower_randint_low(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_randint(x, zeros(x, &a[2]), &a[0], &a[1], whole_type(x, &a[3]), out);
}
static void lower_randint_like(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_randint(x, onx_xv_value(x, a), NULL, &a[1], type_of(x, &a[2], a), out);
}
static void lower_randint_like_low(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_randint(x, onx_xv_value(x, a), &a[1], &a[2], type_of(x, &a[3], a), out);
}

/* The order of random numbers. */
static void lower_randperm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv size = onx_xv_list(x, ONX_X_LIST, 1, a);
    if (!onx_x_ok(x)) return;
    onx_value *v[2],
        *in[2] = {uniform(x, zeros(x, &size), ONX_DTYPE_F32, 0, 1), onx_x_shape(x, 1, a)};
    if (onx_emit_node(x, "TopK", NULL, 2, in, 2, v))
        onx_x_give(x, out, onx_x_cast(x, v[1], whole_type(x, &a[1])));
}

/* ─ In the shape of a tensor, as uniform_ and normal_ fill it ────────────────────────────────── */

static void lower_uniform(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out,
               uniform(x, onx_xv_value(x, a), a->tensor->dtype, onx_xv_real(x, &a[1], 0),
                       onx_xv_real(x, &a[2], 1)));
}

/* -log(u)/lambda */
static void lower_exponential(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *u = uniform(x, onx_xv_value(x, a), a->tensor->dtype, 1e-7, 1);
    onx_x_give(x, out,
               onx_emit_number(x, "Mul", onx_emit(x, "Log", u), -1 / onx_xv_real(x, &a[1], 1)));
}

static void lower_normal_like(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out,
               gaussian(x, onx_xv_value(x, a), a->tensor->dtype, onx_xv_real(x, &a[1], 0),
                        onx_xv_real(x, &a[2], 1)));
}

/* Rows of their own, for normal and bernoulli are not what these write. */
static void write_back(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (out->kind == ONX_X_TENSOR) onx_xt_write(x, a->tensor, onx_xv_value(x, out));
    *out = a[0];
}
static void lower_normal_into(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_normal_like(x, a, out);
    write_back(x, a, out);
}

/* mean + std·(numbers of mean 0 and scale 1), where one of the two is a tensor. */
static void lower_normal(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_x_promote(x, 2, a);
    onx_value *mean = onx_x_as(x, &a[0], dtype), *std = onx_x_as(x, &a[1], dtype);
    onx_value *like = onx_emit(x, "Add", mean, std);
    onx_value *noise = gaussian(x, like, dtype, 0, 1);
    onx_x_give(x, out, onx_emit(x, "Add", mean, onx_emit(x, "Mul", std, noise)));
}

static void lower_normal_size(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out,
               gaussian(x, zeros(x, &a[2]), type_of(x, &a[4], NULL), onx_xv_real(x, &a[0], 0),
                        onx_xv_real(x, &a[1], 1)));
}

/* ─ Yes or no, and one of many ───────────────────────────────────────────────────────────────── */

static void give_bernoulli(onx_export *x, onx_value *chances, onx_dtype dtype, onx_xv *out) {
    noted(x);
    onx_x_give(x, out, onx_emit_with(x, "Bernoulli", ONX_ATTRS(ONX_AI("dtype", dtype)), chances));
}

static void lower_bernoulli(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_bernoulli(x, onx_xv_value(x, a), a->tensor->dtype, out);
}

static void lower_bernoulli_p(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *p = onx_x_as(x, &a[1], ONX_DTYPE_F32), *v = onx_xv_value(x, a);
    give_bernoulli(x, onx_lower_expand_like(x, p, v), a->tensor->dtype, out);
}

static void lower_bernoulli_into(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_bernoulli_p(x, a, out);
    write_back(x, a, out);
}

/* Chances of which each row has its own. Multinomial takes their logarithms, and puts back what it
 * drew; without that, the largest of log(p) + noise by Gumbel are drawn. */
static void lower_multinomial(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_emit(x, "Log", onx_x_floating(x, a)), *top[2];
    bool flat = onx_x_rank(x, v) == 1;
    int64_t n;
    if (onx_xv_true(&a[2]) && onx_xv_known_int(&a[1], &n)) {
        noted(x);
        if (flat) v = onx_x_unsqueeze(x, v, 0);
        v = onx_emit_with(x, "Multinomial",
                          ONX_ATTRS(ONX_AI("sample_size", n), ONX_AI("dtype", ONX_DTYPE_I64)), v);
        onx_x_give(x, out, flat ? onx_x_squeeze(x, v, 0) : v);
        return;
    }
    onx_value *noise = v ? uniform(x, v, onx_x_dtype(x, v), 1e-7, 1) : NULL;
    onx_value *gumbel = onx_emit(x, "Log", onx_emit(x, "Neg", onx_emit(x, "Log", noise)));
    onx_value *in[2] = {onx_emit(x, "Sub", v, gumbel), onx_x_shape(x, 1, &a[1])};
    if (onx_emit_node(x, "TopK", NULL, 2, in, 2, top)) onx_x_give(x, out, top[1]);
}

#define OPTIONS                                                                                    \
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define FORMAT "MemoryFormat? memory_format=None"
const onx_aten onx_aten_draw[] = {
    {"rand(int[] size, *, " OPTIONS ", Generator? generator=None)", lower_rand, NULL},
    {"randn(int[] size, *, " OPTIONS ", Generator? generator=None)", lower_randn, NULL},
    {"rand_like(Tensor self, *, " OPTIONS ", " FORMAT ", Generator? generator=None)",
     lower_rand_like, NULL},
    {"randn_like(Tensor self, *, " OPTIONS ", " FORMAT ", Generator? generator=None)",
     lower_randn_like, NULL},
    {"randint(int high, int[] size, *, " OPTIONS ", Generator? generator=None)", lower_randint,
     NULL},
    {"randint.low(int low, int high, int[] size, *, " OPTIONS ", Generator? generator=None)",
     lower_randint_low, NULL},
    {"randint_like(Tensor self, int high, *, " OPTIONS ", " FORMAT ")", lower_randint_like, NULL},
    {"randint_like.low_dtype(Tensor self, int low, int high, *, " OPTIONS ", " FORMAT ")",
     lower_randint_like_low, NULL},
    {"randperm(int n, *, " OPTIONS ", Generator? generator=None)", lower_randperm, NULL},
    {"uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None)",
     lower_uniform, NULL},
    {"exponential(Tensor self, float lambd=1., *, Generator? generator=None)", lower_exponential,
     NULL},
    {"normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None)",
     lower_normal_like, NULL},
    {"normal_(Tensor self, float mean=0., float std=1., *, Generator? generator=None)",
     lower_normal_into, NULL},
    {"normal.Tensor_Tensor(Tensor mean, Any std=1., *, Generator? generator=None)", lower_normal,
     NULL},
    {"normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None)", lower_normal,
     NULL},
    {"normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, " OPTIONS
     ")",
     lower_normal_size, NULL},
    {"bernoulli(Tensor self, *, Generator? generator=None)", lower_bernoulli, NULL},
    {"bernoulli.p(Tensor self, Any p, *, Generator? generator=None)", lower_bernoulli_p, NULL},
    {"bernoulli_(Tensor self, Any p=0.5, *, Generator? generator=None)", lower_bernoulli_into,
     NULL},
    {"multinomial(Tensor self, int num_samples, bool replacement=False, *, "
     "Generator? generator=None)",
     lower_multinomial, NULL},
    {NULL, NULL, NULL},
};
