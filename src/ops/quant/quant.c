/* quant.c: numbers of few bits for real numbers: QuantizeLinear, DequantizeLinear,
 * DynamicQuantizeLinear, and the products of quantized tensors: meaning. */
#include "ops/conv/conv_infer.h"
#include "ops/conv/window.h"
#include "ops/matmul/matmul.h"

/* ─ Scales and zero points ───────────────────────────────────────────────────────────────────── */

/* A scalar; in files also written as a list of one. */
static bool is_single(const onx_fact *fact) {
    int64_t n;
    return fact->rank == 0 || (fact->rank == 1 && (!onx_sym_is_int(fact->dims[0], &n) || n == 1));
}

/* One scale for each block of block_size along the axis. */
static onx_status check_blocks(onx_infer *in, const onx_fact *x, const onx_fact *scale, size_t axis,
                               int64_t block) {
    onx_syms *syms = onx_infer_syms(in);
    onx_extent size = {"size of x and its scales beside the axis", NULL};
    for (size_t i = 0; i < x->rank; i++) {
        size.size = x->dims[i];
        if (i != axis) ONX_TRY(onx_infer_meet(in, &size, scale->dims[i]));
    }
    onx_extent blocks = {"number of blocks",
                         onx_sym_ceildiv(syms, x->dims[axis], onx_sym_int(syms, block))};
    return onx_infer_meet(in, &blocks, scale->dims[axis]);
}

/* One scale for all of x, one for each index of the axis, or one for each block along it. */
static onx_status check_scale(onx_infer *in, const onx_fact *x, const onx_fact *scale) {
    int64_t block = onx_infer_int(in, "block_size"), at = onx_infer_int(in, "axis");
    size_t axis;
    if (block < 0) return onx_infer_fail(in, "block_size is %lld", (long long)block);
    if (!scale->ranked || is_single(scale)) return ONX_OK;
    if (onx_infer_op(in)->since < 13)
        return onx_infer_fail(in, "the scale has %zu dimensions; before opset 13 it is a scalar",
                              scale->rank);
    if (!x->ranked) return ONX_OK;
    if (!onx_axis(at, x->rank, &axis))
        return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)at, x->rank);
    if (block && scale->rank == x->rank) return check_blocks(in, x, scale, axis, block);
    if (scale->rank != 1)
        return onx_infer_fail(in,
                              "the scale has %zu dimensions; it is a scalar, a list of one for "
                              "each index of the axis, or, with block_size, of the rank of x, %zu",
                              scale->rank, x->rank);
    onx_extent scales = {"number of scales and of indices of the axis", x->dims[axis]};
    return onx_infer_meet(in, &scales, scale->dims[0]);
}

/* Zero points are as many as the scales. */
static onx_status check_zero_point(onx_infer *in, const onx_fact *scale, const onx_fact *zero) {
    onx_extent size = {"size of scale and zero point", NULL};
    if (!scale->ranked || !zero->ranked || (is_single(scale) && is_single(zero))) return ONX_OK;
    if (scale->rank != zero->rank)
        return onx_infer_fail(in, "the scale has %zu dimensions, the zero point %zu", scale->rank,
                              zero->rank);
    for (size_t i = 0; i < scale->rank; i++) {
        size.size = scale->dims[i];
        ONX_TRY(onx_infer_meet(in, &size, zero->dims[i]));
    }
    return ONX_OK;
}

static onx_status check_types(onx_infer *in, size_t a, size_t b) {
    onx_dtype x = onx_infer_in(in, a)->dtype, y = onx_infer_in(in, b)->dtype;
    if (!x || !y || x == y) return ONX_OK;
    return onx_infer_fail(in, "inputs %zu and %zu must have one type: %s, %s", a, b,
                          onx_dtype_name(x), onx_dtype_name(y));
}

/* ─ To and from few bits ─────────────────────────────────────────────────────────────────────── */

