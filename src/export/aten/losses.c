/* losses.c: loss functions: one operator where ONNX has it, else the formula. */
#include "export/aten/lowering.h"

/* ─ What they share ──────────────────────────────────────────────────────────────────────────── */

/* 0: every element, 1: the mean, 2: the sum. */
static onx_value *reduced(onx_export *x, onx_value *v, const onx_xv *reduction) {
    int64_t how = onx_xv_whole(x, reduction, 1);
    return how == 0 ? v : onx_x_reduce(x, how == 1 ? "ReduceMean" : "ReduceSum", v, 0, NULL, false);
}

static const char *reduction_name(onx_export *x, const onx_xv *reduction) {
    int64_t how = onx_xv_whole(x, reduction, 1);
    return how == 0 ? "none" : how == 1 ? "mean" : "sum";
}

static onx_value *difference(onx_export *x, const onx_xv *a) {
    onx_value *v, *target;
    return onx_x_pair(x, &a[0], &a[1], &v, &target) ? onx_emit(x, "Sub", v, target) : NULL;
}

/* number - v, or number + v */
static onx_value *from_number(onx_export *x, const char *op, double number, onx_value *v) {
    return v ? onx_emit(x, op, onx_x_number(x, onx_x_dtype(x, v), number), v) : NULL;
}

/* ─ Distances of what is and what should be ──────────────────────────────────────────────────── */

static void lower_mse_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *d = difference(x, a);
    onx_x_give(x, out, reduced(x, onx_emit(x, "Mul", d, d), &a[2]));
}

static void lower_l1_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, reduced(x, onx_emit(x, "Abs", difference(x, a)), &a[2]));
}

/* d²·square below the limit, (|d| - limit/2)·line above it. */
static void give_bent(onx_export *x, const onx_xv *a, double limit, double square, double line,
                      onx_xv *out) {
    onx_value *d = difference(x, a), *size = onx_emit(x, "Abs", d);
    onx_value *near = onx_emit_number(x, "Mul", onx_emit(x, "Mul", d, d), square);
    onx_value *far = onx_emit_number(x, "Sub", size, limit / 2);
    if (line != 1) far = onx_emit_number(x, "Mul", far, line);
    onx_value *is_near = onx_emit_number(x, "Less", size, limit);
    onx_x_give(x, out, reduced(x, onx_emit(x, "Where", is_near, near, far), &a[2]));
}

static void lower_smooth_l1_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    double beta = onx_xv_real(x, &a[3], 1);
    if (beta == 0)
        lower_l1_loss(x, a, out);
    else
        give_bent(x, a, beta, 0.5 / beta, 1, out);
}

static void lower_huber_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    double delta = onx_xv_real(x, &a[3], 1);
    give_bent(x, a, delta, 0.5, delta, out);
}

/* ─ Chances ──────────────────────────────────────────────────────────────────────────────────── */

static onx_value *weighted(onx_export *x, onx_value *v, const onx_xv *weight) {
    if (onx_xv_is(weight, ONX_X_NONE)) return v;
    return v ? onx_emit(x, "Mul", v, onx_x_as(x, weight, onx_x_dtype(x, v))) : NULL;
}

/* -(t·log(v) + (1 - t)·log(1 - v)), logarithms not below -100. */
static void lower_bce(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *t;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &t)) return;
    onx_value *yes = onx_emit_number(x, "Max", onx_emit(x, "Log", v), -100);
    onx_value *no = onx_emit(x, "Log", from_number(x, "Sub", 1, v));
    no = onx_emit_number(x, "Max", no, -100);
    onx_value *sum = onx_emit(x, "Add", onx_emit(x, "Mul", t, yes),
                              onx_emit(x, "Mul", from_number(x, "Sub", 1, t), no));
    onx_x_give(x, out, reduced(x, weighted(x, onx_emit(x, "Neg", sum), &a[2]), &a[3]));
}

