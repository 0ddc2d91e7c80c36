"""transformers, from small configurations; decoders with and without past keys and values as plain tensors."""

import torch, transformers as T
from torch import nn
from torch_case import case, image, ids

BS = {0: "batch", 1: "seq"}
V = 61


def signature(cls, names):
    """A class whose forward has the named arguments, as a person would have written it."""
    space = {"cls": cls}
    exec(
        f"class {cls.__name__}(cls):\n def forward(self, {', '.join(names)}):\n  return self.call({', '.join(names)})\n",
        space,
    )
    return space[cls.__name__]


class Wrap(nn.Module):
    """The named fields of a model's output, as a tuple."""

    def __init__(s, m, names, fields=("last_hidden_state",), **fixed):
        super().__init__()
        s.model, s.names, s.fields, s.fixed = m, names, fields, fixed

    def call(s, *args):
        o = s.model(**dict(zip(s.names, args)), **s.fixed)
        r = tuple(getattr(o, f) for f in s.fields)
        return r[0] if len(r) == 1 else r


def Out(m, names, fields=("last_hidden_state",), **fixed):
    return signature(Wrap, names)(m, names, fields, **fixed)


small = dict(
    vocab_size=V,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=64,
)


def mask(b, n, pad=2):
    m = torch.ones(b, n, dtype=torch.int64)
    m[-1, n - pad :] = 0
    return m


def encoder(name, make, fields=("last_hidden_state",), low=0, types=False, with_mask=True, cost=3, **o):
    names = ["input_ids"] + (["attention_mask"] if with_mask else []) + (["token_type_ids"] if types else [])

    def args(b, n):
        a = [ids(b, n, high=V - low) + low]
        if with_mask:
            a.append(mask(b, n, 2 if b > 1 else 0))
        if types:
            a.append(ids(b, n, high=2))
        return tuple(a)

    @case("hf_" + name, dynamic=[BS] * len(names), forms=("traced", "export"), cost=cost, **o)
    def f():
        m = make().eval()
        m.config.use_cache = False
        return Out(m, names, fields), args(2, 8), args(3, 11), args(1, 8)


