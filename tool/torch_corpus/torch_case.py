"""Cases: a module, sample inputs and outputs, in each form that torch can save.

    @case(dynamic=[{0: "batch"}])
    def mlp():
        return Mlp(), (image(3, 9),), (image(5, 9),), (image(1, 9),)

registers one: a function that gives the module and its arguments, and, where sizes may differ, arguments of
other sizes, and some of a batch of one. What options there are is said at build().
"""

import copy
import json
import os
import shutil
import time
import warnings
import zlib

import numpy as np
import torch
from torch.utils import _pytree as pytree

CASES = {}
ONNX_TYPES = {
    torch.float32: 1,
    torch.uint8: 2,
    torch.int8: 3,
    torch.uint16: 4,
    torch.int16: 5,
    torch.int32: 6,
    torch.int64: 7,
    torch.bool: 9,
    torch.float16: 10,
    torch.float64: 11,
    torch.uint32: 12,
    torch.uint64: 13,
    torch.bfloat16: 16,
}
FORMS = ("traced", "scripted", "export")


class Case:
    def __init__(self, name, make, **options):
        self.name, self.make, self.options = name, make, options


def case(name=None, **options):
    def add(make):
        key = name or make.__name__
        assert key not in CASES, key
        CASES[key] = Case(key, make, **options)
        return make

    return add


def one(name, cls, *args, alt=None, single=None, **options):
    """A case in one line: arguments, others of other sizes, some of a batch of one."""

    @case(name, **options)
    def make():
        return (cls(), args, *(a for a in (alt, single) if a))


# ── Numbers ──────────────────────────────────────────────────────────────────────────────────────


