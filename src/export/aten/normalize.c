/* normalize.c: normalization of PyTorch by statistics of a batch, a layer, a group, an instance,
 * and of weights.
 *
 * A batch is normalized by the running statistics, also where the module was saved in training,
 * unless the export keeps training: then, and where there are no running statistics, by its own. */
#include "export/aten/nn_args.h"

#include <float.h>

/* ─ Batches ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct batch {
    onx_value *input, *weight, *bias, *mean, *var;
    onx_xt *running_mean, *running_var; /* NULL: there are none */
    bool training;
    double momentum, eps;
} batch;

static onx_value *or_filled(onx_export *x, onx_value *value, onx_value *input, double v) {
    if (value || !input) return value;
    onx_xv channels = onx_x_size_of(x, input, 1);
    return onx_x_fill(x, onx_x_number(x, onx_x_dtype(x, input), v), 1, &channels);
}

/* All but the channels. */
static size_t other_axes(onx_export *x, onx_value *input, int64_t axes[ONX_RANK_MAX]) {
    size_t rank = onx_x_rank(x, input), n = 0;
    for (size_t i = 0; rank != SIZE_MAX && i < rank; i++)
        if (i != 1) axes[n++] = (int64_t)i;
    return n;
}

/* running = (1 - momentum) * running + momentum * now; of the variance, as of a sample. */
static void update(onx_export *x, const batch *b, onx_xt *running, onx_value *now) {
    if (!running || !now) return;
    onx_value *old = onx_nn_times(x, onx_xt_value(x, running), 1 - b->momentum);
    onx_xt_write(x, running, onx_emit(x, "Add", old, onx_nn_times(x, now, b->momentum)));
}

static void update_running(onx_export *x, const batch *b, size_t n, const int64_t *axes) {
    onx_xv count = onx_x_extent(x, b->input, n, axes);
    onx_dtype dtype = onx_x_dtype(x, b->var);
    onx_value *all = onx_x_scalar(x, &count, dtype);
    if (!b->running_mean || !all) return;
    onx_value *sample =
        onx_emit(x, "Div", onx_emit(x, "Mul", b->var, all), onx_emit_number(x, "Sub", all, 1));
    update(x, b, b->running_mean, b->mean);
    update(x, b, b->running_var, sample);
}

/* The statistics of this very batch. */
static void measure(onx_export *x, batch *b) {
    int64_t axes[ONX_RANK_MAX];
    size_t n = other_axes(x, b->input, axes);
    onx_value *mean = onx_x_reduce(x, "ReduceMean", b->input, n, axes, true);
    onx_value *rest = onx_emit(x, "Sub", b->input, mean);
    b->var = onx_x_reduce(x, "ReduceMean", onx_emit(x, "Mul", rest, rest), n, axes, false);
    b->mean = onx_emit(x, "Squeeze", mean, onx_x_ints(x, n, axes));
    if (b->training && x->training) update_running(x, b, n, axes);
}

static onx_value *normalize_batch(onx_export *x, batch *b) {
    if (!b->input) return NULL;
    if (!b->running_mean || !b->running_var || (b->training && x->training)) {
        measure(x, b);
    } else {
        b->mean = onx_xt_value(x, b->running_mean);
        b->var = onx_xt_value(x, b->running_var);
        if (b->training)
            onx_x_note(x, "batch_norm that was saved in training uses its running statistics");
    }
    onx_value *weight = or_filled(x, b->weight, b->input, 1);
    onx_value *bias = or_filled(x, b->bias, b->input, 0);
    return onx_emit_with(x, "BatchNormalization", ONX_ATTRS(ONX_AF("epsilon", b->eps)), b->input,
                         weight, bias, b->mean, b->var);
}

static onx_xt *tensor_of(const onx_xv *v) {
    return onx_xv_is(v, ONX_X_TENSOR) ? v->tensor : NULL;
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps …), or without what is
 * NULL here. */
static onx_value *batch_norm(onx_export *x, const onx_xv *a, const onx_xv *running,
                             const onx_xv *training, const onx_xv *numbers) {
    batch b = {.input = onx_nn_tensor(x, &a[0]),
               .weight = onx_nn_tensor(x, &a[1]),
               .bias = onx_nn_tensor(x, &a[2]),
               .running_mean = running ? tensor_of(&running[0]) : NULL,
               .running_var = running ? tensor_of(&running[1]) : NULL,
               .training = training && onx_xv_true(training),
               .momentum = onx_xv_real(x, &numbers[0], 0),
               .eps = onx_xv_real(x, &numbers[1], 0)};
    return normalize_batch(x, &b);
}