encoder("bert", lambda: T.BertModel(T.BertConfig(**small)), ("last_hidden_state", "pooler_output"), types=True)
encoder("bert_eager", lambda: T.BertModel(T.BertConfig(**small, attn_implementation="eager")), with_mask=True)
encoder("bert_nomask", lambda: T.BertModel(T.BertConfig(**small)), with_mask=False)
encoder("bert_mlm", lambda: T.BertForMaskedLM(T.BertConfig(**small)), ("logits",))
encoder(
    "bert_qa", lambda: T.BertForQuestionAnswering(T.BertConfig(**small)), ("start_logits", "end_logits"), types=True
)
encoder("bert_cls", lambda: T.BertForSequenceClassification(T.BertConfig(**small, num_labels=3)), ("logits",))
encoder("roberta", lambda: T.RobertaModel(T.RobertaConfig(**small)), low=2)
encoder(
    "xlm_roberta_tok",
    lambda: T.XLMRobertaForTokenClassification(T.XLMRobertaConfig(**small, num_labels=4)),
    ("logits",),
    low=2,
)
encoder("camembert", lambda: T.CamembertModel(T.CamembertConfig(**small)), low=2)
encoder(
    "distilbert",
    lambda: T.DistilBertModel(
        T.DistilBertConfig(vocab_size=V, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=64)
    ),
)
encoder("albert", lambda: T.AlbertModel(T.AlbertConfig(**{**small, "embedding_size": 16})))
encoder("electra", lambda: T.ElectraModel(T.ElectraConfig(**{**small, "embedding_size": 16})))
encoder(
    "deberta_v2",
    lambda: T.DebertaV2Model(
        T.DebertaV2Config(
            **small,
            relative_attention=True,
            pos_att_type=["c2p", "p2c"],
            position_buckets=16,
            max_relative_positions=-1,
        )
    ),
)
encoder(
    "deberta", lambda: T.DebertaModel(T.DebertaConfig(**small, relative_attention=True, pos_att_type=["c2p", "p2c"]))
)
encoder("mpnet", lambda: T.MPNetModel(T.MPNetConfig(**small)), low=2)
encoder("ernie", lambda: T.ErnieModel(T.ErnieConfig(**small)))
encoder("roformer", lambda: T.RoFormerModel(T.RoFormerConfig(**{**small, "embedding_size": 32})))
encoder("squeezebert", lambda: T.SqueezeBertModel(T.SqueezeBertConfig(**{**small, "embedding_size": 32})))
encoder(
    "mobilebert",
    lambda: T.MobileBertModel(
        T.MobileBertConfig(**{**small, "embedding_size": 32, "intra_bottleneck_size": 32, "true_hidden_size": 32})
    ),
)
encoder(
    "fnet",
    lambda: T.FNetModel(
        T.FNetConfig(
            vocab_size=V, hidden_size=32, num_hidden_layers=2, intermediate_size=48, max_position_embeddings=64
        )
    ),
    with_mask=False,
)
encoder(
    "convbert",
    lambda: T.ConvBertModel(
        T.ConvBertConfig(**{**small, "embedding_size": 32, "conv_kernel_size": 3, "head_ratio": 2})
    ),
)
encoder(
    "funnel",
    lambda: T.FunnelBaseModel(
        T.FunnelConfig(
            vocab_size=V, d_model=32, n_head=4, d_head=8, d_inner=48, block_sizes=[1, 1], num_decoder_layers=1
        )
    ),
)
encoder("xlnet", lambda: T.XLNetModel(T.XLNetConfig(vocab_size=V, d_model=32, n_layer=2, n_head=4, d_inner=48)))
encoder(
    "modernbert",
    lambda: T.ModernBertModel(
        T.ModernBertConfig(
            **{
                **small,
                "pad_token_id": 0,
                "bos_token_id": 1,
                "eos_token_id": 2,
                "cls_token_id": 1,
                "sep_token_id": 2,
                "global_attn_every_n_layers": 2,
                "local_attention": 8,
            }
        )
    ),
)
encoder(
    "t5_encoder",
    lambda: T.T5EncoderModel(T.T5Config(vocab_size=V, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)),
)
encoder("longformer", lambda: T.LongformerModel(T.LongformerConfig(**small, attention_window=4)), low=2, cost=6)

