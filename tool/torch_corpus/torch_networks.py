"""Networks that are of no library: recurrent ones, attention in all forms, pictures, tables, graphs."""

from typing import List
import torch, torchvision
from torch import nn
from torch.nn import functional as F
from torch_case import case, ids, image, one

B = [{0: "batch"}]
BS = [{0: "batch", 1: "seq"}]
TE = ("traced", "export")
S = ("scripted",)


# ── Recurrent ──────────────────────────────────────────────────────────────────────────────────────
def rnn(name, make, shape, alt, batch=0, dynamic=None, **o):
    class R(nn.Module):
        def __init__(s):
            super().__init__()
            s.r = make()

        def forward(s, x):
            return s.r(x)

    single = list(shape)
    single[batch] = 1
    one(
        name, R, image(*shape), alt=(image(*alt),), single=(image(*single),), dynamic=dynamic or [{batch: "batch"}], **o
    )


rnn("lstm_plain", lambda: nn.LSTM(5, 7), (6, 2, 5), (6, 3, 5), 1)
rnn("lstm_bi_2", lambda: nn.LSTM(5, 7, 2, bidirectional=True), (6, 2, 5), (6, 3, 5), 1)
rnn("lstm_nobias", lambda: nn.LSTM(5, 7, bias=False, batch_first=True), (2, 6, 5), (3, 6, 5))
rnn("lstm_proj", lambda: nn.LSTM(5, 8, proj_size=3, batch_first=True), (2, 6, 5), (3, 6, 5))
rnn("lstm_dropout", lambda: nn.LSTM(5, 7, 3, dropout=0.3, batch_first=True), (2, 6, 5), (3, 6, 5))
rnn("gru_plain", lambda: nn.GRU(5, 7, batch_first=True), (2, 6, 5), (3, 6, 5))
rnn("gru_bi_2", lambda: nn.GRU(5, 7, 2, bidirectional=True, batch_first=True), (2, 6, 5), (3, 6, 5))
rnn("rnn_tanh", lambda: nn.RNN(5, 7, 2, batch_first=True), (2, 6, 5), (3, 6, 5))
rnn("rnn_relu_bi", lambda: nn.RNN(5, 7, nonlinearity="relu", bidirectional=True), (6, 2, 5), (6, 3, 5), 1)
one("lstm_unbatched", lambda: nn.LSTM(5, 7), image(6, 5))


class LstmState(nn.Module):
    def __init__(s):
        super().__init__()
        s.r = nn.LSTM(5, 7, 2, batch_first=True)

    def forward(s, x, h, c):
        y, (hn, cn) = s.r(x, (h, c))
        return y, hn, cn


one(
    "lstm_state",
    LstmState,
    image(2, 6, 5),
    image(2, 2, 7),
    image(2, 2, 7, seed=1),
    alt=(image(3, 6, 5), image(2, 3, 7), image(2, 3, 7, seed=1)),
    dynamic=[{0: "batch"}, {1: "batch"}, {1: "batch"}],
)


class GruState(nn.Module):
    def __init__(s):
        super().__init__()
        s.r = nn.GRU(5, 7)

    def forward(s, x, h):
        return s.r(x, h)


one(
    "gru_state",
    GruState,
    image(4, 2, 5),
    image(1, 2, 7),
    alt=(image(4, 3, 5), image(1, 3, 7)),
    dynamic=[{1: "batch"}, {1: "batch"}],
)


class Packed(nn.Module):
    def __init__(s, kind=nn.LSTM):
        super().__init__()
        s.e = nn.Embedding(20, 6)
        s.r = kind(6, 7, batch_first=True, bidirectional=True)
        s.o = nn.Linear(14, 3)

    def forward(s, x, lengths):
        p = nn.utils.rnn.pack_padded_sequence(s.e(x), lengths, batch_first=True)
        y, _ = s.r(p)
        y, n = nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
        return s.o(y), n


one(
    "lstm_packed",
    Packed,
    ids(3, 6, high=20),
    torch.tensor([6, 4, 2]),
    alt=(ids(2, 6, high=20), torch.tensor([6, 3])),
    forms=("traced", "scripted"),
)
one(
    "gru_packed",
    lambda: Packed(nn.GRU),
    ids(3, 6, high=20),
    torch.tensor([6, 4, 2]),
    alt=(ids(2, 6, high=20), torch.tensor([6, 3])),
    forms=("traced", "scripted"),
)


