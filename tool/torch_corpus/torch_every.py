"""Every model of transformers whose default configuration can be made small by the names of its fields: language
models with and without past, encoders, encoders with decoders, pictures, sound. Those that cannot be made so fail
when they are made; torch-corpus.py says so."""

import inspect
import torch, transformers as T
from transformers.models.auto import configuration_auto, modeling_auto as auto
from torch_case import case, ids, image
from torch_language import Out, Past, mask, signature

V = 61
BS = {0: "batch", 1: "seq"}
TE = ("traced", "export")


def fields(value, names):
    return dict.fromkeys(names.split(), value)


SMALL = {
    **fields(V, "vocab_size vocab_size_per_layer_input codebook_size"),
    **fields(64, "max_position_embeddings n_positions n_ctx max_seq_len max_source_positions max_target_positions"),
    **fields(48, "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff d_inner n_inner hidden_dim"),
    **fields(48, "ffn_hidden_size feed_forward_dim intermediate_size_mlp"),
    **fields(32, "hidden_size d_model n_embd dim embed_dim model_dim word_embed_proj_dim embedding_size lru_width"),
    **fields(32, "attention_hidden_size input_embedding_size output_embedding_size d_latents image_size dense_size"),
    **fields(24, "moe_intermediate_size shared_expert_intermediate_size expert_ffn_hidden_size"),
    **fields(24, "moe_shared_expert_intermediate_size shared_intermediate_size"),
    **fields(16, "q_lora_rank projection_dim num_conv_pos_embeddings num_mel_bins"),
    **fields(8, "head_dim d_kv attention_head_dim kv_lora_rank qk_nope_head_dim v_head_dim mamba_n_heads mamba_d_head"),
    **fields(8, "mamba_head_dim mamba_num_heads linear_key_head_dim linear_value_head_dim index_head_dim patch_size"),
    **fields(8, "hidden_size_per_layer_input codebook_dim"),
    **fields(4, "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads"),
    **fields(4, "attention_heads num_experts num_local_experts n_routed_experts moe_num_experts qk_rope_head_dim"),
    **fields(4, "rotary_dim sliding_window attention_window state_size ssm_state_size mamba_d_state time_step_rank"),
    **fields(4, "mamba_dt_rank mamba_chunk_size chunk_size bucket_size block_size num_landmarks index_topk"),
    **fields(4, "linear_num_value_heads adapter_rank laurel_rank num_conv_pos_embedding_groups num_filters"),
    **fields(3, "conv_kernel_size num_labels num_channels"),
    **fields(2, "num_hidden_layers n_layer n_layers num_layers decoder_layers num_decoder_layers depth moe_k moe_topk"),
    **fields(2, "num_key_value_heads num_experts_per_tok n_group mamba_expand n_mamba_heads altup_num_inputs"),
    **fields(2, "type_vocab_size linear_num_key_heads multi_query_group_num index_n_heads num_codebooks"),
    **fields(1, "encoder_layers num_encoder_layers topk_group num_shared_experts n_shared_experts mamba_ngroups"),
    **fields(1, "n_groups mamba_n_groups num_mem_blocks first_k_dense_replace"),
    **fields(0, "num_kv_shared_layers moe_layer_start_index"),
    "qk_head_dim": 12,
    "num_latents": 6,
}
TOKENS = dict(
    pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, decoder_start_token_id=1
)
WAVES = dict(conv_dim=(16, 16, 16), conv_stride=(5, 4, 2), conv_kernel=(10, 4, 3), num_feat_extract_layers=3)
EXTRA = {
    **{k: WAVES for k in ("wav2vec2", "hubert", "unispeech", "unispeech-sat", "wavlm", "data2vec-audio")},
    **{k: dict(WAVES, squeeze_factor=2) for k in ("sew", "sew-d")},
    "big_bird": dict(attention_type="block_sparse", num_random_blocks=1),
    "longt5": dict(local_radius=3, global_block_size=4),
    "canine": dict(num_hash_buckets=64, local_transformer_stride=4, downsampling_rate=4),
}


def shrink(config, extra=()):
    """The same kind of configuration with small numbers, also in those that it consists of."""
    small = {}
    for k, v in config.to_dict().items():
        if k in SMALL and isinstance(v, int) and not isinstance(v, bool):
            small[k] = SMALL[k]
        if k in TOKENS and not isinstance(v, (list, tuple)):
            small[k] = TOKENS[k]
    if getattr(config, "num_key_value_heads", 0) == getattr(config, "num_attention_heads", 1):
        small["num_key_value_heads"] = 4
    for k in getattr(type(config), "sub_configs", {}):
        part = getattr(config, k, None)
        if part is not None:
            small[k] = shrink(part).to_dict()
    if getattr(config, "layer_types", None):
        kinds = list(dict.fromkeys(config.layer_types))
        small["num_hidden_layers"] = max(2, len(kinds))
        small["layer_types"] = (kinds * 2)[: small["num_hidden_layers"]]
    return type(config)(**{**small, **dict(extra)})