/* The type of the zero point, or what output_dtype says, or uint8. */
static onx_status quantized_type(onx_infer *in, onx_dtype *out) {
    onx_dtype zero = onx_infer_in(in, 2)->dtype, named = ONX_DTYPE_NONE;
    if (onx_infer_int(in, "output_dtype")) ONX_TRY(onx_infer_elem_type(in, "output_dtype", &named));
    if (zero && named && zero != named)
        return onx_infer_fail(in, "output_dtype says %s, the zero point is %s",
                              onx_dtype_name(named), onx_dtype_name(zero));
    *out = zero ? zero : named ? named : onx_infer_has_in(in, 2) ? ONX_DTYPE_NONE : ONX_DTYPE_U8;
    return ONX_OK;
}

static onx_status infer_quantize(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *scale = onx_infer_in(in, 1);
    onx_dtype dtype = ONX_DTYPE_NONE;
    ONX_TRY(quantized_type(in, &dtype));
    ONX_TRY(check_scale(in, x, scale));
    ONX_TRY(check_zero_point(in, scale, onx_infer_in(in, 2)));
    return onx_infer_like(in, 0, dtype, x);
}

static onx_status infer_dequantize(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *scale = onx_infer_in(in, 1);
    onx_dtype dtype = onx_infer_op(in)->since < 19 ? ONX_DTYPE_F32 : scale->dtype;
    if (onx_infer_int(in, "output_dtype")) ONX_TRY(onx_infer_elem_type(in, "output_dtype", &dtype));
    if (dtype == ONX_DTYPE_F8E8M0)
        return onx_infer_fail(in, "with scales of %s, output_dtype must say the type of y",
                              onx_dtype_name(dtype));
    ONX_TRY(check_types(in, 0, 2));
    ONX_TRY(check_scale(in, x, scale));
    ONX_TRY(check_zero_point(in, scale, onx_infer_in(in, 2)));
    return onx_infer_like(in, 0, dtype, x);
}

static onx_status infer_dynamic(onx_infer *in) {
    ONX_TRY(onx_infer_like(in, 0, ONX_DTYPE_U8, onx_infer_in(in, 0)));
    ONX_TRY(onx_infer_tensor(in, 1, ONX_DTYPE_F32, 0, NULL));
    return onx_infer_tensor(in, 2, ONX_DTYPE_U8, 0, NULL);
}

/* The range of x, with 0 in it, is spread over 0 … 255. */
static const char dynamic_quantize[] = "Least = Constant <value = float {0}> ()"
                                       " Most = Constant <value = float {255}> ()"
                                       " Min = ReduceMin <keepdims = 0> (x)"
                                       " From = Min (Min, Least)"
                                       " Max = ReduceMax <keepdims = 0> (x)"
                                       " To = Max (Max, Least)"
                                       " Width = Sub (To, From)"
                                       " Scale = Div (Width, Most)"
                                       " Steps = Div (From, Scale)"
                                       " Zero = Sub (Least, Steps)"
                                       " Clipped = Clip (Zero, Least, Most)"
                                       " Rounded = Round (Clipped)"
                                       " ZeroPoint = Cast <to = 2> (Rounded)"
                                       " y_scale = Identity (Scale)"
                                       " y_zero_point = Identity (ZeroPoint)"
                                       " y = QuantizeLinear (x, Scale, ZeroPoint)";

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status infer_matmul_integer(onx_infer *in) {
    ONX_TRY(check_types(in, 0, 2));
    ONX_TRY(check_types(in, 1, 3));
    return onx_infer_matmul(in, onx_infer_in(in, 0), onx_infer_in(in, 1), ONX_DTYPE_I32);
}

static onx_status infer_conv_integer(onx_infer *in) {
    ONX_TRY(check_types(in, 0, 2));
    ONX_TRY(check_types(in, 1, 3));
    return onx_infer_conv(in, 0, 1, SIZE_MAX, ONX_DTYPE_I32);
}