static void lower_batch_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, batch_norm(x, a, &a[3], &a[5], &a[6]));
}
/* Those with more results: statistics that only training needs. */
static void give_with_statistics(onx_export *x, onx_value *y, size_t n, onx_xv *out) {
    onx_x_give(x, &out[0], y);
    for (size_t i = 1; i < n; i++) onx_nn_give_nothing(x, ONX_DTYPE_F32, &out[i]);
}
static void lower_native_batch_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_with_statistics(x, batch_norm(x, a, &a[3], &a[5], &a[6]), 3, out);
}
static void lower_batch_norm_no_stats(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_with_statistics(x, batch_norm(x, a, NULL, &a[3], &a[4]), 3, out);
}
static void lower_batch_norm_inference(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_with_statistics(x, batch_norm(x, a, &a[3], NULL, &a[5]), 3, out);
}
static void lower_batch_norm_update(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv training = onx_xv_bool(x, true);
    give_with_statistics(x, batch_norm(x, a, &a[3], &training, &a[5]), 4, out);
}
static void lower_batch_norm_no_update(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_with_statistics(x, batch_norm(x, a, &a[3], NULL, &a[5]), 4, out);
}
static void lower_batch_norm_index(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_with_statistics(x, batch_norm(x, a, &a[3], &a[5], &a[6]), 4, out);
    out[4] = onx_xv_int(x, 0);
}

/* ─ Layers ───────────────────────────────────────────────────────────────────────────────────── */

/* The last axes, as many as normalized_shape has, counted from the end. */
static size_t last_axes(onx_export *x, const onx_xv *shape, int64_t axes[ONX_RANK_MAX]) {
    size_t n = onx_xv_is_list(shape) ? shape->list->n : 1;
    if (n > ONX_RANK_MAX) onx_x_fail(x, ONX_LIMIT, "normalized_shape of %zu dimensions", n);
    for (size_t i = 0; onx_x_ok(x) && i < n; i++) axes[i] = (int64_t)i - (int64_t)n;
    return onx_x_ok(x) ? n : 0;
}

/* Ones in that shape where it is known; else one that broadcasts. */
static onx_value *ones(onx_export *x, onx_value *input, const onx_xv *shape) {
    int64_t count = 1, size;
    for (size_t i = 0; onx_xv_is_list(shape) && i < shape->list->n; i++)
        count *=
            onx_xv_known_int(&shape->list->v[i], &size) && size > 0 && size < 1 << 20 ? size : 1;
    if (!onx_xv_is_list(shape) || count > 1 << 20) count = 1;
    onx_value *flat = onx_nn_filled(x, onx_x_dtype(x, input), count, 1);
    return count > 1 ? onx_x_reshape(x, flat, shape->list->n, shape->list->v) : flat;
}

typedef struct layer {
    onx_value *y, *mean, *scale; /* scale: 1 / sqrt(variance + eps) */
} layer;

static layer layer_parts(onx_export *x, onx_value *input, size_t n, const int64_t *axes,
                         double eps) {
    layer l;
    l.mean = onx_x_reduce(x, "ReduceMean", input, n, axes, true);
    onx_value *rest = onx_emit(x, "Sub", input, l.mean);
    onx_value *var = onx_x_reduce(x, "ReduceMean", onx_emit(x, "Mul", rest, rest), n, axes, true);
    onx_value *root = onx_emit(x, "Sqrt", onx_nn_plus(x, var, eps));
    l.scale = onx_emit(x, "Reciprocal", root);
    l.y = onx_emit(x, "Div", rest, root);
    return l;
}

/* (input, normalized_shape, weight, bias, eps …) */
static layer layer_norm(onx_export *x, const onx_xv *a) {
    int64_t axes[ONX_RANK_MAX];
    size_t n = last_axes(x, &a[1], axes);
    onx_value *input = onx_nn_tensor(x, &a[0]);
    onx_dtype dtype = onx_x_dtype(x, input);
    onx_value *weight = onx_x_cast(x, onx_nn_tensor(x, &a[2]), dtype);
    onx_value *bias = onx_x_cast(x, onx_nn_tensor(x, &a[3]), dtype);
    double eps = onx_xv_real(x, &a[4], 1e-5);
    if (!input || !n) return (layer){NULL, NULL, NULL};
    if (x->opset < 17) {
        layer l = layer_parts(x, input, n, axes, eps);
        if (weight) l.y = onx_emit(x, "Mul", l.y, weight);
        if (bias) l.y = onx_emit(x, "Add", l.y, bias);
        return l;
    }
    onx_value *y[3], *in[] = {input, weight ? weight : ones(x, input, &a[1]), bias};
    onx_emit_node(x, "LayerNormalization",
                  ONX_ATTRS(ONX_AI("axis", -(int64_t)n), ONX_AF("epsilon", eps)), 3, in, 3, y);
    return (layer){y[0], y[1], y[2]};
}