llama = dict(
    vocab_size=V,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=48,
    max_position_embeddings=64,
)
tiny = dict(
    vocab_size=V,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=64,
)
DECODERS = {
    "gpt2": lambda: T.GPT2LMHeadModel(T.GPT2Config(vocab_size=V, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
    "gpt_neo": lambda: T.GPTNeoForCausalLM(
        T.GPTNeoConfig(
            vocab_size=V,
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            window_size=4,
            max_position_embeddings=64,
        )
    ),
    "gptj": lambda: T.GPTJForCausalLM(
        T.GPTJConfig(vocab_size=V, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4)
    ),
    "gpt_neox": lambda: T.GPTNeoXForCausalLM(T.GPTNeoXConfig(**tiny)),
    "opt": lambda: T.OPTForCausalLM(
        T.OPTConfig(
            vocab_size=V,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=48,
            max_position_embeddings=64,
            word_embed_proj_dim=32,
        )
    ),
    "bloom": lambda: T.BloomForCausalLM(T.BloomConfig(vocab_size=V, hidden_size=32, n_layer=2, n_head=4)),
    "llama": lambda: T.LlamaForCausalLM(T.LlamaConfig(**llama)),
    "llama_eager": lambda: T.LlamaForCausalLM(
        T.LlamaConfig(**llama, attn_implementation="eager", tie_word_embeddings=True)
    ),
    "mistral": lambda: T.MistralForCausalLM(T.MistralConfig(**llama, sliding_window=4)),
    "mixtral": lambda: T.MixtralForCausalLM(T.MixtralConfig(**llama, num_local_experts=4, num_experts_per_tok=2)),
    "qwen2": lambda: T.Qwen2ForCausalLM(T.Qwen2Config(**llama)),
    "qwen3": lambda: T.Qwen3ForCausalLM(T.Qwen3Config(**llama, head_dim=8)),
    "gemma": lambda: T.GemmaForCausalLM(T.GemmaConfig(**llama, head_dim=8)),
    "gemma2": lambda: T.Gemma2ForCausalLM(T.Gemma2Config(**llama, head_dim=8, sliding_window=4)),
    "phi": lambda: T.PhiForCausalLM(T.PhiConfig(**tiny, partial_rotary_factor=0.5)),
    "phi3": lambda: T.Phi3ForCausalLM(T.Phi3Config(**llama, pad_token_id=0)),
    "falcon": lambda: T.FalconForCausalLM(
        T.FalconConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, multi_query=True)
    ),
    "stablelm": lambda: T.StableLmForCausalLM(T.StableLmConfig(**llama)),
    "olmo": lambda: T.OlmoForCausalLM(T.OlmoConfig(**llama)),
    "cohere": lambda: T.CohereForCausalLM(T.CohereConfig(**llama)),
    "smollm3": lambda: T.SmolLM3ForCausalLM(T.SmolLM3Config(**llama, pad_token_id=0)),
    "mamba": lambda: T.MambaForCausalLM(T.MambaConfig(vocab_size=V, hidden_size=32, state_size=4, num_hidden_layers=2)),
    "xglm": lambda: T.XGLMForCausalLM(
        T.XGLMConfig(vocab_size=V, d_model=32, ffn_dim=48, num_layers=2, attention_heads=4, max_position_embeddings=64)
    ),
    "biogpt": lambda: T.BioGptForCausalLM(T.BioGptConfig(**small)),
    "codegen": lambda: T.CodeGenForCausalLM(
        T.CodeGenConfig(vocab_size=V, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4)
    ),
}


class Past(nn.Module):
    """A decoding step: ids of the new tokens and the keys and values so far, in; logits and all keys and values, out."""

    def __init__(s, m):
        super().__init__()
        s.m = m

    def call(s, input_ids, attention_mask, *kv):
        cache = T.DynamicCache([(kv[i], kv[i + 1]) for i in range(0, len(kv), 2)])
        o = s.m(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        flat = []
        for layer in o.past_key_values.layers:
            flat += [layer.keys, layer.values]
        return (o.logits, *flat)


def decoder(name, make):
    encoder(name, make, ("logits",), with_mask=name not in ("mamba",), cost=4)

    def args(m, b, past, new):
        c = m.config
        heads = getattr(c, "num_key_value_heads", None) or c.num_attention_heads
        if name == "falcon":
            heads = 1
        width = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        kv = tuple(image(b, heads, past, width, seed=i) for i in range(2 * c.num_hidden_layers))
        return (ids(b, new, high=V - 3) + 3, torch.ones(b, past + new, dtype=torch.int64), *kv)

    if name in ("gpt2", "llama", "qwen2", "gpt_neox", "opt", "phi3", "gemma", "falcon", "bloom", "gptj"):

        @case(
            f"hf_{name}_past",
            dynamic=[{0: "batch"}, {0: "batch", 1: "total"}] + [{0: "batch", 2: "past"}] * 4,
            forms=("traced", "export"),
            cost=4,
        )
        def f():
            m = make().eval()
            names = ["input_ids", "attention_mask"] + [f"past_{i}_{k}" for i in range(2) for k in ("key", "value")]
            return signature(Past, names)(m), args(m, 2, 5, 1), args(m, 3, 8, 1), args(m, 1, 5, 1)


for n, m in DECODERS.items():
    decoder(n, m)


# ------------------------------------------------------------------------------------------ encoder and decoder
def two(name, make, cost=5):
    @case("hf_" + name, dynamic=[BS, {0: "batch", 1: "tseq"}], forms=("traced", "export"), cost=cost)
    def f():
        m = make().eval()
        m.config.use_cache = False

        def args(b, n, t):
            return ids(b, n, high=V - 3) + 3, ids(b, t, high=V - 3, seed=1) + 3

        return (
            Out(m, ["input_ids", "decoder_input_ids"], ("logits",), use_cache=False),
            args(2, 8, 5),
            args(3, 10, 7),
            args(1, 8, 5),
        )


bart = dict(
    vocab_size=V,
    d_model=32,
    encoder_layers=1,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    max_position_embeddings=64,
)
two(
    "t5",
    lambda: T.T5ForConditionalGeneration(
        T.T5Config(
            vocab_size=V,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=1,
            num_decoder_layers=2,
            num_heads=4,
            decoder_start_token_id=0,
        )
    ),
)
two("bart", lambda: T.BartForConditionalGeneration(T.BartConfig(**bart)))
two("marian", lambda: T.MarianMTModel(T.MarianConfig(**bart, pad_token_id=0, decoder_start_token_id=0)))
two("pegasus", lambda: T.PegasusForConditionalGeneration(T.PegasusConfig(**bart)))
two("mbart", lambda: T.MBartForConditionalGeneration(T.MBartConfig(**bart)))
two("m2m100", lambda: T.M2M100ForConditionalGeneration(T.M2M100Config(**bart)))


def images(name, make, fields=("last_hidden_state",), h=32, w=32, c=3, cost=3, forms=("traced", "export")):
    @case("hf_" + name, dynamic=[{0: "batch"}], forms=forms, cost=cost)
    def f():
        return (
            Out(make().eval(), ["pixel_values"], fields),
            (image(2, c, h, w),),
            (image(3, c, h, w),),
            (image(1, c, h, w),),
        )


vit = dict(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8
)
images("vit", lambda: T.ViTModel(T.ViTConfig(**vit)), ("last_hidden_state", "pooler_output"))
images("deit", lambda: T.DeiTModel(T.DeiTConfig(**vit)))
images("dinov2", lambda: T.Dinov2Model(T.Dinov2Config(**vit)), h=40, w=48)
images("dinov2_reg", lambda: T.Dinov2WithRegistersModel(T.Dinov2WithRegistersConfig(**vit)))
images("beit", lambda: T.BeitModel(T.BeitConfig(**{k: v for k, v in vit.items()}, use_relative_position_bias=True)))
images(
    "segformer",
    lambda: T.SegformerForSemanticSegmentation(
        T.SegformerConfig(
            num_encoder_blocks=2,
            depths=[1, 1],
            sr_ratios=[4, 2],
            hidden_sizes=[16, 32],
            patch_sizes=[7, 3],
            strides=[4, 2],
            num_attention_heads=[1, 2],
            mlp_ratios=[2, 2],
            decoder_hidden_size=24,
            num_labels=3,
        )
    ),
    ("logits",),
    48,
    64,
)
images(
    "swin",
    lambda: T.SwinModel(
        T.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
    ),
)
images(
    "convnext",
    lambda: T.ConvNextModel(T.ConvNextConfig(hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 1, 1])),
    ("last_hidden_state", "pooler_output"),
    64,
    64,
)
images(
    "convnextv2",
    lambda: T.ConvNextV2Model(T.ConvNextV2Config(hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 1, 1])),
    h=64,
    w=64,
)
images(
    "resnet",
    lambda: T.ResNetModel(T.ResNetConfig(embedding_size=16, hidden_sizes=[16, 24], depths=[1, 1], layer_type="basic")),
    h=48,
    w=40,
)
images(
    "mobilevit",
    lambda: T.MobileViTModel(
        T.MobileViTConfig(image_size=64, hidden_sizes=[16, 20, 24], neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32])
    ),
    h=64,
    w=64,
    cost=5,
)
images("clip_vision", lambda: T.CLIPVisionModel(T.CLIPVisionConfig(**vit)), ("last_hidden_state", "pooler_output"))
images(
    "siglip_vision", lambda: T.SiglipVisionModel(T.SiglipVisionConfig(**vit)), ("last_hidden_state", "pooler_output")
)
images(
    "depth_anything",
    lambda: T.DepthAnythingForDepthEstimation(
        T.DepthAnythingConfig(
            backbone_config=T.Dinov2Config(
                **{**vit, "image_size": 56, "patch_size": 14},
                out_features=["stage1", "stage2"],
                reshape_hidden_states=False,
            ),
            patch_size=14,
            reassemble_hidden_size=32,
            neck_hidden_sizes=[8, 16],
            fusion_hidden_size=16,
            head_hidden_size=8,
            reassemble_factors=[2, 1],
        )
    ),
    ("predicted_depth",),
    56,
    56,
    cost=5,
)
images(
    "dpt",
    lambda: T.DPTForDepthEstimation(
        T.DPTConfig(
            hidden_size=32,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=48,
            image_size=32,
            patch_size=8,
            backbone_out_indices=[0, 1, 2, 3],
            neck_hidden_sizes=[8, 16, 24, 24],
            fusion_hidden_size=16,
        )
    ),
    ("predicted_depth",),
    cost=5,
)
images(
    "yolos",
    lambda: T.YolosForObjectDetection(T.YolosConfig(**{**vit, "image_size": [32, 48]}, num_detection_tokens=5)),
    ("logits", "pred_boxes"),
    32,
    48,
)
images(
    "pvt_v2",
    lambda: T.PvtV2Model(
        T.PvtV2Config(
            image_size=64, hidden_sizes=[16, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 4]
        )
    ),
    h=64,
    w=64,
)
images(
    "regnet",
    lambda: T.RegNetModel(T.RegNetConfig(embedding_size=16, hidden_sizes=[16, 24], depths=[1, 1], groups_width=8)),
    h=48,
    w=40,
)
images(
    "levit",
    lambda: T.LevitModel(
        T.LevitConfig(
            image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 3, 4], depths=[1, 1, 1], key_dim=[8, 8, 8]
        )
    ),
    h=64,
    w=64,
)
images(
    "poolformer",
    lambda: T.PoolFormerModel(T.PoolFormerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])),
    h=64,
    w=64,
)
images(
    "detr",
    lambda: T.DetrForObjectDetection(
        T.DetrConfig(
            use_timm_backbone=False,
            use_pretrained_backbone=False,
            backbone=None,
            backbone_config=T.ResNetConfig(
                embedding_size=16, hidden_sizes=[16, 24], depths=[1, 1], layer_type="basic", out_features=["stage2"]
            ),
            num_queries=5,
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            num_labels=3,
        )
    ),
    ("logits", "pred_boxes"),
    48,
    64,
    cost=5,
)
images(
    "rt_detr",
    lambda: T.RTDetrForObjectDetection(
        T.RTDetrConfig(
            backbone_config=T.RTDetrResNetConfig(
                embedding_size=16,
                hidden_sizes=[16, 24, 32, 40],
                depths=[1, 1, 1, 1],
                layer_type="basic",
                out_features=["stage2", "stage3", "stage4"],
            ),
            encoder_in_channels=[24, 32, 40],
            encoder_hidden_dim=32,
            d_model=32,
            num_queries=8,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            decoder_layers=2,
            num_denoising=0,
            num_labels=3,
            decoder_in_channels=[32, 32, 32],
        )
    ),
    ("logits", "pred_boxes"),
    64,
    64,
    cost=8,
)


