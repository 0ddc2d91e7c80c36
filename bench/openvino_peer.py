"""OpenVINO on the CPU, asked for latency; ONX_FAST=1 lets it choose its precision, else it is float32.
See peer.py."""
import os

import openvino

import peer


def load(path, threads):
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
    if not os.environ.get("ONX_FAST"):
        settings["INFERENCE_PRECISION_HINT"] = "f32"
    request = core.compile_model(path, "CPU", settings).create_infer_request()
    names = [x.any_name for x in request.model_inputs]

    def run(feeds):
        results = request.infer(dict(zip(names, feeds)), share_inputs=True)
        return [results[i] for i in range(len(results))]

    return names, run


peer.main(load)
