/* msquant.c: the operators of com.microsoft on quantized tensors, as ONNX Runtime 1.30 has them:
 * their rows. Convolutions and pools are with their kind. */
#include "ops/msquant/msquant.h"

#define MS "com.microsoft"
#define F32 "float16|bfloat16|float"

extern onx_op_rows onx_ops_msquant;
onx_op_rows onx_ops_msquant = {
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
    {"QLinearMul", 1,
     "(A:T, A_scale:float, A_zero_point?:T, B:T, B_scale:float, B_zero_point?:T, C_scale:float, "
     "C_zero_point?:T) -> (C:T) [T:int8|uint8]",
     .infer = onx_infer_ms_binary, .domain = MS},
    {"QLinearSigmoid", 1,
     "(X:T, X_scale:float, X_zero_point?:T, Y_scale:float, Y_zero_point?:T) -> (Y:T) "
     "[T:int8|uint8]",
     .infer = onx_infer_same, .domain = MS},
    {0},
};