class CellLoop(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.LSTMCell(5, 6)
        s.o = nn.Linear(6, 2)

    def forward(s, x):
        h = torch.zeros(x.shape[0], 6)
        c = torch.zeros(x.shape[0], 6)
        out: List[torch.Tensor] = []
        for i in range(x.shape[1]):
            h, c = s.c(x[:, i], (h, c))
            out.append(s.o(h))
        return torch.stack(out, 1)


one("lstm_cell_loop", CellLoop, image(2, 4, 5), alt=(image(3, 4, 5),), dynamic=B)


@case("lstm_cell_loop_seq", dynamic=BS, forms=S, note="the number of steps is dynamic: an ONNX Loop")
def _():
    return CellLoop(), (image(2, 4, 5),), (image(3, 7, 5),), (image(1, 4, 5),)


class GruCellLoop(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.GRUCell(5, 6)

    def forward(s, x):
        h = x.new_zeros((x.size(1), 6))
        for t in range(x.size(0)):
            h = s.c(x[t], h)
        return h


one("gru_cell_loop", GruCellLoop, image(4, 2, 5), alt=(image(4, 3, 5),), dynamic=[{1: "batch"}])


class Seq2Seq(nn.Module):
    """Greedy decoding: an argmax fed back, a fixed number of steps."""

    def __init__(s):
        super().__init__()
        s.e, s.enc, s.dec, s.o = (
            nn.Embedding(15, 8),
            nn.GRU(8, 10, batch_first=True),
            nn.GRUCell(8, 10),
            nn.Linear(10, 15),
        )

    def forward(s, x):
        _, h = s.enc(s.e(x))
        h = h[0]
        t = torch.zeros(x.size(0), dtype=torch.long)
        out: List[torch.Tensor] = []
        for i in range(5):
            h = s.dec(s.e(t), h)
            t = s.o(h).argmax(1)
            out.append(t)
        return torch.stack(out, 1), h


one("seq2seq_greedy", Seq2Seq, ids(2, 6, high=15), alt=(ids(3, 6, high=15),), dynamic=B)


# ── Attention ──────────────────────────────────────────────────────────────────────────────────────
class Mha(nn.Module):
    def __init__(s, **k):
        super().__init__()
        s.a = nn.MultiheadAttention(16, 4, **k)


class MhaMask(Mha):
    def forward(s, x, pad):
        m = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), 1)
        return s.a(x, x, x, key_padding_mask=pad, attn_mask=m, need_weights=True)


one(
    "mha_mask",
    lambda: MhaMask(batch_first=True),
    image(2, 5, 16),
    torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]).bool(),
    dynamic=None,
)


class MhaCross(Mha):
    def forward(s, q, k, v):
        return s.a(q, k, v)


one(
    "mha_cross",
    lambda: MhaCross(kdim=10, vdim=12),
    image(5, 2, 16),
    image(7, 2, 10),
    image(7, 2, 12),
    alt=(image(5, 3, 16), image(7, 3, 10), image(7, 3, 12)),
    dynamic=[{1: "batch"}, {1: "batch"}, {1: "batch"}],
)
one(
    "mha_bias_kv",
    lambda: MhaCross(add_bias_kv=True, add_zero_attn=True),
    image(5, 2, 16),
    image(7, 2, 16),
    image(7, 2, 16, seed=1),
)


class Sdpa(nn.Module):
    def forward(s, q, k, v, m):
        a = F.scaled_dot_product_attention(q, k, v)
        b = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        c = F.scaled_dot_product_attention(q, k, v, attn_mask=m)
        d = F.scaled_dot_product_attention(q, k, v, attn_mask=m.float() * 0.5, scale=0.3)
        return a, b, c, d


