/* quantized_layers.c: layers of quantized modules, quantized::linear, conv2d, batch_norm2d … :
 *
 *     DequantizeLinear ─▶ Gemm, Conv … ─▶ [Relu] ─▶ QuantizeLinear
 *
 * with weights that stay integers. PyTorch sums integers and rounds once, as runtimes do that know
 * this form; so results may differ by one step where a sum of floats rounds to another one.
 *
 * Packed weights are tuples here, of a linear layer (weight, bias), of a convolution (weight, bias,
 * stride, padding, output_padding, dilation, groups, transposed). */
#include "export/aten/qtensor.h"
#include "ir/edit.h"
#include "ir/ir.h"

enum { LINEAR_PARTS = 2, CONV_PARTS = 8 };
enum { WEIGHT, BIAS, STRIDE, PADDING, OUTPUT_PADDING, DILATION, GROUPS, TRANSPOSED };

bool onx_quant_is_relu(const onx_export *x) {
    onx_str op = onx_x_op(x);
    for (size_t i = 0; i + 4 <= op.size; i++)
        if (!memcmp(op.data + i, "relu", 4)) return i > 0 && op.data[i - 1] == '_';
    return false;
}

/* The parts of packed weights; NULL, and x failed: there are others. */
static const onx_xv *parts_of(onx_export *x, const onx_xv *packed, size_t n) {
    if (onx_xv_is_list(packed) && packed->list->n == n) return packed->list->v;
    return onx_x_fail(x, ONX_UNSUPPORTED, "packed weights of another form");
}

/* What Relu takes away the integers do not have where 0 is the least. */
void onx_quant_finish(onx_export *x, onx_value *v, const onx_xv *like, const onx_xv *scale,
                      const onx_xv *zero, bool relu, onx_xv *out) {
    const onx_xquant *from = onx_xv_quant(like);
    onx_xquant q;
    int64_t least;
    if (!from) onx_x_fail(x, ONX_INVALID, "the input is not quantized");
    if (!from || !onx_quant_read(x, &q, scale, zero, -1, from->dtype)) return;
    if (relu && !(onx_xv_known_int(zero, &least) && least == q.lo)) v = onx_emit(x, "Relu", v);
    *out = onx_xv_quantized(x, &q, onx_quantize(x, &q, v));
}

/* ─ Linear ───────────────────────────────────────────────────────────────────────────────────── */

/* All axes but the last as one: a matrix. */
static onx_xv as_matrix(onx_export *x, const onx_xv *v) {
    onx_value *value = onx_nn_tensor(x, v);
    size_t rank = onx_x_rank(x, value);
    if (rank == SIZE_MAX || rank == 2) return *v;
    onx_xv shape[] = {onx_xv_int(x, -1), onx_x_size_of(x, value, rank - 1)};
    onx_value *flat = onx_x_reshape(x, value, 2, shape);
    return onx_xv_quant(v) ? onx_xv_quantized(x, onx_xv_quant(v), flat) : onx_xv_tensor(x, flat);
}

/* And the rows of a matrix apart again, as those of `like` are. */
static void from_matrix(onx_export *x, const onx_xv *like, onx_xv *out) {
    onx_value *value = onx_nn_tensor(x, like), *rows = onx_nn_tensor(x, out);
    size_t rank = onx_x_rank(x, value);
    onx_xv shape[ONX_RANK_MAX];
    if (rank == SIZE_MAX || rank == 2 || rank > ONX_RANK_MAX || !rank || !rows) return;
    for (size_t i = 0; i + 1 < rank; i++) shape[i] = onx_x_size_of(x, value, i);
    shape[rank - 1] = onx_x_size_of(x, rows, 1);
    rows = onx_x_reshape(x, rows, rank, shape);
    *out =
        onx_xv_quant(out) ? onx_xv_quantized(x, onx_xv_quant(out), rows) : onx_xv_tensor(x, rows);
}