/* softplus(v) - t·v; with a weight for what is true: (1 - t)·v + (1 + (p - 1)·t)·softplus(-v). */
static void lower_bce_with_logits(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *t, *loss;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &t)) return;
    if (onx_xv_is(&a[3], ONX_X_NONE)) {
        loss = onx_emit(x, "Sub", onx_emit_wide(x, "Softplus", v), onx_emit(x, "Mul", t, v));
    } else {
        onx_value *p = onx_emit_number(x, "Sub", onx_xv_value(x, &a[3]), 1);
        onx_value *factor = from_number(x, "Add", 1, onx_emit(x, "Mul", p, t));
        onx_value *soft = onx_emit_wide(x, "Softplus", onx_emit(x, "Neg", v));
        loss = onx_emit(x, "Add", onx_emit(x, "Mul", from_number(x, "Sub", 1, t), v),
                        onx_emit(x, "Mul", factor, soft));
    }
    onx_x_give(x, out, reduced(x, weighted(x, loss, &a[2]), &a[4]));
}

/* t·(log(t) - v), which is 0 where t is 0; log_target: exp(t)·(t - v). */
static void lower_kl_div(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *t, *loss;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &t)) return;
    if (onx_xv_true(&a[3])) {
        loss = onx_emit(x, "Mul", onx_emit(x, "Exp", t), onx_emit(x, "Sub", t, v));
    } else {
        loss = onx_emit(x, "Mul", t, onx_emit(x, "Sub", onx_emit(x, "Log", t), v));
        loss = onx_emit(x, "Where", onx_emit_number(x, "Greater", t, 0), loss,
                        onx_x_number(x, onx_x_dtype(x, t), 0));
    }
    onx_x_give(x, out, reduced(x, loss, &a[2]));
}

static onx_value *stirling(onx_export *x, onx_value *t) {
    onx_value *log = onx_emit(x, "Log", t);
    onx_value *half =
        onx_emit_number(x, "Add", onx_emit_number(x, "Mul", log, 0.5), 0.91893853320467274);
    onx_value *sum = onx_emit(x, "Add", onx_emit(x, "Sub", onx_emit(x, "Mul", t, log), t), half);
    return onx_emit(x, "Where", onx_emit_number(x, "Greater", t, 1), sum,
                    onx_x_number(x, onx_x_dtype(x, t), 0));
}

static void lower_poisson_nll_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *t;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &t)) return;
    bool is_log = onx_xv_true(&a[2]);
    onx_value *rate = is_log ? onx_emit(x, "Exp", v) : v;
    onx_value *log =
        is_log ? v : onx_emit(x, "Log", onx_emit_number(x, "Add", v, onx_xv_real(x, &a[4], 1e-8)));
    onx_value *loss = onx_emit(x, "Sub", rate, onx_emit(x, "Mul", t, log));
    if (onx_xv_true(&a[3])) loss = onx_emit(x, "Add", loss, stirling(x, t));
    onx_x_give(x, out, reduced(x, loss, &a[5]));
}

/* ─ Classes ──────────────────────────────────────────────────────────────────────────────────── */

/* Scores of one case, or of many: [C] with a class becomes [1, C] with one. */
static bool classes(onx_export *x, const onx_xv *a, onx_value **scores, onx_value **target,
                    bool *single) {
    *scores = onx_x_floating(x, &a[0]);
    *target = onx_xv_value(x, &a[1]);
    *single = onx_x_rank(x, *scores) == 1;
    if (*single) {
        *scores = onx_x_unsqueeze(x, *scores, 0);
        *target = onx_x_unsqueeze(x, *target, 0);
    }
    return onx_x_ok(x);
}

/* ONNX's two losses of classes: scores, classes, weights. */
static void give_class_loss(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    onx_value *scores, *target;
    bool single, each = onx_xv_whole(x, &a[3], 1) == 0;
    onx_value *weight = onx_xv_is(&a[2], ONX_X_NONE) ? NULL : onx_xv_value(x, &a[2]);
    if (!classes(x, a, &scores, &target, &single)) return;
    const onx_xattr *attrs = ONX_ATTRS(ONX_AS("reduction", reduction_name(x, &a[3])),
                                       ONX_AI("ignore_index", onx_xv_whole(x, &a[4], -100)));
    onx_value *loss = onx_emit_wide_with(x, op, attrs, scores, target, weight);
    onx_x_give(x, out, single && each ? onx_x_squeeze(x, loss, 0) : loss);
}

