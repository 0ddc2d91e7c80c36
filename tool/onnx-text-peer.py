#!/usr/bin/env python3
"""Our ONNX text against that of the onnx package, for every .onnx file beneath a folder.

    tool/onnx-text-peer.py PROGRAM FOLDER

PROGRAM converts by extension: `PROGRAM convert A.onnx B.onnxtxt`, and back. Checks that

  read    what onnx's printer writes is read here, and as the same model as by onnx's parser, where
          that can read it;
  write   what is written here is read by onnx's parser, as the same model but for what its syntax
          cannot say;
  back    what is written here is read here as the very same model, field by field.

Prints, for each of the three, how many models passed, and what onnx's text lost, by kind. Fails
when anything differs that is not on the list of what cannot be said (LOST). Needs the onnx package.
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnx.parser
import onnx.printer
from onnx import numpy_helper

PAYLOADS = ("raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data",
            "uint64_data")

# What onnx's syntax has no place for, or its parser drops.
LOST = {
    "ModelProto": {"training_info", "configuration"},
    "GraphProto": {"doc_string", "quantization_annotation", "sparse_initializer", "metadata_props",
                   "name"},
    "NodeProto": {"doc_string", "metadata_props", "device_configurations"},
    "AttributeProto": {"doc_string", "tensors", "graphs", "type_protos", "sparse_tensor",
                       "sparse_tensors"},
    "TensorProto": {"doc_string", "metadata_props", "segment", "name"},
    "ValueInfoProto": {"doc_string", "metadata_props"},
    "TypeProto": {"denotation"},
    "Dimension": {"denotation"},
    "FunctionProto": {"metadata_props"},
}


def payload(tensor):
    """The bytes of a tensor, however it stores them; None if it has none of its own."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return None
    if not any(len(getattr(tensor, f)) for f in PAYLOADS):
        return None
    if tensor.data_type == onnx.TensorProto.STRING:
        return tuple(tensor.string_data)
    return numpy_helper.to_array(tensor).tobytes()


def present(message, field):
    if field.is_repeated:
        return len(getattr(message, field.name)) > 0
    return message.HasField(field.name)


def tensor_differences(a, b):
    if any(repr(getattr(a, f)) != repr(getattr(b, f)) for f in PAYLOADS):
        same = payload(a) == payload(b)
        yield "TensorProto.raw_data, stored as a list" if same else "! TensorProto, payload"
    elif a.HasField("raw_data") != b.HasField("raw_data"):
        yield "TensorProto.raw_data, empty"


def differences(a, b):
    """What b lost of a, as strings; those that begin with '!' are not due to the syntax."""
    kind = a.DESCRIPTOR.name
    if kind == "TensorProto":
        yield from tensor_differences(a, b)
    for field in a.DESCRIPTOR.fields:
        if kind == "TensorProto" and field.name in PAYLOADS:
            continue
        name = f"{kind}.{field.name}"
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.message_type and not field.is_repeated:
            x, y = [x] * present(a, field), [y] * present(b, field)
        if field.message_type and len(x) == len(y):
            for left, right in zip(x, y):
                yield from differences(left, right)
        elif field.message_type or repr(x) != repr(y):
            yield name if field.name in LOST.get(kind, ()) else f"! {name}"
        elif present(a, field) != present(b, field):
            yield f"{name}, whether it is set to its default"


class Tally:
    def __init__(self, title):
        self.title, self.passed, self.failed, self.kinds = title, 0, 0, collections.Counter()

    def add(self, path, kinds):
        kinds = set(kinds)
        bad = sorted(k for k in kinds if k.startswith("!"))
        self.kinds.update(kinds)
        self.failed += bool(bad)
        self.passed += not bad
        for kind in bad[:3]:
            print(f"{self.title}: {path}: {kind}")

    def report(self):
        print(f"{self.title}: {self.passed} models passed, {self.failed} failed")
        for kind, count in sorted(self.kinds.items()):
            print(f"    {count:6} models: {kind}")


def parse(text):
    try:
        return onnx.parser.parse_model(text), None
    except onnx.parser.ParseError as error:
        message = error.args[0]
        if isinstance(message, bytes):
            message = message.decode(errors="replace")
        return None, message.strip().splitlines()[-1]


class Peer:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.tallies = {name: Tally(name) for name in ("read", "write", "back")}

    def convert(self, source, target):
        command = [self.program, "convert", source, target]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.stderr.strip() if result.returncode else None

    def load(self, path):
        return onnx.load(path, load_external_data=False)

    def check_read(self, path, model):
        text = onnx.printer.to_text(model)
        (self.folder / "theirs.onnxtxt").write_text(text, newline="")
        error = self.convert(self.folder / "theirs.onnxtxt", self.folder / "theirs.onnx")
        if error:
            return [f"! {error}"]
        expected, reason = parse(text)
        if reason:
            return [f"onnx cannot read its own text: {reason}"]
        return differences(expected, self.load(self.folder / "theirs.onnx"))

    def check_write(self, path, model):
        error = self.convert(path, self.folder / "ours.onnxtxt")
        if error:
            return [f"! {error}"]
        back, reason = parse((self.folder / "ours.onnxtxt").read_bytes().decode())
        return [f"! onnx cannot read our text: {reason}"] if reason else differences(model, back)

    def check_back(self, path, model):
        error = self.convert(self.folder / "ours.onnxtxt", self.folder / "ours.onnx")
        if error:
            return [f"! {error}"]
        return [] if self.load(self.folder / "ours.onnx") == model else ["! not the same model"]

    def run(self, paths):
        for path in paths:
            model = self.load(path)
            for name, tally in self.tallies.items():
                tally.add(path, getattr(self, f"check_{name}")(path, model))
        for tally in self.tallies.values():
            tally.report()
        return any(tally.failed for tally in self.tallies.values())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    paths = sorted(pathlib.Path(sys.argv[2]).rglob("*.onnx"))
    if not paths:
        sys.exit(f"no .onnx files beneath {sys.argv[2]}")
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(Peer(sys.argv[1], folder).run(paths))


if __name__ == "__main__":
    main()