static onx_value *linear(onx_export *x, const onx_xv *input, const onx_xv *packed) {
    const onx_xv *w = parts_of(x, packed, LINEAR_PARTS);
    if (!w) return NULL;
    onx_xv args[] = {onx_quant_plain(x, input), onx_quant_plain(x, &w[WEIGHT]), w[BIAS]};
    if (!onx_x_ok(x)) return NULL;
    onx_xv y = onx_aten_do(x, "linear", 3, args);
    return onx_x_ok(x) ? onx_nn_tensor(x, &y) : NULL;
}

/* (X, W_prepack, Y_scale_i, Y_zero_point_i) */
static void lower_linear(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv flat = as_matrix(x, &a[0]);
    onx_quant_finish(x, linear(x, &flat, &a[1]), &a[0], &a[2], &a[3], onx_quant_is_relu(x), out);
    from_matrix(x, &a[0], out);
}
static void lower_linear_tanh(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *y = onx_emit(x, "Tanh", linear(x, &a[0], &a[1]));
    onx_quant_finish(x, y, &a[0], &a[2], &a[3], false, out);
}
/* (…, negative_slope) */
static void lower_linear_leaky(onx_export *x, const onx_xv *a, onx_xv *out) {
    double slope = onx_xv_real(x, &a[4], 0.01);
    onx_value *y = linear(x, &a[0], &a[1]);
    y = onx_emit_with(x, "LeakyRelu", ONX_ATTRS(ONX_AF("alpha", slope)), y);
    onx_quant_finish(x, y, &a[0], &a[2], &a[3], false, out);
}

/* (X, W_prepack): weights that were rounded to float16, and nothing else. */
static void lower_linear_fp16(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *y = linear(x, &a[0], &a[1]);
    onx_x_give(x, out, onx_quant_is_relu(x) ? onx_emit(x, "Relu", y) : y);
}

/* (X, W_prepack, reduce_range): integers by the scale of the input's numbers, times integers. */
static void lower_linear_dynamic(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xv *w = parts_of(x, &a[1], LINEAR_PARTS);
    const onx_xquant *qw = w ? onx_xv_quant(&w[WEIGHT]) : NULL;
    onx_xquant q;
    if (w && !qw) lower_linear_fp16(x, a, out);
    if (!qw || !onx_quant_dynamic(x, &a[0], ONX_DTYPE_U8, onx_xv_true(&a[2]), &q)) return;
    q.lo = 0, q.hi = UINT8_MAX; /* the scale says it */
    onx_value *v = onx_quantize(x, &q, onx_nn_tensor(x, &a[0]));
    onx_value *matrix = onx_x_swap(x, onx_nn_tensor(x, &w[WEIGHT]), 0, 1);
    onx_value *zero =
        qw->zero && !onx_nn_is_zero(x, qw->zero) ? onx_x_cast(x, qw->zero, qw->dtype) : NULL;
    onx_value *y = onx_emit(x, "MatMulInteger", v, matrix, onx_x_cast(x, q.zero, q.dtype), zero);
    y = onx_emit(x, "Mul", onx_x_cast(x, y, ONX_DTYPE_F32), onx_emit(x, "Mul", q.scale, qw->scale));
    if (!onx_xv_is(&w[BIAS], ONX_X_NONE)) y = onx_emit(x, "Add", y, onx_nn_tensor(x, &w[BIAS]));
    onx_x_give(x, out, onx_quant_is_relu(x) ? onx_emit(x, "Relu", y) : y);
}

/* ─ Convolutions ─────────────────────────────────────────────────────────────────────────────── */

/* Packed weights of one dimension may be those of two, of which the first is 1. */
static onx_value *convolve(onx_export *x, const onx_xv *input, const onx_xv *packed) {
    const onx_xv *w = parts_of(x, packed, CONV_PARTS);
    if (!w) return NULL;
    onx_xv in = onx_quant_plain(x, input), weight = onx_quant_plain(x, &w[WEIGHT]);
    size_t rank = onx_x_rank(x, onx_nn_tensor(x, &weight));
    bool flat = rank == 4 && onx_nn_axes(x) == 1;
    if (flat) in = onx_xv_tensor(x, onx_x_unsqueeze(x, onx_nn_tensor(x, &in), 2));
    onx_xv args[] = {in,          weight,        w[BIAS],           w[STRIDE], w[PADDING],
                     w[DILATION], w[TRANSPOSED], w[OUTPUT_PADDING], w[GROUPS]};
    if (!onx_x_ok(x)) return NULL;
    onx_xv y = onx_aten_do(x, "convolution", ONX_COUNT(args), args);
    onx_value *value = onx_x_ok(x) ? onx_nn_tensor(x, &y) : NULL;
    return flat ? onx_x_squeeze(x, value, 2) : value;
}

