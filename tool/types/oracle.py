"""What the reference evaluator does not know, not in every type, or not in the precision of
double: computed by NumPy from the definition. A function named after an operator gets a case
(generate.py) and returns its outputs; what is float is rounded to its type after that. An oracle
that returns None leaves the case to the evaluator."""

import math

import numpy as np

import values as V


def wide(case):
    """The inputs, numbers as double; those that are missing as None."""
    def one(v):
        if v is None:
            return None
        t, value = v
        return np.asarray(value).astype(np.float64) if V.is_exact_in_double(t) or t in V.INTS else value
    return [one(v) for v in case.ins]


def raw(case):
    return [None if v is None else v[1] for v in case.ins]


def each(f):
    return lambda case: [np.vectorize(f, otypes=[np.float64])(wide(case)[0])]


# ── Element by element: the evaluator goes through float ──

Erf = each(math.erf)
Gelu = each(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))))
HardSwish = each(lambda x: x * max(0.0, min(1.0, x / 6 + 0.5)))


# ── Values that only move ──

def Identity(case):
    return [raw(case)[0]]


Optional = Identity


def OptionalGetElement(case):
    return [raw(case)[0]]


def If(case):
    return [raw(case)[1]]


def Loop(case):
    return [raw(case)[2]]


def Trilu(case):
    x, k = raw(case)
    if case.ins[0][0] != "string":
        return None
    keep = np.triu(np.ones(x.shape, int), int(k))
    return [np.where(keep, x, "")]


def Scatter(case):
    data, indices, updates = raw(case)
    y = data.copy()
    np.put_along_axis(y[:1], indices.astype(np.int64), updates, 1)
    return [y]


def OneHot(case):
    indices, depth, (off, on) = raw(case)
    hot = np.asarray(indices).astype(int)[:, None] == np.arange(int(depth))[None]
    out = np.empty(hot.shape, V.NUMPY[case.ins[2][0]])
    out[...] = off
    out[hot] = on
    return [out]


def Resize(case):
    x = raw(case)[0]
    return [x.repeat(2, 2).repeat(2, 3)] if "nearest" in case.spec.attrs else None


def Upsample(case):
    return [raw(case)[0].repeat(2, 2).repeat(2, 3)]


def ImageDecoder(case):
    """A file of the PNM family: a short header, then the pixels."""
    return [raw(case)[0][-6:].reshape(1, 2, 3)]


def Col2Im(case):
    """Blocks of 1×2 side by side."""
    if "strides" not in case.spec.attrs:
        return None
    x = raw(case)[0]
    return [x.transpose(0, 2, 1).reshape(1, 1, 1, 4)]


def BitCast(case):
    x, bits = raw(case)[0], V.BITS
    t, to = case.ins[0][0], case.out_types[0]
    if t in bits:  # one byte each, zeros above
        codes = x.view(np.uint8) & ((1 << bits[t]) - 1)
        if to.startswith("int"):
            codes = np.where(codes >> (bits[to] - 1), codes | (0xFF << bits[to] & 0xFF), codes).astype(np.uint8)
        return [codes.view(V.NUMPY[to])]
    return [x.view(V.NUMPY[to])]


def bits_of(t):
    return V.BITS.get(t) or (8 if t == "bool" else np.dtype(V.NUMPY[t]).itemsize * 8)


def pair_bitcast(types, allowed):
    same = [t for t in allowed["T2"] if bits_of(t) == bits_of(types["T1"])]
    at = same.index(types["T1"])
    return {**types, "T2": same[(at + 1) % len(same)]}


# ── Conversions ──