qkv = (image(2, 4, 6, 8), image(2, 4, 6, 8, seed=1), image(2, 4, 6, 8, seed=2))
tri = torch.ones(6, 6).tril().bool()
qkv3 = (image(3, 4, 9, 8), image(3, 4, 9, 8, seed=1), image(3, 4, 9, 8, seed=2), torch.ones(9, 9).tril().bool())
one("sdpa", Sdpa, *qkv, tri, alt=qkv3, dynamic=[{0: "batch", 2: "seq"}] * 3 + [{0: "seq", 1: "seq"}])


class SdpaGqa(nn.Module):
    def forward(s, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True, is_causal=True)


one(
    "sdpa_gqa",
    SdpaGqa,
    image(2, 6, 5, 8),
    image(2, 2, 5, 8),
    image(2, 2, 5, 8, seed=1),
    alt=(image(3, 6, 7, 8), image(3, 2, 7, 8), image(3, 2, 7, 8, seed=1)),
    dynamic=[{0: "batch", 2: "seq"}] * 3,
)


class FullT(nn.Module):
    def __init__(s, **k):
        super().__init__()
        s.t = nn.Transformer(16, 4, 1, 2, 24, batch_first=True, **k)

    def forward(s, a, b):
        return s.t(a, b, tgt_mask=nn.Transformer.generate_square_subsequent_mask(b.shape[1]))


one(
    "nn_transformer",
    FullT,
    image(2, 6, 16),
    image(2, 4, 16),
    alt=(image(3, 6, 16), image(3, 4, 16)),
    dynamic=[{0: "batch"}] * 2,
    cost=3,
)
one(
    "nn_transformer_prenorm",
    lambda: FullT(norm_first=True, activation="gelu"),
    image(2, 6, 16),
    image(2, 4, 16),
    alt=(image(3, 6, 16), image(3, 4, 16)),
    dynamic=[{0: "batch"}] * 2,
    cost=3,
)


class FullCausal(FullT):
    def forward(s, a, b):
        m = nn.Transformer.generate_square_subsequent_mask(b.shape[1])
        return s.t(a, b, tgt_mask=m, tgt_is_causal=False)


one(
    "nn_transformer_mask",
    FullCausal,
    image(2, 6, 16),
    image(2, 4, 16),
    alt=(image(3, 6, 16), image(3, 4, 16)),
    dynamic=[{0: "batch"}] * 2,
    cost=3,
)
one(
    "decomposed_attention",
    FullCausal,
    image(2, 6, 16),
    image(2, 4, 16),
    alt=(image(3, 6, 16), image(3, 4, 16)),
    dynamic=[{0: "batch"}] * 2,
    forms=("export",),
    decompose=True,
)


class EncPad(nn.Module):
    def __init__(s):
        super().__init__()
        s.t = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 4, 24, activation="gelu", batch_first=True), 2, enable_nested_tensor=False
        )

    def forward(s, x, pad):
        return s.t(x, src_key_padding_mask=pad)


pad2 = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()
one("encoder_padding", EncPad, image(2, 5, 16), pad2, cost=2)


class RelPos(nn.Module):
    """T5's buckets of relative positions."""

    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(8, 2)
        s.q = nn.Linear(12, 12)

    def forward(s, x):
        n = x.shape[1]
        r = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        side = (r > 0).long() * 4
        a = r.abs()
        large = 2 + (torch.log(a.float() / 2 + 1e-6) / 2.0 * 2).long()
        b = side + torch.where(a < 2, a, torch.clamp(large, max=3))
        bias = s.e(b).permute(2, 0, 1).unsqueeze(0)
        h = s.q(x).view(x.shape[0], n, 2, 6).transpose(1, 2)
        return ((h @ h.transpose(-1, -2) + bias).softmax(-1) @ h).transpose(1, 2).reshape(x.shape[0], n, 12)


one("relative_positions", RelPos, image(2, 6, 12), alt=(image(3, 9, 12),), dynamic=BS)


