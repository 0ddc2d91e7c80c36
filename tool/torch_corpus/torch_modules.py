"""Modules of torch.nn and torchvision.ops in the forms that networks elsewhere leave out."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_case import ids, image, one

B = [{0: "batch"}]


class Calls(nn.Module):
    """A module that is called with more than tensors, or of whose results only some are tensors."""

    def __init__(s, module, call):
        super().__init__()
        s.m = module
        s.call = call

    def forward(s, *x):
        return s.call(s.m, *x)


def call(name, make, f, *args, **o):
    """Traced and exported: a lambda is no TorchScript."""
    one(name, lambda: Calls(make(), f), *args, forms=("traced", "export"), **o)


# ── Attention ──────────────────────────────────────────────────────────────────────────────────────
def attention(name, f, *args, **o):
    call("mha_" + name, lambda: nn.MultiheadAttention(8, 2, **o).eval(), f, *args)


TRUE = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
attention("weights", lambda m, x: m(x, x, x), image(5, 2, 8))
attention("heads", lambda m, x: m(x, x, x, average_attn_weights=False), image(2, 5, 8), batch_first=True)
attention("zero", lambda m, x: m(x, x, x, need_weights=False)[0], image(5, 2, 8), add_zero_attn=True)
attention("biases", lambda m, x: m(x, x, x)[0], image(5, 2, 8), add_bias_kv=True, bias=False)
attention("kdim", lambda m, x, k, v: m(x, k, v)[0], image(5, 2, 8), image(6, 2, 4), image(6, 2, 3), kdim=4, vdim=3)
attention("bool", lambda m, x: m(x, x, x, attn_mask=TRUE, need_weights=False)[0], image(2, 5, 8), batch_first=True)
attention("causal", lambda m, x: m(x, x, x, attn_mask=TRUE, is_causal=True, need_weights=False)[0], image(5, 2, 8))
attention("pad", lambda m, x, p: m(x, x, x, key_padding_mask=p > 1)[0], image(2, 5, 8), image(2, 5), batch_first=True)
attention(
    "pad_mask",
    lambda m, x, p: m(x, x, x, key_padding_mask=p > 1, attn_mask=TRUE.float() * -9)[0],
    image(2, 5, 8),
    image(2, 5),
    batch_first=True,
)
attention("unbatched", lambda m, x: m(x, x, x), image(5, 8))
attention("three_d", lambda m, x: m(x, x, x, attn_mask=torch.zeros(4, 5, 5))[0], image(5, 2, 8))

one("decoder_layer", lambda: nn.TransformerDecoderLayer(8, 2, 16).eval(), image(5, 2, 8), image(4, 2, 8, seed=1))
one(
    "decoder_first",
    lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu").eval(),
    image(2, 5, 8),
    image(2, 4, 8, seed=1),
)
one("encoder_no_bias", lambda: nn.TransformerEncoderLayer(8, 2, 16, bias=False).eval(), image(5, 2, 8))
one("encoder_gelu", lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True).eval(), image(2, 5, 8), dynamic=B)
call(
    "encoder_src_mask",
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval(),
    lambda m, x: m(x, mask=TRUE, is_causal=True),
    image(2, 5, 8),
)


def flex(m, q, k, v):
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j))


one("flex_plain", lambda: Calls(nn.Identity(), flex), image(1, 2, 8, 4), image(1, 2, 8, 4, seed=1), image(1, 2, 8, 4, seed=2), forms=("export",))

# ── Recurrent ──────────────────────────────────────────────────────────────────────────────────────
one("lstm_proj_bi", lambda: nn.LSTM(5, 8, 2, proj_size=3, bidirectional=True), image(6, 2, 5))
one("lstm_proj_unbatched", lambda: nn.LSTM(5, 8, proj_size=3, batch_first=True), image(6, 5))
one("gru_unbatched", lambda: nn.GRU(5, 7, 2, bidirectional=True), image(6, 5))
one("rnn_no_bias", lambda: nn.RNN(5, 7, bias=False, nonlinearity="relu"), image(6, 2, 5))
one("lstm_double", lambda: nn.LSTM(5, 7).double(), image(6, 2, 5).double())
one("gru_half", lambda: nn.GRU(5, 7).bfloat16(), image(6, 2, 5).bfloat16())
one("lstm_cell_no_bias", lambda: nn.LSTMCell(5, 7, bias=False), image(2, 5))
one("gru_cell_one", lambda: nn.GRUCell(5, 7), image(5))
one("rnn_cell_relu", lambda: nn.RNNCell(5, 7, nonlinearity="relu"), image(2, 5), image(2, 7))
one("lstm_seq_dynamic", lambda: nn.LSTM(5, 7, batch_first=True), image(2, 6, 5), alt=(image(3, 9, 5),), dynamic=[{0: "b", 1: "s"}])

# ── Layers ─────────────────────────────────────────────────────────────────────────────────────────
one("adaptive_log_softmax", lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 12, [4, 8]).eval(), image(3, 8), ids(3, high=12), forms=("traced",))
call("adaptive_log_prob", lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 12, [4, 8], head_bias=True).eval(), lambda m, x: m.log_prob(x), image(3, 8))
one("bilinear_layer", lambda: nn.Bilinear(3, 4, 5), image(2, 3), image(2, 4), dynamic=[{0: "b"}, {0: "b"}])
one("weight_norm", lambda: nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 3)), image(2, 3, 8), forms=("traced", "export"))
one("weight_norm_old", lambda: nn.utils.weight_norm(nn.Linear(3, 4)), image(2, 3))
one("spectral_norm", lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)).eval(), image(2, 3), forms=("traced", "export"))
one("orthogonal", lambda: nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)).eval(), image(2, 4), forms=("traced", "export"))
one("lp_pool_3d", lambda: nn.LPPool3d(2, 2), image(1, 2, 4, 4, 4))
one("cosine_layer", lambda: nn.CosineSimilarity(dim=-1), image(3, 4), image(3, 4, seed=1))
one("reflection_3d", lambda: nn.ReflectionPad3d(1), image(1, 2, 3, 3, 4))
one("circular_conv", lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), image(1, 2, 5, 6), dynamic=[{0: "b", 2: "h", 3: "w"}], alt=(image(2, 2, 7, 4),))
one("reflect_conv", lambda: nn.Conv1d(2, 3, 3, padding="same", padding_mode="reflect"), image(1, 2, 7), dynamic=[{0: "b", 2: "l"}], alt=(image(2, 2, 9),))
one("batch_norm_plain", lambda: nn.BatchNorm2d(3, affine=False).eval(), image(2, 3, 4, 4))
one("batch_norm_batch", lambda: nn.BatchNorm1d(3, track_running_stats=False).eval(), image(4, 3), forms=("traced", "export"))
one("instance_stats", lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval(), image(2, 3, 4, 4))
one("embedding_norm", lambda: nn.Embedding(5, 4, max_norm=1.0), ids(2, 3, high=5), forms=("traced",))
one("embedding_bag_max", lambda: nn.EmbeddingBag(5, 4, mode="max", padding_idx=0), ids(2, 3, high=5))
one("upsample_nearest", lambda: nn.UpsamplingNearest2d(scale_factor=2), image(1, 2, 3, 4), dynamic=[{2: "h", 3: "w"}], alt=(image(1, 2, 5, 3),))
one("zero_pad", lambda: nn.Sequential(nn.ZeroPad2d((1, -1, 2, 0)), nn.ConstantPad1d(1, 2.0)), image(1, 2, 3, 4))
one("unflatten_layer", lambda: nn.Sequential(nn.Linear(4, 6), nn.Unflatten(1, (2, 3)), nn.Softmax2d() if False else nn.Flatten(0, 1)), image(2, 4), dynamic=B)
one("softmax_2d", lambda: nn.Softmax2d(), image(2, 3, 4, 4))
one("channel_last", lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).to(memory_format=torch.channels_last), image(1, 3, 6, 6))


# ── torchvision.ops ────────────────────────────────────────────────────────────────────────────────
def vision():
    import torchvision
    from torchvision import ops

    boxes = torch.tensor([[0.0, 1.0, 1.0, 6.0, 5.0], [0.0, 0.0, 2.0, 7.0, 7.5]])
    picture = image(1, 8, 9, 9)
    call("ps_roi_align", nn.Identity, lambda m, x, b: ops.ps_roi_align(x, b, 2, 1.0, 2), picture, boxes)
    call("ps_roi_align_free", nn.Identity, lambda m, x, b: ops.ps_roi_align(x, b, (2, 2), 0.5), picture, boxes)
    call("ps_roi_pool", nn.Identity, lambda m, x, b: ops.ps_roi_pool(x, b, 2, 1.0), picture, boxes)
    call("roi_pool", nn.Identity, lambda m, x, b: ops.roi_pool(x, b, (3, 2), 0.5), picture, boxes)
    call("roi_align_many", nn.Identity, lambda m, x, b: ops.roi_align(x, b, 3, 0.5, -1, True), picture, boxes)
    one("deform_layer", lambda: ops.DeformConv2d(4, 6, 3, padding=1, groups=2, stride=2), image(1, 4, 7, 7), image(1, 18, 4, 4, seed=1), image(1, 9, 4, 4, seed=2))
    one("deform_groups", lambda: ops.DeformConv2d(4, 6, 2, dilation=2, bias=False), image(1, 4, 7, 7), image(1, 16, 5, 5, seed=1))
    call("box_iou", nn.Identity, lambda m, a: ops.box_iou(a[:, 1:], a[:, 1:]), boxes)
    call("box_giou", nn.Identity, lambda m, a: ops.generalized_box_iou(a[:, 1:], a[:, 1:]), boxes)
    call("box_convert", nn.Identity, lambda m, a: ops.box_convert(a[:, 1:], "xyxy", "cxcywh"), boxes)
    call("focal_loss", nn.Identity, lambda m, x: ops.sigmoid_focal_loss(x, (x > 0).float(), reduction="mean"), image(2, 3))
    one("squeeze_excite", lambda: ops.SqueezeExcitation(4, 2), image(1, 4, 5, 5))
    one("frozen_norm", lambda: ops.FrozenBatchNorm2d(4), image(1, 4, 5, 5))
    call("batched_nms", nn.Identity, lambda m, a, s: ops.batched_nms(a[:, 1:], s, torch.tensor([0, 1]), 0.5), boxes, image(2).abs())


vision()