def image(*shape, seed=0):
    """Normal numbers of few digits, which compress; large pictures have coarse detail."""
    g = np.random.Generator(np.random.PCG64([77, seed, *shape]))
    if len(shape) > 2 and min(shape[-2:]) >= 96:
        coarse = (*shape[:-2], -(-shape[-2] // 4), -(-shape[-1] // 4))
        x = np.round(g.standard_normal(coarse, dtype=np.float32) * 32) / np.float32(32)
        x = x.repeat(4, -1).repeat(4, -2)[..., : shape[-2], : shape[-1]]
        ramp = (np.arange(shape[-2])[:, None] * 3 + np.arange(shape[-1])) % 16
        return torch.from_numpy(np.ascontiguousarray(x + ramp.astype(np.float32) / np.float32(16)))
    x = np.round(g.standard_normal(shape, dtype=np.float32) * 32) / np.float32(32)
    return torch.from_numpy(x)


def ids(*shape, high, seed=0):
    g = np.random.Generator(np.random.PCG64([78, seed, *shape]))
    return torch.from_numpy(g.integers(0, high, shape, dtype=np.int64))


# Tables that are computed, not learned.
KEEP = (
    "inv_freq position_ids relative_position_index relative_coords coords_table attn_mask anchor window fb A_log "
    "cos_cached sin_cached scale_keep zero_point fake_quant_enabled observer_enabled eps min_val max_val"
).split()


def fill(module, seed):
    """Other weights than those that modules start with, which hide mistakes: no zeros, no ones, no statistics of 0
    and 1; of the mean and deviation that they had."""
    done = set()
    tensors = list(module.named_parameters()) + list(module.named_buffers())
    for k, (name, t) in enumerate(tensors):
        storage = t.untyped_storage()
        if not t.is_floating_point() or t.numel() == 0 or storage.data_ptr() in done:
            continue
        if storage.nbytes() != t.numel() * t.element_size() or any(w in name for w in KEEP):
            continue
        done.add(storage.data_ptr())
        mean = float(t.float().mean())
        std = float(t.float().std()) if t.numel() > 1 else 0.0
        if not np.isfinite(mean + std):
            continue
        if std < 1e-3:
            std = 0.05 if t.dim() == 1 else 0.02
        g = np.random.Generator(np.random.PCG64([seed, k]))
        x = g.standard_normal(t.numel(), dtype=np.float32) * np.float32(std) + np.float32(mean)
        if name.endswith("running_var"):
            x = np.abs(x) + np.float32(0.25)
        with torch.no_grad():
            t.copy_(torch.from_numpy(x).view(t.shape).to(t.dtype))


# ── Files ────────────────────────────────────────────────────────────────────────────────────────


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def proto(t, name):
    """A TensorProto; complex numbers have a last axis of 2."""
    t = t.detach().cpu()
    t = (torch.view_as_real(t) if t.is_complex() else t).contiguous()
    raw = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    head = b"".join(b"\x08" + varint(d) for d in t.shape) + b"\x10" + varint(ONNX_TYPES[t.dtype])
    return head + b"\x42" + varint(len(name)) + name.encode() + b"\x4a" + varint(len(raw)) + raw


def write(folder, prefix, kind, tensors):
    for i, t in enumerate(tensors):
        with open(f"{folder}/{prefix}{kind}_{i}.pb", "wb") as f:
            f.write(proto(t, f"{kind}_{i}"))


def write_json(path, value):
    with open(path, "w") as f:
        json.dump(value, f, indent=1)


# ── Values ───────────────────────────────────────────────────────────────────────────────────────


def leaves(tree):
    """The tensors of a nest of values; Python's numbers are tensors of rank 0."""
    out = []
    for x in pytree.tree_leaves(tree):
        if isinstance(x, torch.Tensor):
            out.append(x.dequantize() if x.is_quantized else x)
        elif isinstance(x, (bool, int, float)):
            out.append(torch.tensor(x))
    return out


def fresh(args):
    return pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, args)


def wide(t):
    return t.to(torch.complex128) if t.is_complex() else t.double()


def difference(got, want):
    got = leaves(got)
    if len(got) != len(want):
        return f"{len(got)} outputs, not {len(want)}"
    for i, (x, y) in enumerate(zip(got, want)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"output {i}: {x.dtype}{tuple(x.shape)}, not {y.dtype}{tuple(y.shape)}"
        if not torch.allclose(wide(x), wide(y), rtol=1e-3, atol=1e-4, equal_nan=True):
            return f"output {i}: far off"
    return ""


def tolerance(model, args, want):
    """What torch itself is sure of: where its float32 is further from its float64 than the usual tolerance allows for,
    a wider one, for data.json."""
    types = {t.dtype for t in want}
    if torch.bfloat16 in types:
        return {"rtol": 2e-2, "atol": 1e-2}
    if torch.float16 in types:
        return {"rtol": 1e-2, "atol": 1e-3}
    try:
        double = copy.deepcopy(model).double()
        cast = lambda x: x.double() if torch.is_tensor(x) and x.dtype == torch.float32 else x
        exact = leaves(double(*pytree.tree_map(cast, fresh(args))))
        pairs = [(wide(a), wide(b)) for a, b in zip(want, exact) if a.is_floating_point() and a.numel()]
        noise = max(float((a - b).abs().max()) for a, b in pairs)
        unsure = any(bool(((a - b).abs() * 4 > 1e-5 + 1e-4 * b.abs()).any()) for a, b in pairs)
        return {"rtol": 1e-4, "atol": 4 * noise} if unsure else None
    except Exception:
        return None


def short(e):
    return " ".join(f"{type(e).__name__}: {e}".split())[:300]


# ── Forms ────────────────────────────────────────────────────────────────────────────────────────

LIMITS = {"seq": 48, "tseq": 48, "past": 30, "total": 31, "samples": 4096}


def shapes(dynamic, args, auto):
    from torch.export import Dim

    dims = {}

    def sizes(spec, arg):
        if not isinstance(arg, torch.Tensor):
            return pytree.tree_map(lambda _: None, arg) if isinstance(arg, (tuple, list, dict)) else None
        if not spec:
            return None if auto else {}
        name = lambda n: dims.setdefault(n, Dim(n, max=LIMITS.get(n, 512)))
        return {axis: Dim.AUTO if auto else name(n) for axis, n in spec.items()}

    return tuple(sizes(s, a) for s, a in zip(list(dynamic) + [None] * len(args), args))


def exported(options, model, args, errors):
    """The exported program: with named dimensions, else with those that torch finds, else without."""
    strict = options.get("strict", False)
    if "shapes" in options:
        program = torch.export.export(model, args, dynamic_shapes=options["shapes"](), strict=strict)
        return program, "named"
    dynamic = options.get("dynamic")
    for kind in ("named", "auto", "fixed") if dynamic else ("fixed",):
        try:
            sizes = None if kind == "fixed" else shapes(dynamic, args, kind == "auto")
            return torch.export.export(model, args, dynamic_shapes=sizes, strict=strict), kind
        except Exception as e:
            errors[f"export {kind}"] = short(e)
    raise RuntimeError("not exported")


def histogram(graph, count):
    for n in graph.node:
        key = n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}::{n.op_type}"
        count[key] = count.get(key, 0) + 1
        for a in n.attribute:
            for g in [a.g] if a.HasField("g") else a.graphs:
                histogram(g, count)


def write_dynamo(folder, program):
    """What PyTorch's own exporter makes of it: how many nodes, of which operators, in what time."""
    start = time.time()
    model = torch.onnx.export(program, dynamo=True, optimize=True, verbose=False).model_proto
    took = time.time() - start
    count = {}
    for graph in [model.graph, *model.functions]:
        histogram(graph, count)
    versions = {o.domain: o.version for o in model.opset_import}
    value = {
        "nodes": sum(count.values()),
        "ops": dict(sorted(count.items())),
        "seconds": round(took, 3),
        "opset": versions,
    }
    write_json(f"{folder}/dynamo.json", value)


class Builder:
    """The folder of one case."""

    def __init__(self, c, root):
        self.options, self.folder = c.options, f"{root}/{c.name}"
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.meta = {
            "name": c.name,
            "torch": torch.__version__,
            "dynamic": c.options.get("dynamic"),
            "saved": [],
            "errors": {},
            "alt_for": [],
            "one_for": [],
            "note": c.options.get("note", ""),
        }
        self.errors = self.meta["errors"]
        seed = zlib.crc32(c.name.encode())
        torch.manual_seed(seed)
        self.model, self.args, *others = c.make()
        self.model.eval()
        if c.options.get("fill", True):
            fill(self.model, seed)
        for p in self.model.parameters():
            p.requires_grad_(False)
        self.others = dict(zip(("alt", "one"), others))

    def run(self, args):
        model = copy.deepcopy(self.model) if self.options.get("state") else self.model
        return leaves(model(*fresh(args)))

    def record(self):
        self.want = self.run(self.args)
        self.runs = {k: (a, self.run(a)) for k, a in self.others.items()}
        for i, t in enumerate(self.want):
            if t.is_floating_point() and t.numel() and not self.options.get("inf") and not t.isfinite().all():
                self.errors[f"output_{i}"] = "not finite"
            if t.is_floating_point() and t.numel() > 4 and not self.options.get("flat") and t.double().std() < 1e-9:
                self.errors[f"output_{i}"] = "all the same"
        for prefix, (args, want) in [("", (self.args, self.want))] + [(f"{k}_", r) for k, r in self.runs.items()]:
            write(self.folder, prefix, "input", leaves(args))
            write(self.folder, prefix, "output", want)
        step = self.options.get("step")
        wider = {"rtol": 1e-3, "atol": step} if step else tolerance(self.model, self.args, self.want)
        if wider:
            write_json(f"{self.folder}/data.json", wider)

    def keep(self, form, loaded):
        """A file is kept if torch, having read it again, gives what the module gives."""
        if self.options.get("train"):  # its batch norms and dropouts are in training mode for torch
            self.meta["saved"].append(form)
            self.meta["alt_for"] += [form] if "alt" in self.runs else []
            return
        bad = difference(loaded(*fresh(self.args)), self.want)
        if bad:
            raise RuntimeError(bad)
        self.meta["saved"].append(form)
        for k, (args, want) in self.runs.items():
            try:
                bad = difference(loaded(*fresh(args)), want)
            except Exception as e:
                bad = short(e)
            if bad:
                self.errors[f"{k} {form}"] = bad
            else:
                self.meta[f"{k}_for"].append(form)

    def script(self, form, path):
        model = self.model.train() if self.options.get("train") else self.model
        if form == "traced":
            m = torch.jit.trace(model, fresh(self.args), strict=False, check_trace=False)
        else:
            m = torch.jit.script(model)
        if self.options.get("freeze"):
            m = torch.jit.freeze(m.eval())
        torch.jit.save(m, path)
        self.keep(f"{form}.pt", torch.jit.load(path).eval())

    def program(self, path, dynamo):
        model = self.model.train() if self.options.get("train") else self.model
        program, self.meta["export_dims"] = exported(self.options, model, fresh(self.args), self.errors)
        if self.options.get("decompose"):
            program = program.run_decompositions()
        torch.export.save(program, path)
        self.keep("export.pt2", torch.export.load(path).module())
        if dynamo:
            try:
                write_dynamo(self.folder, program)
            except Exception as e:
                self.errors["dynamo"] = short(e)

    def save(self, form, dynamo):
        path = f"{self.folder}/export.pt2" if form == "export" else f"{self.folder}/{form}.pt"
        try:
            self.program(path, dynamo) if form == "export" else self.script(form, path)
        except Exception as e:
            self.errors[os.path.basename(path)] = short(e)
            if os.path.exists(path):
                os.unlink(path)
        self.model.eval()


def build(c, root, dynamo=True):
    """Writes root/NAME, and returns what meta.json says. Options of a case:

    dynamic    for each argument the names of its axes of any size: [{0: "batch", 1: "seq"}, None]
    shapes     a function that gives dynamic_shapes of torch.export, where names are not enough
    forms      of FORMS
    fill       False: the weights stay as the module has them
    state      the module changes its buffers: each run is the first
    train      saved in training mode; the outputs are those of inference
    freeze, decompose, strict    as torch has them
    inf, flat  outputs may be infinite; may be all the same
    cost       how long it takes, about, to begin with the long ones
    note       said in meta.json
    """
    start = time.time()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = Builder(c, root)
        b.record()
        for form in FORMS:
            if form in c.options.get("forms", FORMS):
                b.save(form, dynamo)
    b.meta["seconds"] = round(time.time() - start, 1)
    write_json(f"{b.folder}/meta.json", b.meta)
    return b.meta
