"""Exports small PyTorch models to ONNX, and records what ONNX Runtime (or PyTorch) computes with them:
NAME/model.onnx and NAME/test_data_set_0/{input,output}_I.pb, the folders that `onx conform` runs.

    torch-cases.py FOLDER [--only PREFIX]

Needs torch, onnx, onnxscript and onnxruntime; with torchvision and transformers there are more cases. Each model is exported by both
exporters, at several opsets; what an exporter declines is listed and left out.
"""

import argparse
import json
import multiprocessing
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")


class Fn(nn.Module):
    """A function as a module."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


def r(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def i(low, high, *shape, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


class Recurrent(nn.Module):
    def __init__(self, kind, **how):
        super().__init__()
        self.net = kind(6, 5, **how)

    def forward(self, x):
        y, h = self.net(x)
        return (y, *h) if isinstance(h, tuple) else (y, h)


class Block(nn.Module):
    """A decoder layer as they are written today: rotary positions, grouped heads, RMS norms, SwiGLU."""

    def __init__(self, width=32, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.n1, self.n2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.up, self.gate, self.down = (
            nn.Linear(width, 64, bias=False),
            nn.Linear(width, 64, bias=False),
            nn.Linear(64, width, bias=False),
        )

    def rotate(self, x):
        n = x.shape[2]
        freq = 1.0 / 10000 ** (torch.arange(0, self.size, 2, dtype=torch.float32) / self.size)
        angle = torch.arange(n, dtype=torch.float32)[:, None] * freq[None]
        cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x):
        b, n, w = x.shape
        y = self.n1(x)
        q = self.q(y).view(b, n, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(y).view(b, n, 2, self.groups, self.size).permute(2, 0, 3, 1, 4)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (self.rotate(k), v))
        y = F.scaled_dot_product_attention(self.rotate(q), k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, n, w))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(4, 16)
        self.up = nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1)
        self.out = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.silu(self.norm(self.b(a)))
        return torch.sigmoid(self.out(torch.cat([a, self.up(b)], 1)))


def cases():
    img, seq = r(2, 3, 10, 12), r(2, 7, 16)
    yield "conv1d", nn.Conv1d(3, 6, 3, padding=2, dilation=2), (r(2, 3, 15),)
    yield "conv2d_groups", nn.Conv2d(4, 8, (3, 5), stride=(2, 1), padding=(1, 2), groups=2), (r(1, 4, 11, 9),)
    yield "conv2d_depthwise", nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False), (r(2, 6, 8, 8),)
    yield "conv2d_same", nn.Conv2d(3, 5, 4, padding="same"), (img,)
    yield "conv2d_reflect", nn.Conv2d(3, 5, 3, padding=2, padding_mode="reflect"), (img,)
    yield "conv2d_circular", nn.Conv2d(3, 5, 3, padding=2, padding_mode="circular"), (img,)
    yield "conv3d", nn.Conv3d(2, 4, 3, stride=2, padding=1), (r(1, 2, 7, 8, 9),)
    yield "conv_transpose1d", nn.ConvTranspose1d(4, 6, 5, stride=3, padding=1, output_padding=2), (r(2, 4, 6),)
    yield "conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2), (r(2, 4, 5, 6),)
    yield "conv_transpose3d", nn.ConvTranspose3d(2, 3, 3, stride=2), (r(1, 2, 3, 4, 5),)
    yield "max_pool2d_indices", nn.MaxPool2d(3, 2, 1, return_indices=True), (img,)
    yield "max_pool_ceil", nn.MaxPool2d(3, 2, ceil_mode=True), (r(1, 2, 8, 10),)
    yield "max_unpool", Fn(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)), (img,)
    yield "avg_pool", nn.AvgPool2d(3, 2, 1, count_include_pad=False), (img,)
    yield "avg_pool_ceil", nn.AvgPool3d(2, 2, ceil_mode=True), (r(1, 2, 5, 6, 7),)
    yield "adaptive_pool", nn.AdaptiveAvgPool2d((2, 3)), (img,)
    yield "adaptive_max", nn.AdaptiveMaxPool2d(1), (img,)
    yield "lp_pool", nn.LPPool2d(2, 3, 2), (img.abs(),)
    yield "batch_norm", nn.BatchNorm2d(3), (img,)
    yield "layer_norm", nn.LayerNorm((7, 16)), (seq,)
    yield "group_norm", nn.GroupNorm(3, 6), (r(2, 6, 5, 4),)
    yield "instance_norm", nn.InstanceNorm1d(4, affine=True), (r(2, 4, 9),)
    yield "rms_norm", nn.RMSNorm(16), (seq,)
    yield "local_response", nn.LocalResponseNorm(3), (img,)
    for kind in (nn.RNN, nn.GRU, nn.LSTM):
        name = kind.__name__.lower()
        yield f"{name}_bidirectional", Recurrent(kind, num_layers=2, bidirectional=True), (r(7, 2, 6),)
        yield f"{name}_batch_first", Recurrent(kind, batch_first=True, bias=False), (r(2, 7, 6),)
    yield "lstm_projected", Recurrent(nn.LSTM, proj_size=3), (r(7, 2, 6),)
    yield "encoder_layer", nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True), (seq,)
    yield "decoder_layer", nn.TransformerDecoderLayer(16, 2, 32, activation="gelu"), (r(5, 2, 16), r(7, 2, 16))
    yield "multihead", nn.MultiheadAttention(16, 4), (r(5, 2, 16), r(7, 2, 16), r(7, 2, 16))
    yield "sdpa_mask", Fn(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m)), (r(2, 4, 5, 8), r(2, 4, 7, 8), r(2, 4, 7, 8), i(0, 2, 2, 1, 5, 7).bool() | torch.eye(5, 7).bool())
    yield "modern_block", Block(), (r(2, 9, 32),)
    yield "unet", UNet(), (r(1, 3, 16, 16),)
    yield "embedding", nn.Embedding(20, 6, padding_idx=3), (i(0, 20, 2, 5),)
    yield "embedding_bag", nn.EmbeddingBag(20, 6, mode="mean"), (i(0, 20, 3, 5),)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        yield f"up_{mode}", Fn(lambda x, m=mode: F.interpolate(x, scale_factor=1.7, mode=m)), (img,)
        yield f"down_{mode}", Fn(lambda x, m=mode: F.interpolate(x, (4, 5), mode=m)), (img,)
    yield "up_aligned", Fn(lambda x: F.interpolate(x, (17, 23), mode="bilinear", align_corners=True)), (img,)
    yield "up_bicubic_aligned", Fn(lambda x: F.interpolate(x, (17, 23), mode="bicubic", align_corners=True)), (img,)
    yield "up_antialias", Fn(lambda x: F.interpolate(x, (5, 4), mode="bilinear", antialias=True)), (img,)
    yield "up_trilinear", Fn(lambda x: F.interpolate(x, scale_factor=2, mode="trilinear")), (r(1, 2, 3, 4, 5),)
    yield "up_linear", Fn(lambda x: F.interpolate(x, scale_factor=2.5, mode="linear")), (r(2, 3, 9),)
    for mode in ("bilinear", "nearest", "bicubic"):
        for pad in ("zeros", "border", "reflection"):
            yield f"grid_{mode}_{pad}", Fn(lambda x, g, m=mode, p=pad: F.grid_sample(x, g, m, p, align_corners=False)), (img, torch.rand(2, 5, 6, 2) * 3 - 1.5)
    yield "grid_3d", Fn(lambda x, g: F.grid_sample(x, g, align_corners=True)), (r(1, 2, 4, 5, 6), torch.rand(1, 3, 4, 5, 3) * 2 - 1)
    yield "affine_grid", Fn(lambda t: F.affine_grid(t, (2, 3, 5, 6), align_corners=False)), (r(2, 2, 3),)
    yield "pixel_shuffle", nn.PixelShuffle(2), (r(1, 8, 3, 4),)
    yield "pixel_unshuffle", nn.PixelUnshuffle(2), (r(1, 2, 6, 8),)
    yield "unfold", nn.Unfold(3, padding=1, stride=2), (img,)
    yield "fold", nn.Fold((5, 6), 2), (r(1, 12, 20),)
    for mode, pad in (("reflect", (1, 2, 3, 1)), ("replicate", (4, 2, 1, 3)), ("circular", (1, 2, 3, 1)), ("constant", (-1, 2, 3, -2))):
        yield f"pad_{mode}", Fn(lambda x, m=mode, p=pad: F.pad(x, p, m)), (img,)
    for fn in ("relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "softplus", "softsign", "tanhshrink", "softshrink", "hardshrink", "logsigmoid", "leaky_relu"):
        yield f"act_{fn}", Fn(getattr(F, fn)), (4 * r(3, 11),)
    yield "act_glu", nn.GLU(), (r(3, 8),)
    yield "act_prelu", nn.PReLU(3), (img,)
    yield "act_gelu_tanh", nn.GELU("tanh"), (r(3, 11),)
    for fn in ("exp", "expm1", "log1p", "sqrt", "rsqrt", "erf", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "atanh", "round", "floor", "ceil", "trunc", "sign", "abs", "reciprocal", "sigmoid", "frac", "square"):
        yield f"math_{fn}", Fn(getattr(torch, fn)), (torch.rand(3, 7) * 0.9 + 0.05,)
    yield "math_pow", Fn(lambda a, b: a**b + b**2 + 2**a), (torch.rand(3, 4) + 0.1, r(4))
    yield "math_atan2", Fn(torch.atan2), (r(3, 4), r(3, 4))
    yield "math_fmod", Fn(lambda a, b: (torch.fmod(a, b), torch.remainder(a, b))), (r(9) * 5, r(9) + 3)
    yield "int_div", Fn(lambda a, b: (a // b, a % b, torch.div(a, b, rounding_mode="trunc"), a / b)), (i(-20, 20, 12), i(1, 6, 12))
    yield "int_bits", Fn(lambda a, b: (a & b, a | b, a ^ b, ~a)), (i(0, 200, 9), i(0, 200, 9))
    yield "logic", Fn(lambda a, b: ((a > b) & (a < 1) | ~(b == a), torch.isnan(a / b), torch.isfinite(a))), (r(9), r(9))
    yield "clamp", Fn(lambda x: (x.clamp(-0.5), x.clamp(max=0.3), x.clamp(-0.2, 0.2))), (r(9),)
    yield "where", Fn(lambda c, a, b: torch.where(c > 0, a, b)), (r(3, 1), r(1, 4), r(3, 4))
    for fn in ("sum", "mean", "prod", "amax", "amin", "logsumexp", "std", "var"):
        yield f"reduce_{fn}", Fn(lambda x, f=fn: getattr(torch, f)(x, dim=1 if f == "prod" else (1, 2), keepdim=True) if f != "prod" else torch.prod(x, 1)), (r(2, 3, 4),)
    yield "reduce_norm", Fn(lambda x: (torch.linalg.vector_norm(x, 2, 1), torch.linalg.vector_norm(x, 1, -1), x.norm())), (r(2, 3, 4),)
    yield "reduce_any", Fn(lambda x: ((x > 1).any(1), (x > -1).all(0), (x > 0).sum())), (r(3, 4),)
    yield "argmax", Fn(lambda x: (x.argmax(1), x.argmin(0, keepdim=True))), (r(3, 5),)
    yield "topk", Fn(lambda x: torch.topk(x, 3, dim=1)), (r(3, 7),)
    yield "sort", Fn(lambda x: torch.sort(x, dim=0, descending=True)), (r(6, 3),)
    yield "max_dim", Fn(lambda x: torch.max(x, 1)), (r(3, 5),)
    yield "cumsum", Fn(lambda x: (x.cumsum(1), x.flip(0).cumsum(0))), (r(3, 5),)
    yield "gather", Fn(lambda x, k: torch.gather(x, 1, k)), (r(3, 5), i(0, 5, 3, 4))
    yield "scatter", Fn(lambda x, k, s: (x.scatter(1, k, s), x.scatter_add(1, k, s))), (r(3, 5), i(0, 5, 3, 2), r(3, 2))
    yield "scatter_reduce", Fn(lambda x, k, s: x.scatter_reduce(0, k, s, "amax")), (r(4, 3), i(0, 4, 6, 3), r(6, 3))
    yield "index", Fn(lambda x, k: (x[k], x[:, k % 4], x[k, k % 4])), (r(5, 4, 3), i(0, 5, 6))
    yield "index_put", Fn(lambda x, k, v: x.index_put((k,), v)), (r(5, 3), torch.tensor([0, 3]), r(2, 3))
    yield "index_add", Fn(lambda x, k, v: x.index_add(0, k, v)), (r(5, 3), torch.tensor([0, 3, 0]), r(3, 3))
    yield "masked_fill", Fn(lambda x: x.masked_fill(x > 0.5, -7.0)), (r(4, 5),)
    yield "masked_select", Fn(lambda x: x[x > 0]), (r(4, 5),)
    yield "nonzero", Fn(lambda x: torch.nonzero(x > 0)), (r(4, 5),)
    yield "unique", Fn(lambda x: torch.unique(x, sorted=True, return_inverse=True)), (i(0, 5, 12),)
    yield "one_hot", Fn(lambda x: F.one_hot(x, 6)), (i(0, 6, 2, 3),)
    yield "triu", Fn(lambda x: (x.triu(1), x.tril(-1))), (r(4, 5),)
    yield "einsum", Fn(lambda a, b: (torch.einsum("bij,bkj->bik", a, b), torch.einsum("bii->bi", a[:, :4, :4]))), (r(2, 4, 5), r(2, 3, 5))
    yield "matmul", Fn(lambda a, b: (a @ b, a[0] @ b[0, 0], a[0, 0] @ b[0, :, 0])), (r(2, 3, 4), r(2, 4, 5))
    yield "baddbmm", Fn(lambda a, b, c: torch.baddbmm(a, b, c, beta=0.5, alpha=2)), (r(2, 3, 5), r(2, 3, 4), r(2, 4, 5))
    yield "bilinear", nn.Bilinear(3, 4, 5), (r(2, 3), r(2, 4))
    yield "cdist", Fn(torch.cdist), (r(2, 5, 3), r(2, 4, 3))
    yield "cosine", nn.CosineSimilarity(1), (r(3, 5), r(3, 5))
    yield "split", Fn(lambda x: (*x.split([1, 2, 2], 1), *x.chunk(2, 1))), (r(2, 5, 3),)
    yield "stack", Fn(lambda a, b: (torch.stack([a, b], 1), torch.cat([a, b, a], 0))), (r(3, 4), r(3, 4))
    yield "shape_play", Fn(lambda x: x.permute(2, 0, 1).reshape(x.shape[2], -1).unsqueeze(1).expand(-1, 2, -1).flip(-1).roll(2, 0)), (r(2, 3, 4),)
    yield "slice_steps", Fn(lambda x: (x[:, 1:-1:2], x[..., ::3], x[-1:, :, 2])), (r(4, 7, 6),)
    yield "repeat", Fn(lambda x: (x.repeat(2, 1, 3), x.repeat_interleave(2, 0))), (r(2, 3),)
    yield "arange", Fn(lambda x: torch.arange(x.shape[0]).float()[:, None] * x + torch.linspace(0, 1, 4)), (r(3, 4),)
    yield "meshgrid", Fn(lambda a, b: torch.meshgrid(a, b, indexing="ij")), (r(3), r(4))
    yield "full_like", Fn(lambda x: (torch.zeros_like(x), torch.full((2, x.shape[1]), 3.5), torch.ones(x.shape[0]).long())), (r(3, 4),)
    yield "softmax", Fn(lambda x: (x.softmax(1), x.log_softmax(-1), F.softmin(x, 0))), (r(3, 4, 5),)
    yield "cross_entropy", Fn(lambda x, t: F.cross_entropy(x, t, ignore_index=2, label_smoothing=0.0)), (r(6, 5), i(0, 5, 6))
    yield "nll_2d", Fn(lambda x, t: F.nll_loss(x.log_softmax(1), t, reduction="sum")), (r(2, 5, 3, 4), i(0, 5, 2, 3, 4))
    yield "losses", Fn(lambda a, b: (F.mse_loss(a, b), F.smooth_l1_loss(a, b), F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"), F.binary_cross_entropy_with_logits(a, b.sigmoid()))), (r(3, 4), r(3, 4))
    yield "rfft", Fn(lambda x: torch.view_as_real(torch.fft.rfft(x))), (r(2, 13),)
    yield "ifft", Fn(lambda x: torch.fft.irfft(torch.fft.rfft(x), n=12)), (r(2, 12),)
    yield "stft", Fn(lambda x: torch.view_as_real(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True, center=False))), (r(2, 60),)
    yield "casts", Fn(lambda x: (x.half().float(), x.int(), x.bool(), x.to(torch.uint8), x.double(), x.bfloat16().float())), (r(4, 5).abs() * 9,)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        name = str(dtype).split(".")[1]
        yield f"mlp_{name}", nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4)).to(dtype), (r(3, 8, dtype=dtype),)
        yield f"conv_{name}", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)).to(dtype), (r(1, 3, 9, 9, dtype=dtype),)
    yield "quant_dequant", Fn(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)), (r(3, 8),)
    yield "quant_channel", Fn(lambda x: torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 1, 2], dtype=torch.int32), 0, -128, 127)), (r(3, 8),)
    yield "script_loop", torch.jit.script(Scripted()), (i(1, 9, 4), torch.tensor(7))
    yield "bucketize", Fn(lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]))), (r(12),)
    yield "weight_norm", nn.utils.weight_norm(nn.Linear(6, 4)), (r(3, 6),)
    yield "dropout_eval", nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.AlphaDropout(0.2)), (r(3, 6),)
    yield "linalg_det", Fn(torch.linalg.det), (r(2, 3, 3),)
    yield "tensordot", Fn(lambda a, b: torch.tensordot(a, b, dims=([1, 2], [0, 1]))), (r(2, 3, 4), r(3, 4, 5))
    yield from vision()
    yield from language()


class Scripted(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor):
        y = x
        for k in range(int(n)):
            if int(y.sum()) % 2 == 0:
                y = torch.div(y, 2, rounding_mode="floor")
            else:
                y = 3 * y + k
        return y


def vision():
    try:
        import torchvision
        from torchvision import ops
    except ImportError:
        return
    boxes = torch.rand(40, 4) * 20
    boxes[:, 2:] += boxes[:, :2] + 1
    yield "tv_nms", Fn(lambda b, s: ops.nms(b, s, 0.3)), (boxes, torch.rand(40))
    yield "tv_roi_align", Fn(lambda x, b: ops.roi_align(x, [b], (3, 4), 0.5, 2)), (r(1, 3, 20, 20), boxes[:5])
    yield "tv_roi_pool", Fn(lambda x, b: ops.roi_pool(x, [b], (3, 4), 0.5)), (r(1, 3, 20, 20), boxes[:5])
    yield "tv_deform", Deform(ops), (r(1, 4, 8, 8), r(1, 18, 6, 6), torch.rand(1, 9, 6, 6))
    models = torchvision.models
    small = dict(weights=None)
    yield "tv_resnet18", models.resnet18(num_classes=10, **small), (r(1, 3, 64, 64),)
    yield "tv_mobilenet_v3", models.mobilenet_v3_small(num_classes=10, **small), (r(1, 3, 64, 64),)
    yield "tv_shufflenet", models.shufflenet_v2_x0_5(num_classes=10, **small), (r(1, 3, 64, 64),)
    yield "tv_squeezenet", models.squeezenet1_1(num_classes=10, **small), (r(1, 3, 64, 64),)
    yield "tv_mnasnet", models.mnasnet0_5(num_classes=10, **small), (r(1, 3, 64, 64),)
    yield "tv_lraspp", Take(models.segmentation.lraspp_mobilenet_v3_large(num_classes=4, weights=None, weights_backbone=None), "out"), (r(1, 3, 64, 64),)
    yield "tv_swin", models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10), (r(1, 3, 64, 64),)
    yield "tv_vit", models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), (r(1, 3, 32, 32),)


class Outputs(nn.Module):
    """The tensors among a model's outputs, its inputs by name."""

    def __init__(self, net, *names):
        super().__init__()
        self.net, self.names = net, names

    def forward(self, *args):
        out = self.net(**dict(zip(self.names, args)), return_dict=True)
        return tuple(v for v in out.values() if isinstance(v, torch.Tensor))


