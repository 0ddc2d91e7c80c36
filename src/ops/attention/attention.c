/* attention.c: Attention and what goes with it: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_attention;
onx_op_rows onx_ops_attention = {
    {"Attention", 23,
     "(Q:T1, K:T1, V:T2, attn_mask?:U, past_key?:T1, past_value?:T2) -> (Y:T1, present_key?:T1, "
     "present_value?:T2, qk_matmul_output?:T1) {is_causal:int=0, kv_num_heads?:int, "
     "q_num_heads?:int, qk_matmul_output_mode:int=0, scale?:float, softcap:float=0.0, "
     "softmax_precision?:int} [T1:f, T2:f, U:n|bool]",
     .infer = NULL},
    {"Attention", 24,
     "(Q:T1, K:T1, V:T2, attn_mask?:U, past_key?:T1, past_value?:T2, nonpad_kv_seqlen?:int64) -> "
     "(Y:T1, present_key?:T1, present_value?:T2, qk_matmul_output?:T1) {is_causal:int=0, "
     "kv_num_heads?:int, q_num_heads?:int, qk_matmul_output_mode:int=0, scale?:float, "
     "softcap:float=0.0, softmax_precision?:int} [T1:f, T2:f, U:n|bool]",
     .infer = NULL},
    {"Attention", 25,
     "(Q:T1, K:T1, V:T2, attn_mask?:U, past_key?:T1, past_value?:T2, nonpad_kv_seqlen?:int64) -> "
     "(Y:T1, present_key?:T1, present_value?:T2, qk_matmul_output?:T1) {is_causal:int=0, "
     "kv_num_heads?:int, left_window_size:int=-1, q_num_heads?:int, qk_matmul_output_mode:int=0, "
     "right_window_size:int=-1, scale?:float, softcap:float=0.0, softmax_precision?:int} [T1:f, "
     "T2:f, U:n|bool]",
     .infer = NULL},
    {"CausalConvWithState", 27,
     "(input:T, weight:T, bias?:T, past_state?:T) -> (output:T, present_state:T) "
     "{activation:string=\"none\"} [T:float16|bfloat16|float]",
     .infer = NULL},
    {"LinearAttention", 27,
     "(query:T, key:T, value:T, past_state?:S, decay?:T, beta?:T) -> (output:T, present_state:S) "
     "{chunk_size:int=64, kv_num_heads:int, q_num_heads:int, scale:float=0.0, "
     "update_rule:string=\"gated_delta\"} [T:float16|bfloat16|float, S:float16|bfloat16|float]",
     .infer = NULL},
    {"RotaryEmbedding", 23,
     "(X:T, cos_cache:T, sin_cache:T, position_ids?:M) -> (Y:T) {interleaved:int=0, "
     "num_heads?:int, rotary_embedding_dim:int=0} [T:float16|bfloat16|float, M:int64]",
     .infer = NULL},
    {"FlexAttention", 1,
     "(Q:T1, K:T1, V:T1) -> (Y:T1) {prob_mod?:graph, scale?:float, score_mod?:graph, "
     "softmax_precision?:int} [T1:f]",
     .domain = "ai.onnx.preview"},
    {0},
};