static onx_status infer_qlinear_matmul(onx_infer *in) {
    ONX_TRY(check_types(in, 0, 2));
    ONX_TRY(check_types(in, 3, 5));
    return onx_infer_matmul(in, onx_infer_in(in, 0), onx_infer_in(in, 3),
                            onx_infer_in(in, 7)->dtype);
}

/* The weights may have scales and zero points for each output channel, all else has one. */
static onx_status infer_qlinear_conv(onx_infer *in) {
    const onx_fact *w = onx_infer_in(in, 3);
    onx_extent channels = {"number of output channels", w->ranked && w->rank ? w->dims[0] : NULL};
    for (size_t i = 1; i < 8; i++) {
        const onx_fact *fact = onx_infer_in(in, i);
        if (i == 3 || !fact->ranked || is_single(fact)) continue;
        if (i != 4 && i != 5) return onx_infer_fail(in, "input %zu must be a scalar", i);
        ONX_TRY(onx_infer_unify(in, i, 1, (onx_extent *[]){&channels}));
    }
    ONX_TRY(check_types(in, 0, 2));
    ONX_TRY(check_types(in, 3, 5));
    return onx_infer_conv(in, 0, 3, 8, onx_infer_in(in, 7)->dtype);
}

/* ─ Channels last ────────────────────────────────────────────────────────────────────────────── */

/* A window over images with their channels last. `w`: weights, or NULL. */
static onx_status infer_last(onx_infer *in, const onx_fact *w, const onx_sym *channels,
                             onx_dtype dtype) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_diag diag = ONX_INIT(onx_diag);
    const onx_sym *dims[4];
    onx_window window;
    int64_t size;
    if (!x->ranked || x->rank != 4) return onx_infer_unranked(in, 0, dtype);
    if (onx_window_read(onx_infer_op(in), onx_infer_node(in), &window, &diag) ||
        onx_window_fit(&window, x->rank, &diag))
        return onx_infer_fail(in, "%s", diag.message);
    dims[0] = x->dims[0];
    dims[3] = channels;
    for (size_t i = 0; i < 2; i++) {
        const onx_sym *kernel = w && w->ranked && w->rank == 4 ? w->dims[i + 2] : NULL;
        if (kernel && onx_sym_is_int(kernel, &size) && onx_window_size(&window, i, size, &diag))
            return onx_infer_fail(in, "%s", diag.message);
        if (!kernel && window.sized) kernel = onx_sym_int(onx_infer_syms(in), window.kernel[i]);
        dims[i + 1] = onx_window_out(&window, i, onx_infer_syms(in), x->dims[i + 1], kernel);
    }
    return onx_infer_tensor(in, 0, dtype, 4, dims);
}

static onx_status infer_q_conv(onx_infer *in) {
    const onx_fact *w = onx_infer_in(in, 3);
    return infer_last(in, w, w->ranked && w->rank ? w->dims[0] : NULL, onx_infer_in(in, 7)->dtype);
}

static onx_status infer_q_conv_integer(onx_infer *in) {
    const onx_fact *w = onx_infer_in(in, 1);
    return infer_last(in, w, w->ranked && w->rank ? w->dims[0] : NULL, ONX_DTYPE_I32);
}

static onx_status infer_q_table(onx_infer *in) {
    return onx_infer_like(in, 0, onx_infer_in(in, 1)->dtype, onx_infer_in(in, 0));
}

static onx_status infer_q_max_pool(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    return infer_last(in, NULL, x->ranked && x->rank == 4 ? x->dims[3] : NULL, x->dtype);
}

/* ─ Signatures ───────────────────────────────────────────────────────────────────────────────── */

#define REAL "float16|bfloat16|float"
#define INT8 "int8|uint8"
#define INT16 "int8|uint8|int16|uint16"

