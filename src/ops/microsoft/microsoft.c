/* microsoft.c: the operators of com.microsoft that exported models carry, as ONNX Runtime 1.30 has
 * them: their rows. Quantized ones are in ops/msquant;
 * convolutions, pools and SimplifiedLayerNormalization are with their kind. */
#include "ops/microsoft/microsoft.h"

#define MS "com.microsoft"
#define F32 "float16|bfloat16|float"

static const char gelu_body[] = "<15>"
                                " two_f = Constant <value_float = 2.0> ()"
                                " one_f = Constant <value_float = 1.0> ()"
                                " half_f = Constant <value_float = 0.5> ()"
                                " root_f = Sqrt (two_f)"
                                " root = CastLike (root_f, X)"
                                " one = CastLike (one_f, X)"
                                " half = CastLike (half_f, X)"
                                " part = Div (X, root)"
                                " bent = Erf (part)"
                                " raised = Add (bent, one)"
                                " weight = Mul (raised, half)"
                                " Y = Mul (X, weight)";
static const char bias_gelu_body[] = "<15> sum = Add (A, B) C = com.microsoft.Gelu (sum)";
static const char quick_gelu_body[] = "<15>"
                                      " alpha_f = Constant <value_float: float = @alpha> ()"
                                      " alpha = CastLike (alpha_f, X)"
                                      " part = Mul (X, alpha)"
                                      " gate = Sigmoid (part)"
                                      " Y = Mul (X, gate)";

/* x (1 + tanh (x (a + b x²))) / 2, where a is the root of 2/pi, and b = 0.044715 a. */
static onx_status write_fast_gelu(const onx_op *op, const onx_node *node, size_t n_in,
                                  const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)op, (void)n_in, (void)ins, (void)diag;
    onx_buf_printf(out,
                   "<15> x = %s"
                   " a_f = Constant <value_float = 0.7978845608028654> ()"
                   " b_f = Constant <value_float = 0.035677408136300125> ()"
                   " one_f = Constant <value_float = 1.0> ()"
                   " half_f = Constant <value_float = 0.5> ()"
                   " a = CastLike (a_f, X)"
                   " b = CastLike (b_f, X)"
                   " one = CastLike (one_f, X)"
                   " half = CastLike (half_f, X)"
                   " square = Mul (x, x)"
                   " b_square = Mul (square, b)"
                   " factor = Add (b_square, a)"
                   " part = Mul (x, factor)"
                   " bent = Tanh (part)"
                   " raised = Add (bent, one)"
                   " weight = Mul (raised, half)"
                   " Y = Mul (x, weight)",
                   onx_node_input(node, 1) ? "Add (X, bias)" : "Identity (X)");
    return ONX_OK;
}