/* The weight of each case: that of its class, 0 where the class is ignored. */
static onx_value *weights_of(onx_export *x, const onx_xv *a, onx_value *target, onx_dtype dtype) {
    onx_dtype type = onx_x_dtype(x, target);
    onx_value *ignored =
        onx_emit(x, "Equal", target, onx_x_number(x, type, (double)onx_xv_whole(x, &a[4], -100)));
    onx_value *zero = onx_x_number(x, dtype, 0), *one = onx_x_number(x, dtype, 1);
    onx_value *each = one;
    if (!onx_xv_is(&a[2], ONX_X_NONE)) {
        onx_value *safe = onx_emit(x, "Where", ignored, onx_x_number(x, type, 0), target);
        each = onx_emit(x, "Gather", onx_xv_value(x, &a[2]), safe);
    }
    return onx_emit(x, "Where", ignored, zero, each);
}

static void lower_nll_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_class_loss(x, "NegativeLogLikelihoodLoss", a, out);
}

static void lower_nll_loss_forward(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *scores, *target;
    bool single;
    lower_nll_loss(x, a, &out[0]);
    if (!classes(x, a, &scores, &target, &single)) return;
    onx_value *weights = weights_of(x, a, target, onx_x_dtype(x, scores));
    onx_x_give(x, &out[1], onx_x_reduce(x, "ReduceSum", weights, 0, NULL, false));
}

/* -sum of log_softmax over the classes, each with its weight and its chance (NULL: 1). */
static onx_value *spread_loss(onx_export *x, const onx_xv *weight, onx_value *scores,
                              onx_value *chances) {
    int64_t axis = 1;
    onx_value *log = onx_emit_wide_with(x, "LogSoftmax", ONX_ATTRS(ONX_AI("axis", 1)), scores);
    size_t rank = onx_x_rank(x, scores);
    if (chances) log = onx_emit(x, "Mul", log, chances);
    if (!onx_xv_is(weight, ONX_X_NONE)) {
        onx_value *w = onx_xv_value(x, weight);
        for (size_t i = 2; i < rank && onx_x_ok(x); i++) w = onx_x_unsqueeze(x, w, -1);
        log = onx_emit(x, "Mul", log, w);
    }
    return onx_emit(x, "Neg", onx_x_reduce(x, "ReduceSum", log, 1, &axis, false));
}

/* Chances of classes as the target: the mean is that of the cases. */
static onx_value *soft_targets(onx_export *x, const onx_xv *a, onx_value *scores, onx_value *target,
                               double smoothing) {
    onx_xv n = onx_x_size_of(x, scores, 1);
    if (smoothing != 0) {
        onx_dtype dtype = onx_x_dtype(x, scores);
        onx_xv part = onx_x_arith(x, "truediv", onx_xv_float(smoothing), n);
        target = onx_emit(x, "Add", onx_emit_number(x, "Mul", target, 1 - smoothing),
                          onx_x_as(x, &part, dtype));
    }
    return reduced(x, spread_loss(x, &a[2], scores, target), &a[3]);
}

/* A part of the target goes to all classes alike. */
static onx_value *smoothed(onx_export *x, const onx_xv *a, onx_value *scores, onx_value *target,
                           double smoothing) {
    int64_t how = onx_xv_whole(x, &a[3], 1);
    onx_dtype dtype = onx_x_dtype(x, scores);
    onx_xv none = onx_xv_int(x, 0),
           part = onx_x_arith(x, "truediv", onx_xv_float(smoothing), onx_x_size_of(x, scores, 1));
    onx_xv args[5] = {onx_xv_tensor(x, scores), onx_xv_tensor(x, target), a[2], none, a[4]}, hard;
    give_class_loss(x, "SoftmaxCrossEntropyLoss", args, &hard);
    if (!onx_x_ok(x)) return NULL;
    onx_value *weights = weights_of(x, a, target, dtype);
    onx_value *counted = onx_emit_number(x, "Greater", weights, 0);
    onx_value *spread = onx_emit(x, "Where", counted, spread_loss(x, &a[2], scores, NULL),
                                 onx_x_number(x, dtype, 0));
    onx_value *loss =
        onx_emit(x, "Add", onx_emit_number(x, "Mul", onx_xv_value(x, &hard), 1 - smoothing),
                 onx_emit(x, "Mul", spread, onx_x_as(x, &part, dtype)));
    if (how == 0) return loss;
    loss = onx_x_reduce(x, "ReduceSum", loss, 0, NULL, false);
    if (how == 2) return loss;
    return onx_emit(x, "Div", loss, onx_x_reduce(x, "ReduceSum", weights, 0, NULL, false));
}