def cast(x, t, to):
    """Cast of opset 28, saturating."""
    if t == "string":
        if to == "string":
            return x
        x = np.array([float(s) if s not in ("True", "False") else s == "True" for s in x.reshape(-1)]).reshape(x.shape)
        t = "double"
    if to == "string":
        return np.array([text_of(v, t) for v in x.reshape(-1)] + [None], object)[:-1].reshape(x.shape)
    if to == "bool":
        return x.astype(np.float64) != 0
    if to in V.INTS:
        whole = np.trunc(x.astype(np.float64)) if t in V.FLOATS else x
        if t in V.FLOATS and to not in V.BITS:
            info = np.iinfo(V.NUMPY[to])
            whole = np.clip(whole, info.min, info.max)
        whole = whole.astype(np.int64) if to != "uint64" else whole.astype(np.uint64)
        return V.to_type(whole, to)
    wide_x = x.astype(np.float64)
    if to in V.SMALL:
        return saturated(wide_x, to)
    return V.nearest(wide_x, to)


def saturated(x, to):
    x = np.asarray(x, np.float64)
    if to == "float8e8m0":
        exact = np.clip(np.exp2(np.ceil(np.log2(np.where(x > 0, x, 1)))), 2.0**-127, 2.0**127)
        return np.where(x < 0, np.nan, np.where(x == 0, 2.0**-127, exact)).astype(V.NUMPY[to])
    most = float(V.finfo(to).max)
    r = np.clip(x, -most, most)
    return V.nearest(r, to)


def text_of(v, t):
    if t == "bool":
        return "1" if v else "0"
    return str(v) if t not in V.FLOATS else str(np.float64(v) if t == "double" else np.float32(v))


def Cast(case):
    t, x = case.ins[0]
    return [cast(x, t, to) for to in case.out_types]


CastLike = Cast


def pair_cast(types, allowed):
    """Each type to another one, not to itself."""
    at = allowed["T2"].index(types["T2"])
    return {**types, "T2": allowed["T2"][(at + 11) % len(allowed["T2"])]}


PAIRS = {
    "BitCast": pair_bitcast,
    "CastLike": pair_cast,
    "com.microsoft::GroupQueryAttention": lambda types, allowed: {
        **types, "T_CACHE": types["T"] if "float16" in allowed["T_CACHE"] else types["T_CACHE"]},
}


# ── Quantization ──

def quantize(x, to, zero=0.0):
    """Numbers that are divided by the scale already."""
    x = np.rint(x) + zero if to in V.INTS else x + zero
    if to not in V.INTS:
        return saturated(x, to)
    bits, signed = V.BITS.get(to) or np.iinfo(V.NUMPY[to]).bits, to[0] == "i"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return V.to_type(np.clip(x, low, high), to)


def QuantizeLinear(case):
    x, scale, zero = wide(case)
    return [quantize(x / scale, case.out_types[0], zero)]


def DequantizeLinear(case):
    x, scale, *zero = wide(case)
    return [(x - (zero[0] if zero else 0)) * scale]


def QLinearMatMul(case):
    a, sa, za, b, sb, zb, sy, zy = wide(case)
    return [quantize((a - za) @ (b - zb) * (sa * sb / sy), case.out_types[0], zy)]


# ── Norms ──

def normalized(x, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    scale = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)
    return (x - mean) * scale, mean, scale


def GroupNormalization(case):
    x, scale, bias = wide(case)
    y = normalized(x.reshape(1, 2, -1), 2, np.float32(1e-5))[0].reshape(x.shape)
    scale, bias = np.repeat(scale, 4 // scale.size), np.repeat(bias, 4 // bias.size)
    return [y * scale[:, None] + bias[:, None]]


def LayerNormalization(case):
    x, scale, bias = wide(case)
    y, mean, inverse = normalized(x, 1, np.float32(1e-5))
    return [y * scale + bias, mean, inverse]


def SimplifiedLayerNormalization(case):
    x, scale = wide(case)
    inverse = 1 / np.sqrt((x**2).mean(1, keepdims=True) + np.float32(1e-5))
    return [x * inverse * scale, inverse]


def MeanVarianceNormalization(case):
    x, axes = wide(case)[0], (0, 2, 3)
    mean = x.mean(axes, keepdims=True)
    return [(x - mean) / (np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True)) + np.float32(1e-9))]