/* QuantizeLinear: x / y_scale + y_zero_point. */
#define QUANTIZE10 "(x:T1, y_scale:float, y_zero_point?:T2) -> (y:T2) "
#define QUANTIZE13 QUANTIZE10 "{axis:int=1} "
#define QUANTIZE19                                                                                 \
    "(x:T1, y_scale:T1, y_zero_point?:T2) -> (y:T2) {axis:int=1, saturate:int=1} [T1:" REAL "|int" \
    "32"
#define QUANTIZE21                                                                                 \
    "(x:T1, y_scale:T1, y_zero_point?:T2) -> (y:T2) {axis:int=1, block_size:int=0, "               \
    "output_dtype:int=0, saturate:int=1} [T1:" REAL "|int32"
#define QUANTIZE23                                                                                 \
    "(x:T1, y_scale:T2, y_zero_point?:T3) -> (y:T3) {axis:int=1, block_size:int=0, "               \
    "output_dtype:int=0, precision:int=0, saturate:int=1} [T1:" REAL "|int32, T2:" REAL "|int32"

/* DequantizeLinear: (x - x_zero_point) * x_scale. */
#define DEQUANTIZE10 "(x:T, x_scale:float, x_zero_point?:T) -> (y:float) "
#define DEQUANTIZE13 DEQUANTIZE10 "{axis:int=1} "
#define DEQUANTIZE19                                                                               \
    "(x:T1, x_scale:T2, x_zero_point?:T1) -> (y:T2) {axis:int=1} [T2:" REAL ", T1:int32"
#define DEQUANTIZE21                                                                               \
    "(x:T1, x_scale:T2, x_zero_point?:T1) -> (y:T2) {axis:int=1, block_size:int=0} [T2:" REAL      \
    ", T1:int32"
#define DEQUANTIZE23(scales)                                                                       \
    "(x:T1, x_scale:T2, x_zero_point?:T1) -> (y:T3) {axis:int=1, block_size:int=0, "               \
    "output_dtype:int=0} [T2:" scales ", T3:" REAL ", T1:int32"

#define MATMUL_INTEGER                                                                             \
    "(A:T1, B:T2, a_zero_point?:T1, b_zero_point?:T2) -> (Y:T3) [T1:" INT8 ", T2:" INT8            \
    ", T3:int32]"
#define QLINEAR_MATMUL(scale)                                                                      \
    "(a:T1, a_scale:" scale ", a_zero_point:T1, b:T2, b_scale:" scale ", b_zero_point:T2, "        \
    "y_scale:" scale ", y_zero_point:T3) -> (y:T3) "
#define CONV_ATTRS                                                                                 \
    " {auto_pad:string=\"NOTSET\", dilations?:ints, group:int=1, kernel_shape?:ints, pads?:ints, " \
    "strides?:ints} "
#define CONV_INTEGER                                                                               \
    "(x:T1, w:T2, x_zero_point?:T1, w_zero_point?:T2) -> (y:T3)" CONV_ATTRS "[T1:" INT8            \
    ", T2:" INT8 ", T3:int32]"
#define QLINEAR_CONV                                                                               \
    "(x:T1, x_scale:float, x_zero_point:T1, w:T2, w_scale:float, w_zero_point:T2, "                \
    "y_scale:float, y_zero_point:T3, B?:T4) -> (y:T3)" CONV_ATTRS "[T1:" INT8 ", T2:" INT8         \
    ", T3:" INT8 ", T4:int32]"
#define POOL                                                                                       \
    "(x:T) -> (y:T) {auto_pad:string=\"NOTSET\", ceil_mode:int=0, dilations?:ints, "               \
    "kernel_shape:ints, pads?:ints, storage_order:int=0, strides?:ints} [T:" INT8 "]"