class Rope(nn.Module):
    def forward(s, x):
        b, h, n, d = x.shape
        inv = 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d))
        f = torch.outer(torch.arange(n).float(), inv)
        c = torch.polar(torch.ones_like(f), f)
        z = torch.view_as_complex(x.float().reshape(b, h, n, d // 2, 2))
        return torch.view_as_real(z * c).flatten(3).type_as(x)


one("rope_complex", Rope, image(2, 3, 6, 8), alt=(image(3, 3, 9, 8),), dynamic=[{0: "batch", 2: "seq"}])


class RopeReal(nn.Module):
    def forward(s, x):
        d = x.shape[-1]
        t = torch.arange(x.shape[2], dtype=torch.float32)
        inv = 1.0 / (10000.0 ** (torch.arange(0, d, 2, dtype=torch.float32) / d))
        f = torch.einsum("i,j->ij", t, inv)
        e = torch.cat((f, f), -1)
        a, b = x.chunk(2, -1)
        return x * e.cos() + torch.cat((-b, a), -1) * e.sin()


one("rope_real", RopeReal, image(2, 3, 6, 8), alt=(image(3, 3, 9, 8),), dynamic=[{0: "batch", 2: "seq"}])


class Einsums(nn.Module):
    def forward(s, x, y):
        return (
            torch.einsum("bid,bjd->bij", x, y),
            torch.einsum("bhd,hd->bh", x, y[0, :4]),
            torch.einsum("...d,...d->...", x, x),
            torch.einsum("bid->bdi", x),
            torch.einsum("bii->bi", x[:, :4, :4]),
            torch.einsum("bid,bjd,bjk->bik", x, y, y),
            torch.einsum("bid->", x),
            torch.einsum("i,j->ij", x[0, 0], y[0, 0]),
        )


one(
    "einsums", Einsums, image(2, 4, 5), image(2, 6, 5), alt=(image(3, 4, 5), image(3, 6, 5)), dynamic=[{0: "batch"}] * 2
)


# ── Pictures ───────────────────────────────────────────────────────────────────────────────────────
class UNet(nn.Module):
    def __init__(s, up="t"):
        super().__init__()

        def block(a, b):
            return nn.Sequential(
                nn.Conv2d(a, b, 3, padding=1),
                nn.GroupNorm(4, b),
                nn.SiLU(),
                nn.Conv2d(b, b, 3, padding=1),
                nn.InstanceNorm2d(b, affine=True),
                nn.LeakyReLU(0.1),
            )

        s.a, s.b, s.c = block(3, 8), block(8, 16), block(16, 16)
        s.p = nn.MaxPool2d(2)
        s.u1 = nn.ConvTranspose2d(16, 16, 2, 2)
        s.u2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        s.d1, s.d2 = block(32, 8), block(16, 8)
        s.o = nn.Conv2d(8, 2, 1)

    def forward(s, x):
        a = s.a(x)
        b = s.b(s.p(a))
        c = s.c(s.p(b))
        y = s.d1(torch.cat([s.u1(c), b], 1))
        y = s.d2(torch.cat([s.u2(y), a], 1))
        return torch.sigmoid(s.o(y))


one(
    "unet",
    UNet,
    image(2, 3, 16, 24),
    alt=(image(3, 3, 24, 16),),
    single=(image(1, 3, 16, 24),),
    dynamic=[{0: "batch", 2: "height", 3: "width"}],
)


class UNetSize(UNet):
    """Resized to the size of the skip connection, whatever it is."""

    def forward(s, x):
        a = s.a(x)
        b = s.b(s.p(a))
        c = s.c(s.p(b))
        y = s.d1(torch.cat([F.interpolate(c, size=b.shape[-2:], mode="nearest"), b], 1))
        y = s.d2(torch.cat([F.interpolate(y, size=a.shape[2:], mode="bilinear", align_corners=False), a], 1))
        return s.o(y)


one(
    "unet_odd_sizes",
    UNetSize,
    image(2, 3, 15, 21),
    alt=(image(3, 3, 19, 14),),
    single=(image(1, 3, 15, 21),),
    dynamic=[{0: "batch", 2: "height", 3: "width"}],
)


class Espcn(nn.Module):
    def __init__(s):
        super().__init__()
        s.m = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2),
            nn.Tanh(),
            nn.Conv2d(16, 8, 3, padding=1),
            nn.Tanh(),
            nn.Conv2d(8, 9, 3, padding=1),
            nn.PixelShuffle(3),
        )

    def forward(s, x):
        return torch.clamp(s.m(x) + F.interpolate(x, scale_factor=3.0, mode="bicubic", align_corners=False), 0, 1)


