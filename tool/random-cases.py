"""Random models of one operator each (and small chains of operators), with what onnx's reference evaluator and
ONNX Runtime compute with them: NAME/model.onnx and NAME/test_data_set_0/{input,output}_I.pb, the folders that
`onx conform` runs.

    random-cases.py FOLDER [--count N] [--seed N] [--only RE]

Operator, version, types, attributes and shapes are random (empty ones and rank 0 among them), and so is what is
constant and what the model says about shapes. FOLDER/agree holds the cases where both peers say the same, FOLDER/alone
those that only one could run; those where they differ are in FOLDER/reference and FOLDER/onnxruntime, with the outputs
of each. Cases that neither could run are counted and left out. The same seed gives the same cases.

Needs onnx and onnxruntime.
"""

import argparse
import collections
import json
import multiprocessing
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
from onnx import TensorProto, helper, numpy_helper

warnings.filterwarnings("ignore")

NEWEST, USUAL = onnx.defs.onnx_opset_version(), 25  # USUAL: the newest one that ONNX Runtime takes
TABLE = {}  # operator: (family, function that makes inputs and attributes)
FLOATS = ("float", "double", "float16", "bfloat16")


def op(family, names):
    def add(fn):
        for name in names.split():
            TABLE[name] = (family, fn)
        return fn

    return add


def versions():
    """All versions of all operators of ai.onnx: {name: [schema, ...]}, versions rising."""
    found = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.name in TABLE and schema.since_version <= NEWEST:
            found[schema.name].append(schema)
    return {name: sorted(rows, key=lambda s: s.since_version) for name, rows in found.items()}


def np_type(name):
    if name == "string":
        return np.dtype(object)
    return helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value({"float": "FLOAT"}.get(name, name.upper())))