@case("hf_clip_text", dynamic=[BS, BS], forms=("traced", "export"), cost=3)
def _():
    m = T.CLIPTextModel(T.CLIPTextConfig(**small, eos_token_id=V - 1)).eval()

    def args(b, n):
        x = ids(b, n, high=V - 2)
        x[:, -1] = V - 1
        return x, torch.ones(b, n, dtype=torch.int64)

    return (
        Out(m, ["input_ids", "attention_mask"], ("last_hidden_state", "pooler_output")),
        args(2, 8),
        args(3, 11),
        args(1, 8),
    )


@case("hf_clip", dynamic=[{0: "batch", 1: "seq"}, {0: "images"}], forms=("traced", "export"), cost=4)
def _():
    c = T.CLIPConfig(text_config=dict(**small, eos_token_id=V - 1), vision_config=dict(**vit), projection_dim=16)
    m = T.CLIPModel(c).eval()

    def args(b, n, k):
        x = ids(b, n, high=V - 2)
        x[:, -1] = V - 1
        return x, image(k, 3, 32, 32)

    return (
        Out(m, ["input_ids", "pixel_values"], ("logits_per_image", "text_embeds")),
        args(2, 8, 3),
        args(3, 9, 2),
        args(1, 8, 1),
    )


def sound(name, make, fields=("last_hidden_state",), n=2000, alt=3000, cost=4):
    @case("hf_" + name, dynamic=[{0: "batch", 1: "samples"}], forms=("traced", "export"), cost=cost)
    def f():
        return Out(make().eval(), ["input_values"], fields), (image(2, n),), (image(3, alt),), (image(1, n),)


