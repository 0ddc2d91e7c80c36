/* softmax_dropout.c: softmax of PyTorch in all forms, and dropout, which is nothing unless the
 * export keeps training. */
#include "export/aten/nn_args.h"
#include "export/aten/parts.h"

#include <math.h>

/* ─ Softmax ──────────────────────────────────────────────────────────────────────────────────── */

static const char *softmax_op(const onx_export *x) {
    const char *log = strstr(x->op, "log_softmax");
    return log && log < x->op + strcspn(x->op, "(") ? "LogSoftmax" : "Softmax";
}

static onx_value *softmax(onx_export *x, onx_value *v, const onx_xv *dim) {
    size_t axis, rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, dim, -1), rank, &axis)) return NULL;
    if (!rank) v = onx_x_unsqueeze(x, v, 0);
    int64_t at = axis + 1 == rank || !rank ? -1 : (int64_t)axis;
    v = onx_emit_wide_with(x, softmax_op(x), ONX_ATTRS(ONX_AI("axis", at)), v);
    return rank ? v : onx_x_squeeze(x, v, 0);
}

/* (self, dim, dtype) */
static void lower_softmax(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, softmax(x, onx_x_floats(x, &a[0], onx_xv_dtype(x, &a[2])), &a[1]));
}

/* (self, dim, half_to_float) */
static void lower_half_softmax(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_true(&a[2]) ? ONX_DTYPE_F32 : ONX_DTYPE_NONE;
    onx_x_give(x, out, softmax(x, onx_x_floats(x, &a[0], dtype), &a[1]));
}

/* Where everything is -inf the result is 0. */
static void lower_safe_softmax(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = softmax(x, onx_x_floats(x, &a[0], onx_xv_dtype(x, &a[2])), &a[1]);
    if (!v) return;
    onx_value *zero = onx_x_number(x, onx_x_dtype(x, v), 0);
    onx_x_give(x, out, onx_emit(x, "Where", onx_emit(x, "IsNaN", v), zero, v));
}

/* (self, mask, dim, mask_type): what is true in the mask does not count. */
static void lower_masked_softmax(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]), *mask = onx_nn_tensor(x, &a[1]);
    if (!v || !mask) return;
    size_t rank = onx_x_rank(x, v), of_mask = onx_x_rank(x, mask);
    int64_t type = onx_xv_whole(x, &a[3], 2);
    if (type == 1 && rank == 4 && of_mask == 2) { /* of keys: [batch, keys] */
        static const int64_t axes[] = {1, 2};
        mask = onx_emit(x, "Unsqueeze", mask, onx_x_ints(x, 2, axes));
    }
    onx_value *low = onx_x_number(x, onx_x_dtype(x, v), -INFINITY);
    v = onx_emit(x, "Where", onx_x_cast(x, mask, ONX_DTYPE_BOOL), low, v);
    onx_x_give(x, out, softmax(x, v, &a[2]));
}

/* ─ Dropout ──────────────────────────────────────────────────────────────────────────────────── */

static onx_value *drop(onx_export *x, const onx_xv *a, onx_value **mask) {
    onx_value *y[2], *ratio = onx_x_as(x, &a[1], ONX_DTYPE_F32);
    onx_value *in[] = {onx_nn_tensor(x, &a[0]), ratio, onx_x_number(x, ONX_DTYPE_BOOL, 1)};
    onx_emit_node(x, "Dropout", NULL, 3, in, 2, y);
    *mask = y[1];
    return y[0];
}

/* (input, p, train) */
static void lower_dropout(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *mask;
    if (onx_xv_true(&a[2]) && !x->training)
        onx_x_note(x, "dropout that was saved in training is left out");
    if (onx_xv_true(&a[2]) && x->training)
        onx_x_give(x, out, drop(x, a, &mask));
    else
        *out = a[0];
}

/* In place; its schema calls the first argument otherwise. */
static void lower_dropout_inplace(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_dropout(x, a, out);
    if (x->training && onx_xv_is(&a[0], ONX_X_TENSOR))
        onx_xt_write(x, a[0].tensor, onx_nn_tensor(x, out));
    *out = a[0];
}

static void lower_native_dropout(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *mask = NULL;
    bool train = x->training && (onx_xv_is(&a[2], ONX_X_NONE) || onx_xv_true(&a[2]));
    if (train)
        onx_x_give(x, &out[0], drop(x, a, &mask));
    else
        out[0] = a[0];
    onx_value *v = onx_nn_tensor(x, &a[0]);
    if (!train) mask = onx_lower_expand_like(x, onx_x_number(x, ONX_DTYPE_BOOL, 1), v);
    onx_x_give(x, &out[1], mask);
}

/* Of whole channels, or with other numbers in the place of zeros: no operator of ONNX does it. */
static void lower_other_dropout(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (onx_xv_true(&a[2]) && x->training)
        onx_x_fail(x, ONX_UNSUPPORTED, "this dropout cannot be kept; export without training");
    *out = a[0];
}

#define SOFTMAX "(Tensor self, int dim, ScalarType? dtype=None)"
#define HALF "(Tensor self, int dim, bool half_to_float)"
#define DROPOUT "(Tensor input, float p, bool train)"
#define INPLACE "_(Tensor self, float p, bool train)"

const onx_aten onx_aten_softmax_dropout[] = {
    {"softmax.int" SOFTMAX, lower_softmax, NULL},
    {"log_softmax.int" SOFTMAX, lower_softmax, NULL},
    {"special_softmax" SOFTMAX, lower_softmax, NULL},
    {"special_log_softmax" SOFTMAX, lower_softmax, NULL},
    {"_softmax" HALF, lower_half_softmax, NULL},
    {"_log_softmax" HALF, lower_half_softmax, NULL},
    {"_safe_softmax" SOFTMAX, lower_safe_softmax, NULL},
    {"_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None)",
     lower_masked_softmax, NULL},
    {"dropout" DROPOUT, lower_dropout, NULL},
    {"dropout" INPLACE, lower_dropout_inplace, NULL},
    {"native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", lower_native_dropout,
     NULL},
    {"feature_dropout" DROPOUT, lower_other_dropout, NULL},
    {"feature_dropout" INPLACE, lower_other_dropout, NULL},
    {"alpha_dropout" DROPOUT, lower_other_dropout, NULL},
    {"alpha_dropout" INPLACE, lower_other_dropout, NULL},
    {"feature_alpha_dropout" DROPOUT, lower_other_dropout, NULL},
    {"feature_alpha_dropout" INPLACE, lower_other_dropout, NULL},
    {.schema = NULL},
};
