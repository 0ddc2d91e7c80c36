"""Writes the node tests of the onnx package (it has them as Python code) as files:
NAME/model.onnx, NAME/data.json (tolerances), NAME/test_data_set_K/{input,output}_I.pb.

    node-tests.py FOLDER
"""

import json
import sys
from pathlib import Path

from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

ENCODERS = {
    "map_type": numpy_helper.from_dict,
    "sequence_type": numpy_helper.from_list,
    "optional_type": numpy_helper.from_optional,
    "tensor_type": numpy_helper.from_array,
}


def write_values(folder, kind, values, infos):
    for i, (value, info) in enumerate(zip(values, infos)):
        if not isinstance(value, TensorProto):
            value = ENCODERS[info.type.WhichOneof("value")](value, info.name)
        (folder / f"{kind}_{i}.pb").write_bytes(value.SerializeToString())


def write_case(folder, case):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "data.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))
    for k, (inputs, outputs) in enumerate(case.data_sets):
        data_set = folder / f"test_data_set_{k}"
        data_set.mkdir()
        write_values(data_set, "input", inputs, case.model.graph.input)
        write_values(data_set, "output", outputs, case.model.graph.output)


def main():
    root = Path(sys.argv[1])
    cases = load_model_tests(kind="node")
    for case in cases:
        write_case(root / case.name, case)
    print(f"{len(cases)} node tests")


main()
