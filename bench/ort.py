"""ONNX Runtime, as it comes: all optimizations. See peer.py."""
import onnxruntime

import peer


def load(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [x.name for x in session.get_inputs()]
    return names, lambda feeds: session.run(None, dict(zip(names, feeds)))


peer.main(load)