extern onx_op_rows onx_ops_quant;
onx_op_rows onx_ops_quant = {
    {"QuantizeLinear", 10, QUANTIZE10 "[T1:float|int32, T2:" INT8 "]", .infer = infer_quantize},
    {"QuantizeLinear", 13, QUANTIZE13 "[T1:float|int32, T2:" INT8 "]", .infer = infer_quantize},
    {"QuantizeLinear", 19, QUANTIZE19 ", T2:" INT8 "|f8]", .infer = infer_quantize},
    {"QuantizeLinear", 21, QUANTIZE21 ", T2:" INT16 "|f8|i4]", .infer = infer_quantize},
    {"QuantizeLinear", 23, QUANTIZE23 ", T3:" INT16 "|f8|i4|float4e2m1]", .infer = infer_quantize},
    {"QuantizeLinear", 24, QUANTIZE23 "|float8e8m0, T3:" INT16 "|f8|i4|float4e2m1]",
     .infer = infer_quantize},
    {"QuantizeLinear", 25, QUANTIZE23 "|float8e8m0, T3:" INT16 "|f8|i4|i2|float4e2m1]",
     .infer = infer_quantize},
    {"QuantizeLinear", 28, QUANTIZE23 "|float8e8m0, T3:" INT16 "|f8|f6|i4|i2|float4e2m1]",
     .infer = infer_quantize},
    {"DequantizeLinear", 10, DEQUANTIZE10 "[T:int32|" INT8 "]", .infer = infer_dequantize},
    {"DequantizeLinear", 13, DEQUANTIZE13 "[T:int32|" INT8 "]", .infer = infer_dequantize},
    {"DequantizeLinear", 19, DEQUANTIZE19 "|" INT8 "|f8]", .infer = infer_dequantize},
    {"DequantizeLinear", 21, DEQUANTIZE21 "|" INT16 "|f8|i4]", .infer = infer_dequantize},
    {"DequantizeLinear", 23, DEQUANTIZE23(REAL) "|" INT16 "|f8|i4|float4e2m1]",
     .infer = infer_dequantize},
    {"DequantizeLinear", 24, DEQUANTIZE23(REAL "|float8e8m0") "|" INT16 "|f8|i4|float4e2m1]",
     .infer = infer_dequantize},
    {"DequantizeLinear", 25, DEQUANTIZE23(REAL "|float8e8m0") "|" INT16 "|f8|i4|i2|float4e2m1]",
     .infer = infer_dequantize},
    {"DequantizeLinear", 28, DEQUANTIZE23(REAL "|float8e8m0") "|" INT16 "|f8|f6|i4|i2|float4e2m1]",
     .infer = infer_dequantize},
    {"DynamicQuantizeLinear", 11,
     "(x:T1) -> (y:T2, y_scale:float, y_zero_point:T2) [T1:float, T2:uint8]",
     .infer = infer_dynamic, .function = dynamic_quantize},
    {"MatMulInteger", 10, MATMUL_INTEGER, .infer = infer_matmul_integer},
    {"ConvInteger", 10, CONV_INTEGER, .infer = infer_conv_integer},
    {"QLinearMatMul", 10, QLINEAR_MATMUL("float") "[T1:" INT8 ", T2:" INT8 ", T3:" INT8 "]",
     .infer = infer_qlinear_matmul},
    {"QLinearMatMul", 21,
     QLINEAR_MATMUL("TS") "[TS:" REAL ", T1:" INT8 "|f8, T2:" INT8 "|f8, T3:" INT8 "|f8]",
     .infer = infer_qlinear_matmul},
    {"QLinearConv", 10, QLINEAR_CONV, .infer = infer_qlinear_conv},
    {"QConv", 1, QLINEAR_CONV, .infer = infer_q_conv, .domain = "onx.internal"},
    {"QConvInteger", 1, CONV_INTEGER, .infer = infer_q_conv_integer, .domain = "onx.internal"},
    {"QTable", 1, "(x:T1, table:T2) -> (y:T2) [T1:" INT8 ", T2:" INT8 "]", .infer = infer_q_table,
     .domain = "onx.internal"},
    {"QMaxPool", 1, POOL, .infer = infer_q_max_pool, .domain = "onx.internal"},
    {0},
};
