"""Writes test/kernels/microsoft.txt: nodes of com.microsoft with random options and inputs, and what
ONNX Runtime's CPU kernels make of them.

    microsoft-cases.py [CASES OF EACH KIND] > test/kernels/microsoft.txt
"""

import random
import sys

import numpy as np
import onnxruntime as ort
from onnx import helper

F32, F16, I8, U8, I32, I64 = np.float32, np.float16, np.int8, np.uint8, np.int32, np.int64
NAMES = {F32: "float", F16: "float16", I8: "int8", U8: "uint8", I32: "int32", I64: "int64"}
TYPES = {t: helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in NAMES}
rng = random.Random(7)
nrng = np.random.default_rng(7)


def numbers(*dims, dtype=F32):
    return (nrng.integers(-8, 9, dims) / 4).astype(dtype)


def whole(low, high, *dims, dtype=I32):
    return nrng.integers(low, high, dims).astype(dtype)


def maybe(chance, value):
    return value if rng.random() < chance else None


def given(**attributes):
    return {k: v for k, v in attributes.items() if v is not None}


# Each returns operator, inputs (None: absent), attributes, wanted outputs {index: type}.


def activation():
    op = rng.choice(["Gelu", "FastGelu", "BiasGelu", "QuickGelu"])
    inputs = [numbers(2, 5)]
    if op == "BiasGelu" or (op == "FastGelu" and rng.random() < 0.5):
        inputs.append(numbers(5))
    return op, inputs, given(alpha=0.5 if op == "QuickGelu" else None), {0: F32}


def skip_norm():
    simple, t, h = rng.random() < 0.5, rng.choice([F32, F16]), rng.randint(1, 9)
    inputs = [numbers(2, 2, h, dtype=t), numbers(*rng.choice([(2, 2, h), (1, 2, h), (2, h)]), dtype=t)]
    inputs += [numbers(h, dtype=t)] + [maybe(0.6, numbers(h, dtype=t)) for _ in range(1 if simple else 2)]
    op = "SkipSimplifiedLayerNormalization" if simple else "SkipLayerNormalization"
    return op, inputs, {"epsilon": 0.01}, {0: t, 3: t}


def embed_norm():
    h, segments = rng.randint(1, 6), rng.random() < 0.5
    inputs = [whole(0, 5, 2, 3), whole(0, 2, 2, 3) if segments else None, numbers(5, h), numbers(4, h)]
    inputs += [numbers(2, h) if segments else None, numbers(h), numbers(h), maybe(0.5, whole(0, 2, 2, 3))]
    inputs += [maybe(0.5, whole(0, 4, rng.choice([1, 2]), 3))]
    return "EmbedLayerNormalization", inputs, {"epsilon": 0.01}, {0: F32, 1: I32, 2: F32}


def product():
    m, k, n, batch = 2, 3, 4, rng.random() < 0.5
    ta, tb = rng.randint(0, 1), rng.randint(0, 1)
    ba, bb = (rng.randint(0, 1), rng.randint(0, 1)) if batch else (0, 0)

    def matrix(rows, columns, turned, apart):
        rows, columns = (columns, rows) if turned else (rows, columns)
        return numbers(rows, 2, columns) if apart else numbers(2, rows, columns)

    attributes = {"transA": ta, "transB": tb, "transBatchA": ba, "transBatchB": bb, "alpha": 0.5}
    return "FusedMatMul", [matrix(m, k, ta, ba), matrix(k, n, tb, bb)], attributes, {0: F32}


def gemm():
    name = rng.choice(["Relu", "LeakyRelu", "Tanh", "Sigmoid", "HardSigmoid", "Softplus", "Selu", "Elu"])
    attributes = {"transA": rng.randint(0, 1), "transB": rng.randint(0, 1), "alpha": 0.5, "beta": 2.0}
    attributes |= {"activation": name, "activation_alpha": 0.25, "activation_beta": 0.75}
    attributes["activation_gamma"] = 1.5
    a, b = numbers(2, 3), numbers(3, 4)
    inputs = [a.T.copy() if attributes["transA"] else a, b.T.copy() if attributes["transB"] else b]
    return "FusedGemm", inputs + [maybe(0.6, numbers(4))], attributes, {0: F32}


def rotary():
    t, heads, part, flat = rng.choice([F32, F16]), 2, rng.random() < 0.4, rng.random() < 0.5
    size = 24 if part else 8
    x = numbers(2, 3, heads * size, dtype=t) if flat else numbers(2, heads, 3, size, dtype=t)
    places = whole(0, 6, 2, 3, dtype=I64) if rng.random() < 0.5 else whole(0, 3, 1, dtype=I64)
    attributes = given(interleaved=rng.randint(0, 1), rotary_embedding_dim=8 if part else None)
    if part or (flat and rng.random() < 0.5):
        attributes["num_heads"] = heads
    return "RotaryEmbedding", [x, places, numbers(6, 4, dtype=t), numbers(6, 4, dtype=t)], attributes, {0: t}