w2v = dict(
    vocab_size=V,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    conv_dim=(16, 16, 16),
    conv_stride=(5, 4, 2),
    conv_kernel=(10, 4, 3),
    num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=4,
)
sound("wav2vec2", lambda: T.Wav2Vec2Model(T.Wav2Vec2Config(**w2v)))
sound(
    "wav2vec2_ctc",
    lambda: T.Wav2Vec2ForCTC(T.Wav2Vec2Config(**w2v, feat_extract_norm="layer", do_stable_layer_norm=True)),
    ("logits",),
)
sound("hubert", lambda: T.HubertModel(T.HubertConfig(**w2v)))
sound("wavlm", lambda: T.WavLMModel(T.WavLMConfig(**w2v)))


wh = dict(
    vocab_size=V,
    d_model=32,
    encoder_layers=1,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    num_mel_bins=16,
    max_source_positions=20,
    max_target_positions=32,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=1,
)


@case("hf_whisper_encoder", dynamic=[{0: "batch"}], forms=("traced", "export"), cost=3)
def _():
    m = T.WhisperModel(T.WhisperConfig(**wh)).eval().encoder
    return Out(m, ["input_features"]), (image(2, 16, 40),), (image(3, 16, 40),), (image(1, 16, 40),)


@case("hf_whisper_decoder", dynamic=[BS, {0: "batch"}], forms=("traced", "export"), cost=3)
def _():
    m = T.WhisperModel(T.WhisperConfig(**wh)).eval().decoder

    def args(b, n):
        return ids(b, n, high=V - 3) + 3, image(b, 20, 32)

    return Out(m, ["input_ids", "encoder_hidden_states"], use_cache=False), args(2, 5), args(3, 7), args(1, 5)


