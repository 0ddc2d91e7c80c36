/* activate.c: activation functions: one operator where the opset has it, else its formula. */
#include "export/aten/lowering.h"

/* 0.5 x (1 + f(x)). */
static onx_value *half_of(onx_export *x, onx_value *v, onx_value *f) {
    onx_value *sum = onx_emit_number(x, "Add", f, 1);
    return onx_emit_number(x, "Mul", onx_emit(x, "Mul", v, sum), 0.5);
}

static void lower_gelu(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    bool is_tanh = onx_xv_is(&a[1], ONX_X_STR) && onx_str_is(a[1].str, "tanh");
    if (x->opset >= 20) {
        const onx_xattr *attrs = is_tanh ? ONX_ATTRS(ONX_AS("approximate", "tanh")) : NULL;
        onx_x_give(x, out, onx_emit_with(x, "Gelu", attrs, v));
    } else if (is_tanh) {
        onx_value *cube = onx_emit(x, "Mul", onx_emit(x, "Mul", v, v), v);
        onx_value *sum = onx_emit(x, "Add", v, onx_emit_number(x, "Mul", cube, 0.044715));
        onx_value *f = onx_emit(x, "Tanh", onx_emit_number(x, "Mul", sum, 0.79788456080286536));
        onx_x_give(x, out, half_of(x, v, f));
    } else {
        onx_value *f = onx_emit(x, "Erf", onx_emit_number(x, "Mul", v, 0.70710678118654752));
        onx_x_give(x, out, half_of(x, v, f));
    }
}

static void lower_silu(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    onx_x_give(x, out,
               x->opset >= 24 ? onx_emit(x, "Swish", v)
                              : onx_emit(x, "Mul", v, onx_emit(x, "Sigmoid", v)));
}

static void lower_hardsigmoid(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out,
               onx_emit_wide_with(x, "HardSigmoid", ONX_ATTRS(ONX_AF("alpha", 1.0 / 6)),
                                  onx_x_floating(x, a)));
}

static onx_value *clip(onx_export *x, onx_value *v, const onx_xv *low, const onx_xv *high) {
    onx_dtype dtype = onx_x_dtype(x, v);
    return onx_emit_wide(x, "Clip", v, onx_x_as(x, low, dtype), onx_x_as(x, high, dtype));
}

static void lower_hardtanh(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, clip(x, onx_xv_value(x, a), &a[1], &a[2]));
}

static void lower_relu6(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv low = onx_xv_int(x, 0), high = onx_xv_int(x, 6);
    onx_x_give(x, out, clip(x, onx_xv_value(x, a), &low, &high));
}

/* scale·(max(x, 0) + alpha·(exp(input_scale·min(x, 0)) - 1)) */
static void lower_elu(onx_export *x, const onx_xv *a, onx_xv *out) {
    double alpha = onx_xv_real(x, &a[1], 1), scale = onx_xv_real(x, &a[2], 1);
    double inner = onx_xv_real(x, &a[3], 1);
    onx_value *v = onx_x_floating(x, a);
    if (inner == 1) {
        v = onx_emit_wide_with(x, "Elu", ONX_ATTRS(ONX_AF("alpha", alpha)), v);
    } else {
        onx_value *above = onx_emit(x, "Relu", v), *below = onx_emit_number(x, "Min", v, 0);
        below = onx_emit(x, "Exp", onx_emit_number(x, "Mul", below, inner));
        below = onx_emit_number(x, "Mul", onx_emit_number(x, "Sub", below, 1), alpha);
        v = onx_emit(x, "Add", above, below);
    }
    onx_x_give(x, out, scale == 1 ? v : onx_emit_number(x, "Mul", v, scale));
}

static void lower_celu(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out,
               onx_emit_wide_with(x, "Celu", ONX_ATTRS(ONX_AF("alpha", onx_xv_real(x, &a[1], 1))),
                                  onx_x_floating(x, a)));
}

static onx_value *leaky(onx_export *x, const onx_xv *a, double slope) {
    return onx_emit_wide_with(x, "LeakyRelu", ONX_ATTRS(ONX_AF("alpha", slope)),
                              onx_x_floating(x, a));
}

static void lower_leaky_relu(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, leaky(x, a, onx_xv_real(x, &a[1], 0.01)));
}

/* Outside training, the mean of the slopes that are drawn in it. */
static void give_rrelu(onx_export *x, const onx_xv *a, const onx_xv *range, onx_xv *out) {
    if (x->training && onx_xv_true(&range[2]))
        onx_x_note(x, "rrelu: slopes are not drawn; the mean slope is used");
    double slope = (onx_xv_real(x, &range[0], 0.125) + onx_xv_real(x, &range[1], 1.0 / 3)) / 2;
    onx_x_give(x, out, leaky(x, a, slope));
}
static void lower_rrelu(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_rrelu(x, a, &a[1], out);
}
static void lower_rrelu_with_noise(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_rrelu(x, a, &a[2], out);
}

static void lower_rrelu_functional(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_rrelu(x, a, &a[2], out);
    out[1] = a[1];
}