def attempt(name, make, args):
    """A case, unless this version of the library cannot make the model."""
    try:
        yield name, make(), args
    except Exception as error:
        print(f"  left out: {name}: {str(error)[:100]}", file=sys.stderr)


def language():
    try:
        import transformers as t
    except ImportError:
        return
    size = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=99, pad_token_id=0)
    words, mask = i(0, 99, 2, 9), torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0
    text = ("input_ids", "attention_mask")
    for kind in ("Bert", "Roberta", "Electra", "DebertaV2", "MPNet", "Albert", "RoFormer", "ModernBert"):
        config = getattr(t, kind + "Config")
        if hasattr(t, kind + "Model"):
            yield from attempt(f"tf_{kind.lower()}", lambda: Outputs(getattr(t, kind + "Model")(config(**size)), *text), (words, mask))
    yield from attempt("tf_distilbert", lambda: Outputs(t.DistilBertModel(t.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64)), *text), (words, mask))
    yield from attempt("tf_gpt2", lambda: Outputs(t.GPT2LMHeadModel(t.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, use_cache=False)), *text), (words, mask))
    grouped = dict(size, num_key_value_heads=2, use_cache=False, max_position_embeddings=64)
    for kind in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Gemma2", "Phi3", "Olmo2", "StableLm", "Cohere", "Granite", "Mixtral"):
        config = getattr(t, kind + "Config")
        more = dict(grouped, head_dim=8) if kind.startswith(("Gemma", "Qwen3")) else grouped
        more = dict(more, pad_token_id=0) if kind in ("Phi3",) else more
        yield from attempt(f"tf_{kind.lower()}", lambda: Outputs(getattr(t, kind + "ForCausalLM")(config(**more)), *text), (words, mask))
    yield from attempt("tf_gptneox", lambda: Outputs(t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**size, use_cache=False)), *text), (words, mask))
    yield from attempt("tf_opt", lambda: Outputs(t.OPTForCausalLM(t.OPTConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, word_embed_proj_dim=32, use_cache=False)), *text), (words, mask))
    yield from attempt("tf_bloom", lambda: Outputs(t.BloomForCausalLM(t.BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4, use_cache=False)), *text), (words, mask))
    yield from attempt("tf_t5_encoder", lambda: Outputs(t.T5EncoderModel(t.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)), *text), (words, mask))
    yield from attempt("tf_t5", lambda: Outputs(t.T5ForConditionalGeneration(t.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False)), "input_ids", "attention_mask", "decoder_input_ids"), (words, mask, i(0, 99, 2, 5)))
    yield from attempt("tf_bart", lambda: Outputs(t.BartModel(t.BartConfig(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, use_cache=False)), "input_ids", "attention_mask", "decoder_input_ids"), (words, mask, i(3, 99, 2, 5)))
    picture = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8)
    for kind in ("ViT", "DeiT", "Dinov2"):
        yield from attempt(f"tf_{kind.lower()}", lambda: Outputs(getattr(t, kind + "Model")(getattr(t, kind + "Config")(**picture)), "pixel_values"), (r(1, 3, 32, 32),))
    yield from attempt("tf_clip_vision", lambda: Outputs(t.CLIPVisionModel(t.CLIPVisionConfig(**picture)), "pixel_values"), (r(1, 3, 32, 32),))
    yield from attempt("tf_clip_text", lambda: Outputs(t.CLIPTextModel(t.CLIPTextConfig(**size, max_position_embeddings=16, eos_token_id=98)), *text), (words, mask))
    yield from attempt("tf_swin", lambda: Outputs(t.SwinModel(t.SwinConfig(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)), "pixel_values"), (r(1, 3, 32, 32),))
    yield from attempt("tf_convnext", lambda: Outputs(t.ConvNextModel(t.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)), "pixel_values"), (r(1, 3, 32, 32),))
    yield from attempt("tf_segformer", lambda: Outputs(t.SegformerForSemanticSegmentation(t.SegformerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 4], decoder_hidden_size=16, num_labels=5)), "pixel_values"), (r(1, 3, 64, 64),))
    yield from attempt("tf_detr", lambda: Outputs(t.YolosForObjectDetection(t.YolosConfig(**dict(picture, image_size=[32, 32]), num_detection_tokens=5, num_labels=4)), "pixel_values"), (r(1, 3, 32, 32),))
    sound = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)
    for kind in ("Wav2Vec2", "Hubert"):
        yield from attempt(f"tf_{kind.lower()}", lambda: Outputs(getattr(t, kind + "Model")(getattr(t, kind + "Config")(**sound)), "input_values"), (r(1, 400),))
    yield from attempt("tf_whisper", lambda: Outputs(t.WhisperModel(t.WhisperConfig(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=20, pad_token_id=0, use_cache=False)), "input_features", "decoder_input_ids"), (r(1, 16, 40), i(0, 99, 1, 5)))
    yield from attempt("tf_mamba", lambda: Outputs(t.MambaModel(t.MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=1, state_size=4, use_cache=False)), "input_ids"), (words,))