def mask(batch, length, keys, forms):
    form = rng.choice(forms)
    return {
        None: lambda: None,
        "ends": lambda: whole(0, keys + 1, batch),
        "both": lambda: np.concatenate([whole(1, keys + 1, batch), whole(0, 2, batch)]),
        "keys": lambda: whole(0, 2, batch, keys),
        "one": lambda: np.ones((batch, 1), I32),
        "rows": lambda: whole(0, 2, batch, length, keys),
    }[form]()


def attention():
    batch, length, heads, size, wide = 2, rng.randint(1, 3), 2, 2, rng.random() < 0.3
    v, past = 3 if wide else size, None if wide else maybe(0.5, rng.randint(0, 2))
    keys, width = (past or 0) + length, heads * (2 * size + v)
    attributes = given(
        num_heads=heads,
        unidirectional=rng.randint(0, 1),
        scale=maybe(0.3, 0.75),
        mask_filter_value=maybe(0.3, -5.0),
        qkv_hidden_sizes=[heads * size, heads * size, heads * v] if wide else None,
    )
    inputs = [numbers(batch, length, 3), numbers(3, width), numbers(width)]
    inputs += [mask(batch, length, keys, [None, "ends", "both", "keys", "one", "rows"])]
    inputs += [None if past is None else numbers(2, batch, heads, past, size)]
    inputs += [maybe(0.4, numbers(rng.choice([1, batch]), heads, length, keys)) if past is None else None]
    return "Attention", inputs, attributes, {0: F32} | ({} if past is None else {1: F32})


def multi_head():
    batch, length, heads, size, fresh = 2, rng.randint(1, 3), 2, 2, rng.randint(1, 3)
    cached = rng.random() < 0.3
    past = None if cached else maybe(0.5, rng.randint(0, 2))
    v = 3 if past is None and not cached and rng.random() < 0.5 else size
    keys = (past or 0) + fresh
    attributes = given(num_heads=heads, unidirectional=rng.randint(0, 1), scale=maybe(0.3, 0.75))
    shape = (lambda n: (batch, heads, fresh, n)) if cached else (lambda n: (batch, fresh, heads * n))
    inputs = [numbers(batch, length, heads * size), numbers(*shape(size)), numbers(*shape(v))]
    inputs += [maybe(0.5, numbers(heads * (2 * size + v))), mask(batch, length, keys, [None, "ends", "keys", "rows"])]
    inputs += [maybe(0.4, numbers(1, heads, length, keys))]
    inputs += [None if past is None else numbers(batch, heads, past, n) for n in (size, v)]
    outputs = {0: F32} | ({} if past is None else {1: F32, 2: F32}) | ({3: F32} if rng.random() < 0.4 else {})
    return "MultiHeadAttention", inputs, attributes, outputs