static void lower_layer_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, layer_norm(x, a).y);
}
static void lower_native_layer_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    layer l = layer_norm(x, a);
    onx_x_give(x, &out[0], l.y);
    onx_x_give(x, &out[1], l.mean);
    onx_x_give(x, &out[2], l.scale);
}

/* (input, normalized_shape, weight, eps): x / sqrt(mean(x²) + eps); halves are made in float. */
static void rms_norm(onx_export *x, const onx_xv *a, onx_value **y, onx_value **scale) {
    int64_t axes[ONX_RANK_MAX];
    size_t n = last_axes(x, &a[1], axes);
    onx_value *input = onx_nn_tensor(x, &a[0]), *weight = onx_nn_tensor(x, &a[2]);
    onx_dtype dtype = onx_x_dtype(x, input);
    onx_dtype inner = dtype == ONX_DTYPE_F64 ? dtype : ONX_DTYPE_F32;
    double eps = onx_xv_real(x, &a[3], inner == ONX_DTYPE_F64 ? DBL_EPSILON : FLT_EPSILON);
    *y = *scale = NULL;
    if (!input || !n) return;
    onx_value *wide = onx_x_cast(x, input, inner);
    onx_value *square =
        onx_x_reduce(x, "ReduceMean", onx_emit(x, "Mul", wide, wide), n, axes, true);
    onx_value *root = onx_emit(x, "Sqrt", onx_nn_plus(x, square, eps));
    *scale = onx_emit(x, "Reciprocal", root);
    if (x->opset >= 23) {
        onx_xattr attrs[] = {ONX_AI("axis", -(int64_t)n), ONX_AF("epsilon", eps), {.name = NULL}};
        if (!weight) weight = ones(x, input, &a[1]);
        *y = onx_emit_with(x, "RMSNormalization", attrs, input, onx_x_cast(x, weight, dtype));
        return;
    }
    *y = onx_emit(x, "Div", wide, root);
    if (weight) *y = onx_emit(x, "Mul", *y, onx_x_cast(x, weight, inner));
    *y = onx_x_cast(x, *y, dtype);
}

static void lower_rms_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *y, *scale;
    rms_norm(x, a, &y, &scale);
    onx_x_give(x, out, y);
}
static void lower_fused_rms_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *y, *scale;
    rms_norm(x, a, &y, &scale);
    onx_x_give(x, &out[0], y);
    onx_x_give(x, &out[1], scale);
}

/* ─ Groups and instances ─────────────────────────────────────────────────────────────────────── */

static onx_value *instance_norm(onx_export *x, onx_value *input, onx_value *weight, onx_value *bias,
                                double eps) {
    weight = or_filled(x, weight, input, 1);
    bias = or_filled(x, bias, input, 0);
    return onx_emit_wide_with(x, "InstanceNormalization", ONX_ATTRS(ONX_AF("epsilon", eps)), input,
                              weight, bias);
}

/* A vector along the channels of an input of that rank: [C, 1 …]. */
static onx_value *along_channels(onx_export *x, onx_value *vector, size_t rank) {
    onx_xv shape[ONX_RANK_MAX];
    if (!vector || rank > ONX_RANK_MAX) return NULL;
    for (size_t i = 0; i + 1 < rank; i++) shape[i] = onx_xv_int(x, i ? 1 : -1);
    return onx_x_reshape(x, vector, rank - 1, shape);
}

static onx_value *group_norm(onx_export *x, onx_value *input, int64_t groups, onx_value *weight,
                             onx_value *bias, double eps) {
    size_t rank = onx_x_rank(x, input);
    int64_t channels;
    if (rank == SIZE_MAX || rank < 2) return NULL;
    if (x->opset >= 21) {
        onx_xattr attrs[] = {ONX_AF("epsilon", eps), ONX_AI("num_groups", groups), {.name = NULL}};
        return onx_emit_wide_with(x, "GroupNormalization", attrs, input,
                                  or_filled(x, weight, input, 1), or_filled(x, bias, input, 0));
    }
    if (rank > 2 && onx_x_known_dim(x, input, 1, &channels) && channels == groups)
        return instance_norm(x, input, weight, bias, eps);
    onx_xv grouped[] = {onx_x_size_of(x, input, 0), onx_xv_int(x, groups), onx_xv_int(x, -1)};
    onx_value *y = instance_norm(x, onx_x_reshape(x, input, 3, grouped), NULL, NULL, eps);
    y = onx_x_reshape_like(x, y, input);
    if (weight) y = onx_emit(x, "Mul", y, along_channels(x, weight, rank));
    if (bias) y = onx_emit(x, "Add", y, along_channels(x, bias, rank));
    return y;
}

