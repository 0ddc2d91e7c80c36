/* weight_only.c: products with weights that are plain integers, and weights that are quantized in
 * groups, as torchao and exported programs have them. */
#include "export/aten/qtensor.h"

static void lower_int_mm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out,
               onx_emit(x, "MatMulInteger", onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[1])));
}

/* (self, mat2[rows, width], scales[rows]): self * (mat2 * scales)ᵀ */
static void lower_int8_mm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    onx_xv none = {.kind = ONX_X_NONE};
    onx_dtype dtype = onx_x_dtype(x, onx_nn_tensor(x, &a[0]));
    if (!onx_quant_read(x, &q, &a[2], &none, 0, ONX_DTYPE_I8)) return;
    onx_value *weight = onx_dequantize(x, &q, onx_nn_tensor(x, &a[1]), dtype);
    onx_xv args[] = {a[0], onx_xv_tensor(x, weight)};
    if (onx_x_ok(x)) *out = onx_aten_do(x, "linear", 2, args);
}

/* ─ Groups ───────────────────────────────────────────────────────────────────────────────────── */

/* (input[rows, width], scales[rows, groups], zero_points, quant_min, quant_max, dtype, group_size
 * …): of each row, group by group. */
typedef struct groups {
    onx_value *apart; /* [rows, groups, group_size] */
    onx_xquant q;
} groups;

static bool read_groups(onx_export *x, const onx_xv *a, groups *g) {
    onx_value *v = onx_nn_tensor(x, &a[0]);
    onx_xv shape[] = {onx_x_size_of(x, v, 0), onx_xv_int(x, -1), a[6]};
    onx_value *zero = onx_nn_tensor(x, &a[2]);
    if (!onx_x_ok(x)) return false;
    g->apart = onx_x_reshape(x, v, 3, shape);
    g->q = (onx_xquant){.axis = -1, .dtype = onx_quant_dtype(x, &a[5])};
    g->q.scale = onx_x_unsqueeze(x, onx_x_as(x, &a[1], ONX_DTYPE_F32), -1);
    g->q.zero = zero ? onx_x_unsqueeze(x, zero, -1) : NULL;
    g->q.lo = onx_xv_whole(x, &a[3], 0);
    g->q.hi = onx_xv_whole(x, &a[4], 0);
    return onx_x_ok(x);
}
static void lower_q_groups(onx_export *x, const onx_xv *a, onx_xv *out) {
    groups g;
    if (!read_groups(x, a, &g)) return;
    onx_value *v = onx_x_cast(x, onx_quantize_float(x, &g.q, g.apart), g.q.dtype);
    onx_x_give(x, out, onx_x_reshape_like(x, v, onx_nn_tensor(x, &a[0])));
}
/* (…, output_dtype) */
static void lower_dq_groups(onx_export *x, const onx_xv *a, onx_xv *out) {
    groups g;
    if (!read_groups(x, a, &g)) return;
    onx_value *v = onx_dequantize_parts(x, &g.q, g.apart, onx_xv_dtype(x, &a[7]));
    onx_x_give(x, out, onx_x_reshape_like(x, v, onx_nn_tensor(x, &a[0])));
}

/* (input, quant_min, quant_max, eps, dtype): as far below 0 as above. */
static void lower_choose_symmetric(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_emit(x, "Abs", onx_x_as(x, &a[0], ONX_DTYPE_F32));
    onx_xv one = onx_xv_int(x, 1);
    double span = onx_xv_real(x, &a[2], 127) - onx_xv_real(x, &a[1], -128);
    bool raised = onx_quant_dtype(x, &a[4]) == ONX_DTYPE_U8;
    v = onx_x_reshape(x, onx_x_reduce(x, "ReduceMax", v, 0, NULL, false), 1, &one);
    v = onx_nn_times(x, v, 2 / span);
    v = onx_emit(x, "Max", v, onx_x_number(x, ONX_DTYPE_F32, onx_xv_real(x, &a[3], 0)));
    onx_x_give(x, &out[0], onx_x_cast(x, v, ONX_DTYPE_F64));
    onx_x_give(x, &out[1], onx_nn_filled(x, ONX_DTYPE_I64, 1, raised ? 128 : 0));
}

#define QD "quantized_decomposed::"
#define GROUPS                                                                                     \
    "(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, "            \
    "ScalarType dtype, int group_size"

const onx_aten onx_aten_weight_only[] = {
    {"_int_mm(Tensor self, Tensor mat2)", lower_int_mm, NULL},
    {"_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales)", lower_int8_mm, NULL},
    {QD "quantize_per_channel_group" GROUPS "=128)", lower_q_groups, NULL},
    {QD "dequantize_per_channel_group" GROUPS "=128, ScalarType output_dtype=float)",
     lower_dq_groups, NULL},
    {QD "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, "
        "ScalarType dtype) -> (Tensor, Tensor)",
     lower_choose_symmetric, NULL},
    {.schema = NULL},
};