def model(kind, names):
    config = shrink(configuration_auto.CONFIG_MAPPING[kind](), EXTRA.get(kind, {}))
    cls = names[kind] if isinstance(names[kind], str) else names[kind][0]
    m = getattr(T, cls)._from_config(config).eval()
    m.config.use_cache = False
    return m


FIELDS = "logits last_hidden_state pooler_output start_logits pred_boxes predicted_depth prediction_logits".split()


def wrap(m, names, args, **fixed):
    """The module with those arguments; its first outputs that are tensors."""
    with torch.no_grad():
        out = m(**dict(zip(names, args)), **fixed)
    found = [f for f in FIELDS if isinstance(getattr(out, f, None), torch.Tensor)]
    return Out(m, names, tuple(found[:2] or [k for k, v in out.items() if isinstance(v, torch.Tensor)][:1]), **fixed)


def name_of(tag, kind):
    return f"every_{tag}_{kind}".replace("-", "_")


def text(tag, kind, names):
    @case(name_of(tag, kind), dynamic=[BS, BS], forms=TE)
    def f():
        m = model(kind, names)
        args = lambda b, n: (ids(b, n, high=V - 4) + 3, mask(b, n, 2 if b > 1 else 0))
        fixed = {"use_cache": False} if "use_cache" in inspect.signature(m.forward).parameters else {}
        return wrap(m, ["input_ids", "attention_mask"], args(2, 8), **fixed), args(2, 8), args(3, 12), args(1, 8)


def past(kind, names):
    """A decoding step."""

    @case(
        name_of("past", kind),
        dynamic=[{0: "batch"}, {0: "batch", 1: "total"}] + [{0: "batch", 2: "past"}] * 4,
        forms=TE,
    )
    def f():
        m = model(kind, names)
        with torch.no_grad():
            layers = m(input_ids=ids(2, 5, high=V - 4) + 3, use_cache=True).past_key_values.layers
        sizes = [t.shape for layer in layers for t in (layer.keys, layer.values)]

        def args(b, n):
            before = tuple(image(b, s[1], n, s[3], seed=i) for i, s in enumerate(sizes))
            return (ids(b, 1, high=V - 4) + 3, torch.ones(b, n + 1, dtype=torch.int64), *before)

        names_ = ["input_ids", "attention_mask"] + [f"past_{i}" for i in range(len(sizes))]
        return signature(Past, names_)(m), args(2, 5), args(3, 8), args(1, 5)


def two(kind, names):
    @case(name_of("two", kind), dynamic=[BS, BS, {0: "batch", 1: "tseq"}], forms=TE)
    def f():
        m = model(kind, names)

        def args(b, n, t):
            return ids(b, n, high=V - 4) + 3, mask(b, n, 2 if b > 1 else 0), ids(b, t, high=V - 4, seed=1) + 3

        inputs = ["input_ids", "attention_mask", "decoder_input_ids"]
        return Out(m, inputs, ("logits",), use_cache=False), args(2, 8, 5), args(3, 12, 7), args(1, 8, 5)


def picture(kind, names):
    @case(name_of("picture", kind), dynamic=[{0: "batch"}], forms=TE)
    def f():
        m = model(kind, names)
        size = getattr(m.config, "image_size", 64)
        size = size if isinstance(size, int) else 64
        args = lambda b: (image(b, getattr(m.config, "num_channels", 3) or 3, size, size),)
        return wrap(m, ["pixel_values"], args(2)), args(2), args(3), args(1)


def sound(kind, names):
    @case(name_of("sound", kind), dynamic=[{0: "batch", 1: "samples"}], forms=TE)
    def f():
        m = model(kind, names)
        name = m.main_input_name
        width = getattr(m.config, "feature_projection_input_dim", None) or getattr(m.config, "num_mel_bins", 16)
        args = lambda b, n: (image(b, n) if name == "input_values" else image(b, n // 50, width),)
        return wrap(m, [name], args(2, 2000)), args(2, 2000), args(3, 3000), args(1, 2000)


def kinds(*tasks):
    """The models for the first of these tasks that a kind has one for."""
    out = {}
    for task in tasks:
        for kind, cls in getattr(auto, f"MODEL_FOR_{task}_MAPPING_NAMES").items():
            out.setdefault(kind, cls)
    return out


LANGUAGE, TWO = kinds("CAUSAL_LM"), kinds("SEQ_TO_SEQ_CAUSAL_LM")
for k in LANGUAGE:
    if k not in TWO:
        text("language", k, LANGUAGE)
    past(k, LANGUAGE)
for k, v in kinds("MASKED_LM").items():
    if k not in LANGUAGE:
        text("masked", k, {k: v})
for k in TWO:
    two(k, TWO)
PICTURES = kinds(
    "IMAGE_CLASSIFICATION", "SEMANTIC_SEGMENTATION", "OBJECT_DETECTION", "DEPTH_ESTIMATION", "UNIVERSAL_SEGMENTATION"
)
for k in PICTURES:
    picture(k, PICTURES)
SOUNDS = kinds("CTC", "AUDIO_CLASSIFICATION", "AUDIO_FRAME_CLASSIFICATION", "AUDIO_XVECTOR")
for k in SOUNDS:
    sound(k, SOUNDS)
