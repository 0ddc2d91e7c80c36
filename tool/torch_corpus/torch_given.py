"""The kinds of models of the project's corpus, with other seeds and sizes."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_case import case, image, ids

B = [{0: "batch"}]
BS = [{0: "batch", 1: "seq"}]


class Lin(nn.Module):
    def __init__(s, a=9, b=24, c=5):
        super().__init__()
        s.l = nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c))

    def forward(s, x):
        return s.l(x)


@case(dynamic=B)
def mlp():
    return Lin(), (image(3, 9),), (image(5, 9),), (image(1, 9),)


class ConvBn(nn.Module):
    def __init__(s):
        super().__init__()
        s.m = nn.Sequential(
            nn.Conv2d(3, 12, 5, 2, 2),
            nn.BatchNorm2d(12),
            nn.ReLU6(),
            nn.Conv2d(12, 12, 3, 1, 1, groups=4, bias=False),
            nn.BatchNorm2d(12),
            nn.SiLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Linear(12, 7),
        )

    def forward(s, x):
        return s.m(x)


@case(dynamic=B)
def convbn():
    return ConvBn(), (image(2, 3, 33, 29),), (image(3, 3, 33, 29),), (image(1, 3, 33, 29),)


class Convs(nn.Module):
    def __init__(s):
        super().__init__()
        s.t = nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2)
        s.c1 = nn.Conv1d(6, 4, 3, padding="same", dilation=2, padding_mode="zeros")
        s.c3 = nn.Conv3d(1, 2, (3, 2, 2), stride=(1, 2, 1), padding=(1, 0, 1))

    def forward(s, x):
        y = s.t(x)
        return s.c1(y.flatten(2)), s.c3(y.unsqueeze(1))


@case()
def conv_kinds():
    return Convs(), (image(2, 4, 6, 5),)


class Dtypes(nn.Module):
    def forward(s, x, n):
        y = x.double()
        z = n.int() + 1
        return (
            y.half(),
            z,
            (x > 0) & (x < 1),
            n // 3,
            n % 5,
            x.half().float(),
            torch.arange(x.shape[0]) + n[: x.shape[0]],
            torch.full_like(x, 3),
            torch.zeros(x.shape[0], 2),
            (x > 0).any(0),
            n & 6,
            x.to(torch.int32).float(),
        )


@case()
def dtypes():
    return Dtypes(), (image(4, 5), ids(7, high=50))


class Emb(nn.Module):
    def __init__(s, v=41, d=24):
        super().__init__()
        s.e, s.n, s.l = nn.Embedding(v, d), nn.LayerNorm(d), nn.Linear(d, v)

    def forward(s, ids):
        x = s.n(s.e(ids))
        return F.log_softmax(s.l(F.gelu(x, approximate="tanh")), -1)


@case(dynamic=BS)
def embed_lm():
    return Emb(), (ids(3, 7, high=41),), (ids(2, 11, high=41),), (ids(1, 7, high=41),)


class Index(nn.Module):
    def forward(s, x, idx):
        m = x > 0
        return (
            x[idx],
            x.gather(1, idx[:, None].expand(-1, 2).clamp(max=4)),
            torch.where(m, x, -x),
            x.masked_fill(m, 0.25),
            x.index_select(0, idx),
            x.scatter(1, idx[:, None] % 5, 3.0)[:3],
            x.topk(3, 1)[0],
            x.argmax(1),
            x.sort(1, descending=True)[0],
            x.cumsum(1),
            x.tril(),
            torch.ones(1) * x.nonzero().shape[0],
        )


@case()
def indexing():
    return Index(), (image(6, 5), torch.tensor([4, 0, 2, 1, 3, 3]))


class IndexE(nn.Module):
    def forward(s, x, idx):
        m = x > 0
        y = x.clone()
        y[:, 2] = 5.0
        y[1, 1:] += 2
        return (
            x[idx],
            x.gather(1, idx[:, None] % 4),
            torch.where(m, x, -x),
            x.masked_fill(m, 0.5),
            x.topk(2, 1)[0],
            x.argmax(1),
            x.cumsum(0),
            x.tril(),
            y,
            x[..., None, 1:4],
            torch.bucketize(x, torch.tensor([-0.75, 0.1, 0.5, 1.0])),
        )


@case()
def indexing_inplace():
    return IndexE(), (image(6, 5), torch.tensor([4, 0, 2, 1, 3, 5]))


class Lstm(nn.Module):
    def __init__(s):
        super().__init__()
        s.r = nn.LSTM(7, 12, 2, batch_first=True, bidirectional=True)
        s.o = nn.Linear(24, 5)

    def forward(s, x):
        y, h = s.r(x)
        return s.o(y), y[:, -1]


@case(dynamic=BS)
def lstm():
    return Lstm(), (image(3, 6, 7),), (image(2, 9, 7),), (image(1, 6, 7),)


class Math(nn.Module):
    def forward(s, x):
        p = x.abs() + 0.25
        return (
            p.log(),
            p.sqrt().rsqrt(),
            x.sigmoid() * F.silu(x),
            F.softplus(x),
            F.elu(x),
            F.leaky_relu(x, 0.1),
            F.mish(x),
            x.erf(),
            x.sin() + x.cos().atan(),
            x**3,
            p**x,
            x.clamp(-0.25, 0.75),
            x.round(),
            (x * 7) // 2,
            (x * 7) % 3,
            x.sign(),
            (-x).exp(),
            x.logsumexp(1),
            x.var(1),
            x.std(0, unbiased=False),
            torch.linalg.vector_norm(x, 2, [1]),
            torch.maximum(x, -x),
            x.prod(1),
            torch.einsum("ij,kj->ik", x, x),
            torch.baddbmm(x[None], x[None, :, :4], x[None, :4]),
            x.mean((0, 1), keepdim=True),
            x,
        )


@case()
def math():
    return Math(), (image(5, 6) * 0.9 + 0.01,)


class Attn(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.n = nn.MultiheadAttention(24, 3, batch_first=True), nn.LayerNorm(24)

    def forward(s, x):
        y, _ = s.a(x, x, x, need_weights=False)
        return s.n(x + y)


@case(dynamic=BS)
def mha():
    return Attn(), (image(3, 7, 24),), (image(2, 5, 24),), (image(1, 7, 24),)


class Lin2(nn.Module):
    def __init__(s, n):
        super().__init__()
        s.l = nn.Linear(n, n)
        s.register_buffer("off", torch.randn(n))

    def forward(s, x):
        return torch.tanh(s.l(x) + s.off)


class Sub(nn.Module):
    def __init__(s, n=10, k=4):
        super().__init__()
        s.blocks = nn.ModuleList(Lin2(n) for _ in range(k))
        s.scale = 0.75

    def forward(s, x):
        for b in s.blocks:
            x = x + b(x) * s.scale
        return x


@case(dynamic=B)
def module_list():
    return Sub(), (image(3, 10),), (image(5, 10),), (image(1, 10),)


class Note(nn.Module):
    def __init__(s):
        super().__init__()
        s.linear, s.relu = nn.Linear(6, 6), nn.ReLU()

    def forward(s, x, h):
        if x.sum() > 0:
            y = x
        else:
            y = -x
        x1 = s.linear(y) + h
        return x1, s.relu(x1)


@case(dynamic=[{0: "batch"}, {0: "batch"}], forms=("scripted",))
def note_branch():
    return Note(), (image(3, 6), image(3, 6, seed=1)), (-image(5, 6).abs(), image(5, 6, seed=1))


class Pools(nn.Module):
    def forward(s, x):
        return (
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.avg_pool2d(x, 2, count_include_pad=False),
            F.adaptive_avg_pool2d(x, (4, 3)),
            F.adaptive_max_pool2d(x, 1),
            F.max_pool2d(x, 2, return_indices=True)[1],
            F.lp_pool2d(x, 2.0, 2),
        )


@case()
def pools():
    return Pools(), (image(2, 3, 12, 9),)


class Resize(nn.Module):
    def forward(s, x):
        return (
            F.interpolate(x, scale_factor=2.0),
            F.interpolate(x, size=(11, 9), mode="bilinear"),
            F.interpolate(x, size=(11, 9), mode="bilinear", align_corners=True),
            F.interpolate(x, scale_factor=1.5, mode="bicubic"),
            F.pad(x, (2, 1, 1, 0), mode="reflect"),
            F.pad(x, (1, 2), value=2.0),
            F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1).tanh(), align_corners=False),
            F.unfold(x, 2),
            F.pixel_unshuffle(x[:, :, :4, :4], 2),
        )


@case()
def resize_pad():
    return Resize(), (image(2, 3, 7, 6),)


class SR(nn.Module):
    def __init__(s, r=2):
        super().__init__()
        s.a, s.b, s.c, s.p = (
            nn.Conv2d(1, 24, 5, padding=2),
            nn.Conv2d(24, 16, 3, padding=1),
            nn.Conv2d(16, r * r, 3, padding=1),
            nn.PixelShuffle(r),
        )

    def forward(s, x):
        return s.p(s.c(F.relu(s.b(F.relu(s.a(x))))))


@case(dynamic=[{0: "batch", 2: "height", 3: "width"}])
def super_resolution():
    return SR(), (image(2, 1, 13, 17),), (image(3, 1, 20, 11),), (image(1, 1, 13, 17),)


class Enc(nn.Module):
    def __init__(s):
        super().__init__()
        s.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(24, 3, 40, batch_first=True), 2)

    def forward(s, x):
        return s.t(x)


@case()
def transformer_encoder():
    return Enc(), (image(3, 7, 24),)


class LoopFix(nn.Module):
    def __init__(s):
        super().__init__()
        s.w = nn.Parameter(torch.randn(5, 5) * 0.5)

    def forward(s, x):
        k = 0
        while bool(x.abs().max() > 0.05) and k < 20:
            x = torch.tanh(x @ s.w) * 0.8
            k += 1
        return x


@case(forms=("scripted",))
def while_loop():
    return LoopFix(), (image(3, 5),)
