/* msquant.c: the operators of com.microsoft on quantized tensors, as ONNX Runtime 1.30 has them:
 * their rows. Convolutions and pools are with their kind. */
#include "ops/msquant/msquant.h"

#define MS "com.microsoft"
#define F32 "float16|bfloat16|float"

static const char where_body[] = "<15>"
                                 " x = DequantizeLinear (X, x_scale, x_zero_point)"
                                 " y = DequantizeLinear (Y, y_scale, y_zero_point)"
                                 " z = Where (condition, x, y)"
                                 " Z = QuantizeLinear (z, z_scale, z_zero_point)";
static const char leaky_relu_body[] = "<15>"
                                      " x = DequantizeLinear (X, X_scale, X_zero_point)"
                                      " y = LeakyRelu <alpha: float = @alpha> (x)"
                                      " Y = QuantizeLinear (y, Y_scale, Y_zero_point)";
/* The floats `to` of W or R, which lie the other way round than in LSTM, with a scale for each
 * direction, or for each of its columns. */
static void write_weights(const onx_fact *scale, const char *from, const char *to, onx_buf *out) {
    onx_buf_printf(out, " %s_turned = Transpose <perm = [0, 2, 1]> (%s)", to, from);
    if (!scale || !scale->ranked || scale->rank < 2) {
        onx_buf_printf(out,
                       " %s = DequantizeLinear <axis = 0> (%s_turned, %s_scale, %s_zero_point)", to,
                       to, from, from);
        return;
    }
    onx_buf_printf(out,
                   " %s_axis = Constant <value_ints = [-1]> ()"
                   " %s_bytes = Cast <to = 1> (%s_turned)"
                   " %s_zeros = Cast <to = 1> (%s_zero_point)",
                   to, to, to, to, from);
    onx_buf_printf(out,
                   " %s_zero = Unsqueeze (%s_zeros, %s_axis)"
                   " %s_scale = Unsqueeze (%s_scale, %s_axis)"
                   " %s_less = Sub (%s_bytes, %s_zero)"
                   " %s = Mul (%s_less, %s_scale)",
                   to, to, to, to, from, to, to, to, to, to, to, to);
}

/* In float32, which ONNX Runtime only comes near: it rounds the inputs of every step to bytes. */
static onx_status write_lstm(const onx_op *op, const onx_node *node, size_t n_in,
                             const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    enum { W_SCALE = 8, R_SCALE = 10 };
    (void)op, (void)node, (void)diag;
    onx_buf_printf(out, "<15>");
    write_weights(n_in > W_SCALE ? ins[W_SCALE] : NULL, "W", "w", out);
    write_weights(n_in > R_SCALE ? ins[R_SCALE] : NULL, "R", "r", out);
    onx_buf_printf(
        out,
        " Y, Y_h, Y_c = LSTM <activation_alpha: floats = @activation_alpha,"
        " activation_beta: floats = @activation_beta, activations: strings = @activations,"
        " clip: float = @clip, direction: string = @direction, hidden_size: int = @hidden_size,"
        " input_forget: int = @input_forget> (X, w, r, B, sequence_lens, initial_h, initial_c, P)");
    return ONX_OK;
}

/* Before version 13 Softmax goes over all dimensions from the axis on. */
static onx_status write_softmax(const onx_op *op, const onx_node *node, size_t n_in,
                                const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    bool old = onx_op_int(op, node, "opset") < 13;
    (void)n_in, (void)ins, (void)diag;
    onx_buf_printf(out, "<15> x = DequantizeLinear (X, X_scale, x_zero_point)");
    if (old)
        onx_buf_printf(out, " rows = Flatten <axis: int = @axis> (x)"
                            " parts = Softmax <axis = 1> (rows)"
                            " shape = Shape (x)"
                            " y = Reshape (parts, shape)");
    else
        onx_buf_printf(out, " y = Softmax <axis: int = @axis> (x)");
    onx_buf_printf(out, " Y = QuantizeLinear (y, y_scale, y_zero_point)");
    return ONX_OK;
}

