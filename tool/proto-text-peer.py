#!/usr/bin/env python3
"""Compare our JSON and protobuf text with those of google.protobuf, in both directions.

    tool/proto-text-peer.py PROGRAM FOLDER

For every *.onnx beneath FOLDER: what `PROGRAM convert` prints must be read by google.protobuf as an
equal message, and what google.protobuf prints must be read by PROGRAM as an equal message. Needs the
Python package onnx.
"""

import pathlib
import subprocess
import sys
import tempfile

import onnx
from google.protobuf import json_format, text_format


def canonical(model):
    return model.SerializeToString(deterministic=True)


def read(data):
    return onnx.ModelProto.FromString(data)


FORMATS = {
    ".json": (json_format.MessageToJson, json_format.Parse),
    ".textproto": (text_format.MessageToString, text_format.Parse),
}


def check(program, path, folder):
    """Yields a sentence for each thing that is not as it should be."""
    model = read(path.read_bytes())

    def convert(source, target):
        run = subprocess.run([program, "convert", source, target], capture_output=True, text=True)
        if run.returncode != 0:
            return f"{source.suffix} to {target.suffix}: {run.stderr.strip()}"
        return None

    for suffix, (print_theirs, parse_theirs) in FORMATS.items():
        ours, theirs = folder / f"ours{suffix}", folder / f"theirs{suffix}"
        back = folder / "back.onnx"
        error = convert(path, ours)
        if error:
            yield error
            continue
        try:
            if canonical(parse_theirs(ours.read_text(), onnx.ModelProto())) != canonical(model):
                yield f"{suffix}: theirs reads ours as another message"
        except (json_format.ParseError, text_format.ParseError) as e:
            yield f"{suffix}: theirs cannot read ours: {e}"
        theirs.write_text(print_theirs(model))
        for text, who in ((theirs, "theirs"), (ours, "ours")):
            error = convert(text, back)
            if error:
                yield error
            elif canonical(read(back.read_bytes())) != canonical(model):
                yield f"{suffix}: we read {who} as another message"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    models = sorted(pathlib.Path(sys.argv[2]).rglob("*.onnx"))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in models:
            for problem in check(sys.argv[1], path, pathlib.Path(folder)):
                failures += 1
                print(f"{path}: {problem}")
    print(f"{len(models) - failures} passed, {failures} failed")
    sys.exit(failures > 0 or not models)


if __name__ == "__main__":
    main()