def LRN(case):
    x = wide(case)[0]
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        square = (x[:, max(0, c - 1):c + 2] ** 2).sum(1)
        y[:, c] = x[:, c] / (1 + np.float64(np.float32(1e-4)) / 3 * square) ** 0.75
    return [y]


def Attention(case):
    """One head of two queries, no causal mask."""
    q, k, v, mask = wide(case)
    s = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
    s = np.where(mask, s, -np.inf) if case.ins[3][0] == "bool" else s + mask
    p = np.exp(s - s.max(3, keepdims=True))
    p = np.where(np.isnan(p), 0, p)
    total = p.sum(3, keepdims=True)
    return [np.where(total == 0, 0, p / np.where(total == 0, 1, total)) @ v]


# ── Pools ──

def GlobalLpPool(case):
    x = wide(case)[0]
    return [np.sqrt((x**2).sum((2, 3), keepdims=True))]


def MaxRoiPool(case):
    """One region, rows 0…3 and columns 0…2, in 2×2 bins."""
    x = wide(case)[0]
    rows, columns = [(0, 2), (2, 4)], [(0, 2), (1, 3)]
    return [np.array([[[[x[0, 0, a:b, c:d].max() for c, d in columns] for a, b in rows]]])]


# ── Random numbers ──

def Multinomial(case):
    """Every row has one class that all chance goes to."""
    return [np.repeat(wide(case)[0].argmax(1)[:, None], 4, 1)]


def in_range(case):
    return [np.ones((2, 3), bool)]


RandomUniform = RandomUniformLike = RandomNormal = RandomNormalLike = in_range


# ── ai.onnx.ml ──

def CastMap(case):
    m, to = raw(case)[0], case.out_types[0]
    t = case.ins[0][0].split(",")[1][:-1]
    found = [m[k] for k in sorted(m)]
    if t == "float" and to == "string":  # as onnxruntime writes them
        return [np.array([["%f" % v for v in found]], object)]
    return [np.array([cast(np.asarray(v).reshape(1), t, to)[0] for v in found], V.NUMPY[to]).reshape(1, -1)]


def CategoryMapper(case):
    pairs, x = dict(zip([1, 2, 3], "abc")), raw(case)[0]
    if case.out_types[0] == "string":
        return [np.array([pairs.get(int(v), "?") for v in x], object)]
    back = {v: k for k, v in pairs.items()}
    return [np.array([back.get(v, -1) for v in x])]


def DictVectorizer(case):
    m, to = raw(case)[0], case.out_types[0]
    words = ["a", "q", "zebra"] if "string" in case.ins[0][0].split(",")[0] else [5, 7, 0]
    none = "" if to == "string" else 0
    return [np.array([[m[w].item() if w in m else none for w in words]], V.NUMPY[to])]


PAIRS["DictVectorizer"] = lambda types, allowed: {**types, "T2": types["T1"].split(",")[1][:-1]}


def Normalizer(case):
    x = wide(case)[0]
    return [x / np.sqrt((x**2).sum(1, keepdims=True))]


def SVMClassifier(case):
    """The evaluator knows labels that are numbers."""
    attrs = case.spec.attrs
    case.spec.attrs = attrs.replace('classlabels_strings=["a","b"]', "classlabels_ints=[0,1]")
    labels, scores = in_double(case)
    case.spec.attrs = attrs
    if case.out_types[0] == "string":
        labels = np.array(["ab"[int(i)] for i in labels] + [None], object)[:-1]
    return [labels, scores]


def in_double(case):
    """The evaluator cuts results that are not integers to the type of the input."""
    return case.evaluate(V.wider)


LinearRegressor = SVMRegressor = TreeEnsembleRegressor = in_double


def ZipMap(case):
    x = raw(case)[0]
    labels = ["a", "b"] if "string" in case.out_types[0] else [3, 7]
    return [[dict(zip(labels, row)) for row in x]]


def Gradient(case):
    return [np.array(3.0)]
