#!/usr/bin/env python3
"""Compares onx with the onnx package: the values of tensors of every type in every form of storage, the values of
all test data, and models written by either.

    tool/onnx-peer.py PROGRAM [FOLDER...]

PROGRAM is build/onx; FOLDERs hold model.onnx and *.pb files. Needs onnx, numpy and ml_dtypes (tool/setup python).
Prints what differs, and ends with "N passed, N failed".
"""
import pathlib, subprocess, sys, tempfile

import ml_dtypes  # noqa: F401  (its types in .npy files)
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

program, folders = sys.argv[1], [pathlib.Path(f) for f in sys.argv[2:]]
passed = failed = 0


def check(ok, what):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("differs:", what, file=sys.stderr)


def onx(*args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip(), file=sys.stderr)
    return done.returncode == 0


def load(path):
    array = np.load(path)
    if array.dtype.names:  # a type of ml_dtypes, as a record of one field: see src/ir/npy.h
        array = array.view(array.dtype.names[0])
    return array


def same(ours, theirs):
    theirs = np.asarray(theirs)
    if theirs.dtype == object or theirs.dtype.kind in "US":
        texts = [t.decode() if isinstance(t, bytes) else str(t) for t in theirs.ravel()]
        return ours.shape == theirs.shape and [str(t) for t in ours.ravel()] == texts
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    if ours.dtype.name in ("int2", "int4"):  # ml_dtypes ignores the bits above
        return (ours.astype(np.int8) == theirs.astype(np.int8)).all()
    return ours.tobytes() == theirs.tobytes()


def expected(tensor, folder=""):
    return numpy_helper.to_array(tensor, base_dir=str(folder))


def every_type(folder):
    """Tensors of every type, with edge values: raw, typed and external, odd counts for the packed ones."""
    rng = np.random.default_rng(1)
    for name, number in TensorProto.DataType.items():
        if name == "UNDEFINED":
            continue
        for count in (0, 1, 3, 4, 7, 64):
            if name == "STRING":
                tensor = helper.make_tensor("t", number, [count], [b"%d \xc3\xa9" % i for i in range(count)])
                yield f"{name} {count}", tensor, folder
                continue
            dtype = helper.tensor_dtype_to_np_dtype(number)
            bits = rng.integers(0, 256, size=count * max(dtype.itemsize, 1), dtype=np.uint8)
            sub_byte = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6}
            if name == "BOOL":
                bits &= 1
            if name in sub_byte:
                bits &= (1 << sub_byte[name]) - 1
                if name.startswith("INT"):  # ml_dtypes keeps them sign-extended
                    half = 1 << (sub_byte[name] - 1)
                    bits = ((bits.astype(np.int8) ^ half) - half).astype(np.uint8)
            array = bits.view(dtype)
            raw = numpy_helper.from_array(array, "t")
            yield f"{name} {count} raw", raw, folder
            try:
                typed = helper.make_tensor("t", number, [count], array)
                yield f"{name} {count} typed", typed, folder
            except (TypeError, ValueError) as error:
                print(f"left out: {name} typed: the onnx package cannot make it ({error})")


def compare_types(folder):
    for what, tensor, where in every_type(folder):
        source, target = where / "t.pb", where / "t.npy"
        source.write_bytes(tensor.SerializeToString())
        check(onx("tensor", source, "-o", target) and same(load(target), expected(tensor)), what)
        if not tensor.HasField("raw_data"):
            continue
        model = helper.make_model(helper.make_graph([], "g", [], [], [tensor]))
        onnx.save(model, where / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
        if onnx.load(where / "m.onnx", load_external_data=False).graph.initializer[0].data_location:
            ok = onx("tensor", "--name", "t", where / "m.onnx", "-o", target)
            check(ok and same(load(target), expected(tensor)), what + " external")
        ok = onx("convert", "--external=ours.data", "--threshold=1", where / "m.onnx", where / "ours.onnx")
        ours = onnx.load(where / "ours.onnx").graph.initializer[0]
        check(ok and same(expected(ours), expected(tensor)), what + " written external by onx")
        for file in where.glob("*.data"):
            file.unlink()


def compare_data(folder):
    with tempfile.TemporaryDirectory() as scratch:
        target = pathlib.Path(scratch) / "t.npy"
        for path in sorted(folder.rglob("*.pb")):
            tensor = TensorProto()
            try:
                tensor.ParseFromString(path.read_bytes())
                theirs = expected(tensor)
            except Exception:
                continue  # a sequence, map or optional: test_roundtrip reads those
            strings = tensor.data_type == TensorProto.STRING
            if strings and any(s.endswith(b"\0") for s in tensor.string_data):
                continue  # NumPy's files cannot hold them
            check(onx("tensor", "--type", "tensor", path, "-o", target) and same(load(target), theirs), path)


def compare_models(folder):
    with tempfile.TemporaryDirectory() as scratch:
        target = pathlib.Path(scratch) / "m.onnx"
        for path in sorted(folder.rglob("*.onnx")):
            theirs = onnx.load(path, load_external_data=False)
            ok = onx("convert", "--touch", path, target)
            check(ok and target.read_bytes() == theirs.SerializeToString(deterministic=True), path)


with tempfile.TemporaryDirectory() as scratch:
    compare_types(pathlib.Path(scratch))
for folder in folders:
    compare_data(folder)
    compare_models(folder)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