class Deform(nn.Module):
    def __init__(self, ops):
        super().__init__()
        self.net = ops.DeformConv2d(4, 5, 3)

    def forward(self, x, offset, mask):
        return self.net(x, offset, mask)


class Take(nn.Module):
    def __init__(self, net, key):
        super().__init__()
        self.net, self.key = net, key

    def forward(self, x):
        return self.net(x)[self.key]


# How a model is exported: by which exporter, at which opset.
WAYS = {"script13": (False, 13), "script20": (False, 20), "dynamo18": (True, 18), "dynamo23": (True, 23)}


def coarsen(model):
    """Weights of few bits, so that many models make a small archive."""
    with torch.no_grad():
        for p in model.parameters():
            if p.is_floating_point() and p.numel() > 4096:
                p.copy_((p * 32 / p.abs().max()).round() / 32 * p.abs().max())


def record(folder, model, args):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    proto = onnx.load(folder / "model.onnx")
    data = folder / "test_data_set_0"
    data.mkdir()
    names = [v.name for v in proto.graph.input]
    torch_outs = model(*args)
    torch_outs = [t for t in (torch_outs if isinstance(torch_outs, (tuple, list)) else [torch_outs])]
    feeds = {n: a.numpy() for n, a in zip(names, args) if a.dtype != torch.bfloat16}
    how = "onnxruntime"
    try:
        outs = onnxruntime.InferenceSession(str(folder / "model.onnx"), options).run(None, feeds)
    except Exception:  # types it has no kernels for
        how = "torch"
        outs = torch_outs
    for kind, values, infos in (("input", args[: len(names)], proto.graph.input), ("output", outs, proto.graph.output)):
        for k, (value, info) in enumerate(zip(values, infos)):
            (data / f"{kind}_{k}.pb").write_bytes(to_proto(value, info.name).SerializeToString())
    wide = all(t.dtype not in (torch.float16, torch.bfloat16) for t in torch_outs)
    (folder / "data.json").write_text(json.dumps({"rtol": 1e-3 if wide else 2e-2, "atol": 2e-5 if wide else 2e-2, "by": how}))