one("espcn", Espcn, image(2, 1, 8, 10), alt=(image(3, 1, 11, 9),), dynamic=[{0: "batch", 2: "height", 3: "width"}])


class Auto(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1),
            nn.PReLU(8),
            nn.Conv2d(8, 16, 3, 2, 1),
            nn.ELU(),
            nn.Flatten(),
            nn.Linear(16 * 16, 6),
        )
        s.d = nn.Sequential(
            nn.Linear(6, 256),
            nn.Unflatten(1, (16, 4, 4)),
            nn.ConvTranspose2d(16, 8, 3, 2, 1, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
            nn.Sigmoid(),
        )

    def forward(s, x):
        z = s.e(x)
        return s.d(z), z


one("autoencoder", Auto, image(2, 1, 16, 16), alt=(image(3, 1, 16, 16),), single=(image(1, 1, 16, 16),), dynamic=B)


class Gan(nn.Module):
    def __init__(s):
        super().__init__()
        s.m = nn.Sequential(
            nn.ConvTranspose2d(12, 16, 4, 1, 0, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(True),
            nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(s, z):
        return s.m(z[:, :, None, None])


one("gan_generator", Gan, image(2, 12), alt=(image(3, 12),), single=(image(1, 12),), dynamic=B)


class Yolo(nn.Module):
    """Grids and anchors, boxes of all levels in one."""

    def __init__(s):
        super().__init__()
        s.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.BatchNorm2d(8), nn.SiLU(inplace=True))
        s.down = nn.Sequential(nn.Conv2d(8, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.SiLU(inplace=True))
        s.h = nn.ModuleList(nn.Conv2d(8, 3 * 7, 1) for _ in range(2))
        s.register_buffer(
            "anchor_grid", torch.tensor([[[10.0, 13], [16, 30], [33, 23]], [[30, 61], [62, 45], [59, 119]]])
        )
        s.stride = [4, 8]

    def forward(s, x):
        a = s.stem(x)
        out = []
        for i, f in enumerate((a, s.down(a))):
            y = s.h[i](f)
            b, _, h, w = y.shape
            y = y.view(b, 3, 7, h, w).permute(0, 1, 3, 4, 2).contiguous()
            gy, gx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            g = torch.stack((gx, gy), 2).view(1, 1, h, w, 2).float()
            y = y.sigmoid()
            y[..., 0:2] = (y[..., 0:2] * 2.0 - 0.5 + g) * s.stride[i]
            y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * s.anchor_grid[i].view(1, 3, 1, 1, 2)
            out.append(y.view(b, -1, 7))
        return torch.cat(out, 1)


one(
    "yolo_head",
    Yolo,
    image(2, 3, 32, 48),
    alt=(image(3, 3, 48, 32),),
    single=(image(1, 3, 32, 48),),
    dynamic=[{0: "batch", 2: "height", 3: "width"}],
    forms=TE,
)


class Yolo8(nn.Module):
    """Distribution focal loss: softmax over bins, a fixed convolution."""

    def __init__(s):
        super().__init__()
        s.c = nn.Conv2d(3, 4 * 8 + 5, 3, 8, 1)
        s.dfl = nn.Conv2d(8, 1, 1, bias=False)

    def forward(s, x):
        y = s.c(x)
        b, _, h, w = y.shape
        box, cls = y.view(b, 37, -1).split((32, 5), 1)
        d = s.dfl(box.view(b, 4, 8, -1).transpose(2, 1).softmax(1)).view(b, 4, -1)
        lt, rb = d.chunk(2, 1)
        sy, sx = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        p = torch.stack((sx, sy), -1).view(-1, 2).t().unsqueeze(0)
        x1, x2 = p - lt, p + rb
        return torch.cat((torch.cat(((x1 + x2) / 2, x2 - x1), 1) * 8, cls.sigmoid()), 1)


one(
    "yolo8_head",
    Yolo8,
    image(2, 3, 32, 48),
    alt=(image(3, 3, 48, 40),),
    single=(image(1, 3, 32, 48),),
    dynamic=[{0: "batch", 2: "height", 3: "width"}],
)


class Stn(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(1 * 8 * 8, 6)

    def forward(s, x):
        t = s.l(x.flatten(1)).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        g = F.affine_grid(t, x.size(), align_corners=False)
        return F.grid_sample(x, g, align_corners=False)


one("spatial_transformer", Stn, image(2, 1, 8, 8), alt=(image(3, 1, 8, 8),), single=(image(1, 1, 8, 8),), dynamic=B)


class Deform(nn.Module):
    def __init__(s):
        super().__init__()
        s.o = nn.Conv2d(3, 18, 3, padding=1)
        s.d = torchvision.ops.DeformConv2d(3, 5, 3, padding=1)

    def forward(s, x):
        return s.d(x, s.o(x) * 0.2)


one("deform_conv", Deform, image(2, 3, 7, 8), alt=(image(3, 3, 7, 8),), dynamic=B)


class Diffusion(nn.Module):
    """A block of a diffusion network: the embedding of a time, self and cross attention, up and down."""

    def __init__(s):
        super().__init__()
        s.i = nn.Conv2d(4, 16, 3, padding=1)
        s.t = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
        s.n, s.c = nn.GroupNorm(4, 16, eps=1e-6), nn.Conv2d(16, 16, 3, padding=1)
        s.ln, s.q, s.kv, s.p = (
            nn.LayerNorm(16),
            nn.Linear(16, 16, bias=False),
            nn.Linear(10, 32, bias=False),
            nn.Linear(16, 16),
        )
        s.ff = nn.Linear(16, 64)
        s.fo = nn.Linear(32, 16)
        s.down, s.up, s.o = nn.Conv2d(16, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(32, 4, 3, padding=1)

    def forward(s, x, t, ctx):
        half = 8
        f = torch.exp(-torch.arange(half, dtype=torch.float32) * 9.21 / half)
        e = t[:, None].float() * f[None, :]
        e = s.t(torch.cat([torch.cos(e), torch.sin(e)], -1))
        h0 = s.i(x)
        h = s.c(F.silu(s.n(h0))) + e[:, :, None, None]
        h = s.down(h)
        b, c, hh, ww = h.shape
        y = h.permute(0, 2, 3, 1).reshape(b, hh * ww, c)
        q = s.q(s.ln(y)).view(b, -1, 2, 8).transpose(1, 2)
        k, v = s.kv(ctx).chunk(2, -1)
        k = k.view(b, -1, 2, 8).transpose(1, 2)
        v = v.view(b, -1, 2, 8).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, -1, c)
        y = y + s.p(a)
        u, g = s.ff(y).chunk(2, -1)
        y = y + s.fo(u * F.gelu(g))
        h = y.reshape(b, hh, ww, c).permute(0, 3, 1, 2)
        h = s.up(F.interpolate(h, scale_factor=2.0, mode="nearest"))
        return s.o(torch.cat([h, h0], 1))


one(
    "diffusion_block",
    Diffusion,
    image(2, 4, 8, 8),
    torch.tensor([3, 500]),
    image(2, 5, 10),
    alt=(image(3, 4, 12, 8), torch.tensor([1, 2, 999]), image(3, 5, 10)),
    dynamic=[{0: "batch", 2: "height", 3: "width"}, {0: "batch"}, {0: "batch"}],
)


# ── Tables, recommenders ───────────────────────────────────────────────────────────────────────────
class Bag(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.b, s.c = (
            nn.EmbeddingBag(20, 6, mode="sum"),
            nn.EmbeddingBag(20, 6, mode="mean"),
            nn.EmbeddingBag(20, 6, mode="max"),
        )

    def forward(s, x):
        return s.a(x), s.b(x), s.c(x)


one("embedding_bag_2d", Bag, ids(3, 4, high=20), alt=(ids(2, 4, high=20),), dynamic=B)


class BagOff(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.b = nn.EmbeddingBag(20, 6, mode="sum"), nn.EmbeddingBag(20, 6, mode="mean")
        s.l = nn.Linear(12, 3)

    def forward(s, x, o):
        return s.l(torch.cat((s.a(x, o), s.b(x, o)), 1))


one("embedding_bag_offsets", BagOff, ids(9, high=20), torch.tensor([0, 2, 5]))


class Dlrm(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.ModuleList(nn.Embedding(n, 8) for n in (10, 20, 30))
        s.b = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        s.t = nn.Sequential(nn.Linear(8 + 6, 8), nn.ReLU(), nn.Linear(8, 1))
        i, j = torch.tril_indices(4, 4, -1)
        s.register_buffer("i", i)
        s.register_buffer("j", j)

    def forward(s, x, c):
        d = s.b(x)
        f = torch.stack([d] + [e(c[:, k]) for k, e in enumerate(s.e)], 1)
        z = torch.bmm(f, f.transpose(1, 2))[:, s.i, s.j]
        return torch.sigmoid(s.t(torch.cat((d, z), 1))).squeeze(1)


one(
    "dlrm",
    Dlrm,
    image(2, 5),
    ids(2, 3, high=10),
    alt=(image(4, 5), ids(4, 3, high=10)),
    dynamic=[{0: "batch"}] * 2,
    single=(image(1, 5), ids(1, 3, high=10)),
)


class Graph(nn.Module):
    """Message passing: index_add, scatter_reduce, softmax over edges."""

    def __init__(s):
        super().__init__()
        s.l, s.m, s.a = nn.Linear(6, 8), nn.Linear(8, 4), nn.Linear(16, 1)

    def forward(s, x, e):
        h = s.l(x)
        src, dst = e[0], e[1]
        w = F.leaky_relu(s.a(torch.cat((h[src], h[dst]), 1)))
        w = torch.exp(w - w.max())
        z = torch.zeros(x.shape[0], 1).scatter_add(0, dst[:, None], w)
        m = torch.zeros_like(h).index_add(0, dst, h[src] * w / (z[dst] + 1e-9))
        top = torch.full_like(h, -10.0).scatter_reduce(0, dst[:, None].expand(-1, 8), h[src], "amax")
        return s.m(F.elu(m)), top


one(
    "graph_attention",
    Graph,
    image(5, 6),
    ids(2, 9, high=5),
    alt=(image(7, 6), ids(2, 12, high=7)),
    dynamic=[{0: "nodes"}, {1: "edges"}],
)


class Moe(nn.Module):
    """Experts chosen by topk, all computed, weighted."""

    def __init__(s):
        super().__init__()
        s.g = nn.Linear(8, 4, bias=False)
        s.w = nn.Parameter(torch.randn(4, 8, 12) * 0.3)
        s.v = nn.Parameter(torch.randn(4, 12, 8) * 0.3)

    def forward(s, x):
        p, k = torch.topk(s.g(x).softmax(-1), 2, -1)
        p = p / p.sum(-1, keepdim=True)
        h = F.silu(torch.einsum("bd,edh->beh", x, s.w))
        y = torch.einsum("beh,ehd->bed", h, s.v)
        return (y.gather(1, k[..., None].expand(-1, -1, 8)) * p[..., None]).sum(1)


one("mixture_of_experts", Moe, image(3, 8), alt=(image(5, 8),), dynamic=B, single=(image(1, 8),))


class TCN(nn.Module):
    """Causal dilated convolutions, padded and cut."""

    def __init__(s):
        super().__init__()
        s.c = nn.ModuleList(nn.Conv1d(6, 6, 3, dilation=2**i, padding=2 ** (i + 1)) for i in range(3))

    def forward(s, x):
        for i, c in enumerate(s.c):
            x = x + F.relu(c(x)[:, :, : -(2 ** (i + 1))])
        return x


one("tcn", TCN, image(2, 6, 12), alt=(image(3, 6, 17),), dynamic=[{0: "batch", 2: "time"}])


class NBeats(nn.Module):
    def __init__(s):
        super().__init__()
        s.b = nn.ModuleList(nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 14)) for _ in range(3))

    def forward(s, x):
        f = torch.zeros(x.size(0), 4)
        for b in s.b:
            back, fore = torch.split(b(x), [10, 4], 1)
            x = x - back
            f += fore
        return f


one("nbeats", NBeats, image(2, 10), alt=(image(3, 10),), single=(image(1, 10),), dynamic=B)