/* (qx, packed_weight, output_scale, output_zero_point) */
static void lower_conv(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_quant_finish(x, convolve(x, &a[0], &a[1]), &a[0], &a[2], &a[3], onx_quant_is_relu(x), out);
}
/* (qx, weight, stride, padding, dilation, groups, output_scale, output_zero_point): the numbers are
 * in the weights, too */
static void lower_conv_old(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_quant_finish(x, convolve(x, &a[0], &a[1]), &a[0], &a[6], &a[7], onx_quant_is_relu(x), out);
}
/* (qx, qaccum, packed_weight, output_scale, output_zero_point) */
static void lower_conv_add(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *y = convolve(x, &a[0], &a[2]);
    y = onx_emit(x, "Add", y, onx_quant_numbers(x, &a[1]));
    onx_quant_finish(x, y, &a[0], &a[3], &a[4], onx_quant_is_relu(x), out);
}
/* (qx, packed_weight, reduce_range) */
static void lower_conv_dynamic(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_dynamic(x, &a[0], ONX_DTYPE_U8, onx_xv_true(&a[2]), &q)) return;
    q.lo = 0, q.hi = UINT8_MAX;
    onx_xv in = onx_xv_quantized(x, &q, onx_quantize(x, &q, onx_nn_tensor(x, &a[0])));
    if (onx_x_ok(x)) onx_x_give(x, out, convolve(x, &in, &a[1]));
}

/* ─ Names ────────────────────────────────────────────────────────────────────────────────────── */

/* "conv1.10", a part of what a module was saved as. */
static bool is_numbered(onx_str name) {
    size_t digits = 0;
    while (digits < name.size && name.data[name.size - 1 - digits] >= '0' &&
           name.data[name.size - 1 - digits] <= '9')
        digits++;
    return digits && digits < name.size && name.data[name.size - 1 - digits] == '.';
}

/* What a module packs is its weight, "conv1.weight", and its bias. */
static void name_part(onx_export *x, const onx_xv *v, const char *name) {
    onx_value *value = onx_nn_tensor(x, v);
    onx_buf text;
    if (!value || value->def || !x->path.size || !is_numbered(value->name)) return;
    onx_buf_init(&text, x->ctx);
    onx_buf_printf(&text, "%.*s.%s", ONX_FMT(x->path), name);
    onx_buf_putc(&text, '\0');
    const char *fresh = text.failed ? NULL : onx_graph_new_name(x->model->graph, text.data);
    if (!fresh || onx_value_rename(value, fresh, &x->diag)) onx_x_nomem(x);
    onx_buf_fini(&text);
}

static onx_xv pack(onx_export *x, size_t n, const onx_xv *parts) {
    name_part(x, &parts[WEIGHT], "weight");
    name_part(x, &parts[BIAS], "bias");
    return onx_xv_list(x, ONX_X_TUPLE, n, parts);
}

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

static void lower_linear_prepack(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = pack(x, LINEAR_PARTS, a);
}
/* (weight, bias, stride, padding, dilation, groups) */
static void lower_conv_prepack(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv zero = onx_xv_int(x, 0), none = onx_xv_list(x, ONX_X_LIST, 1, &zero);
    onx_xv parts[] = {a[0], a[1], a[2], a[3], none, a[4], a[5], onx_xv_bool(x, false)};
    *out = pack(x, CONV_PARTS, parts);
}
/* (weight, bias, stride, padding, output_padding, dilation, groups) */
static void lower_transposed_prepack(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv parts[] = {a[0], a[1], a[2], a[3], a[4], a[5], a[6], onx_xv_bool(x, true)};
    *out = pack(x, CONV_PARTS, parts);
}
static void lower_unpack(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (a[0].list->n < LINEAR_PARTS) onx_x_fail(x, ONX_INVALID, "these are no packed weights");
    for (size_t i = 0; i < LINEAR_PARTS && onx_x_ok(x); i++) out[i] = a[0].list->v[i];
}

