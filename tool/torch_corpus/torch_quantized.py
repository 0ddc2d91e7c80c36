"""Quantized models of torch.ao.quantization: eager, FX and dynamic. `step` is what they are right to: a step of the
largest output, for PyTorch sums integers and rounds once."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.ao import quantization as tq
from torch.ao.quantization import quantize_fx

from torch_case import case, ids, image

TS = ("traced", "scripted")
B = [{0: "batch"}]


def eager(model, x, fuse=()):
    model = model.eval()
    model.qconfig = tq.get_default_qconfig("x86")
    if fuse:
        model = tq.fuse_modules(model, [list(f) for f in fuse])
    tq.prepare(model, inplace=True)
    model(x)
    return tq.convert(model, inplace=True)


class Between(nn.Module):
    def __init__(s, *layers):
        super().__init__()
        s.quant, s.layers, s.dequant = tq.QuantStub(), nn.Sequential(*layers), tq.DeQuantStub()

    def forward(s, x):
        return s.dequant(s.layers(s.quant(x)))


def layers(name, make, *shape, fuse=(), step=0.05):
    @case(name, forms=TS, dynamic=B, fill=False, step=step)
    def _():
        x = image(*shape)
        return eager(Between(*make()), x, fuse), (x,), (image(shape[0] + 1, *shape[1:]),)


FUSED = (("layers.0", "layers.1", "layers.2"),)
layers(
    "q_cnn",
    lambda: (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8),
             nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)),
    2, 3, 16, 16, fuse=FUSED,
)
layers("q_conv1d", lambda: (nn.Conv1d(4, 6, 3, stride=2), nn.BatchNorm1d(6), nn.ReLU()), 2, 4, 20, fuse=FUSED)
layers("q_conv3d", lambda: (nn.Conv3d(2, 4, 3, padding=1),), 2, 2, 6, 6, 6)
layers("q_reflect", lambda: (nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),), 2, 4, 8, 8)
layers("q_rows", lambda: (nn.Linear(6, 7), nn.ReLU(), nn.Linear(7, 3)), 2, 5, 6)
layers("q_norms", lambda: (nn.Conv2d(6, 6, 1), nn.BatchNorm2d(6), nn.GroupNorm(3, 6), nn.InstanceNorm2d(6)), 2, 6, 8, 8, step=0.2)
layers(
    "q_activations",
    lambda: (nn.Linear(10, 10), nn.Hardswish(), nn.ELU(), nn.LeakyReLU(0.2), nn.Linear(10, 10), nn.Sigmoid(), nn.Linear(10, 10),
             nn.Tanh(), nn.Linear(10, 6), nn.Hardsigmoid()),
    2, 10, step=0.03,
)


class Arithmetic(nn.Module):
    def __init__(s):
        super().__init__()
        s.quant, s.dequant = tq.QuantStub(), tq.DeQuantStub()
        s.a, s.b = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 6, 1)
        s.add, s.mul, s.cat, s.plus, s.times = (torch.ao.nn.quantized.FloatFunctional() for _ in range(5))

    def forward(s, x):
        a = s.a(s.quant(x))
        y = s.mul.mul(s.add.add_relu(a, s.b(a)), a)
        y = s.times.mul_scalar(s.plus.add_scalar(s.cat.cat([y, a], 1), 0.7), -1.5)
        y = F.avg_pool2d(F.interpolate(y, scale_factor=2.0), 3)
        return s.dequant(y), s.dequant(y.permute(0, 2, 3, 1)[:, 1:].clamp(-1.0, 2.0)), s.dequant(y.mean((2, 3)))


@case("q_arithmetic", forms=TS, dynamic=B, fill=False, step=0.15)
def _():
    x = image(2, 3, 9, 8)
    return eager(Arithmetic(), x), (x,), (image(3, 3, 9, 8),)


class Residual(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.bn, s.b = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1)
        s.l = nn.Linear(8, 4)

    def forward(s, x):
        x = F.relu(s.bn(s.a(x)))
        y = torch.cat([F.relu(s.b(x) + x), x], 1)[:, 4:12]
        y = F.adaptive_avg_pool2d(F.max_pool2d(y, 2), (1, 1)).flatten(1)
        return s.l(F.hardswish(y * torch.sigmoid(y)))


@case("q_fx", forms=TS, dynamic=B, fill=False, step=0.05)
def _():
    x = image(2, 3, 12, 12)
    model = quantize_fx.prepare_fx(Residual().eval(), tq.get_default_qconfig_mapping("x86"), (x,))
    model(x)
    return quantize_fx.convert_fx(model), (x,), (image(3, 3, 12, 12),)


def dynamic(name, make, *args, alt=None, step=1e-3, kinds=(nn.Linear,), **options):
    @case(name, forms=TS, fill=False, step=step, **options)
    def _():
        return (tq.quantize_dynamic(make().eval(), set(kinds)), args, *((alt,) if alt else ()))


class Recurrent(nn.Module):
    def __init__(s):
        super().__init__()
        s.lstm, s.gru = nn.LSTM(7, 6, 2, bidirectional=True, batch_first=True), nn.GRU(12, 5)

    def forward(s, x):
        y, (h, c) = s.lstm(x)
        return *s.gru(y), h, c


class Cells(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.b, s.c = nn.LSTMCell(7, 6), nn.GRUCell(6, 6), nn.RNNCell(6, 6)

    def forward(s, x):
        h = torch.zeros(x.size(0), 6)
        h, c = s.a(x, (h, h))
        h = s.b(h, h)
        return s.c(h, h), c


dynamic("q_dynamic", lambda: nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 5)), image(2, 7, 10))
dynamic("q_recurrent", Recurrent, image(5, 3, 7), step=0.02, kinds=(nn.LSTM, nn.GRU))
dynamic("q_cells", Cells, image(3, 7), step=0.02, kinds=(nn.LSTMCell, nn.GRUCell, nn.RNNCell))


class Tables(nn.Module):
    def __init__(s):
        super().__init__()
        s.one, s.bag, s.four = nn.Embedding(10, 8), nn.EmbeddingBag(12, 8, mode="sum"), nn.EmbeddingBag(12, 8, mode="sum")

    def forward(s, i, j, offsets):
        return s.one(i), s.bag(j, offsets), s.four(j, offsets)


@case("q_tables", forms=TS, fill=False)
def _():
    model = Tables().eval()
    model.one.qconfig = model.bag.qconfig = tq.float_qparams_weight_only_qconfig
    model.four.qconfig = tq.float_qparams_weight_only_qconfig_4bit
    model = tq.convert(tq.prepare(model))
    return model, (ids(2, 3, high=10), ids(6, high=12), torch.tensor([0, 2, 5]))
