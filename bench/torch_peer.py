"""PyTorch, eager, in inference mode: the operators of plain convolutional networks, called one by one as
a module would. A model with others is left out. See peer.py."""
import onnx, torch
from onnx import numpy_helper
from torch.nn import functional as F

import peer


def pads(a, x):
    """Equal on both sides, for the operator; else the input is padded before."""
    p = a.get("pads", [0] * 4)
    return (x, p[:2]) if p[:2] == p[2:] else (F.pad(x, (p[1], p[3], p[0], p[2])), [0, 0])


def conv(a, x, w, b=None):
    x, p = pads(a, x)
    return F.conv2d(x, w, b, a.get("strides", 1), p, a.get("dilations", 1), a.get("group", 1))


def max_pool(a, x):
    x, p = pads(a, x)
    return F.max_pool2d(x, a["kernel_shape"], a.get("strides", 1), p, ceil_mode=bool(a.get("ceil_mode")))


def depth_to_space(a, x):
    if a.get("mode", b"DCR") != b"CRD":
        n, c, h, w = x.shape
        s = a["blocksize"]
        x = x.reshape(n, s * s, c // s // s, h, w).transpose(1, 2).reshape(n, c, h, w)
    return F.pixel_shuffle(x, a["blocksize"])


OPS = {
    "Add": lambda a, x, y: x + y,
    "Clip": lambda a, x, lo=None, hi=None: torch.clamp(x, lo if lo is not None else a.get("min"),
                                                       hi if hi is not None else a.get("max")),
    "Concat": lambda a, *xs: torch.cat(xs, a["axis"]),
    "Conv": conv,
    "DepthToSpace": depth_to_space,
    "Flatten": lambda a, x: torch.flatten(x, a.get("axis", 1)),
    "Gemm": lambda a, x, w, b=None: F.linear(x, w if a.get("transB") else w.t(), b),
    "GlobalAveragePool": lambda a, x: F.adaptive_avg_pool2d(x, 1),
    "MaxPool": max_pool,
    "Mul": lambda a, x, y: x * y,
    "Relu": lambda a, x: F.relu(x),
    "Reshape": lambda a, x, shape: x.reshape([int(n) or x.shape[i] for i, n in enumerate(shape)]),
    "Sigmoid": lambda a, x: torch.sigmoid(x),
    "Transpose": lambda a, x: x.permute(*a["perm"]),
}


def load(path, threads):
    torch.set_num_threads(threads)
    graph = onnx.load(path).graph
    values = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in graph.initializer}
    steps = []
    for node in graph.node:
        attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant":
            values[node.output[0]] = torch.from_numpy(numpy_helper.to_array(attrs["value"]).copy())
        elif node.op_type in OPS:
            steps.append((OPS[node.op_type], attrs, list(node.input), node.output[0]))
        else:
            raise SystemExit(f"the operator {node.op_type} is not among those that are called here")
    names = [x.name for x in graph.input if x.name not in values]

    @torch.inference_mode()
    def run(feeds):
        have = dict(values)
        have.update((n, torch.from_numpy(x)) for n, x in zip(names, feeds))
        have[""] = None
        for op, attrs, inputs, output in steps:
            have[output] = op(attrs, *[have[i] for i in inputs])
        return [have[o.name].numpy() for o in graph.output]

    return names, run


peer.main(load)
