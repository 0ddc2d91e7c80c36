#!/usr/bin/env python3
"""Compare our element types and NumPy files with numpy, ml_dtypes and onnx.

    tool/dtype-peer.py LIBRARY [NODE_TESTS]

LIBRARY is libonx.so. Every pair of types is converted, from all values of the small types and from
the edges of the large ones; what ONNX leaves undefined is left out, and so is what numpy rounds twice
(test/test_dtype.c has both). NODE_TESTS is a folder with ONNX's node tests, of which those of Cast are
run. Arrays of every type are written by each side and read by the other.
"""

import ctypes
import functools
import itertools
import pathlib
import sys
import tempfile
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

warnings.filterwarnings("ignore")
np.seterr(all="ignore")

TYPES = {i: helper.tensor_dtype_to_np_dtype(i) for i in range(1, 29) if i != TensorProto.STRING}
SMALL_INTS = {TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2}
COMPLEX = {TensorProto.COMPLEX64, TensorProto.COMPLEX128}
E8M0 = TensorProto.FLOAT8E8M0
F8 = {TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2,
      TensorProto.FLOAT8E5M2FNUZ}
BITS = {i: t.itemsize * 8 for i, t in TYPES.items()} | {
    TensorProto.INT4: 4, TensorProto.UINT4: 4, TensorProto.FLOAT4E2M1: 4, TensorProto.INT2: 2,
    TensorProto.UINT2: 2, TensorProto.FLOAT6E2M3: 6, TensorProto.FLOAT6E3M2: 6}


def is_int(i):
    return i in SMALL_INTS or TYPES[i].kind in "iu"