static void lower_group_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out,
               group_norm(x, onx_nn_tensor(x, &a[0]), onx_xv_whole(x, &a[1], 1),
                          onx_nn_tensor(x, &a[2]), onx_nn_tensor(x, &a[3]),
                          onx_xv_real(x, &a[4], 1e-5)));
}
static void lower_native_group_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_with_statistics(x,
                         group_norm(x, onx_nn_tensor(x, &a[0]), onx_xv_whole(x, &a[6], 1),
                                    onx_nn_tensor(x, &a[1]), onx_nn_tensor(x, &a[2]),
                                    onx_xv_real(x, &a[7], 1e-5)),
                         3, out);
}

/* (input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps …) */
static void lower_instance_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool running = !onx_xv_is(&a[3], ONX_X_NONE) && !(onx_xv_true(&a[5]) && x->training);
    onx_x_give(x, out,
               running ? batch_norm(x, a, &a[3], NULL, &a[6])
                       : instance_norm(x, onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[1]),
                                       onx_nn_tensor(x, &a[2]), onx_xv_real(x, &a[7], 0)));
}

/* ─ Weights ──────────────────────────────────────────────────────────────────────────────────── */

/* (v, g, dim): g * v / |v|, where the length is taken over all axes but `dim`; -1: over all. */
static onx_value *weight_norm(onx_export *x, const onx_xv *a, onx_value **norm) {
    onx_value *v = onx_nn_tensor(x, &a[0]), *g = onx_nn_tensor(x, &a[1]);
    int64_t dim = onx_xv_whole(x, &a[2], 0), axes[ONX_RANK_MAX];
    size_t rank = onx_x_rank(x, v), n = 0;
    for (size_t i = 0; rank != SIZE_MAX && i < rank; i++)
        if ((int64_t)i != dim) axes[n++] = (int64_t)i;
    *norm = onx_x_reduce(x, "ReduceL2", v, n, axes, true);
    return onx_emit(x, "Mul", v, onx_emit(x, "Div", g, *norm));
}
static void lower_weight_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *norm;
    onx_x_give(x, out, weight_norm(x, a, &norm));
}
static void lower_weight_norm_interface(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *norm;
    onx_x_give(x, &out[0], weight_norm(x, a, &norm));
    onx_x_give(x, &out[1], norm);
}

#define AFFINE "(Tensor input, Tensor? weight, Tensor? bias, "
#define RUNNING "Tensor? running_mean, Tensor? running_var, "
#define NUMBERS "float momentum, float eps"
#define SHAPED "(Tensor input, int[] normalized_shape, Tensor? weight"
#define TWO " -> (Tensor, Tensor)"
#define THREE " -> (Tensor, Tensor, Tensor)"
#define FOUR " -> (Tensor, Tensor, Tensor, Tensor)"

const onx_aten onx_aten_normalize[] = {
    {"batch_norm" AFFINE RUNNING "bool training, " NUMBERS ", bool cudnn_enabled)",
     lower_batch_norm, NULL},
    {"native_batch_norm" AFFINE RUNNING "bool training, " NUMBERS ")" THREE,
     lower_native_batch_norm, NULL},
    {"_native_batch_norm_legit.no_stats" AFFINE "bool training, " NUMBERS ")" THREE,
     lower_batch_norm_no_stats, NULL},
    {"_native_batch_norm_legit_no_training" AFFINE RUNNING NUMBERS ")" THREE,
     lower_batch_norm_inference, NULL},
    {"_batch_norm_with_update" AFFINE RUNNING NUMBERS ")" FOUR, lower_batch_norm_update, NULL},
    {"_batch_norm_no_update" AFFINE RUNNING NUMBERS ")" FOUR, lower_batch_norm_no_update, NULL},
    {"_batch_norm_impl_index" AFFINE RUNNING "bool training, " NUMBERS
     ", bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)",
     lower_batch_norm_index, NULL},
    {"layer_norm" SHAPED "=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True)",
     lower_layer_norm, NULL},
    {"native_layer_norm" SHAPED ", Tensor? bias, float eps)" THREE, lower_native_layer_norm, NULL},
    {"rms_norm" SHAPED "=None, float? eps=None)", lower_rms_norm, NULL},
    {"_fused_rms_norm" SHAPED ", float? eps)" TWO, lower_fused_rms_norm, NULL},
    {"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
     "float eps=1e-05, bool cudnn_enabled=True)",
     lower_group_norm, NULL},
    {"native_group_norm" AFFINE "int N, int C, int HxW, int group, float eps)" THREE,
     lower_native_group_norm, NULL},
    {"instance_norm" AFFINE RUNNING "bool use_input_stats, " NUMBERS ", bool cudnn_enabled)",
     lower_instance_norm, NULL},
    {"_weight_norm(Tensor v, Tensor g, int dim=0)", lower_weight_norm, NULL},
    {"_weight_norm_interface(Tensor v, Tensor g, int dim=0)" TWO, lower_weight_norm_interface,
     NULL},
    {.schema = NULL},
};