static void lower_cross_entropy_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *scores, *target, *loss;
    bool single, each = onx_xv_whole(x, &a[3], 1) == 0;
    double smoothing = onx_xv_real(x, &a[5], 0);
    bool soft = onx_dtype_is_float(onx_xv_type(x, &a[1]));
    if (!soft && smoothing == 0) {
        give_class_loss(x, "SoftmaxCrossEntropyLoss", a, out);
        return;
    }
    if (!classes(x, a, &scores, &target, &single)) return;
    loss = soft ? soft_targets(x, a, scores, target, smoothing)
                : smoothed(x, a, scores, target, smoothing);
    onx_x_give(x, out, single && each ? onx_x_squeeze(x, loss, 0) : loss);
}

/* ─ Margins ──────────────────────────────────────────────────────────────────────────────────── */

static onx_value *relu_of(onx_export *x, onx_value *v) {
    return onx_emit(x, "Relu", v);
}

static void lower_margin_ranking_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *d = onx_emit(x, "Mul", onx_emit(x, "Neg", onx_xv_value(x, &a[2])), difference(x, a));
    double margin = onx_xv_real(x, &a[3], 0);
    if (margin != 0) d = onx_emit_number(x, "Add", d, margin);
    onx_x_give(x, out, reduced(x, relu_of(x, d), &a[4]));
}

/* v where the target is 1, what is left of the margin where it is -1. */
static void lower_hinge_embedding_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *t;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &t)) return;
    onx_value *left = relu_of(x, from_number(x, "Sub", onx_xv_real(x, &a[2], 1), v));
    onx_value *loss = onx_emit(x, "Where", onx_emit_number(x, "Equal", t, 1), v, left);
    onx_x_give(x, out, reduced(x, loss, &a[3]));
}

static void lower_soft_margin_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *t;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &t)) return;
    onx_value *loss = onx_emit_wide(x, "Softplus", onx_emit(x, "Neg", onx_emit(x, "Mul", v, t)));
    onx_x_give(x, out, reduced(x, loss, &a[2]));
}

/* The mean over classes of max(0, margin - v[target] + v)^p, but for the target. */
static void lower_multi_margin_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *t;
    bool single;
    int64_t last = -1;
    if (!classes(x, a, &v, &t, &single)) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *at = onx_x_unsqueeze(x, onx_x_cast(x, t, ONX_DTYPE_I64), 1);
    onx_value *own = onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", 1)), v, at);
    onx_value *over =
        onx_emit_number(x, "Add", onx_emit(x, "Sub", v, own), onx_xv_real(x, &a[3], 1));
    over = relu_of(x, over);
    if (onx_xv_real(x, &a[2], 1) == 2) over = onx_emit(x, "Mul", over, over);
    if (!onx_xv_is(&a[4], ONX_X_NONE))
        over = onx_emit(x, "Mul", over, onx_emit(x, "Gather", onx_xv_value(x, &a[4]), at));
    onx_xv n = onx_x_size_of(x, v, 1);
    onx_value *is = onx_emit(x, "Equal", onx_x_count(x, &n), at);
    over = onx_emit(x, "Where", is, onx_x_number(x, dtype, 0), over);
    onx_value *loss = onx_x_reduce(x, "ReduceMean", over, 1, &last, false);
    bool each = onx_xv_whole(x, &a[5], 1) == 0;
    loss = reduced(x, loss, &a[5]);
    onx_x_give(x, out, single && each ? onx_x_squeeze(x, loss, 0) : loss);
}