def is_real(i):
    return not is_int(i) and i not in COMPLEX and i != TensorProto.BOOL


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.onx_data_tensor.restype = ctypes.c_void_p

    def convert(self, source, array, target, saturate=True):
        """The dense bytes of `array`, converted."""
        data = numpy_helper.from_array(array.ravel()).raw_data
        out = ctypes.create_string_buffer((array.size * BITS[target] + 7) // 8)
        status = self.lib.onx_dtype_convert(source, data, target, out, ctypes.c_uint64(array.size),
                                            ctypes.c_bool(saturate))
        assert status == 0, status
        return out.raw

    def load(self, path):
        """A data file as the bytes of its protobuf message."""
        data, out, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        diag = Diag(size=ctypes.sizeof(Diag))
        status = self.lib.onx_data_load(None, str(path).encode(), 0, ctypes.byref(data),
                                        ctypes.byref(diag))
        if status:
            raise ValueError(diag.message.decode())
        assert self.lib.onx_data_save_memory(data, ctypes.byref(out), ctypes.byref(size), None) == 0
        message = ctypes.string_at(out, size.value)
        self.lib.onx_buffer_free(None, out, size)
        self.lib.onx_data_free(data)
        return message

    def save(self, message, kind, path):
        data = ctypes.c_void_p()
        diag = Diag(size=ctypes.sizeof(Diag))
        status = self.lib.onx_data_load_memory(None, message, ctypes.c_size_t(len(message)), kind,
                                               ctypes.byref(data), ctypes.byref(diag))
        status = status or self.lib.onx_data_save(data, str(path).encode(), ctypes.byref(diag))
        if status:
            raise ValueError(diag.message.decode())
        self.lib.onx_data_free(data)


class Diag(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("status", ctypes.c_int), ("offset", ctypes.c_int64),
                ("file", ctypes.c_char * 256), ("place", ctypes.c_char * 256),
                ("message", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


# Conversion


@functools.cache
def samples(i):
    """All values of a small type; edges and a random selection of a large one."""
    t, random = TYPES[i], np.random.default_rng(1)
    if BITS[i] < 8:
        return np.arange(1 << BITS[i], dtype=np.uint8).view(t)
    if i == TensorProto.BOOL:
        return np.array([False, True])
    if BITS[i] <= 16:
        return np.arange(1 << BITS[i], dtype=f"u{t.itemsize}").view(t)
    powers = [s * (2**k + d) for k in range(64) for d in (-1, 0, 1) for s in (1, -1)]
    if is_int(i):
        info = np.iinfo(t)
        edges = [v for v in powers if info.min <= v <= info.max]
        return np.concatenate([np.array(edges, t), random.integers(info.min, info.max, 5000, t)])
    # All values of the small floats, the middles between them, and their neighbours, as float32.
    grid = []
    for small in TYPES:
        if is_real(small) and BITS[small] <= 16:
            v = samples(small).astype(np.float32)
            v = np.unique(v[np.isfinite(v)])
            middle = (v[1:].astype(np.float64) + v[:-1]) / 2
            grid += [v, middle.astype(np.float32)]
    x = np.concatenate(grid + [np.array(powers, np.float32), np.array([np.inf, -np.inf, np.nan,
                       -np.nan, -0.0], np.float32),
                       random.integers(0, 1 << 32, 20000, np.uint32).view(np.float32)])
    x = np.unique(np.concatenate([x, np.nextafter(x, np.float32(np.inf)),
                                  np.nextafter(x, np.float32(-np.inf))]).view(np.uint32))
    x = x.view(np.float32)
    if i in COMPLEX:
        return (x + 1j * x[::-1]).astype(t)
    return x.astype(t)


def defined(x, source, target):
    """Where ONNX says what the result is, and numpy computes it in one rounding."""
    keep = np.ones(x.shape, bool)
    if source in COMPLEX:
        x = x.real
    if is_real(source) or source in COMPLEX:
        wide = x.astype(np.float64)
        if is_int(target):
            bits = 32 if target in SMALL_INTS else BITS[target]
            signed = target in SMALL_INTS or TYPES[target].kind == "i"
            low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if signed else (-0.5, 2.0**bits)
            keep = (wide > low - 0.5) & (wide < high)
        if target == E8M0:
            keep = (wide == 0) | ((wide >= 2.0**-126) & (wide < np.inf)) | np.isnan(wide)
            keep &= ~np.signbit(wide)
    elif is_int(source):
        wide = x.astype(np.float64)
        if is_real(target) and BITS[target] < 32:
            keep = np.abs(wide) < 2**24
        if target == E8M0:
            keep &= wide >= 0
    return keep


def reference(x, source, target, saturate):
    if source in COMPLEX and target not in COMPLEX and target != TensorProto.BOOL:
        x = x.real
    if target == E8M0:
        return numpy_helper.to_float8e8m0(x.astype(np.float32), saturate, "up")
    if is_real(target) and BITS[target] < 32 and (is_int(source) or source == TensorProto.BOOL):
        x = x.astype(np.float32)
    if is_real(source) and is_real(target) and BITS[target] < 32:
        x = x.astype(np.float32)
    if target in F8 and saturate:
        return numpy_helper.saturate_cast(x, TYPES[target])
    if is_int(target) and source in F8 | {E8M0, TensorProto.BFLOAT16} or BITS[source] < 8:
        if is_real(source):
            x = x.astype(np.float64)
    if target in SMALL_INTS:
        x = x.astype(np.float64).astype(np.int64) if is_real(source) else x.astype(np.int64)
    return x.astype(TYPES[target])


def same(ours, theirs, target):
    """Bit for bit; but numpy keeps payloads of NaN in its own types, and we do not."""
    t = TYPES[target]
    want = numpy_helper.from_array(theirs.ravel()).raw_data
    if BITS[target] < 8 or t.kind not in "fc":
        return ours == want
    part = np.dtype(f"f{t.itemsize // 2}") if t.kind == "c" else t
    if part.itemsize < 2:
        return ours == want
    a, b = np.frombuffer(ours, part), np.frombuffer(want, part)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    return bool(np.all(equal & (np.signbit(a) == np.signbit(b))))


def check_conversions(onx):
    for source, target in itertools.product(TYPES, TYPES):
        x = samples(source)
        if source != target:
            x = x[defined(x, source, target)]
        for saturate in (True, False):
            if target == E8M0 and not saturate:
                continue  # onnx's table and its own code differ
            theirs = reference(x, source, target, saturate) if source != target else x
            if not same(onx.convert(source, x, target, saturate), theirs, target):
                one = [(v, w) for v, w in zip(x, theirs)
                       if not same(onx.convert(source, np.array([v], x.dtype), target, saturate),
                                   np.array([w], theirs.dtype), target)]
                yield (f"{TYPES[source]} to {TYPES[target]}, saturate {saturate}: {len(one)} of "
                       f"{x.size} differ, such as {one[:3]}")


def check_node_tests(onx, folder):
    for path in sorted(pathlib.Path(folder).glob("test_cast_*/model.onnx")):
        node = onnx.load(path).graph.node[0]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        data = path.parent / "test_data_set_0"
        x, y = (TensorProto.FromString((data / f).read_bytes()) for f in ("input_0.pb",
                                                                          "output_0.pb"))
        if TensorProto.STRING in (x.data_type, y.data_type):
            continue
        ours = onx.convert(x.data_type, numpy_helper.to_array(x), y.data_type,
                           bool(attributes.get("saturate", 1)))
        if not same(ours, numpy_helper.to_array(y), y.data_type):
            yield f"{path.parent.name}: another result"


# Files


def arrays():
    for i, t in TYPES.items():
        n = min(samples(i).size, 24) // 2 * 2
        yield samples(i)[:n].reshape(2, n // 2)
        yield samples(i)[:1].reshape(())
        yield samples(i)[:0].reshape(0, 3)
    yield np.array([["a", "", "éà"], ["😀", "x y", "0"]])
    yield np.array([b"ab", b"\xff\xfe", b""])
    yield np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    yield np.zeros((1,) * 17, np.float32)


def is_plain(a):
    return a.dtype.type.__module__ == "numpy"


def strings(a):
    return [s if isinstance(s, bytes) else s.encode() for s in a.ravel().tolist()]


def equal(message, a):
    """Is the tensor what the array is?"""
    tensor = TensorProto.FromString(message)
    if tuple(tensor.dims) != a.shape:
        return False
    if a.dtype.kind in "US":
        return tensor.data_type == TensorProto.STRING and list(tensor.string_data) == strings(a)
    little = np.ascontiguousarray(a.astype(a.dtype.newbyteorder("<")) if is_plain(a) else a)
    want = numpy_helper.from_array(little.reshape(a.shape))
    return tensor.data_type == want.data_type and tensor.raw_data == want.raw_data


def tensor_of(a, name=""):
    tensor = numpy_helper.from_array(a if a.dtype.kind != "S" else a.astype(object), name)
    return tensor


def check_files(onx, folder):
    path = folder / "array.npy"
    for a in arrays():
        what = f"{a.dtype} {a.shape}"
        # Theirs read by ours.
        if is_plain(a) or a.dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2):
            forms = [a]
            if is_plain(a):
                forms += [np.asfortranarray(a), a.astype(a.dtype.newbyteorder(">")), a.T]
            for form in forms:
                for version in ((1, 0), (2, 0), (3, 0)):
                    with path.open("wb") as f:
                        np.lib.format.write_array(f, form, version)
                    if not equal(onx.load(path), form):
                        yield f"{what}, version {version}: ours reads theirs as another array"
        # Ours read by theirs.
        onx.save(tensor_of(a).SerializeToString(), 1, path)
        b = np.load(path)
        if b.dtype.names:
            b = b.view(b.dtype.names[0])
        if b.dtype != a.dtype or b.shape != a.shape or b.tobytes() != a.tobytes():
            if a.dtype.kind != "S" and a.dtype not in (ml_dtypes.int4, ml_dtypes.int2):
                yield f"{what}: theirs reads ours as another array"
            elif b.tolist() != a.tolist():
                yield f"{what}: theirs reads ours as other values"
        if is_plain(a) and a.dtype.kind != "S":
            np.save(folder / "theirs.npy", a)
            if (folder / "theirs.npy").read_bytes() != path.read_bytes():
                yield f"{what}: not the same bytes"
        if not equal(onx.load(path), a):
            yield f"{what}: ours reads ours as another array"


def check_archives(onx, folder):
    named = {f"/layer.{i}/ä": a for i, a in enumerate(arrays()) if is_plain(a)}
    path = folder / "arrays.npz"
    for save in (np.savez, np.savez_compressed):
        save(path, **named)
        sequence = onnx.SequenceProto.FromString(onx.load(path))
        if [t.name for t in sequence.tensor_values] != list(named):
            yield f"{save.__name__}: other names"
        for tensor, a in zip(sequence.tensor_values, named.values()):
            if not equal(tensor.SerializeToString(), a):
                yield f"{save.__name__}: {a.dtype} {a.shape} read as another array"
    sequence = onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR)
    for name, a in named.items():
        sequence.tensor_values.append(tensor_of(a, name))
    onx.save(sequence.SerializeToString(), 3, path)
    loaded = np.load(path)
    if list(loaded) != list(named):
        yield "savez: other names in ours"
    for name, a in named.items():
        if loaded[name].shape != a.shape or loaded[name].tolist() != a.tolist():
            if not np.array_equal(loaded[name], a, equal_nan=a.dtype.kind in "fc"):
                yield f"savez: {a.dtype} {a.shape} in ours is another array"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    onx = Library(sys.argv[1])
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        checks = [check_conversions(onx), check_files(onx, folder), check_archives(onx, folder)]
        if len(sys.argv) > 2:
            checks.append(check_node_tests(onx, sys.argv[2]))
        for fault in itertools.chain(*checks):
            print(fault)
            faults += 1
    print(f"{len(TYPES)} types")
    print(f"{len(TYPES) ** 2} passed, {faults} failed")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