def cache(bits, *dims, dtype):
    if bits == 0:
        return numbers(*dims, dtype=dtype)
    if bits == 8:
        return whole(-128, 128, *dims, dtype=I8)
    return whole(0, 256, *dims[:-1], dims[-1] // 2, dtype=U8)


def group_query():
    """A prompt, a token, or a few more; caches that grow or stay; floats or integers."""
    t, kv, how = rng.choice([F32, F16]), 1, rng.choice(["prompt", "token", "more"])
    heads, turns, bits = kv * 2, rng.random() < 0.5, rng.choice([0, 0, 0, 4, 8])
    size = 16 if turns else 8
    batch = 1 if how == "more" else 2
    length = 1 if how == "token" else rng.randint(2, 3)
    past = 0 if how == "prompt" else rng.randint(1, 3)
    total, room = past + length, rng.choice([past, 6])
    lengths = [total] * batch
    if how == "token":
        lengths[0] = rng.randint(1, total)
    packed, by_channel = rng.random() < 0.3, rng.random() < 0.5
    kind = "PER_CHANNEL" if by_channel else "PER_TENSOR"
    attributes = given(
        num_heads=heads,
        kv_num_heads=kv,
        scale=maybe(0.3, 0.5),
        softcap=maybe(0.3, 2.0),
        local_window_size=maybe(0.4, rng.randint(1, 3)),
        smooth_softmax=maybe(0.3, 1),
        do_rotary=1 if turns else None,
        rotary_interleaved=rng.randint(0, 1) if turns else None,
        **({"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits} if bits else {}),
    )
    width = (heads + 2 * kv) * size if packed else heads * size
    new = [numbers(batch, length, width, dtype=t)]
    new += [None if packed else numbers(batch, length, kv * size, dtype=t) for _ in range(2)]
    old = [cache(bits, batch, kv, room, size, dtype=t) for _ in range(2)]
    if how == "prompt" and not bits and rng.random() < 0.5:
        old = [None, None]
    inputs = new + old + [np.array(lengths, I32) - 1, np.array([total], I32)]
    inputs = [x if x is None else x.astype(x.dtype) for x in inputs]
    inputs += [numbers(8, 8, dtype=t) if turns else None for _ in range(2)]
    inputs += [None, maybe(0.3, numbers(1, heads, length, total, dtype=t)), maybe(0.3, numbers(heads, dtype=t))]
    inputs += [np.full(kv * size if by_channel else 1, s, F32) if bits else None for s in (0.25, 0.125)]
    kept = t if not bits else I8 if bits == 8 else U8
    return "GroupQueryAttention", inputs, attributes, {0: t, 1: kept, 2: kept}


def sliding():
    """A cache that forgets."""
    window = rng.randint(1, 3)
    room, length, past = window + rng.randint(0, 3), rng.choice([1, 1, 4]), rng.randint(0, 9)
    attributes = {"num_heads": 2, "kv_num_heads": 1, "local_window_size": window, "sliding_window_cache": 1}
    inputs = [numbers(1, length, 16), numbers(1, length, 8), numbers(1, length, 8)]
    inputs += [numbers(1, 1, room, 8) for _ in range(2)]
    inputs += [np.array([past + length - 1], I32), np.array([past + length], I32)]
    return "GroupQueryAttention", inputs, attributes, {0: F32}


def beams():
    """A past of which each beam has taken rows from others."""
    count, groups, heads, size, room = rng.choice([2, 3]), rng.choice([1, 2]), 2, 2, rng.randint(2, 4)
    batch, past = count * groups, rng.randint(1, room - 1)
    inputs = [numbers(batch, 1, heads * size) for _ in range(3)] + [maybe(0.5, numbers(3 * heads * size))]
    inputs += [maybe(0.5, whole(0, 2, batch, past + 1)), None]
    inputs += [numbers(batch, heads, room, size) for _ in range(2)] + [np.array([past], I32)]
    inputs += [whole(0, count, groups, count, room)]
    return "MultiHeadAttention", inputs, {"num_heads": heads}, {0: F32, 1: F32, 2: F32}


def build(op, inputs, attributes, outputs):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    while not names[-1]:
        names.pop()
    out = [f"y{i}" if i in outputs else "" for i in range(max(outputs) + 1)]
    if op == "GroupQueryAttention":
        out = ["y0", "y1", "y2"]
    node = helper.make_node(op, names, out, domain="com.microsoft", **attributes)
    infos = [
        helper.make_tensor_value_info(f"x{i}", TYPES[x.dtype.type], x.shape)
        for i, x in enumerate(inputs)
        if x is not None
    ]
    results = [helper.make_tensor_value_info(f"y{i}", TYPES[t], None) for i, t in outputs.items()]
    graph = helper.make_graph([node], "g", infos, results)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def text_of(name, x):
    """The text has halves as the numbers of their bits."""
    kind, x = NAMES[x.dtype.type], x.view(np.uint16) if x.dtype == F16 else x
    values = ",".join(f"{float(v):.8g}" if x.dtype.kind == "f" else str(int(v)) for v in x.flatten())
    dims = ",".join(map(str, x.shape))
    return f"{kind}{'[' + dims + ']' if x.shape else ''} {name} = {{{values}}}"


def attribute_text(name, value):
    if isinstance(value, str):
        return f'{name} = "{value}"'
    return f"{name} = {value}"


def write_case(name, op, inputs, attributes, outputs, results):
    node = build(op, inputs, attributes, outputs).graph.node[0]
    tensors = [text_of(f"x{i}", x) for i, x in enumerate(inputs) if x is not None]
    tensors += [text_of(f"want{i}", y) for i, y in zip(outputs, results)]
    options = ", ".join(attribute_text(k, v) for k, v in attributes.items())
    options = f" <{options}>" if options else ""
    values = ", ".join(f"{NAMES[t]}[] y{i}" for i, t in outputs.items())
    print(f"== {name}")
    print('<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>')
    print(f"g () => ({values}) <\n  " + ",\n  ".join(tensors) + "\n> {")
    print(f"  {', '.join(node.output)} = com.microsoft.{op}{options} ({', '.join(node.input)})\n}}")


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    kinds = [activation, skip_norm, embed_norm, product, gemm, rotary, attention, multi_head, group_query, sliding]
    kinds += [beams]
    print(f"# Made by tool/microsoft-cases.py with ONNX Runtime {ort.__version__}.")
    for kind in kinds:
        for number in range(cases * (3 if kind is group_query else 1)):
            op, inputs, attributes, outputs = kind()
            model = build(op, inputs, attributes, outputs).SerializeToString()
            session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
            results = session.run([f"y{i}" for i in outputs], feeds)
            write_case(f"{kind.__name__} {number}", op, inputs, attributes, outputs, results)


if __name__ == "__main__":
    main()