/* A weight for each channel, which is dimension 1. */
static void lower_prelu(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, &a[0]), *w = onx_xv_value(x, &a[1]);
    size_t rank = onx_x_rank(x, v), w_rank = onx_x_rank(x, w);
    int64_t axes[ONX_RANK_MAX], count = 0;
    if (!onx_x_ok(x)) return;
    bool is_one = w_rank == 0 || (w_rank == 1 && onx_x_known_dim(x, w, 0, &count) && count == 1);
    if (w_rank == 1 && rank > 2 && !is_one) {
        for (size_t i = 0; i < rank - 2; i++) axes[i] = (int64_t)i + 1;
        w = onx_emit(x, "Unsqueeze", w, onx_x_ints(x, rank - 2, axes));
    }
    onx_x_give(x, out, onx_emit_wide(x, "PRelu", v, w));
}

/* log(1 + exp(beta·x))/beta, and x where beta·x is above the threshold: a difference that float32
 * does not show where the threshold is high. */
static void lower_softplus(onx_export *x, const onx_xv *a, onx_xv *out) {
    double beta = onx_xv_real(x, &a[1], 1), threshold = onx_xv_real(x, &a[2], 20);
    onx_value *v = onx_x_floating(x, a);
    onx_value *in = beta == 1 ? v : onx_emit_number(x, "Mul", v, beta);
    onx_value *soft = onx_emit_wide(x, "Softplus", in);
    if (beta != 1) soft = onx_emit_number(x, "Div", soft, beta);
    if (threshold < 15)
        soft = onx_emit(x, "Where", onx_emit_number(x, "Greater", in, threshold), v, soft);
    onx_x_give(x, out, soft);
}

static void lower_log_sigmoid(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_emit(x, "Neg", onx_x_floating(x, a));
    onx_x_give(x, out, onx_emit(x, "Neg", onx_emit_wide(x, "Softplus", v)));
}

static void lower_log_sigmoid_forward(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_log_sigmoid(x, a, out);
    out[1] = onx_xv_tensor(x, onx_x_number(x, onx_xv_type(x, a), 0));
}

static void lower_threshold(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    if (onx_xv_is_one(x, &a[1], 0) && onx_xv_is_one(x, &a[2], 0)) {
        onx_x_give(x, out, onx_emit_wide(x, "Relu", v));
        return;
    }
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *above = onx_emit_wide(x, "Greater", v, onx_x_as(x, &a[1], dtype));
    onx_x_give(x, out, onx_emit(x, "Where", above, v, onx_x_as(x, &a[2], dtype)));
}

static void give_shrink(onx_export *x, const onx_xv *a, bool soft, onx_xv *out) {
    double lambd = onx_xv_real(x, &a[1], 0.5);
    onx_x_give(x, out,
               onx_emit_wide_with(
                   x, "Shrink", ONX_ATTRS(ONX_AF("lambd", lambd), ONX_AF("bias", soft ? lambd : 0)),
                   onx_x_floating(x, a)));
}
static void lower_hardshrink(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_shrink(x, a, false, out);
}
static void lower_softshrink(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_shrink(x, a, true, out);
}

static void lower_glu(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a), *half[2];
    onx_xattr attrs[] = {
        ONX_AI("axis", onx_xv_whole(x, &a[1], -1)), ONX_AI("num_outputs", 2), {.name = NULL}};
    if (v && onx_emit_node(x, "Split", attrs, 1, &v, 2, half))
        onx_x_give(x, out, onx_emit(x, "Mul", half[0], onx_emit(x, "Sigmoid", half[1])));
}

const onx_aten onx_aten_activate[] = {
    {"gelu(Tensor self, *, str approximate=\"none\")", lower_gelu, NULL},
    {"silu(Tensor self)", lower_silu, NULL},
    {"hardsigmoid(Tensor self)", lower_hardsigmoid, NULL},
    {"hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)", lower_hardtanh, NULL},
    {"relu6(Tensor self)", lower_relu6, NULL},
    {"elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)", lower_elu, NULL},
    {"celu(Tensor self, Scalar alpha=1.)", lower_celu, NULL},
    {"leaky_relu(Tensor self, Scalar negative_slope=0.01)", lower_leaky_relu, NULL},
    {"rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
     "bool training=False, Generator? generator=None)",
     lower_rrelu, NULL},
    {"rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, "
     "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None)",
     lower_rrelu_with_noise, NULL},
    {"rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, "
     "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> "
     "(Tensor, Tensor noise_out)",
     lower_rrelu_functional, NULL},
    {"prelu(Tensor self, Tensor weight)", lower_prelu, NULL},
    {"_prelu_kernel(Tensor self, Tensor weight)", lower_prelu, NULL},
    {"softplus(Tensor self, Scalar beta=1, Scalar threshold=20)", lower_softplus, NULL},
    {"log_sigmoid(Tensor self)", lower_log_sigmoid, NULL},
    {"log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
     lower_log_sigmoid_forward, NULL},
    {"threshold(Tensor self, Scalar threshold, Scalar value)", lower_threshold, NULL},
    {"hardshrink(Tensor self, Scalar lambd=0.5)", lower_hardshrink, NULL},
    {"softshrink(Tensor self, Scalar lambd=0.5)", lower_softshrink, NULL},
    {"glu(Tensor self, int dim=-1)", lower_glu, NULL},
    {NULL, NULL, NULL},
};