static void lower_cosine_embedding_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv args[4] = {a[0], a[1], onx_xv_int(x, -1), onx_xv_float(1e-8)};
    onx_xv cosine = onx_aten_do(x, "cosine_similarity", 4, args);
    if (!onx_x_ok(x) || cosine.kind != ONX_X_TENSOR) return;
    onx_value *c = onx_xv_value(x, &cosine), *t = onx_xv_value(x, &a[2]);
    onx_value *apart = relu_of(x, onx_emit_number(x, "Sub", c, onx_xv_real(x, &a[3], 0)));
    onx_value *loss =
        onx_emit(x, "Where", onx_emit_number(x, "Equal", t, 1), from_number(x, "Sub", 1, c), apart);
    onx_x_give(x, out, reduced(x, loss, &a[4]));
}

static void lower_triplet_margin_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const size_t pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    onx_value *d[3] = {NULL};
    bool swap = onx_xv_true(&a[6]);
    for (size_t i = 0; i < (swap ? 3u : 2u); i++) {
        onx_xv args[4] = {a[pairs[i][0]], a[pairs[i][1]], a[4], a[5]};
        onx_xv distance = onx_aten_do(x, "pairwise_distance", 4, args);
        if (!onx_x_ok(x) || distance.kind != ONX_X_TENSOR) return;
        d[i] = onx_xv_value(x, &distance);
    }
    if (swap) d[1] = onx_emit(x, "Min", d[1], d[2]);
    onx_value *loss =
        onx_emit_number(x, "Add", onx_emit(x, "Sub", d[0], d[1]), onx_xv_real(x, &a[3], 1));
    onx_x_give(x, out, reduced(x, relu_of(x, loss), &a[7]));
}

#define PAIR(name, lower)                                                                          \
    { name "(Tensor self, Tensor target, int reduction=1)", lower, NULL }
#define NLL(name)                                                                                  \
    {                                                                                              \
        name "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "                 \
             "int ignore_index=-100)",                                                             \
            lower_nll_loss, NULL                                                                   \
    }
#define NLL_FORWARD(name)                                                                          \
    {                                                                                              \
        name "(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> "   \
             "(Tensor output, Tensor total_weight)",                                               \
            lower_nll_loss_forward, NULL                                                           \
    }
const onx_aten onx_aten_losses[] = {
    PAIR("mse_loss", lower_mse_loss),
    PAIR("l1_loss", lower_l1_loss),
    PAIR("soft_margin_loss", lower_soft_margin_loss),
    {"smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.)",
     lower_smooth_l1_loss, NULL},
    {"huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.)", lower_huber_loss,
     NULL},
    {"binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
     lower_bce, NULL},
    {"binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
     "Tensor? pos_weight=None, int reduction=1)",
     lower_bce_with_logits, NULL},
    {"kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False)", lower_kl_div,
     NULL},
    {"poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
     "int reduction)",
     lower_poisson_nll_loss, NULL},
    NLL("nll_loss"),
    NLL("nll_loss2d"),
    NLL("nll_loss_nd"),
    NLL_FORWARD("nll_loss_forward"),
    NLL_FORWARD("nll_loss2d_forward"),
    {"cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
     "int ignore_index=-100, float label_smoothing=0.)",
     lower_cross_entropy_loss, NULL},
    {"margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., "
     "int reduction=1)",
     lower_margin_ranking_loss, NULL},
    {"hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1)",
     lower_hinge_embedding_loss, NULL},
    {"multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "
     "Tensor? weight=None, int reduction=1)",
     lower_multi_margin_loss, NULL},
    {"cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., "
     "int reduction=1)",
     lower_cosine_embedding_loss, NULL},
    {"triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., "
     "float p=2., float eps=1e-06, bool swap=False, int reduction=1)",
     lower_triplet_margin_loss, NULL},
    {NULL, NULL, NULL},
};