class Maker:
    """One case in the making: random choices, types of the operator's variables."""

    def __init__(self, seed, schema):
        self.rng = np.random.default_rng(seed)
        self.schema, self.since = schema, schema.since_version
        self.types = {}
        for c in schema.type_constraints:
            known = [t[7:-1] for t in sorted(c.allowed_type_strs) if t.startswith("tensor(")]
            known = [t for t in known if not re.search("float6|float8e8", t)]
            self.types[c.type_param_str] = self.pick(known) if known else None

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def int(self, low, high):
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def type(self, i):
        """The name of the type of input i."""
        text = self.schema.inputs[min(i, len(self.schema.inputs) - 1)].type_str
        return self.types[text] if text in self.types else text[7:-1]

    def dim(self):
        return self.pick((1, 1, 2, 2, 3, 3, 4, 5, 7, 16, 17, 33)) if self.chance(0.95) else 0

    def shape(self, low=0, high=4):
        rank = self.int(low, high)
        shape = [self.dim() for _ in range(rank)]
        while np.prod([max(d, 1) for d in shape], dtype=float) > 3000:
            shape[int(np.argmax(shape))] = 2
        return shape

    def like(self, shape):
        """A shape that broadcasts to this one."""
        return [d if self.chance(0.7) else 1 for d in shape[self.int(0, len(shape)) if self.chance(0.5) else 0 :]]

    def axis(self, rank):
        a = self.int(0, max(rank - 1, 0))
        return a - rank if self.chance(0.4) and self.since >= 11 and rank else a

    def data(self, name, shape, low=None, high=None, special=None):
        """Random elements of a type: small numbers, seldom extreme ones where no range is given."""
        dtype, shape = np_type(name), tuple(int(d) for d in shape)
        free = low is None
        special = free and self.chance(0.08) if special is None else special
        if name == "string":
            words = ["", "a", "b", "ab", "ä", "Zoë", "x y", "the", "The", "日本", "0"]
            return np.array([self.pick(words) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
        if name == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if re.match("complex", name):
            return (self.rng.normal(size=shape) + 1j * self.rng.normal(size=shape)).astype(dtype)
        if "float" in name or name == "double":
            x = self.rng.uniform(low, high, shape) if not free else self.rng.normal(size=shape) * self.pick((1, 1, 4))
            if free and self.chance(0.2):
                x = np.round(x)
            x = np.asarray(x)
            if special and x.size:
                for _ in range(self.int(1, 4)):
                    x.reshape(-1)[self.int(0, x.size - 1)] = self.pick((np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40))
            return x.astype(dtype)
        bits = int(re.search(r"\d+$", name).group())
        least, most = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if special and bits > 4:
            return self.rng.integers(least, most, shape, dtype=np.dtype(name), endpoint=True)
        low, high = max(least, -9 if free else low), min(most, 9 if free else high)
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def ints(self, values, i=None):
        """A list of integers as an input."""
        return np.array(values, dtype=np_type(self.type(i)) if i is not None else np.int64)


# ─ Operators ─────────────────────────────────────────────────────────────────────────────────────
# Each function returns the inputs (None: absent) and the attributes.


def pair(g, low=None, high=None, second=None):
    """Two inputs that broadcast as the version allows it, and the attributes that say how."""
    shape, attrs = g.shape(), {}
    a, b = shape, g.like(shape)
    if g.since < 7:
        attrs["broadcast"] = g.int(0, 1)
        b = shape
        if attrs["broadcast"]:
            first = g.int(0, len(shape))
            b = shape[first : g.int(first, len(shape))]
            attrs["axis"] = first
    elif g.chance(0.5):
        a, b = g.like(shape), shape
    return [g.data(g.type(0), a, low, high), g.data(g.type(1), b, *(second or (low, high)))], attrs


@op("eltwise", "Add Sub Mul Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor BitwiseAnd BitwiseOr BitwiseXor")
def binary(g):
    return pair(g)


@op("eltwise", "Div")
def div(g):
    (a, b), attrs = pair(g)
    if a.dtype.kind in "iu":
        b[b == 0] = 3
        if a.dtype.kind == "i":
            b[b == -1] = 1
    return [a, b], attrs


@op("eltwise", "Mod")
def mod(g):
    (a, b), attrs = div(g)
    return [a, b], {"fmod": 1 if a.dtype.kind not in "iu" else g.int(0, 1)}


@op("eltwise", "Pow")
def power(g):
    return pair(g, 0, 4, (0, 3)) if g.chance(0.6) else pair(g, -3, 3, (0, 3))


@op("eltwise", "BitShift")
def shift(g):
    return pair(g, 0, 200, (0, 7))[0], {"direction": g.pick(("LEFT", "RIGHT"))}


@op("eltwise", "PRelu")
def prelu(g):
    shape = g.shape(1 if g.since >= 7 else 2, 4)
    if g.since >= 7:
        return [g.data(g.type(0), shape), g.data(g.type(1), g.like(shape))], {}
    return [g.data(g.type(0), shape), g.data(g.type(1), g.pick(([1], [shape[1]])))], {}


@op("eltwise", "Max Min Sum Mean")
def variadic(g):
    shape = g.shape()
    return [g.data(g.type(0), g.like(shape) if g.since >= 8 else shape) for _ in range(g.int(1, 4))], {}


@op("eltwise", "Where")
def where(g):
    shape = g.shape()
    return [g.data("bool", g.like(shape)), g.data(g.type(1), g.like(shape)), g.data(g.type(2), g.like(shape))], {}


RANGES = {
    "Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 5), "Log": (0.01, 9), "Sqrt": (0, 9),
    "Reciprocal": (0.3, 4), "Exp": (-5, 5), "Cosh": (-4, 4), "Sinh": (-4, 4), "Tan": (-1, 1),
}  # fmt: skip
FREE = {
    "LeakyRelu": ("alpha",), "Elu": ("alpha",), "Celu": ("alpha",), "ThresholdedRelu": ("alpha",), "Swish": ("alpha",),
    "Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"), "Shrink": ("bias", "lambd"),
}  # fmt: skip


@op(
    "activation",
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish "
    "IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign "
    "Sqrt Swish Tan Tanh ThresholdedRelu",
)
def unary(g):
    name, attrs = g.schema.name, {}
    low, high = RANGES.get(name, (None, None)) if g.chance(0.9) else (None, None)
    for a in FREE.get(name, ()):
        if g.chance(0.7):
            attrs[a] = round(float(g.rng.uniform(0.1, 2)), 3)
    if name == "Gelu" and g.chance(0.5):
        attrs["approximate"] = g.pick(("tanh", "none"))
    if name == "IsInf" and g.chance(0.6):
        attrs = {"detect_negative": g.int(0, 1), "detect_positive": g.int(0, 1)}
    special = True if name in ("IsInf", "IsNaN", "Round", "Sign") and g.chance(0.5) else None
    return [g.data(g.type(0), g.shape(), low, high, special)], attrs


@op("activation", "Clip")
def clip(g):
    x = g.data(g.type(0), g.shape())
    if g.since < 11:
        return [x], {k: v for k, v in (("min", -0.75), ("max", 1.25)) if g.chance(0.6)}
    low, high = g.data(g.type(0), [], -3, 0), g.data(g.type(0), [], 1, 3)
    if g.chance(0.1):
        low, high = high, low
    return [x, *g.pick(([], [low], [None, high], [low, high]))], {}


@op("cast", "Cast")
def cast(g):
    to = g.types["T2"]
    number = TensorProto.DataType.Value(to.upper())
    small = [g.type(0), to]
    if "string" in small:
        if g.type(0) == "string":
            text = ["0", "1", "-3", "2.5", "1e3", "-0"] if "float" in to or to == "double" else ["0", "1", "7"]
            shape = g.shape()
            x = np.array([g.pick(text) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
        else:
            x = g.data(g.type(0), g.shape(), 0, 9)
    else:
        least = 0 if any(t[0] == "u" for t in small) else -2
        x = g.data(g.type(0), g.shape(), least, 1 if any(re.match("u?int[24]$", t) for t in small) else 6)
        both = [t for t in small if "float" in t or t == "double"]
        if len(both) == 2 and g.chance(0.4):
            x = g.data(g.type(0), g.shape(), special=g.chance(0.5))
    attrs = {"to": TensorProto.DataType.Name(number) if g.since < 6 else number}
    if g.since >= 19 and "float8" in to and g.chance(0.5):
        attrs["saturate"] = g.int(0, 1)
    return [x], attrs


@op("concat", "Concat")
def concat(g):
    shape = g.shape(1)
    axis = g.axis(len(shape))
    parts = [list(shape) for _ in range(g.int(1, 4))]
    for p in parts:
        p[axis] = g.dim()
    attrs = {"axis": axis}
    return [g.data(g.type(0), p) for p in parts], attrs


@op("concat", "Expand")
def expand(g):
    shape = g.shape()
    target = g.like(shape) if g.chance(0.3) else shape
    return [g.data(g.type(0), g.like(shape)), g.ints(target)], {}


@op("concat", "Tile")
def tile(g):
    if g.since < 6:
        shape = g.shape(1)
        return [g.data(g.type(0), shape), np.array(g.int(1, 3), g.data(g.type(1), []).dtype),
                np.array(g.int(0, len(shape) - 1), g.data(g.type(2), []).dtype)], {}  # fmt: skip
    shape = g.shape()
    return [g.data(g.type(0), shape), g.ints([g.int(0, 3) if g.chance(0.2) else g.int(1, 3) for _ in shape])], {}


@op("concat", "Split")
def split(g):
    shape = g.shape(1)
    axis, n = g.axis(len(shape)), g.int(1, 4)
    parts = [g.int(0 if g.chance(0.2) else 1, 3) for _ in range(n)]
    even = g.chance(0.4)
    shape[axis] = n * g.int(1, 3) if even else sum(parts)
    x, attrs = g.data(g.type(0), shape), {"axis": axis}
    if even and g.since >= 18:
        attrs["num_outputs"] = n
        if g.chance(0.5):  # the last one is smaller
            shape[axis] = max(n, shape[axis] - 1) if n > 1 and (shape[axis] + n - 2) // n * (n - 1) < shape[axis] - 1 else shape[axis]
            x = g.data(g.type(0), shape)
        return [x], attrs, n
    if even:
        return [x], attrs, n
    if g.since >= 13:
        return [x, g.ints(parts)], attrs, n
    return [x], {**attrs, "split": parts}, n


@op("constant", "ConstantOfShape")
def constant_of_shape(g):
    t = g.types["T2"]
    value = numpy_helper.from_array(g.data(t, [1]), "v")
    return [g.ints(g.shape())], {"value": value} if g.chance(0.8) else {}


@op("constant", "EyeLike")
def eye_like(g):
    attrs = {}
    if g.chance(0.6):
        attrs["k"] = g.int(-4, 4)
    if g.chance(0.5):
        attrs["dtype"] = TensorProto.DataType.Value(g.types["T2"].upper())
    return [g.data(g.type(0), g.shape(2, 2))], attrs


@op("constant", "Range")
def arange(g):
    t = g.type(0)
    delta = g.pick((1, 2, 3, -1, -2)) if t in ("int16", "int32", "int64") else g.pick((0.25, 0.5, -0.75, 1))
    a, b = g.int(-5, 5), g.int(-5, 5)
    return [np.array(v, np_type(t)) for v in (a, b, delta)], {}


@op("cumsum", "CumSum CumProd")
def cumsum(g):
    shape = g.shape(1)
    axis = np.array(g.axis(len(shape)), np_type(g.type(1)))
    x = g.data(g.type(0), shape, *((-2, 2) if g.schema.name == "CumProd" else ()))
    return [x, axis], {k: g.int(0, 1) for k in ("exclusive", "reverse") if g.chance(0.6)}


def index(g, i, n, shape):
    if n == 0:
        shape = [0 if k == 0 else d for k, d in enumerate(shape)] or [0]
    low = -n if g.since >= 11 else 0
    return g.rng.integers(low, max(n, low + 1), shape).astype(np_type(g.type(i)))


@op("gather", "Gather")
def gather(g):
    shape = g.shape(1)
    axis = g.axis(len(shape))
    return [g.data(g.type(0), shape), index(g, 1, shape[axis], g.shape(0, 3))], {"axis": axis}


@op("gather", "GatherElements")
def gather_elements(g):
    shape = g.shape(1)
    axis = g.axis(len(shape))
    at = [g.int(0 if g.chance(0.1) else min(d, 1), d) if k != axis % len(shape) else g.dim() for k, d in enumerate(shape)]
    if shape[axis] == 0:
        at[axis] = 0
    low = -shape[axis] if g.chance(0.5) else 0
    return [g.data(g.type(0), shape), g.rng.integers(low, max(shape[axis], low + 1), at).astype(np_type(g.type(1)))], {"axis": axis}


@op("gather", "GatherND")
def gather_nd(g):
    shape = [max(d, 1) for d in g.shape(1)]
    batch = g.int(0, len(shape) - 1) if g.since >= 12 else 0
    depth = g.int(1, len(shape) - batch)
    outer = [*shape[:batch], *([g.dim() for _ in range(g.int(0, 2))])]
    at = np.stack([g.rng.integers(-shape[batch + k], shape[batch + k], outer) for k in range(depth)], axis=-1)
    return [g.data(g.type(0), shape), at.astype(np.int64)], {"batch_dims": batch} if batch else {}


@op("gather", "Scatter ScatterElements")
def scatter(g):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.axis(len(shape))
    at = [g.int(1, d) for d in shape]
    attrs, n = {"axis": axis}, shape[axis]
    where_ = g.rng.integers(0, n, at)
    if g.since >= 16 and g.chance(0.6):
        attrs["reduction"] = g.pick(("none", "add", "mul") + (("min", "max") if g.since >= 18 else ()))
    if attrs.get("reduction", "none") == "none":  # no duplicates
        where_ = np.argsort(g.rng.random(tuple(n if k == axis % len(shape) else d for k, d in enumerate(at))), axis=axis)
        where_ = np.take(where_, np.arange(at[axis]), axis=axis)
    if g.since >= 11 and g.chance(0.5):
        where_ = where_ - n * g.rng.integers(0, 2, where_.shape)
    return [g.data(g.type(0), shape), where_.astype(np_type(g.type(1))), g.data(g.type(2), at)], attrs


@op("gather", "ScatterND")
def scatter_nd(g):
    shape = [max(d, 1) for d in g.shape(1)]
    depth = g.int(1, len(shape))
    outer = [g.int(1, 3) for _ in range(g.int(0, 2))]
    attrs = {}
    at = np.stack([g.rng.integers(-shape[k], shape[k], outer) for k in range(depth)], axis=-1)
    if g.since >= 16:
        attrs["reduction"] = g.pick(("none", "add", "mul") + (("min", "max") if g.since >= 18 else ()))
    if attrs.get("reduction", "none") == "none":
        total, count = int(np.prod(shape[:depth])), int(np.prod(outer))
        if count > total:
            outer, count = [], 1
        flat = g.rng.permutation(total)[:count]
        at = np.stack(np.unravel_index(flat, shape[:depth]), axis=-1).reshape([*outer, depth])
    return [g.data(g.type(0), shape), at.astype(np.int64), g.data(g.type(2), [*outer, *shape[depth:]])], attrs


@op("gather", "TopK")
def topk(g):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.axis(len(shape))
    k, attrs = g.int(0 if g.since >= 10 and g.chance(0.2) else 1, shape[axis]), {"axis": axis}
    if g.since >= 11 and g.chance(0.6):
        attrs["largest"] = g.int(0, 1)
    x = g.data(g.type(0), shape, special=False)
    return ([x], {**attrs, "k": k}, 2) if g.since < 10 else ([x, g.ints([k])], attrs, 2)


@op("gather", "NonZero")
def nonzero(g):
    return [g.data(g.type(0), g.shape())], {}


@op("gather", "Compress")
def compress(g):
    shape = g.shape(1)
    if g.chance(0.3):
        return [g.data(g.type(0), shape), g.data("bool", [g.int(0, int(np.prod(shape)))])], {}
    axis = g.axis(len(shape))
    return [g.data(g.type(0), shape), g.data("bool", [g.int(0, shape[axis])])], {"axis": axis}


@op("gather", "OneHot")
def one_hot(g):
    shape, depth = g.shape(0, 3), g.int(1, 7)
    low = 0 if g.since < 11 or g.type(0)[0] == "u" else -depth - 1
    attrs = {"axis": g.int(-len(shape) - 1, len(shape))} if g.chance(0.7) else {}
    return [g.data(g.type(0), shape, low, depth + 1), np.array(depth if g.chance(0.5) else [depth], np_type(g.type(1))),
            g.data(g.type(2), [2])], attrs  # fmt: skip


@op("gather", "Unique")
def unique(g):
    shape = [max(d, 1) for d in g.shape(1)]
    attrs = {"sorted": g.int(0, 1)} if g.chance(0.6) else {}
    if g.chance(0.5):
        attrs["axis"] = g.axis(len(shape))
    return [g.data(g.type(0), shape, *((0, 3) if g.type(0) not in ("string", "bool") else ())), ], attrs, 4


@op("matmul", "MatMul")
def matmul(g):
    m, k, n = g.dim(), g.dim(), g.dim()
    batch = g.shape(0, 2)
    a, b = [*g.like(batch), m, k], [*g.like(batch), k, n]
    if g.chance(0.15):
        a = [k]
    if g.chance(0.15):
        b = [k]
    return [g.data(g.type(0), a, special=False), g.data(g.type(1), b, special=False)], {}


@op("matmul", "Gemm")
def gemm(g):
    m, k, n = g.dim(), g.dim(), g.dim()
    attrs = {a: g.int(0, 1) for a in ("transA", "transB") if g.chance(0.6)}
    for a in ("alpha", "beta"):
        if g.chance(0.5) and "float" in g.type(0):
            attrs[a] = g.pick((0.0, 0.5, 2.0, -1.25))
    a = [k, m] if attrs.get("transA") else [m, k]
    b = [n, k] if attrs.get("transB") else [k, n]
    c = g.pick(([m, n], [n], [1, n], [m, 1], [1], [], [1, 1]))
    if g.since < 7:
        attrs["broadcast"] = 1
        c = g.pick(([m, n], [n]))
    ins = [g.data(g.type(i), s, special=False) for i, s in enumerate((a, b, c))]
    return ins[: 2 if g.since >= 11 and g.chance(0.3) else 3], attrs


@op("matmul", "Det")
def det(g):
    n = g.int(0, 4)
    return [g.data(g.type(0), [*g.shape(0, 2), n, n], special=False)], {}


def spatial(g, low=1, high=3):
    return [max(g.dim(), 1) for _ in range(g.int(low, high))]


@op("norm", "BatchNormalization")
def batch_norm(g):
    n, c = max(g.dim(), 1), max(g.dim(), 1)
    shape = [n, c, *spatial(g)]
    if g.since in (9, 14, 15) and g.chance(0.2):
        shape = [n, c]
    while np.prod(shape) > 3000:
        shape[int(np.argmax(shape))] = 2
    c = shape[1]
    attrs = {"epsilon": g.pick((1e-5, 0.1))}
    if g.since < 7:
        attrs["is_test"] = 1
    if g.since == 1:
        attrs["consumed_inputs"] = [0, 0, 0, 1, 1]
    ins = [g.data(g.type(0), shape, special=False)]
    ins += [g.data(g.type(i), [c], *((0.2, 3) if i == 4 else ()), special=False) for i in range(1, 5)]
    if g.since >= 14 and g.chance(0.4):
        return ins, {**attrs, "training_mode": 1, "momentum": 0.75}, 3
    return ins, attrs


@op("norm", "InstanceNormalization")
def instance_norm(g):
    shape = [max(g.dim(), 1), g.int(1, 5), *spatial(g, 1, 2)]
    attrs = {"epsilon": g.pick((1e-5, 0.1))}
    return [g.data(g.type(0), shape, special=False), g.data(g.type(1), [shape[1]], special=False), g.data(g.type(2), [shape[1]], special=False)], attrs


@op("norm", "GroupNormalization")
def group_norm(g):
    groups = g.int(1, 3)
    shape = [g.int(1, 3), groups * g.int(1, 3), *spatial(g, 1, 2)]
    n = groups if g.since < 21 else shape[1]
    attrs = {"num_groups": groups, "epsilon": g.pick((1e-5, 0.1))}
    return [g.data(g.type(0), shape, special=False), g.data(g.type(1), [n], special=False), g.data(g.type(2), [n], special=False)], attrs


@op("norm", "LayerNormalization RMSNormalization")
def layer_norm(g):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.int(-len(shape), len(shape) - 1)
    attrs = {"axis": axis} if g.chance(0.8) else {}
    axis = attrs.get("axis", -1)
    weight = shape[axis:] if axis < 0 else shape[axis:]
    if g.chance(0.5):
        attrs["epsilon"] = g.pick((1e-5, 0.1))
    ins = [g.data(g.type(0), shape, special=False), g.data(g.type(1), weight, special=False)]
    if g.schema.name[0] == "R":
        return ins, attrs
    return ins + ([g.data(g.type(2), weight, special=False)] if g.chance(0.6) else []), attrs, g.pick((1, 3))


@op("norm", "LpNormalization")
def lp_norm(g):
    shape = [max(d, 1) for d in g.shape(1)]
    return [g.data(g.type(0), shape, special=False)], {"axis": g.int(-len(shape), len(shape) - 1), "p": g.int(1, 2)}


@op("norm", "LRN")
def lrn(g):
    shape = [g.int(1, 2), g.int(1, 9), *spatial(g, 2, 2)]
    attrs = {"size": g.pick((1, 3, 5, 7))}
    for a, v in (("alpha", 0.01), ("beta", 0.5), ("bias", 2.0)):
        if g.chance(0.5):
            attrs[a] = v
    return [g.data(g.type(0), shape, special=False)], attrs


@op("norm", "MeanVarianceNormalization")
def mvn(g):
    shape = [g.int(1, 4) for _ in range(4)]
    return [g.data(g.type(0), shape, special=False)], {"axes": g.pick(([0, 2, 3], [2, 3], [1], [0, 1, 2, 3]))} if g.chance(0.6) else {}


def window(g, n, size, dilate=True, same=True):
    """Attributes of a window of random size over an image of this size."""
    kernel = [g.int(1, min(4, s)) for s in size]
    attrs = {"kernel_shape": kernel}
    if g.chance(0.6):
        attrs["strides"] = [g.int(1, 3) for _ in size]
    if dilate and g.chance(0.4):
        attrs["dilations"] = [g.int(1, 2) if (k - 1) * 2 + 1 <= s else 1 for k, s in zip(kernel, size)]
    how = g.int(0, 4)
    if how == 0 and same:
        attrs["auto_pad"] = g.pick(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif how < 3:
        attrs["pads"] = [g.int(0, max(k - 1, 0)) for k in kernel * 2]
    return attrs


@op("pool", "MaxPool AveragePool LpPool")
def pool(g):
    name = g.schema.name
    size = [g.int(3, 9) for _ in range(g.int(1, 3))]
    since = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[name]
    attrs = window(g, 1, size, g.since >= since)
    if g.since >= since and g.chance(0.4) or g.since >= 10 and name != "LpPool" and g.chance(0.4):
        attrs["ceil_mode"] = 1
    if name == "AveragePool" and g.since >= 7 and g.chance(0.5):
        attrs["count_include_pad"] = 1
    if name == "LpPool":
        attrs["p"] = g.int(1, 3) if g.since > 1 else g.pick((1.0, 2.0))
    x = g.data(g.type(0), [g.int(1, 2), g.int(1, 4), *size], special=False)
    if name == "MaxPool" and g.since >= 8 and g.chance(0.5):
        if g.chance(0.3):
            attrs["storage_order"] = 1
        return [x], attrs, 2
    return [x], attrs


@op("pool", "GlobalAveragePool GlobalMaxPool GlobalLpPool")
def global_pool(g):
    attrs = {"p": g.int(1, 3) if g.since > 1 else 2.0} if g.schema.name == "GlobalLpPool" else {}
    return [g.data(g.type(0), [g.int(1, 2), g.int(1, 9), *spatial(g)], special=False)], attrs


@op("conv", "Conv")
def conv(g):
    size = [g.int(3, 9) for _ in range(g.int(1, 3))]
    attrs = window(g, 2, size)
    group = g.pick((1, 1, 2, 3))
    c, m = group * g.int(1, 3), group * g.int(1, 3)
    w = [m, c // group, *attrs["kernel_shape"]]
    if group > 1:
        attrs["group"] = group
    if g.chance(0.5):
        del attrs["kernel_shape"]
    ins = [g.data(g.type(0), [g.int(1, 2), c, *size], special=False), g.data(g.type(1), w, special=False)]
    return ins + ([g.data(g.type(2), [m], special=False)] if g.chance(0.5) else []), attrs


@op("conv", "ConvTranspose")
def conv_transpose(g):
    size = [g.int(2, 6) for _ in range(g.int(1, 3))]
    attrs = window(g, 2, size)
    group = g.pick((1, 1, 2))
    c, m = group * g.int(1, 3), group * g.int(1, 3)
    if "strides" in attrs and g.chance(0.4):
        attrs["output_padding"] = [g.int(0, s - 1) for s in attrs["strides"]]
    w = [c, m // group, *attrs["kernel_shape"]]
    if group > 1:
        attrs["group"] = group
    ins = [g.data(g.type(0), [g.int(1, 2), c, *size], special=False), g.data(g.type(1), w, special=False)]
    return ins + ([g.data(g.type(2), [m], special=False)] if g.chance(0.5) else []), attrs


@op("reduce", "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare")
def reduce(g):
    shape, name = g.shape(), g.schema.name
    axes = [int(a) for a in g.rng.permutation(len(shape))[: g.int(0, len(shape))]]
    if g.since >= 11:
        axes = [a - len(shape) if g.chance(0.4) else a for a in axes]
    attrs = {"keepdims": g.int(0, 1)} if g.chance(0.6) else {}
    low = {"ReduceLogSum": (0.1, 4), "ReduceProd": (-2, 2)}.get(name, (None, None))
    x = g.data(g.type(0), shape, *low, special=g.chance(0.05) and low[0] is None)
    if g.since >= 18 or g.since >= 13 and name == "ReduceSum":
        if g.chance(0.3):
            attrs["noop_with_empty_axes"] = g.int(0, 1)
        return [x] + ([g.ints(axes)] if g.chance(0.8) else []), attrs
    return [x], {**attrs, "axes": axes} if axes and g.chance(0.8) else attrs


@op("reduce", "ArgMax ArgMin")
def arg(g):
    shape = [max(d, 1) for d in g.shape(1)]
    attrs = {"axis": g.axis(len(shape))} if g.chance(0.8) else {}
    if g.chance(0.5):
        attrs["keepdims"] = g.int(0, 1)
    if g.since >= 12 and g.chance(0.5):
        attrs["select_last_index"] = g.int(0, 1)
    return [g.data(g.type(0), shape, special=False)], attrs


ACTS = ("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus")


@op("rnn", "RNN GRU LSTM")
def recurrent(g):
    name = g.schema.name
    gates, acts = {"RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3)}[name]
    way = g.pick(("forward", "reverse", "bidirectional"))
    d = 2 if way == "bidirectional" else 1
    t, b, n, h = g.int(1, 5), g.int(1, 3), g.int(1, 5), g.int(1, 5)
    layout = g.since >= 14 and g.chance(0.25)
    attrs = {"hidden_size": h, "direction": way}
    if layout:
        attrs["layout"] = 1
    if g.chance(0.4):
        names = [g.pick(ACTS) for _ in range(acts * d)]
        attrs.update(activations=names)
        if any(a in ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu") for a in names):
            attrs.update(activation_alpha=[0.5] * len(names), activation_beta=[0.25] * len(names))
    if g.chance(0.25):
        attrs["clip"] = 0.75
    if name == "LSTM" and g.chance(0.25):
        attrs["input_forget"] = 1
    if name == "GRU" and g.since >= 3 and g.chance(0.5):
        attrs["linear_before_reset"] = 1
    state = [b, d, h] if layout else [d, b, h]
    ty = g.type(0)
    f = lambda *s: g.data(ty, s, -1, 1)  # noqa: E731
    ins = [f(*([b, t, n] if layout else [t, b, n])), f(d, gates * h, n), f(d, gates * h, h)]
    ins.append(f(d, 2 * gates * h) if g.chance(0.6) else None)
    ins.append(g.rng.integers(1, t + 1, b).astype(np.int32) if g.chance(0.4) else None)
    ins.append(f(*state) if g.chance(0.5) else None)
    if name == "LSTM":
        ins.append(f(*state) if g.chance(0.5) else None)
        ins.append(f(d, 3 * h) if g.chance(0.4) else None)
    while ins[-1] is None:
        ins.pop()
    return ins, attrs, 3 if name == "LSTM" else 2


@op("slice", "Slice")
def slices(g):
    shape = g.shape(1)
    axes = [int(a) for a in g.rng.permutation(len(shape))[: g.int(1, len(shape))]]
    starts = [g.int(-shape[a] - 2, shape[a] + 2) for a in axes]
    ends = [g.pick((g.int(-shape[a] - 2, shape[a] + 2), 2**31 - 1, -(2**31) + 1)) for a in axes]
    x = g.data(g.type(0), shape)
    if g.since < 10:
        return [x], {"starts": starts, "ends": ends, "axes": axes}
    steps = [g.pick((1, 1, 2, 3, -1, -2)) for _ in axes]
    if g.since >= 11:
        axes = [a - len(shape) if g.chance(0.3) else a for a in axes]
    kind = np_type(g.types["Tind"])
    ins = [x, *(np.array(v, kind) for v in (starts, ends, axes, steps))]
    if g.chance(0.2):
        ins = ins[:4]
    elif g.chance(0.1) and len(axes) == len(shape):
        ins[3] = None
    return ins, {}


@op("slice", "Pad")
def pad(g):
    shape = g.shape(1)
    modes = ("constant", "reflect", "edge") + (("wrap",) if g.since >= 19 else ())
    mode = g.pick(modes)
    x = g.data(g.type(0), shape)
    pads = []
    for d in shape * 2:
        most = {"constant": 3, "reflect": d - 1, "wrap": d, "edge": 3 if d else 0}[mode]
        pads.append(g.int(0, max(0, min(most, 3))))
    if mode == "constant" and g.chance(0.3):
        pads = [g.int(-(d // 2), 2) for d in shape * 2]
    attrs = {"mode": mode} if mode != "constant" or g.chance(0.5) else {}
    if g.since < 11:
        return [x], {**attrs, "paddings" if g.since < 2 else "pads": pads, **({"value": 1.5} if g.chance(0.5) else {})}
    ins = [x, g.ints(pads)]
    if g.chance(0.5):
        ins.append(g.data(g.type(0), []))
    if g.since >= 18 and g.chance(0.4):
        n = len(shape)
        axes = [int(a) for a in g.rng.permutation(n)[: g.int(1, n)]]
        ins = [x, g.ints([pads[a] for a in axes] + [pads[n + a] for a in axes]), ins[2] if len(ins) > 2 else None]
        ins.append(np.array([a - n if g.chance(0.4) else a for a in axes], np_type(g.types["Tind"])))
    return ins, attrs


@op("slice", "ReverseSequence")
def reverse(g):
    shape = [max(d, 1) for d in g.shape(2)]
    attrs = g.pick(({}, {"batch_axis": 1, "time_axis": 0}, {"batch_axis": 0, "time_axis": 1}))
    b, t = attrs.get("batch_axis", 1), attrs.get("time_axis", 0)
    return [g.data(g.type(0), shape), g.rng.integers(1, shape[t] + 1, shape[b])], attrs


@op("slice", "Trilu")
def trilu(g):
    kind = g.type(0) if g.type(0) != "string" else "float"  # the zero of strings is not said
    ins = [g.data(kind, g.shape(2))]
    if g.chance(0.6):
        ins.append(np.array(g.int(-6, 6), np.int64))
    return ins, {"upper": g.int(0, 1)} if g.chance(0.6) else {}


@op("softmax", "Softmax LogSoftmax Hardmax")
def softmax(g):
    shape = g.shape(1)
    return [g.data(g.type(0), shape, special=False)], {"axis": g.axis(len(shape))} if g.chance(0.8) or len(shape) < 2 else {}


@op("strings", "StringConcat")
def string_concat(g):
    return pair(g)


@op("strings", "StringSplit")
def string_split(g):
    attrs = {"delimiter": g.pick(("", " ", "a", "x"))} if g.chance(0.6) else {}
    if g.chance(0.4):
        attrs["maxsplit"] = g.int(0, 2)
    return [g.data("string", g.shape(0, 2))], attrs, 2


@op("strings", "StringNormalizer")
def string_normalizer(g):
    attrs = {"case_change_action": g.pick(("LOWER", "UPPER", "NONE"))} if g.chance(0.7) else {}
    if g.chance(0.6):
        attrs["stopwords"] = g.pick((["the"], ["a", "The"], ["b"]))
    if g.chance(0.6):
        attrs["is_case_sensitive"] = g.int(0, 1)
    n = g.int(1, 6)
    return [g.data("string", g.pick(([n], [1, n])))], attrs


@op("strings", "RegexFullMatch")
def regex(g):
    return [g.data("string", g.shape(0, 2))], {"pattern": g.pick(("a*b?", "[Tt]he", ".+", "\\w*", "(x|y| )+", "\\d"))}


@op("transpose", "Transpose")
def transpose(g):
    shape = g.shape(0, 5)
    return [g.data(g.type(0), shape)], {"perm": [int(p) for p in g.rng.permutation(len(shape))]} if shape and g.chance(0.8) else {}


@op("transpose", "DepthToSpace SpaceToDepth")
def depth(g):
    b, n, c, h, w = g.int(1, 3), g.int(1, 2), g.int(1, 3), g.int(1, 3), g.int(1, 3)
    attrs = {"blocksize": b}
    if g.schema.name[0] == "S":
        return [g.data(g.type(0), [n, c, h * b, w * b])], attrs
    if g.since >= 11 and g.chance(0.6):
        attrs["mode"] = g.pick(("DCR", "CRD"))
    return [g.data(g.type(0), [n, c * b * b, h, w])], attrs


@op("view", "Reshape")
def reshape(g):
    shape = g.shape()
    parts = [p for d in shape for p in ((2, d // 2) if d and d % 2 == 0 and g.chance(0.5) else (d,))]
    to = [int(p) for p in g.rng.permutation(parts)] if g.chance(0.5) else parts
    attrs = {}
    if 0 in to and g.since >= 14 and g.chance(0.7):
        attrs["allowzero"] = 1
    if to and 0 not in to:
        k = g.int(0, len(to) - 1)
        if g.chance(0.5):
            to[k] = -1
        for j, d in enumerate(to[: len(shape)]):
            if d == shape[j] and g.chance(0.3) and not attrs:
                to[j] = 0
    x = g.data(g.type(0), shape)
    return ([x], {"shape": to or [1]}) if g.since < 5 else ([x, g.ints(to)], attrs)


@op("view", "Flatten")
def flatten(g):
    shape = g.shape(1)
    return [g.data(g.type(0), shape)], {"axis": g.int(-len(shape) if g.since >= 11 else 0, len(shape))} if g.chance(0.8) else {}


@op("view", "Squeeze")
def squeeze(g):
    shape = [d if g.chance(0.6) else 1 for d in g.shape()]
    axes = [a - len(shape) if g.since >= 11 and g.chance(0.4) else a for a, d in enumerate(shape) if d == 1 and g.chance(0.7)]
    x = g.data(g.type(0), shape)
    if not axes or g.chance(0.2):
        return [x], {}
    return ([x, g.ints(axes)], {}) if g.since >= 13 else ([x], {"axes": axes})


@op("view", "Unsqueeze")
def unsqueeze(g):
    shape = g.shape()
    n = len(shape) + g.int(1, 2)
    axes = [int(a) for a in g.rng.permutation(n)[: n - len(shape)]]
    axes = [a - n if g.since >= 11 and g.chance(0.4) else a for a in axes]
    x = g.data(g.type(0), shape)
    return ([x, g.ints(axes)], {}) if g.since >= 13 else ([x], {"axes": axes if g.since >= 11 else sorted(axes)})


@op("view", "Identity Size")
def whole(g):
    return [g.data(g.type(0), g.shape())], {}


@op("view", "Shape")
def shape_of(g):
    attrs = {}
    if g.since >= 15:
        attrs = {k: g.int(-6, 6) for k in ("start", "end") if g.chance(0.6)}
    return [g.data(g.type(0), g.shape())], attrs


@op("loss", "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
def loss(g):
    n, c, rest = g.int(1, 4), g.int(2, 5), [g.int(1, 3) for _ in range(g.int(0, 2))]
    attrs = {"reduction": g.pick(("none", "sum", "mean"))} if g.chance(0.8) else {}
    labels = g.data(g.type(1), [n, *rest], 0, c - 1)
    if g.chance(0.4):
        attrs["ignore_index"] = g.pick((0, 1, -1))
        if attrs["ignore_index"] == -1:
            labels[g.rng.random(labels.shape) < 0.3] = -1
    ins = [g.data(g.type(0), [n, c, *rest], special=False), labels]
    if g.chance(0.5):
        ins.append(g.data(g.type(0), [c], 0.1, 2))
    return ins, attrs, g.int(1, 2) if g.schema.name[0] == "S" else 1


# ─ Models ────────────────────────────────────────────────────────────────────────────────────────


def info(g, name, x):
    """What the model says about an input: its shape, only some of it, or nothing."""
    kind = TensorProto.STRING if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype)
    shape = list(x.shape)
    how = g.int(0, 3)
    if how == 1:
        shape = [f"{name}{k}" if g.chance(0.6) else d for k, d in enumerate(shape)]
    elif how == 2:
        shape = [None] * len(shape)
    return helper.make_tensor_value_info(name, kind, None if how == 3 else shape)


def tensor(x, name):
    if x.dtype == object:
        return helper.make_tensor(name, TensorProto.STRING, x.shape, [s.encode() for s in x.reshape(-1)])
    return numpy_helper.from_array(np.ascontiguousarray(x).reshape(x.shape), name)


def wrap(g, nodes, values, outputs, opset):
    """A model of these nodes; some of the values are inputs, the others constants of either kind."""
    inputs, initializers, constants = [], [], []
    for name, x in values.items():
        how = g.int(0, 5)
        if how == 0:
            initializers.append(tensor(x, name))
            if opset < 9:  # IR 3: initializers are inputs, too
                inputs.append(helper.make_tensor_value_info(name, initializers[-1].data_type, x.shape))
        elif how == 1:
            constants.append(helper.make_node("Constant", [], [name], value=tensor(x, name)))
        else:
            inputs.append(info(g, name, x))
    graph = helper.make_graph(constants + nodes, "g", inputs, [onnx.ValueInfoProto(name=o) for o in outputs], initializers)
    ir = 3 if opset < 9 else 8 if opset < 19 else 10 if opset < 23 else 11
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def single(g, rows):
    made = TABLE[g.schema.name][1](g)
    ins, attrs, n = made if len(made) == 3 else (*made, 1)
    values = {f"x{k}": np.asarray(x) for k, x in enumerate(ins) if x is not None}
    later = [s.since_version for s in rows if s.since_version > g.since]
    last = min(later) - 1 if later else NEWEST if g.chance(0.2) else max(g.since, USUAL)
    opset = g.int(g.since, last)
    outs = [f"y{k}" for k in range(n)]
    node = helper.make_node(g.schema.name, [f"x{k}" if x is not None else "" for k, x in enumerate(ins)], outs, **attrs)
    return wrap(g, [node], values, outs, opset), values


def chain(g, _):
    """Nodes that fusions look at, in random order: what is made of floats of one shape, or broadcasts to it."""
    opset, n, values, nodes = g.int(13, USUAL), 0, {}, []
    shape = [max(d, 1) for d in g.shape(2, 4)]
    for name in ("a", "b", "c"):
        values[name] = g.data("float", shape if name == "a" else g.like(shape), special=False)
    whole_ = ["a"]

    def node(kind, *ins, **attrs):
        nonlocal n
        n += 1
        nodes.append(helper.make_node(kind, list(ins), [f"v{n}"], **attrs))
        return f"v{n}"

    for _ in range(g.int(2, 8)):
        x, other = g.pick(whole_), g.pick(whole_ + ["b", "c"])
        kind = g.pick(("unary", "unary", "binary", "binary", "where", "softmax", "norm", "reduce", "transpose", "concat", "matmul", "pad"))
        if kind == "unary":
            whole_.append(node(g.pick(("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Erf", "Softplus", "Softsign", "LeakyRelu")), x))
        elif kind == "binary":
            ins = (x, other) if g.chance(0.5) else (other, x)
            whole_.append(node(g.pick(("Add", "Sub", "Mul", "Max", "Min")), *ins))
        elif kind == "where":
            whole_.append(node("Where", node(g.pick(("Less", "Greater", "LessOrEqual")), x, other), other, x))
        elif kind == "softmax":
            whole_.append(node(g.pick(("Softmax", "LogSoftmax")), x, axis=g.int(-len(shape), len(shape) - 1)))
        elif kind == "norm":
            axes = [-1] if g.chance(0.7) else [-1, -2]
            if opset >= 18:
                values[f"axes{n}"] = np.array(axes)
                mean = lambda v: node("ReduceMean", v, f"axes{at}")  # noqa: E731
            else:
                mean = lambda v: node("ReduceMean", v, axes=axes)  # noqa: E731
            at, two, eps = n, f"two{n}", f"eps{n}"
            values[two], values[eps] = np.float32(2), np.float32(1e-3)
            centred = node("Sub", x, mean(x))
            std = node("Sqrt", node("Add", mean(node("Pow", centred, two)), eps))
            whole_.append(node("Div", centred, std))
        elif kind == "reduce":
            name = f"axis{n}"
            values[name] = np.array([g.int(0, len(shape) - 1)])
            whole_.append(node("Sub", x, node("ReduceSum", x, name)))
        elif kind == "transpose":
            perm = [int(p) for p in g.rng.permutation(len(shape))]
            inner = node("Transpose", x, perm=perm)
            if g.chance(0.5):
                inner = node("Relu", inner)
            whole_.append(node("Transpose", inner, perm=[int(p) for p in np.argsort(perm)]))
        elif kind == "concat":
            axis = g.int(0, len(shape) - 1)
            both = node("Concat", x, g.pick(whole_), axis=axis)
            names = [f"s{n}", f"e{n}", f"d{n}"]
            first = g.int(0, shape[axis])
            for name, v in zip(names, (first, first + shape[axis], axis)):
                values[name] = np.array([v])
            whole_.append(node("Slice", both, *names))
        elif kind == "matmul":
            name = f"w{n}"
            values[name] = g.data("float", [shape[-1], shape[-1]], -1, 1)
            y = node("MatMul", x, name)
            whole_.append(node("Add", y, other) if g.chance(0.6) else y)
        else:
            rank = len(shape)
            values[f"p{n}"] = np.array([g.int(0, 1) for _ in range(2 * rank)])
            values[f"q{n}"] = np.negative(values[f"p{n}"])
            first = n
            whole_.append(node("Pad", node("Pad", x, f"p{first}"), f"q{first}"))
    used = {i for m in nodes for i in m.input}
    outs = [whole_[-1]] + [v for v in whole_[1:-1] if v not in used]
    values = {k: np.asarray(v) for k, v in values.items() if k in used}
    return wrap(g, nodes, values, outs, opset), values


def sequences(g, _):
    """A sequence is made, changed, and taken apart."""
    opset, values, nodes = g.int(11, USUAL), {}, []
    kind = g.pick(("float", "int64", "double", "string", "bool", "uint8", "float16", "int32"))
    shape = [max(d, 1) for d in g.shape(1, 3)]
    axis = g.int(-len(shape), len(shape) - 1)
    length = g.int(1, 4)

    def add(x):
        values[f"x{len(values)}"] = np.asarray(x)
        return f"x{len(values) - 1}"

    def node(op_type, *ins, **attrs):
        nodes.append(helper.make_node(op_type, list(ins), [f"v{len(nodes)}"], **attrs))
        return nodes[-1].output[0]

    def position(n):
        return add(np.array(g.int(-n, n - 1), g.pick((np.int32, np.int64))))

    equal = g.chance(0.5)
    if g.chance(0.4):
        parts = [2] * length if equal else [g.int(1, 3) for _ in range(length)]
        shape[axis] = sum(parts)
        size = add(np.array(2 if equal else parts, g.pick((np.int32, np.int64))))
        if equal and g.chance(0.5):
            shape[axis] -= g.int(0, 1)  # the last one may be smaller
            equal = shape[axis] == 2 * length
        s = node("SplitToSequence", add(g.data(kind, shape)), size, axis=axis)
    else:
        def item():
            if not equal:
                shape[axis] = g.int(1, 3)
            return add(g.data(kind, shape))

        if g.chance(0.7):
            s = node("SequenceConstruct", *[item() for _ in range(length)])
        else:
            s = node("SequenceEmpty", dtype=TensorProto.DataType.Value(kind.upper()))
            length = 0
        for _ in range(g.int(0 if length else 1, 3)):
            at = [position(length)] if length and g.chance(0.6) else []
            s, length = node("SequenceInsert", s, item(), *at), length + 1
    if length > 1 and g.chance(0.5):
        s, length = node("SequenceErase", s, *([position(length)] if g.chance(0.6) else [])), length - 1
    outs = [node("SequenceLength", s), node("SequenceAt", s, position(length)), node("ConcatFromSequence", s, axis=axis)]
    if equal:
        n = len(shape)
        outs.append(node("ConcatFromSequence", s, axis=g.int(-n - 1, n), new_axis=1))
    return wrap(g, nodes, values, outs, opset), values


def scanned(g, opset):
    """A Scan that adds slices up, along any axes and ways."""
    rank, steps = g.int(1, 3), g.int(1, 4)
    inner = [g.int(1, 3) for _ in range(rank - 1)]
    axes = [g.int(-rank, rank - 1) for _ in range(3)]
    values = {"s": g.data("float", inner, special=False)}
    for name, axis in (("a", axes[0]), ("b", axes[1])):
        values[name] = g.data("float", inner[: axis % rank] + [steps] + inner[axis % rank :], special=False)
    dims = [[d for d in inner] for _ in range(5)]
    io = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in zip(("si", "ai", "bi", "so", "y"), dims)]
    nodes = [helper.make_node("Add", ["si", "ai"], ["t"]), helper.make_node("Sub", ["t", "bi"], ["so"]), helper.make_node("Mul", ["so", "t"], ["y"])]
    body = helper.make_graph(nodes, "body", io[:3], io[3:])
    attrs = {"scan_input_axes": axes[:2], "scan_output_axes": axes[2:]} if g.chance(0.6) else {}
    if not attrs:
        values.update({n: g.data("float", [steps, *inner], special=False) for n in "ab"})
    if g.chance(0.6):
        attrs.update(scan_input_directions=[g.int(0, 1), g.int(0, 1)], scan_output_directions=[g.int(0, 1)])
    if opset < 11:
        attrs = {k: [a % rank for a in v] if "axes" in k else v for k, v in attrs.items()}
    return [helper.make_node("Scan", ["s", "a", "b"], ["y0", "y1"], body=body, num_scan_inputs=2, **attrs)], values


def looped(g):
    """A Loop that ends by count, by its condition, or by both; values from outside, and per iteration."""
    shape = g.shape(0, 3)
    values = {"s": g.data("float", shape, special=False), "outer": g.data("float", g.like(shape), special=False)}
    trip, cond = g.pick(((True, True), (True, False), (False, True)))
    values["most"] = np.array(g.int(0, 6) if cond else 99)  # ONNX Runtime obeys a condition that is to be ignored
    if trip:
        values["trip"] = np.array(g.int(0, 6))
    if cond:
        values["cond"] = np.array(g.chance(0.85))
    io = [("i", TensorProto.INT64, []), ("ci", TensorProto.BOOL, []), ("si", TensorProto.FLOAT, shape),
          ("co", TensorProto.BOOL, []), ("so", TensorProto.FLOAT, shape), ("y", TensorProto.FLOAT, shape)]  # fmt: skip
    io = [helper.make_tensor_value_info(*v) for v in io]
    nodes = [helper.make_node("Less", ["i", "most"], ["co"]), helper.make_node("Add", ["si", "outer"], ["so"]),
             helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["so", "f"], ["y"])]  # fmt: skip
    body = helper.make_graph(nodes, "body", io[:3], io[3:])
    ins = ["trip" if trip else "", "cond" if cond else "", "s"]
    return [helper.make_node("Loop", ins, ["y0", "y1"], body=body)], values


def control(g, _):
    opset = g.int(9, USUAL)
    which = g.int(0, 2)
    if which < 2:
        nodes, values = scanned(g, opset) if which else looped(g)
        return wrap(g, nodes, values, ["y0", "y1"], opset), values
    values = {"c": np.array(g.chance(0.5)), "a": g.data("float", g.shape(0, 3)), "b": g.data("float", [])}
    arms = []
    for name, kind in (("then", "Add"), ("else", "Mul")):
        node = helper.make_node(kind, ["a", "b"], [name]) if g.chance(0.7) else helper.make_node("Neg", ["b"], [name])
        arms.append(helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)]))
    node = helper.make_node("If", ["c"], ["y0"], then_branch=arms[0], else_branch=arms[1])
    return wrap(g, [node], values, ["y0"], opset), values


# Cases of more than one operator: {name: (family, what makes them, how many of them)}.
SMALL = {"Chain": ("chain", chain, 8), "Sequences": ("sequence", sequences, 5), "Control": ("control", control, 5)}


# ─ What the peers say ────────────────────────────────────────────────────────────────────────────


def by_reference(model, feeds):
    from onnx.reference import ReferenceEvaluator

    return [np.asarray(y) for y in ReferenceEvaluator(model).run(None, feeds)]


def by_onnxruntime(model, feeds):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = {k: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(x, helper.np_dtype_to_tensor_dtype(x.dtype))
              if x.dtype.kind == "V" or x.dtype.itemsize == 1 and x.dtype.kind not in "biu" else x for k, x in feeds.items()}  # fmt: skip
    if all(isinstance(v, np.ndarray) for v in values.values()):
        return [np.asarray(y) for y in session.run(None, values)]
    values = {k: onnxruntime.OrtValue.ortvalue_from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
    return [y.numpy() for y in session.run_with_ort_values(None, values)]


def as_float(model, feeds):
    """The model with float in place of the other float types, and its inputs; None if there is none."""
    kinds = {getattr(TensorProto, k.upper()) for k in FLOATS}
    other = onnx.ModelProto.FromString(model.SerializeToString())
    tensors = [*other.graph.initializer, *(n.attribute[0].t for n in other.graph.node if n.op_type == "Constant")]
    types = [v.type.tensor_type for v in other.graph.input]
    seen = {t.data_type for t in tensors} | {t.elem_type for t in types}
    if len(seen & kinds) != 1 or TensorProto.FLOAT in seen:
        return None
    kind = (seen & kinds).pop()
    for t in tensors:
        if t.data_type == kind:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float32), t.name))
    for t in types:
        t.elem_type = TensorProto.FLOAT if t.elem_type == kind else t.elem_type
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    return other, {k: x.astype(np.float32) if x.dtype == dtype else x for k, x in feeds.items()}


def by_onnxruntime_somehow(model, feeds):
    """Where it declines types or version: with float, or at opset 7 or 8, instead."""
    floats = as_float(model, feeds)
    kinds = {v.name: v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(model).graph.output}
    for m, x in ((model, feeds), floats) if floats else ((model, feeds),):
        for newer in (lambda m: m, at_7, lambda m: onnx.version_converter.convert_version(m, 8)):
            try:
                outputs = by_onnxruntime(newer(m), x)
            except Exception:
                continue
            types = [helper.tensor_dtype_to_np_dtype(kinds[v.name]) if kinds[v.name] else None for v in m.graph.output]
            if floats is not None and m is floats[0]:
                outputs = [y.astype(t) if y.dtype == np.float32 else y for y, t in zip(outputs, types)]
            return outputs
    raise NotImplementedError


def at_7(model):
    """The same nodes, at opset 7: an attribute that is no longer there makes it decline, too."""
    if model.opset_import[0].version >= 7:
        raise NotImplementedError
    newer = onnx.ModelProto.FromString(model.SerializeToString())
    newer.opset_import[0].version = 7
    return newer


def tolerance(outputs):
    kinds = {y.dtype.name for y in outputs}
    if "bfloat16" in kinds or any(k.startswith("float8") for k in kinds):
        return 2e-2, 2e-2
    return (4e-3, 4e-3) if "float16" in kinds else (1e-4, 1e-5)


def same(a, b):
    rtol, atol = tolerance(a)
    for x, y in zip(a, b):
        if x.shape != y.shape or x.dtype.kind != y.dtype.kind and {x.dtype.kind, y.dtype.kind} != set("OU") or x.dtype.itemsize != y.dtype.itemsize and x.dtype.kind not in "OU":
            return False
        if x.dtype.kind in "OUSbiu":
            if not np.array_equal(x, y):
                return False
        else:
            wide = np.complex128 if x.dtype.kind == "c" else np.float64
            if not np.allclose(x.astype(wide), y.astype(wide), rtol, atol, equal_nan=True):
                return False
    return len(a) == len(b)


def write(folder, model, feeds, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    known = {t.name for t in model.graph.initializer}
    for k, v in enumerate(v for v in model.graph.input if v.name not in known):
        (data / f"input_{k}.pb").write_bytes(tensor(feeds[v.name], v.name).SerializeToString())
    for k, (y, v) in enumerate(zip(outputs, model.graph.output)):
        y = y.astype(object) if y.dtype.kind in "US" else y
        (data / f"output_{k}.pb").write_bytes(tensor(y, v.name).SerializeToString())
    rtol, atol = tolerance(outputs)
    (folder / "data.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))


def one(folder, seed, k, names, found):
    name = names[k % len(names)]
    rows = found[name if name in found else "Add"]
    family, make = SMALL[name][:2] if name in SMALL else (TABLE[name][0], single)
    g = Maker([seed, k], Maker([seed, k], rows[0]).pick(rows))
    model, values = make(g, rows)
    known = {t.name for t in model.graph.initializer}
    feeds = {v.name: values[v.name] for v in model.graph.input if v.name not in known}
    said = {}
    for peer, run in (("reference", by_reference), ("onnxruntime", by_onnxruntime_somehow)):
        try:
            said[peer] = run(model, feeds)
        except Exception:  # declined: many types and versions are
            pass
    case = f"{family}/{name}-{model.opset_import[0].version if name in SMALL else g.since}_{k}"
    if len(said) == 2 and same(*said.values()):
        write(folder / "agree" / case, model, feeds, said["reference"])
        return family, "agree"
    for peer, outputs in said.items():
        write(folder / (peer if len(said) == 2 else "alone") / case, model, feeds, outputs)
    if not said:
        write(folder / "neither" / case, model, feeds, [])
    return family, ("neither", "alone", "differ")[len(said)]


def work(folder, seed, ks, names, queue):
    found = versions()
    for k in ks:
        try:
            queue.put(one(folder, seed, k, names, found))
        except Exception as error:
            queue.put(("fault", f"{names[k % len(names)]} {k}: {type(error).__name__} {error}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="operators whose name this regular expression matches")
    args = parser.parse_args()
    names = [n for n in [*sorted(TABLE), *[n for n, (_, _, times) in SMALL.items() for _ in range(times)]] if re.search(args.only, n)]
    queue, counts = multiprocessing.Queue(), collections.Counter()
    for first in range(0, args.count, 500):  # processes of their own: a peer may crash
        ks = range(first, min(first + 500, args.count))
        process = multiprocessing.Process(target=work, args=(args.folder, args.seed, ks, names, queue))
        process.start()
        while process.is_alive() or not queue.empty():
            try:
                counts[queue.get(timeout=0.2)] += 1
            except Exception:
                pass
    for (family, what), n in sorted(counts.items()):
        print(family, what, n)
    return 0


if __name__ == "__main__":
    sys.exit(main())