@case("hf_speecht5_encoder", dynamic=[BS], forms=("traced", "export"), cost=4)
def _():
    c = T.SpeechT5Config(
        vocab_size=V,
        hidden_size=32,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_text_positions=64,
    )
    m = T.SpeechT5ForTextToSpeech(c).eval().speecht5.encoder
    return Out(m, ["input_values"]), (ids(2, 8, high=V),), (ids(3, 10, high=V),), (ids(1, 8, high=V),)


@case("hf_vits", dynamic=None, forms=("traced",), cost=5, note="flow text to speech")
def _():
    c = T.VitsConfig(
        vocab_size=V,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=48,
        flow_size=16,
        spectrogram_bins=33,
        prior_encoder_num_flows=1,
        prior_encoder_num_wavenet_layers=1,
        posterior_encoder_num_wavenet_layers=1,
        duration_predictor_filter_channels=16,
        upsample_initial_channel=16,
        upsample_rates=[4, 4],
        upsample_kernel_sizes=[8, 8],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
        use_stochastic_duration_prediction=False,
        noise_scale=0.0,
        noise_scale_duration=0.0,
    )
    m = T.VitsModel(c).eval()
    m.noise_scale = 0.0
    m.noise_scale_duration = 0.0
    return Out(m, ["input_ids"], ("waveform",)), (ids(1, 8, high=V),)


@case("hf_patchtst", dynamic=[{0: "batch"}], forms=("traced", "export"), cost=3)
def _():
    m = T.PatchTSTForPrediction(
        T.PatchTSTConfig(
            num_input_channels=2,
            context_length=24,
            patch_length=4,
            patch_stride=4,
            prediction_length=6,
            d_model=16,
            num_attention_heads=2,
            num_hidden_layers=1,
            ffn_dim=24,
            loss="mse",
        )
    ).eval()
    return Out(m, ["past_values"], ("prediction_outputs",)), (image(2, 24, 2),), (image(3, 24, 2),), (image(1, 24, 2),)


@case("hf_vision_text", dynamic=[{0: "batch"}, BS], forms=("traced", "export"), cost=4, note="VisionEncoderDecoder")
def _():
    c = T.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        T.ViTConfig(**vit),
        T.GPT2Config(
            vocab_size=V, n_embd=32, n_layer=1, n_head=4, n_positions=64, add_cross_attention=True, is_decoder=True
        ),
    )
    m = T.VisionEncoderDecoderModel(c).eval()

    def args(b, n):
        return image(b, 3, 32, 32), ids(b, n, high=V)

    return (
        Out(m, ["pixel_values", "decoder_input_ids"], ("logits",), use_cache=False),
        args(2, 5),
        args(3, 7),
        args(1, 5),
    )
