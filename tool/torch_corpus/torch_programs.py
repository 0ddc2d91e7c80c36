"""Control flow, mutation and views, types, modes, dialects, dimensions: what networks do not show."""

from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple
import torch, torchvision
from torch import nn
from torch.nn import functional as F
from torch_case import case, ids, image, one
from torch_networks import CellLoop, UNet, Yolo

B = [{0: "batch"}]
BS = [{0: "batch", 1: "seq"}]
TE = ("traced", "export")
S = ("scripted",)


# ── Control flow, scripted ─────────────────────────────────────────────────────────────────────────
class IfTensor(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(s, x):
        if bool(x.mean() > 0):
            y = s.a(x)
            k = 1
        elif bool(x.max() > 0.5):
            y = s.b(x).relu()
            k = 2
        else:
            y = -x
            k = 3
        return y, y * k


one("if_elif_else", IfTensor, image(3, 4).abs(), alt=(-image(5, 4).abs() + 0.6,), dynamic=B, forms=S)
one("if_elif_else_3", IfTensor, -image(3, 4).abs() - 1, alt=(image(5, 4).abs(),), dynamic=B, forms=S)


class EarlyReturn(nn.Module):
    def forward(s, x):
        if bool(x.sum() > 0):
            return x.relu()
        y = x * 2
        if bool(y.min() < -3):
            return y.abs()
        return y + 1


one("early_return", EarlyReturn, image(3, 4) - 1, alt=(image(3, 4).abs(),), forms=S)


class ForBreak(nn.Module):
    def forward(s, x):
        k = 0
        for i in range(10):
            x = x * 0.5
            k += 1
            if bool(x.abs().max() < 0.2):
                break
        return x, torch.tensor(k)


one("for_break", ForBreak, image(3, 4), alt=(image(3, 4) * 0.1,), forms=S)


class ForContinue(nn.Module):
    def forward(s, x):
        y = torch.zeros_like(x)
        for i in range(6):
            if i % 2 == 0:
                continue
            y = y + x * i
        return y


one("for_continue", ForContinue, image(3, 4), alt=(image(5, 4),), dynamic=B, forms=S)


class ForRows(nn.Module):
    """As many steps as the input has rows."""

    def forward(s, x):
        a = torch.zeros(x.size(1))
        out: List[torch.Tensor] = []
        for i in range(x.size(0)):
            a = a * 0.5 + x[i]
            out.append(a)
        return torch.stack(out)


one("for_rows", ForRows, image(4, 3), alt=(image(7, 3),), single=(image(1, 3),), dynamic=[{0: "time"}], forms=S)


class ForTensor(nn.Module):
    """As many steps as an input says."""

    def forward(s, x, n):
        k = int(n.item())
        for i in range(k):
            x = torch.tanh(x) + i
        return x


one("for_tensor_count", ForTensor, image(3, 4), torch.tensor(3), alt=(image(3, 4), torch.tensor(5)), forms=S)


class WhileState(nn.Module):
    """Newton's method: several carried values."""

    def forward(s, x):
        y = x / 2 + 0.5
        n = 0
        while n < 30 and bool((y * y - x).abs().max() > 1e-4):
            y = 0.5 * (y + x / y)
            n += 1
        return y, n


one("while_newton", WhileState, image(3, 4).abs() + 0.1, alt=(image(5, 4).abs() * 50 + 0.1,), dynamic=B, forms=S)


class Nested(nn.Module):
    def forward(s, x):
        t = torch.zeros(1)
        for i in range(x.size(0)):
            j = 0
            while j < 4:
                if bool(x[i, j] > 0):
                    t = t + x[i, j]
                else:
                    t = t - 0.5
                j += 1
        return t


one("nested_loops", Nested, image(3, 4), alt=(image(5, 4),), dynamic=[{0: "rows"}], forms=S)


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


torch.utils._pytree._register_namedtuple(Point, serialized_type_name="Point")


class Tuples(nn.Module):
    def forward(s, a: Tuple[torch.Tensor, torch.Tensor]):
        return Point(a[0] + a[1], a[0] - a[1])


one("namedtuple_output", Tuples, (image(2, 3), image(2, 3, seed=1)), forms=("scripted", "export"))


class Dicts(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 4)

    def forward(s, d: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        h = s.l(d["x"])
        out = {"logits": h, "prob": h.softmax(-1)}
        if "bias" in d:
            out["biased"] = h + d["bias"]
        return out


one("dict_io", Dicts, {"x": image(2, 3), "bias": image(4)}, forms=("traced", "scripted", "export"))


class Opt(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 3)

    def forward(s, x, y: Optional[torch.Tensor] = None, scale: float = 2.0, names: Optional[List[int]] = None):
        z = s.l(x) * scale
        if y is not None:
            z = z + y
        if names is not None:
            z = z * names[0]
        return z


one("optional_absent", Opt, image(2, 3), alt=(image(4, 3),), dynamic=B)
one(
    "optional_given",
    Opt,
    image(2, 3),
    image(2, 3, seed=1),
    alt=(image(4, 3), image(4, 3, seed=1)),
    dynamic=[{0: "batch"}] * 2,
)


class Kind(Enum):
    ADD = 1
    MUL = 2


class Enums(nn.Module):
    def __init__(s, k: Kind):
        super().__init__()
        s.k = k

    def forward(s, x):
        if s.k == Kind.ADD:
            return x + s.k.value
        else:
            return x * 3


one("enum_attribute", lambda: Enums(Kind.ADD), image(2, 3), forms=S)


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start
        self.items: List[int] = []

    def step(self, k: int) -> int:
        self.n += k
        self.items.append(self.n)
        return self.n


class Objects(nn.Module):
    def forward(s, x):
        c = Counter(1)
        for i in range(4):
            x = x + c.step(i)
        return x * len(c.items)


one("script_class", Objects, image(2, 3), forms=S)


class Strings(nn.Module):
    def __init__(s):
        super().__init__()
        s.mode = "relu"
        s.table: Dict[str, int] = {"a": 2, "b": 3}

    def forward(s, x):
        if s.mode == "relu" and s.mode.startswith("re"):
            x = x.relu()
        elif s.mode in ["tanh"]:
            x = x.tanh()
        t = 0
        for k, v in s.table.items():
            t += v * len(k)
        assert x.dim() == 2, f"two dimensions, not {x.dim()}"
        return x * t


one("strings_and_dicts", Strings, image(2, 3), forms=S)


class Lists(nn.Module):
    def forward(s, x):
        parts = [x, x * 2]
        parts.append(x - 1)
        parts.insert(0, x.abs())
        last = parts.pop()
        n = [p.size(0) for p in parts]
        parts.reverse()
        sizes = sorted([3, 1, 2])
        y = torch.cat(parts[:2] + [last], 0)
        return y * sum(n) + float(sizes[0]) + max(sizes), [i * 2 for i in range(3)][-1]


one("python_lists", Lists, image(2, 3), forms=S)


class Container(nn.Module):
    def __init__(s):
        super().__init__()
        s.d = nn.ModuleDict({"lin": nn.Linear(3, 3), "act": nn.GELU()})
        s.p = nn.ParameterList([nn.Parameter(torch.randn(3)) for _ in range(2)])
        s.q = nn.Sequential()
        s.i = nn.Identity()

    def forward(s, x):
        for k, m in s.d.items():
            x = m(x)
        return s.q(s.i(x)) * s.p[0] + s.p[1]


one("containers", Container, image(2, 3), alt=(image(4, 3),), dynamic=B)


class Fork(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(s, x):
        f = torch.jit.fork(s.a, x)
        y = s.b(x)
        return torch.jit.wait(f) + y


one("fork_wait", Fork, image(2, 3), forms=("traced", "scripted"))


class Checked(nn.Module):
    def forward(s, x):
        with torch.no_grad():
            y = x.detach() * 2
        if x.size(1) != 3:
            raise ValueError("three columns")
        return y


one("no_grad_and_raise", Checked, image(2, 3))


# ── Control flow, exported ─────────────────────────────────────────────────────────────────────────
class Cond(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 3)

    def forward(s, x):
        return torch.cond(x.sum() > 0, lambda x: s.l(x).relu(), lambda x: -x * 2, (x,))


one("cond", Cond, image(2, 3).abs(), alt=(-image(4, 3).abs(),), dynamic=B, forms=("export",))


class CondNest(nn.Module):
    def forward(s, x, y):
        def inner(x, y):
            return torch.cond(y.max() > 1, lambda a, b: (a + b, a * b), lambda a, b: (a - b, a / 2), (x, y))

        return torch.cond(x.sum() > 0, inner, lambda x, y: (x * 0.5, y * 3), (x, y))


one(
    "cond_nested",
    CondNest,
    image(2, 3).abs(),
    image(2, 3, seed=1),
    alt=(-image(2, 3).abs(), image(2, 3, seed=1)),
    forms=("export",),
)


class WhileE(nn.Module):
    def __init__(s):
        super().__init__()
        s.w = nn.Parameter(torch.randn(3, 3) * 0.4)

    def forward(s, x):
        from torch._higher_order_ops.while_loop import while_loop

        def c(i, y):
            return (y.abs().max() > 0.05) & (i < 20)

        def b(i, y):
            return i + 1, torch.tanh(y @ s.w)

        return while_loop(c, b, (torch.tensor(0), x))


one("while_loop_export", WhileE, image(2, 3), alt=(image(2, 3, seed=5) * 3,), forms=("export",))


class ScanE(nn.Module):
    def forward(s, x):
        from torch._higher_order_ops.scan import scan

        def step(c, v):
            n = c * 0.5 + v
            return n, n.relu()

        return scan(step, torch.zeros(3), x, dim=0)


one("scan_export", ScanE, image(5, 3), forms=("export",))


class MapE(nn.Module):
    def forward(s, x, y):
        from torch._higher_order_ops.map import map as tmap

        return tmap(lambda v, w: v.sin() * w, x, y)


one("map_export", MapE, image(4, 3), image(3), forms=("export",))


class Ep(nn.Module):
    """Symbols that depend on data: nonzero, masked select."""

    def forward(s, x):
        i = x.nonzero()
        return i, x[x > 0], i.shape[0] * torch.ones(2)


one("data_dependent", Ep, image(3, 4), alt=(image(3, 4, seed=9),))


# ── Mutation, views, buffers ───────────────────────────────────────────────────────────────────────
class InPlace(nn.Module):
    def forward(s, x):
        y = x.clone()
        y[:, 0] = 1.0
        y[1:, 1:3] += x[1:, 1:3]
        y[..., -1].mul_(2)
        z = y.view(-1)
        z[::3] = -1.0
        t = y.t()
        t[0] = t[1]
        y[y > 2] = 2.0
        w = torch.zeros_like(x)
        w[torch.tensor([0, 2]), torch.tensor([1, 3])] = torch.tensor([5.0, 6.0])
        w.index_put_((torch.tensor([1]),), x[0:1], accumulate=True)
        w.diagonal().fill_(7.0)
        u = x.clone()
        u.transpose(0, 1)[1].add_(1)
        u.masked_fill_(u < -1, 0)
        u.clamp_(-1, 1).sub_(0.1)
        return y, z, w, u


one("inplace_views", InPlace, image(4, 5))


class InPlaceDyn(nn.Module):
    def forward(s, x):
        y = torch.zeros(x.shape[0], x.shape[1] + 2)
        y[:, 1:-1] = x
        y[:, 0] = x[:, -1]
        y[-1] = 0.5
        return y


one("inplace_dynamic", InPlaceDyn, image(4, 5), alt=(image(6, 7),), dynamic=BS)


class Stateful(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 3)
        s.register_buffer("count", torch.zeros((), dtype=torch.int64))
        s.register_buffer("mean", torch.randn(3))

    def forward(s, x):
        s.count += 1
        s.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        return s.l(x) - s.mean


@case(
    "buffer_mutation",
    state=True,
    fill=True,
    forms=("export",),
    note="the buffers are written; the outputs are those of the first call",
)
def _():
    return Stateful(), (image(2, 3),)


class KvCache(nn.Module):
    """A cache in a buffer, written at a position."""

    def __init__(s):
        super().__init__()
        s.l = nn.Linear(4, 4)
        s.register_buffer("cache", torch.zeros(1, 6, 4))

    def forward(s, x, pos):
        c = s.cache.clone()
        c[:, pos] = s.l(x)
        return c, c.sum(1)


one("cache_clone", KvCache, image(1, 1, 4), torch.tensor([2]), alt=(image(1, 1, 4), torch.tensor([4])))


class Tied(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(15, 8)
        s.l = nn.Linear(8, 15, bias=False)
        s.l.weight = s.e.weight
        s.h = nn.Linear(8, 8)
        s.g = s.h

    def forward(s, x):
        return s.l(s.g(s.h(s.e(x)).relu()))


one("tied_weights", Tied, ids(2, 5, high=15), alt=(ids(3, 7, high=15),), dynamic=BS)


class ViewsOfOne(nn.Module):
    """Several parameters that are views of one storage, and strided buffers."""

    def __init__(s):
        super().__init__()
        base = torch.randn(6, 8)
        s.register_buffer("a", base[:3])
        s.register_buffer("b", base[3:])
        s.register_buffer("c", base.t())
        s.register_buffer("n", torch.arange(5), persistent=False)

    def forward(s, x):
        return x @ s.a.t(), x @ s.b.t(), x @ s.c, s.n + x[0, :5]


one("views_of_one_storage", ViewsOfOne, image(2, 8))


class Norms(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.b, s.c = nn.BatchNorm1d(6), nn.BatchNorm1d(6, affine=False), nn.GroupNorm(3, 6)
        s.d, s.e, s.f = nn.LayerNorm([6, 5]), nn.InstanceNorm1d(6), nn.RMSNorm(5)
        s.g, s.h = nn.LocalResponseNorm(3), nn.BatchNorm1d(6, track_running_stats=False)
        s.i, s.j = nn.LayerNorm(5, elementwise_affine=False), nn.InstanceNorm1d(
            6, affine=True, track_running_stats=True
        )

    def forward(s, x):
        return s.a(x), s.b(x), s.c(x), s.d(x), s.e(x), s.f(x), s.g(x), s.h(x), s.i(x), s.j(x)


one("norms", Norms, image(3, 6, 5), alt=(image(2, 6, 5),), dynamic=B)


class Acts(nn.Module):
    def __init__(s):
        super().__init__()
        s.m = nn.ModuleList(
            [
                nn.CELU(),
                nn.ELU(0.5),
                nn.GELU(),
                nn.GELU("tanh"),
                nn.GLU(),
                nn.Hardshrink(),
                nn.Hardsigmoid(),
                nn.Hardswish(),
                nn.Hardtanh(-2.0, 1.0),
                nn.LeakyReLU(),
                nn.LogSigmoid(),
                nn.LogSoftmax(1),
                nn.Mish(),
                nn.PReLU(),
                nn.ReLU(),
                nn.ReLU6(),
                nn.RReLU(),
                nn.SELU(),
                nn.SiLU(),
                nn.Sigmoid(),
                nn.Softmax(1),
                nn.Softmin(1),
                nn.Softplus(2),
                nn.Softshrink(),
                nn.Softsign(),
                nn.Tanh(),
                nn.Tanhshrink(),
                nn.Threshold(0.1, 2.0),
            ]
        )

    def forward(s, x):
        return [m(x) for m in s.m]


one("activations", Acts, image(3, 6), alt=(image(2, 6),), dynamic=B, single=(image(1, 6),))


# ── Number types, modes, dialects ──────────────────────────────────────────────────────────────────
class Small(nn.Module):
    def __init__(s):
        super().__init__()
        s.c, s.n, s.l = nn.Conv2d(3, 8, 3, padding=1), nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(s, x):
        y = F.gelu(s.c(x)).mean((2, 3))
        return s.l(s.n(y)).softmax(-1)


def typed(name, dtype):
    @case(name, dynamic=B)
    def f():
        return (
            Small().to(dtype),
            (image(2, 3, 6, 7).to(dtype),),
            (image(3, 3, 6, 7).to(dtype),),
            (image(1, 3, 6, 7).to(dtype),),
        )


typed("half", torch.float16)
typed("bfloat16", torch.bfloat16)
typed("double", torch.float64)


class Mixed(nn.Module):
    """Half weights, float32 inside the norms, as language models do."""

    def __init__(s):
        super().__init__()
        s.l = nn.Linear(8, 8).half()
        s.w = nn.Parameter(torch.ones(8).half())

    def forward(s, x):
        h = s.l(x.half())
        v = h.float().pow(2).mean(-1, keepdim=True)
        n = h.float() * torch.rsqrt(v + 1e-6)
        return s.w * n.to(h.dtype)


one("mixed_half", Mixed, image(3, 8), dynamic=B, forms=TE, alt=(image(2, 8),))


class Train(nn.Module):
    def __init__(s):
        super().__init__()
        s.m = nn.Sequential(
            nn.Conv2d(3, 6, 3),
            nn.BatchNorm2d(6, momentum=0.0),
            nn.ReLU(),
            nn.Dropout2d(0.5),
            nn.Flatten(),
            nn.Linear(6 * 36, 10),
            nn.BatchNorm1d(10, momentum=0.0),
            nn.Dropout(0.3),
            nn.Linear(10, 4),
        )

    def forward(s, x):
        return s.m(x)


@case("train_mode", dynamic=B, train=True, note="saved in training mode; the outputs are those of inference")
def _():
    return Train(), (image(3, 3, 8, 8),), (image(2, 3, 8, 8),)


one(
    "frozen_script",
    lambda: Train(),
    image(3, 3, 8, 8),
    alt=(image(2, 3, 8, 8),),
    dynamic=B,
    forms=("scripted", "traced"),
    freeze=True,
)
one(
    "decomposed_cnn",
    lambda: Train(),
    image(3, 3, 8, 8),
    alt=(image(2, 3, 8, 8),),
    dynamic=B,
    forms=("export",),
    decompose=True,
)
one(
    "decomposed_unet",
    UNet,
    image(2, 3, 16, 24),
    alt=(image(3, 3, 24, 16),),
    dynamic=[{0: "batch", 2: "height", 3: "width"}],
    forms=("export",),
    decompose=True,
)
one("decomposed_lstm", CellLoop, image(2, 4, 5), forms=("export",), decompose=True)
one("decomposed_inplace", InPlace, image(4, 5), forms=("export",), decompose=True)
one("decomposed_activations", Acts, image(3, 6), forms=("export",), decompose=True)
one("decomposed_norms", Norms, image(3, 6, 5), forms=("export",), decompose=True)
one("decomposed_yolo", Yolo, image(2, 3, 32, 48), forms=("export",), decompose=True)
one(
    "strict_export",
    UNet,
    image(2, 3, 16, 24),
    alt=(image(3, 3, 24, 16),),
    dynamic=[{0: "batch", 2: "height", 3: "width"}],
    forms=("export",),
    strict=True,
)


# ── Dimensions ─────────────────────────────────────────────────────────────────────────────────────
class Pairs(nn.Module):
    def forward(s, x, y):
        return (
            x.repeat_interleave(2, 0)[1:] + y[: 2 * x.shape[0] - 1],
            torch.cat([x, y]),
            x.reshape(-1, 2),
            x.view(x.shape[0] // 2, -1),
        )


def _shapes():
    from torch.export import Dim

    n = Dim("n", min=2, max=20)
    return ({0: 2 * n}, {0: 4 * n + 1})


one(
    "derived_dims",
    Pairs,
    image(4, 6),
    image(9, 6),
    alt=(image(8, 6), image(17, 6)),
    dynamic=[{0: "n2"}, {0: "n41"}],
    shapes=_shapes,
)


class ShapeMath(nn.Module):
    def forward(s, x):
        b, c, h, w = x.shape
        p = (4 - h % 4) % 4
        q = (4 - w % 4) % 4
        y = F.pad(x, (0, q, 0, p))
        H, W = y.shape[2] // 4, y.shape[3] // 4
        y = y.view(b, c, H, 4, W, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, c)
        y = y - y.mean(1, keepdim=True)
        y = y.view(b, H, W, 4, 4, c).permute(0, 5, 1, 3, 2, 4).reshape(b, c, H * 4, W * 4)
        return y[:, :, :h, :w].contiguous()


one(
    "window_partition",
    ShapeMath,
    image(2, 3, 10, 13),
    alt=(image(3, 3, 11, 8),),
    single=(image(1, 3, 10, 13),),
    dynamic=[{0: "batch", 2: "height", 3: "width"}],
)


class BatchOne(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(6, 4)

    def forward(s, x):
        y = s.l(x)
        return (
            y.view(x.size(0), 2, 2),
            x.mean(0),
            torch.zeros(x.size(0), 3) + y[:, :3],
            y.expand(x.size(0), 4),
            x.size(0),
        )


one("sampled_with_one", BatchOne, image(1, 6), alt=(image(3, 6),), dynamic=B)


class Arange(nn.Module):
    def forward(s, x):
        n = x.shape[1]
        i = torch.arange(n)
        m = (i[None] <= i[:, None]).float()
        return (
            x @ m,
            torch.linspace(0, 1, 5) + x.sum(),
            torch.arange(0, n, 2).float() * 0.5,
            torch.eye(n),
            x + torch.arange(n - 1, -1, -1),
        )


one("dynamic_factories", Arange, image(2, 5), alt=(image(3, 8),), dynamic=BS)


class UnusedInput(nn.Module):
    def forward(s, x, y, z):
        return x + 1, z


one(
    "unused_and_passed",
    UnusedInput,
    image(2, 3),
    image(4),
    image(2, 2),
    alt=(image(3, 3), image(4), image(3, 2)),
    dynamic=[{0: "batch"}, None, {0: "batch"}],
)


class OnlyShape(nn.Module):
    def forward(s, x):
        return torch.ones(x.shape[0], 3), torch.zeros(x.shape[1], dtype=torch.int64)


one("only_the_shape", OnlyShape, image(2, 5), alt=(image(4, 7),), dynamic=BS, flat=True)


class Const(nn.Module):
    def __init__(s):
        super().__init__()
        s.k = torch.tensor([1.0, 2.0, 3.0])
        s.register_buffer("empty", torch.zeros(0))

    def forward(s, x):
        return x * s.k, torch.tensor([1, 2]), torch.tensor(2.5), s.empty


one("constants", Const, image(2, 3), dynamic=None)


class Zero(nn.Module):
    def forward(s, x):
        return torch.cat([x[:0], x]), x[2:2], x[:, :0].sum(1)


one("empty_tensors", Zero, image(3, 4))


# ── Quantised ──────────────────────────────────────────────────────────────────────────────────────
class FakeQ(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(6, 4)
        s.register_buffer("ch_scale_keep", torch.tensor([0.02, 0.03, 0.01, 0.05]))
        s.register_buffer("ch_zero_point", torch.zeros(4, dtype=torch.int32))

    def forward(s, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255)
        w = torch.fake_quantize_per_channel_affine(s.l.weight, s.ch_scale_keep, s.ch_zero_point, 0, -128, 127)
        return F.linear(x, w, s.l.bias)


one("fake_quantize", FakeQ, image(2, 6), alt=(image(3, 6),), dynamic=B)


class Decomposed(nn.Module):
    """The operators that torch's own quantisation writes."""

    def __init__(s):
        super().__init__()
        import torch.ao.quantization.fx._decomposed

        s.register_buffer("w", torch.randint(-127, 127, (8, 3, 3, 3), dtype=torch.int8))
        s.register_buffer("w_scale_keep", torch.rand(8) * 0.01 + 0.01)
        s.register_buffer("w_zero_point", torch.zeros(8, dtype=torch.int64))
        s.l = nn.Linear(8, 4)

    def forward(s, x):
        q = torch.ops.quantized_decomposed
        x = q.quantize_per_tensor.default(x, 0.03, 2, -128, 127, torch.int8)
        x = q.dequantize_per_tensor.default(x, 0.03, 2, -128, 127, torch.int8)
        w = q.dequantize_per_channel.default(s.w, s.w_scale_keep, s.w_zero_point, 0, -128, 127, torch.int8)
        y = F.relu(F.conv2d(x, w)).mean((2, 3))
        y = q.quantize_per_tensor.default(y, 0.05, 100, 0, 255, torch.uint8)
        return s.l(q.dequantize_per_tensor.default(y, 0.05, 100, 0, 255, torch.uint8))


one("quantized_decomposed", Decomposed, image(2, 3, 8, 8), alt=(image(3, 3, 8, 8),), dynamic=B, forms=TE)


@case("qat_fx_fake", forms=("traced", "export"), dynamic=B, fill=False, cost=2)
def _():
    import torch.ao.quantization as Q

    m = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
    m.qconfig = Q.get_default_qat_qconfig("qnnpack")
    m.train()
    q = Q.prepare_qat(m)
    for i in range(3):
        q(image(2, 3, 8, 8, seed=i))
    q.apply(Q.disable_observer)
    return q.eval(), (image(2, 3, 8, 8),), (image(3, 3, 8, 8),)


@case("dynamic_quantized", forms=("traced", "scripted"), dynamic=B, fill=False, step=1e-3)
def _():
    m = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    return torch.ao.quantization.quantize_dynamic(m, {nn.Linear}), (image(2, 6),), (image(3, 6),)


class QTensor(nn.Module):
    def forward(s, x):
        q = torch.quantize_per_tensor(x, 0.05, 10, torch.quint8)
        return q.dequantize(), q.int_repr()


one("quantize_dequantize", QTensor, image(2, 6), alt=(image(3, 6),), dynamic=B, forms=("traced", "scripted"))


class Boxes(nn.Module):
    def forward(s, b, sc):
        k = torchvision.ops.nms(b, sc, 0.5)
        return k, b[k]


class Rois(nn.Module):
    def forward(s, x, b):
        return (
            torchvision.ops.roi_align(x, b, (3, 3), 0.5, 2, True),
            torchvision.ops.roi_align(x, b, (2, 4), 1.0, -1, False),
            torchvision.ops.roi_pool(x, b, (2, 2), 0.5),
        )


def _boxes(n):
    b = ids(n, 4, high=20).float()
    return torch.stack(
        (
            torch.minimum(b[:, 0], b[:, 2]),
            torch.minimum(b[:, 1], b[:, 3]),
            torch.maximum(b[:, 0], b[:, 2]) + 3,
            torch.maximum(b[:, 1], b[:, 3]) + 3,
        ),
        1,
    )


one("nms", Boxes, _boxes(12), (ids(12, high=1000).float() + torch.arange(12) * 0.01) / 1000, forms=TE)
one("roi_ops", Rois, image(2, 3, 12, 14), torch.cat((torch.tensor([[0.0], [1.0], [1.0]]), _boxes(3) / 2), 1))


# ── What data decides: None or a tensor, lists of any length, what functions change ────────────────
class MaybeNone(nn.Module):
    def pick(s, x) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
        if bool(x.sum() > 0):
            return x, x * 2
        return x, None

    def forward(s, x):
        a, b = s.pick(x)
        return a + b if b is not None else a - 1


class Chosen(nn.Module):
    """A list that grows when data say so, and is looked at meanwhile."""

    def forward(s, x):
        kept: List[torch.Tensor] = []
        for i in range(x.size(0)):
            if len(kept) < 2 or bool(x[i].sum() > kept[-1].sum()):
                kept.append(x[i])
        return torch.stack(kept), len(kept)


class ByFunction(nn.Module):
    def step(s, parts: List[torch.Tensor], counts: Dict[str, int]):
        parts[0] = parts[0] * 0.5
        counts["n"] = counts["n"] + 1

    def forward(s, x):
        parts, counts = [x, x + 1], {"n": 0}
        while bool(parts[0].abs().max() > 0.3):
            s.step(parts, counts)
        return parts[0] + parts[1], counts["n"]


class Search(nn.Module):
    def find(s, x) -> Optional[int]:
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                return i
        return None

    def forward(s, x):
        i = s.find(x)
        return x[i] if i is not None else x.sum(0)


class Windows(nn.Module):
    """Overlapping windows by strides, as of sliding attention."""

    def forward(s, x):
        b, n, d = x.size()
        q = x.view(b, n, 2, d // 2).transpose(1, 2).reshape(b * 2, n, d // 2)
        q = q.view(b * 2, n // 2, 2, d // 2)
        size, stride = list(q.size()), list(q.stride())
        size[1], stride[1] = size[1] * 2 - 1, stride[1] // 2
        return q.as_strided(size, stride)


for module in (MaybeNone, Chosen, ByFunction, Search):
    one("data_" + module.__name__.lower(), module, image(3, 4), forms=S)
one("windows_by_strides", Windows, image(2, 6, 8))
