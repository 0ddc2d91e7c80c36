"""Element types: NumPy's for each, ONNX text of tensors, rounding, small random values."""

import ml_dtypes as ml
import numpy as np

NUMPY = {
    "float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": ml.bfloat16,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "bool": np.bool_, "string": np.object_, "complex64": np.complex64, "complex128": np.complex128,
    "float8e4m3fn": ml.float8_e4m3fn, "float8e4m3fnuz": ml.float8_e4m3fnuz,
    "float8e5m2": ml.float8_e5m2, "float8e5m2fnuz": ml.float8_e5m2fnuz,
    "float8e8m0": ml.float8_e8m0fnu, "float4e2m1": ml.float4_e2m1fn,
    "float6e2m3": ml.float6_e2m3fn, "float6e3m2": ml.float6_e3m2fn,
    "int4": ml.int4, "uint4": ml.uint4, "int2": ml.int2, "uint2": ml.uint2,
}
NUMBER = {n: i + 1 for i, n in enumerate(  # TensorProto.DataType
    "float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 "
    "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 "
    "float4e2m1 float8e8m0 uint2 int2 float6e2m3 float6e3m2".split())}
FLOATS = {t for t in NUMPY if t.startswith(("float", "bfloat")) or t == "double"}
COMPLEX = {"complex64", "complex128"}
INTS = {t for t in NUMPY if t.startswith(("int", "uint"))}
BITS = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2, "float6e2m3": 6, "float6e3m2": 6}
SMALL = {t for t in FLOATS if t.startswith(("float8", "float6", "float4"))}  # Cast has rules of its own


def is_exact_in_double(t):
    return t in FLOATS or t in BITS


def wider(t):
    """The type to compute in where results are not integers even if inputs are."""
    return "double" if is_exact_in_double(t) or t in INTS else t


def finfo(t):
    return ml.finfo(NUMPY[t])


def nearest(x, t):
    """The nearest number of a float type, ties to even, in one rounding from double."""
    if t in ("double", "float", "float16"):
        with np.errstate(over="ignore"):
            return np.asarray(x, np.float64).astype(NUMPY[t])
    x = np.array(x, np.float64)
    if t == "float8e8m0":
        return x.astype(NUMPY[t])
    info = finfo(t)
    _, e = np.frexp(np.where(np.isfinite(x), x, 1))
    unit = np.ldexp(1.0, np.maximum(e - 1, info.minexp) - info.nmant)
    r = np.where(np.isfinite(x), np.rint(x / unit) * unit, x)
    r = np.where(np.isfinite(x) & (np.abs(r) > float(info.max)), np.copysign(np.inf, x), r)
    return r.astype(NUMPY[t])


def to_type(x, t):
    """What an oracle computed, as the type it must have."""
    x = np.asarray(x)
    if t == "string":
        return x.astype(np.object_)
    if t in FLOATS:
        return x if x.dtype == NUMPY[t] else nearest(x.astype(np.float64), t)
    if t in COMPLEX or t == "bool":
        return x.astype(NUMPY[t])
    if t in BITS:
        return x.astype(np.int64).astype(np.int8).astype(NUMPY[t])
    return x.astype(NUMPY[t])


WORDS = ["a", "bc", "", "zebra", "Zoë", "x1", "-7", "bc"]


def values(t, count, rng, low=None, high=None):
    """Small numbers that the type has."""
    if t == "string":
        return np.array([WORDS[i] for i in rng.integers(0, len(WORDS), count)] + [None], object)[:-1]
    if t == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if t in COMPLEX:
        re, im = rng.integers(-8, 9, (2, count)) / 4
        return (re + 1j * im).astype(NUMPY[t])
    if t in INTS:
        least = {"int2": -2, "int4": -5}.get(t, 0 if t[0] == "u" else -6)
        most = {"int2": 1, "uint2": 3}.get(t, 7)
        low = least if low is None else max(np.ceil(low), least if t in BITS else low)
        high = most if high is None else min(high, most) if t in BITS else high
        return to_type(rng.integers(int(low), int(high) + 1, count), t)
    if t == "float8e8m0":
        return nearest(2.0 ** rng.integers(-2, 4, count), t)
    low, high = (-4 if low is None else low), (4 if high is None else high)
    return nearest(low + (high - low) * rng.integers(0, 33, count) / 32, t)


def given(text, t):
    """Values written out: 1,-2,nan."""
    parts = text.split(",")
    if t == "string":
        return np.array(parts + [None], object)[:-1]
    if t in COMPLEX:
        return np.array([complex(p) for p in parts], NUMPY[t])
    if t in INTS:
        return to_type(np.array([int(float(p)) if abs(float(p)) < 2**52 else int(p) for p in parts]), t)
    return to_type(np.array([float(p) for p in parts]), t)


def number(x):
    """The fewest digits that read back as the same float."""
    text = repr(float(x)) if isinstance(x, (float, np.float64)) else str(x)
    return text[:-2] if text.endswith(".0") else text


def packed(codes, bits):
    whole = 0
    for i, c in enumerate(codes):
        whole |= (int(c) & ((1 << bits) - 1)) << (i * bits)
    return list(whole.to_bytes((len(codes) * bits + 7) // 8, "little"))


def text(array, t):
    """The elements as TensorProto stores them, in braces."""
    flat = np.asarray(array).reshape(-1)
    if t == "string":
        return "{" + ", ".join('"%s"' % s.replace("\\", "\\\\").replace('"', '\\"') for s in flat) + "}"
    if t in COMPLEX:
        flat = np.stack([flat.real, flat.imag], 1).reshape(-1)
    if t in BITS and BITS[t] < 6:
        return "{" + ", ".join(map(str, packed(flat.view(np.uint8), BITS[t]))) + "}"
    if t in FLOATS and t not in ("float", "double"):
        return "{" + ", ".join(str(v) for v in flat.view({1: np.uint8, 2: np.uint16}[flat.itemsize])) + "}"
    if t == "bool":
        flat = flat.astype(int)
    return "{" + ", ".join(number(v) for v in flat) + "}"


def declared(t, shape):
    return t + ("[" + ",".join(map(str, shape)) + "]" if len(shape) else "")