extern onx_op_rows onx_ops_microsoft;
onx_op_rows onx_ops_microsoft = {
    {"Attention", 1,
     "(input:T, weights:T, bias?:T, mask_index?:M, past?:T, attention_bias?:T, "
     "past_sequence_length?:M) -> (output:T, present?:T) {do_rotary?:int, "
     "mask_filter_value?:float, num_heads:int, past_present_share_buffer?:int, "
     "qkv_hidden_sizes?:ints, rotary_embedding_dim?:int, scale?:float, unidirectional:int=0} "
     "[T:" F32 ", M:int32]",
     .infer = onx_infer_ms_attention, .domain = MS},
    {"BiasGelu", 1, "(A:T, B:T) -> (C:T) [T:f]", .infer = onx_infer_ms_bias_gelu,
     .function = bias_gelu_body, .domain = MS},
    {"EmbedLayerNormalization", 1,
     "(input_ids:T1, segment_ids?:T1, word_embedding:T, position_embedding:T, "
     "segment_embedding?:T, gamma:T, beta:T, mask?:T1, position_ids?:T1) -> (output:T, "
     "mask_index?:T1, embedding_sum?:T) {epsilon:float=1e-12, mask_index_type?:int} [T1:int32, "
     "T:float16|float]",
     .infer = onx_infer_ms_embed_norm, .domain = MS},
    {"FastGelu", 1, "(X:T, bias?:T) -> (Y:T) [T:f]", .infer = onx_infer_ms_bias_gelu,
     .body = write_fast_gelu, .domain = MS},
    {"FusedGemm", 1,
     "(A:T, B:T, C?:T) -> (Y:T) {activation?:string, activation_alpha?:float, "
     "activation_beta?:float, activation_gamma?:float, alpha:float=1.0, beta:float=1.0, "
     "transA:int=0, transB:int=0} [T:w|f0]",
     .infer = onx_infer_ms_fused_gemm, .domain = MS},
    {"FusedMatMul", 1,
     "(A:T, B:T) -> (Y:T) {alpha:float=1.0, transA:int=0, transB:int=0, transBatchA:int=0, "
     "transBatchB:int=0} [T:f]",
     .infer = onx_infer_ms_fused_matmul, .domain = MS},
    {"Gelu", 1, "(X:T) -> (Y:T) [T:f]", .infer = onx_infer_same, .function = gelu_body,
     .domain = MS},
    {"GroupQueryAttention", 1,
     "(query:T, key?:T, value?:T, past_key?:T_CACHE, past_value?:T_CACHE, seqlens_k:M, "
     "total_sequence_length:M, cos_cache?:T, sin_cache?:T, position_ids?:int64, attention_bias?:T, "
     "head_sink?:T, k_scale?:T_KV_SCALE, v_scale?:T_KV_SCALE, q_norm_weight?:T, k_norm_weight?:T) "
     "-> (output:T, present_key?:T_CACHE, present_value?:T_CACHE, output_qk?:T) {causal:int=1, "
     "do_rotary?:int, k_quant_type:string=\"NONE\", kv_cache_bit_width?:int, kv_num_heads:int, "
     "local_window_size:int=-1, num_heads:int, qk_norm_epsilon:float=1e-06, qk_output:int=0, "
     "rotary_interleaved?:int, scale?:float, sliding_window_cache:int=0, smooth_softmax:int=-1, "
     "softcap?:float, v_quant_type:string=\"NONE\"} [T:" F32 ", T_CACHE:" F32
     "|int8|uint8|float8e4m3fn, T_KV_SCALE:float, M:int32]",
     .infer = onx_infer_ms_group_query, .domain = MS},
    {"MultiHeadAttention", 1,
     "(query:T, key?:T, value?:T, bias?:T, key_padding_mask?:M, attention_bias?:T, past_key?:T, "
     "past_value?:T, past_sequence_length?:M, cache_indirection?:M) -> (output:T, present_key?:T, "
     "present_value?:T, qk?:QK) {mask_filter_value?:float, num_heads:int, scale?:float, "
     "unidirectional:int=0} [T:" F32 ", QK:" F32 ", M:int32]",
     .infer = onx_infer_ms_multi_head, .domain = MS},
    {"QuickGelu", 1, "(X:T) -> (Y:T) {alpha:float=1.702} [T:f]", .infer = onx_infer_same,
     .function = quick_gelu_body, .domain = MS},
    {"RotaryEmbedding", 1,
     "(input:T, position_ids:M, cos_cache:T, sin_cache:T) -> (output:T) {interleaved?:int, "
     "is_packed_batching?:int, num_heads?:int, rotary_embedding_dim?:int, scale?:float} [T:" F32
     ", M:int64]",
     .infer = onx_infer_ms_rotary, .domain = MS},
    {"SkipLayerNormalization", 1,
     "(input:T, skip:T, gamma:T, beta?:T, bias?:T) -> (output:T, mean?:U, inv_std_var?:U, "
     "input_skip_bias_sum?:T) {epsilon:float=1e-12} [T:" F32 ", U:float]",
     .infer = onx_infer_ms_skip_norm, .domain = MS},
    {"SkipSimplifiedLayerNormalization", 1,
     "(input:T, skip:T, gamma:T, bias?:T) -> (output:T, mean?:U, inv_std_var?:U, "
     "input_skip_bias_sum?:T) {epsilon:float=1e-12} [T:" F32 ", U:float]",
     .infer = onx_infer_ms_skip_norm, .domain = MS},
    {0},
};