def to_proto(value, name):
    if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
        value = value.detach().float()
        return onnx.helper.make_tensor(name, onnx.TensorProto.BFLOAT16, value.shape, value.flatten().tolist())
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    return numpy_helper.from_array(np.asarray(value, order="C"), name)


def export(job):
    folder, name, way = job
    torch.manual_seed(7)
    dynamo, opset = WAYS[way]
    path = Path(folder) / f"{name}_{way}"
    try:
        source = {"tv": vision, "tf": language}.get(name[:2] if name[2:3] == "_" else "", cases)
        model, args = next((m, a) for n, m, a in source() if n == name)
        model = model.eval()
        coarsen(model)
        path.mkdir(parents=True)
        extra = dict(dynamo=True, external_data=False, verbose=False) if dynamo else dict(dynamo=False)
        torch.onnx.export(model, args, str(path / "model.onnx"), opset_version=opset, **extra)
        record(path, model, args)
        return name, way, None
    except BaseException as error:
        for file in path.glob("**/*"):
            if file.is_file():
                file.unlink()
        return name, way, (traceback.format_exception_only(error)[-1].strip().splitlines() or [""])[0][:150]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    torch.manual_seed(7)
    names = [n for n, _, _ in cases() if n.startswith(args.only)]
    jobs = [(args.folder, n, w) for n in names for w in WAYS]
    declined = []
    with multiprocessing.get_context("spawn").Pool(max(1, multiprocessing.cpu_count() - 1), maxtasksperchild=40) as pool:
        for k, (name, way, error) in enumerate(pool.imap_unordered(export, jobs)):
            if error:
                declined.append(f"{name}_{way}: {error}")
    print(f"{len(names)} models, {len(jobs) - len(declined)} exports, {len(declined)} declined by the exporter")
    for line in sorted(declined):
        print("  declined:", line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
