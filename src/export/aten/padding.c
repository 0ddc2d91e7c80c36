/* padding.c: tensors of PyTorch with more, or less, around them. Its lists of paddings begin with
 * the last axis: before, after; numbers below 0 take away. */
#include "export/aten/nn_args.h"

typedef enum mode { REFLECT, REPLICATE, CIRCULAR, CONSTANT } mode; /* as PyTorch counts them */

static const char *const onnx_modes[] = {"reflect", "edge", "wrap", "constant"};

typedef struct pad {
    onx_value *v;
    size_t rank, n;     /* n axes from the last on */
    const onx_xv *list; /* 2 * n numbers */
} pad;

static bool read_pad(onx_export *x, pad *p, const onx_xv *self, const onx_xv *list) {
    p->v = onx_nn_tensor(x, self);
    p->rank = onx_x_rank(x, p->v);
    if (p->rank == SIZE_MAX) return false;
    if (!onx_xv_is_list(list) || list->list->n % 2 || list->list->n / 2 > p->rank ||
        p->rank > ONX_RANK_MAX) {
        onx_x_fail(x, ONX_INVALID, "a list of paddings that does not fit a tensor of %zu axes",
                   p->rank);
        return false;
    }
    p->n = list->list->n / 2;
    p->list = list->list->v;
    return true;
}

/* All befores, then all afters, from the first axis on. */
static onx_value *pads_of(onx_export *x, const pad *p) {
    onx_xv all[2 * ONX_RANK_MAX];
    for (size_t i = 0; i < 2 * p->rank; i++) all[i] = onx_xv_int(x, 0);
    for (size_t i = 0; i < p->n; i++) {
        all[p->rank - 1 - i] = p->list[2 * i];
        all[2 * p->rank - 1 - i] = p->list[2 * i + 1];
    }
    return onx_x_shape(x, 2 * p->rank, all);
}

static bool is_nothing(const pad *p) {
    int64_t n;
    for (size_t i = 0; i < 2 * p->n; i++)
        if (!onx_xv_known_int(&p->list[i], &n) || n != 0) return false;
    return true;
}

/* Along one axis, as Concat of parts, for opsets in which Pad does not wrap. */
static onx_value *wrap(onx_export *x, onx_value *v, int64_t axis, const onx_xv *pads) {
    int64_t before, after;
    size_t n = 0;
    onx_value *parts[3], *middle = v;
    onx_xv zero = onx_xv_int(x, 0), most = onx_xv_int(x, INT64_MAX);
    if (!onx_xv_known_int(&pads[0], &before) || !onx_xv_known_int(&pads[1], &after))
        return onx_x_fail(x, ONX_UNSUPPORTED, "circular padding that is not known");
    onx_xv from = onx_xv_int(x, -before), to = onx_xv_int(x, after);
    if (before < 0) middle = onx_x_slice(x, middle, axis, from, most, 1);
    if (after < 0) middle = onx_x_slice(x, middle, axis, zero, to, 1);
    if (before > 0) parts[n++] = onx_x_slice(x, v, axis, from, most, 1);
    parts[n++] = middle;
    if (after > 0) parts[n++] = onx_x_slice(x, v, axis, zero, to, 1);
    return onx_x_concat(x, n, parts, axis);
}

static void make(onx_export *x, const pad *p, mode how, const onx_xv *value, onx_xv *out) {
    onx_value *v = p->v, *filling = NULL;
    if (how == CIRCULAR && x->opset < 19) {
        for (size_t i = 0; i < p->n; i++)
            v = wrap(x, v, (int64_t)(p->rank - 1 - i), &p->list[2 * i]);
        onx_x_give(x, out, v);
        return;
    }
    if (is_nothing(p)) {
        onx_x_give(x, out, v);
        return;
    }
    if (how == CONSTANT && !onx_xv_is(value, ONX_X_NONE) && !onx_xv_is_one(x, value, 0))
        filling = onx_x_scalar(x, value, onx_x_dtype(x, v));
    onx_x_give(x, out,
               onx_emit_wide_with(
                   x, "Pad", how == CONSTANT ? NULL : ONX_ATTRS(ONX_AS("mode", onnx_modes[how])), v,
                   pads_of(x, p), filling));
}

/* (self, pad, mode, value) */
static void lower_pad(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const char *const names[] = {"reflect", "replicate", "circular", "constant"};
    pad p;
    size_t how = 0;
    while (how < ONX_COUNT(names) && !onx_str_is(a[2].str, names[how])) how++;
    if (how == ONX_COUNT(names))
        onx_x_fail(x, ONX_INVALID, "padding mode '%.*s'", ONX_FMT(a[2].str));
    else if (read_pad(x, &p, &a[0], &a[1]))
        make(x, &p, (mode)how, &a[3], out);
}

/* (self, pad, mode, value): the mode as a number. */
static void lower_pad_enum(onx_export *x, const onx_xv *a, onx_xv *out) {
    pad p;
    int64_t how = onx_xv_whole(x, &a[2], CONSTANT);
    if (how < REFLECT || how > CONSTANT)
        onx_x_fail(x, ONX_INVALID, "padding mode %lld", (long long)how);
    else if (read_pad(x, &p, &a[0], &a[1]))
        make(x, &p, (mode)how, &a[3], out);
}

static void lower_as(onx_export *x, const onx_xv *a, mode how, const onx_xv *value, onx_xv *out) {
    pad p;
    if (read_pad(x, &p, &a[0], &a[1])) make(x, &p, how, value, out);
}
static void lower_constant(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_as(x, a, CONSTANT, &a[2], out);
}
static void lower_reflection(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_as(x, a, REFLECT, NULL, out);
}
static void lower_replication(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_as(x, a, REPLICATE, NULL, out);
}
static void lower_circular(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_as(x, a, CIRCULAR, NULL, out);
}

const onx_aten onx_aten_padding[] = {
    {"pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None)", lower_pad, NULL},
    {"_pad_enum(Tensor self, int[] pad, int mode, float? value=None)", lower_pad_enum, NULL},
    {"constant_pad_nd(Tensor self, int[] pad, Scalar value=0)", lower_constant, NULL},
    {"reflection_pad1d(Tensor self, int[2] padding)", lower_reflection, NULL},
    {"reflection_pad2d(Tensor self, int[4] padding)", lower_reflection, NULL},
    {"reflection_pad3d(Tensor self, int[6] padding)", lower_reflection, NULL},
    {"replication_pad1d(Tensor self, int[2] padding)", lower_replication, NULL},
    {"replication_pad2d(Tensor self, int[4] padding)", lower_replication, NULL},
    {"replication_pad3d(Tensor self, int[6] padding)", lower_replication, NULL},
    {"_pad_circular(Tensor self, int[] pad)", lower_circular, NULL},
    {.schema = NULL},
};