extern onx_op_rows onx_ops_msquant;
onx_op_rows onx_ops_msquant = {
    {"DynamicQuantizeLSTM", 1,
     "(X:T, W:T2, R:T2, B?:T, sequence_lens?:T1, initial_h?:T, initial_c?:T, P?:T, W_scale:T, "
     "W_zero_point:T2, R_scale:T, R_zero_point:T2) -> (Y?:T, Y_h?:T, Y_c?:T) "
     "{activation_alpha?:floats, activation_beta?:floats, activations?:strings, clip?:float, "
     "direction:string=\"forward\", hidden_size?:int, input_forget:int=0} [T:float, T1:int32, "
     "T2:int8|uint8]",
     .body = write_lstm, .domain = MS},
    {"DynamicQuantizeMatMul", 1,
     "(A:T1, B:T2, b_scale:T1, b_zero_point?:T2, bias?:T1) -> (Y:T1) [T1:float, T2:int8|uint8]",
     .infer = onx_infer_ms_dynamic, .domain = MS},
    {"GatherBlockQuantized", 1,
     "(data:T1, indices:Tind, scales:T2, zero_points?:T1) -> (output:T2) {bits:int=4, "
     "block_size:int=128, gather_axis:int=0, quantize_axis:int=1} [T1:uint8|int4|uint4, T2:" F32
     ", Tind:int32|int64]",
     .infer = onx_infer_ms_gather, .domain = MS},
    {"MatMulIntegerToFloat", 1,
     "(A:T1, B:T2, a_scale:T3, b_scale:T3, a_zero_point?:T1, b_zero_point?:T2, bias?:T3) -> (Y:T3) "
     "[T1:int8|uint8, T2:int8|uint8, T3:float16|float]",
     .infer = onx_infer_ms_integer_to_float, .domain = MS},
    {"MatMulNBits", 1,
     "(A:T1, B:T2, scales:T1, zero_points?:T3, g_idx?:T4, bias?:T1) -> (Y:T1) {K:int, N:int, "
     "accuracy_level:int=0, bits:int=4, block_size:int, weight_prepacked:int=0} [T1:" F32
     ", T2:uint8, T3:" F32 "|uint8, T4:int32]",
     .infer = onx_infer_ms_n_bits, .domain = MS},
    {"QGemm", 1,
     "(A:TA, a_scale:T, a_zero_point:TA, B:TB, b_scale:T, b_zero_point:TB, C?:TC, y_scale?:T, "
     "y_zero_point?:TYZ) -> (Y:TY) {alpha:float=1.0, transA:int=0, transB:int=0} [T:float, "
     "TA:int8|uint8, TB:int8|uint8, TC:int32, TYZ:int8|uint8, TY:float|int8|uint8]",
     .infer = onx_infer_ms_qgemm, .domain = MS},
    {"QLinearAdd", 1,
     "(A:T, A_scale:float, A_zero_point?:T, B:T, B_scale:float, B_zero_point?:T, C_scale:float, "
     "C_zero_point?:T) -> (C:T) [T:int8|uint8]",
     .infer = onx_infer_ms_binary, .domain = MS},
    {"QLinearConcat", 1,
     "(Y_scale:TF, Y_zero_point:T8, inputs**:TV) -> (Y:T8) {axis:int} [T8:int8|uint8, TF:float, "
     "TV:float|int8|uint8]",
     .infer = onx_infer_ms_concat, .domain = MS},
    {"QLinearLeakyRelu", 1,
     "(X:T, X_scale:float, X_zero_point?:T, Y_scale:float, Y_zero_point?:T) -> (Y:T) "
     "{alpha:float=0.01} [T:int8|uint8]",
     .infer = onx_infer_same, .function = leaky_relu_body, .domain = MS},
    {"QLinearMul", 1,
     "(A:T, A_scale:float, A_zero_point?:T, B:T, B_scale:float, B_zero_point?:T, C_scale:float, "
     "C_zero_point?:T) -> (C:T) [T:int8|uint8]",
     .infer = onx_infer_ms_binary, .domain = MS},
    {"QLinearSigmoid", 1,
     "(X:T, X_scale:float, X_zero_point?:T, Y_scale:float, Y_zero_point?:T) -> (Y:T) "
     "[T:int8|uint8]",
     .infer = onx_infer_same, .domain = MS},
    {"QLinearSoftmax", 1,
     "(X:T, X_scale:float, x_zero_point?:T, y_scale:float, y_zero_point:T) -> (Y:T) "
     "{axis:int=-1, opset:int} [T:int8|uint8]",
     .infer = onx_infer_same, .body = write_softmax, .domain = MS},
    {"QLinearWhere", 1,
     "(condition:B, X:T, x_scale:TF, x_zero_point:T, Y:T, y_scale:TF, y_zero_point:T, z_scale:TF, "
     "z_zero_point:T) -> (Z:T) [B:bool, T:int8|uint8, TF:float]",
     .function = where_body, .domain = MS},
    {0},
};