#define Q "quantized::"
#define LINEAR "(Tensor X, Packed W_prepack, float Y_scale_i, int Y_zero_point_i"
#define DYNAMIC "(Tensor X, Packed W_prepack, bool reduce_range=False)"
#define CONV "(Tensor qx, Packed packed_weight, float output_scale, int output_zero_point)"
#define CONV_OLD                                                                                   \
    "(Tensor qx, Packed weight, int[] stride, int[] padding, int[] dilation, int groups, "         \
    "float output_scale, int output_zero_point)"
#define CONV_ADD                                                                                   \
    "(Tensor qx, Tensor qaccum, Packed packed_weight, float output_scale, int output_zero_point)"
#define CONV_DYNAMIC "(Tensor qx, Packed packed_weight, bool reduce_range=False)"
#define PACK "(Tensor weight, Tensor? bias, int[] stride, int[] padding, "
#define UNPACK "(Packed packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)"
#define CONVS(n)                                                                                   \
    {Q "conv" n "d.new" CONV, lower_conv, NULL}, {Q "conv" n "d" CONV_OLD, lower_conv_old, NULL},  \
        {Q "conv" n "d_relu.new" CONV, lower_conv, NULL},                                          \
        {Q "conv" n "d_relu" CONV_OLD, lower_conv_old, NULL},                                      \
        {Q "conv" n "d_dynamic" CONV_DYNAMIC, lower_conv_dynamic, NULL},                           \
        {Q "conv_transpose" n "d" CONV, lower_conv, NULL},                                         \
        {Q "conv_transpose" n "d_dynamic" CONV_DYNAMIC, lower_conv_dynamic, NULL},                 \
        {Q "conv" n "d_prepack" PACK "int[] dilation, int groups)", lower_conv_prepack, NULL},     \
        {Q "conv_transpose" n "d_prepack" PACK "int[] output_padding, int[] dilation, "            \
           "int groups)",                                                                          \
         lower_transposed_prepack, NULL},                                                          \
        {Q "conv" n "d_unpack" UNPACK, lower_unpack, NULL}, {                                      \
        Q "conv_transpose" n "d_unpack" UNPACK, lower_unpack, NULL                                 \
    }

const onx_aten onx_aten_quantized_layers[] = {
    {Q "linear" LINEAR ")", lower_linear, NULL},
    {Q "linear_relu" LINEAR ")", lower_linear, NULL},
    {Q "linear_tanh" LINEAR ")", lower_linear_tanh, NULL},
    {Q "linear_leaky_relu" LINEAR ", float negative_slope)", lower_linear_leaky, NULL},
    {Q "linear_dynamic" DYNAMIC, lower_linear_dynamic, NULL},
    {Q "linear_relu_dynamic" DYNAMIC, lower_linear_dynamic, NULL},
    {Q "linear_dynamic_fp16(Tensor X, Packed W_prepack)", lower_linear_fp16, NULL},
    {Q "linear_relu_dynamic_fp16(Tensor X, Packed W_prepack)", lower_linear_fp16, NULL},
    {Q "linear_prepack(Tensor W, Tensor? B=None)", lower_linear_prepack, NULL},
    {Q "linear_prepack_fp16(Tensor W, Tensor? B=None)", lower_linear_prepack, NULL},
    {Q "linear_unpack" UNPACK, lower_unpack, NULL},
    {Q "linear_unpack_fp16" UNPACK, lower_unpack, NULL},
    CONVS("1"),
    CONVS("2"),
    CONVS("3"),
    {Q "conv_prepack" PACK "int[] dilation, int groups)", lower_conv_prepack, NULL},
    {Q "conv_unpack" UNPACK, lower_unpack, NULL},
    {Q "conv2d_add" CONV_ADD, lower_conv_add, NULL},
    {Q "conv2d_add_relu" CONV_ADD, lower_conv_add, NULL},
    {"unpack" UNPACK, lower_unpack, NULL},
    {.schema = NULL},
};
