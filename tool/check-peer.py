#!/usr/bin/env python3
"""check-peer.py: onx check --full beside onnx.checker.check_model(full_check=True).

Takes the models of the backend tests, breaks each in many ways, and compares the verdicts: what the
onnx package rejects, onx must reject. What only onx rejects is listed by rule, to be looked at.

    tool/check-peer.py [--onx build/onx] [--data $ONX_DATA] [--count 12000] [--seed 1] [--show 10]
                       [--plain]         without --full and full_check

Needs Python with the onnx package. Exit status 1 if onnx rejects a model that onx accepts.
"""
import argparse
import collections
import glob
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile

import onnx
from onnx import helper

# Right as they are, but rejected by the onnx package: it does not see the default of an attribute.
ONNX_IS_WRONG = {"test_mvn"}
MUTATORS = []


def mutator(function):
    MUTATORS.append(function)
    return function


def graphs(model):
    """All graphs: the main one, those in attributes, and functions."""
    todo = [model.graph] + list(model.functions)
    while todo:
        graph = todo.pop()
        yield graph
        for node in graph.node:
            for a in node.attribute:
                todo += ([a.g] if a.HasField("g") else []) + list(a.graphs)


def any_node(model, r):
    nodes = [n for g in graphs(model) for n in g.node]
    return r.choice(nodes) if nodes else None


def any_attr(model, r):
    attrs = [a for g in graphs(model) for n in g.node for a in n.attribute]
    return r.choice(attrs) if attrs else None


def any_tensor(model, r):
    found = []
    for g in graphs(model):
        found += list(getattr(g, "initializer", []))
        for n in g.node:
            found += [a.t for a in n.attribute if a.HasField("t")]
    return r.choice(found) if found else None


def any_info(model, r, outputs=False):
    g = model.graph
    infos = list(g.output if outputs else g.input)
    return r.choice(infos) if infos else None


# ── Nodes ──


@mutator
def drop_input(m, r):
    n = any_node(m, r)
    del n.input[r.randrange(len(n.input))]


@mutator
def drop_last_input(m, r):
    del any_node(m, r).input[-1]


@mutator
def empty_input(m, r):
    n = any_node(m, r)
    n.input[r.randrange(len(n.input))] = ""


@mutator
def extra_input(m, r):
    n = any_node(m, r)
    n.input.append(n.input[0])


@mutator
def extra_empty_input(m, r):
    any_node(m, r).input.append("")


@mutator
def undefined_input(m, r):
    n = any_node(m, r)
    n.input[r.randrange(len(n.input))] = "nothing_defines_this"


@mutator
def swap_inputs(m, r):
    n = any_node(m, r)
    i, j = r.sample(range(len(n.input)), 2)
    n.input[i], n.input[j] = n.input[j], n.input[i]


@mutator
def other_input(m, r):
    n = any_node(m, r)
    n.input[r.randrange(len(n.input))] = r.choice(m.graph.input).name


@mutator
def own_result(m, r):
    n = any_node(m, r)
    n.input[r.randrange(len(n.input))] = n.output[0]


@mutator
def drop_output(m, r):
    n = any_node(m, r)
    del n.output[r.randrange(len(n.output))]


@mutator
def extra_output(m, r):
    any_node(m, r).output.append("one_more_output")


@mutator
def empty_output(m, r):
    n = any_node(m, r)
    n.output[r.randrange(len(n.output))] = ""


@mutator
def duplicate_output(m, r):
    n = any_node(m, r)
    n.output[0] = m.graph.input[0].name


@mutator
def no_inputs_outputs(m, r):
    n = any_node(m, r)
    del n.input[:]
    del n.output[:]


@mutator
def duplicate_node(m, r):
    m.graph.node.add().CopyFrom(r.choice(m.graph.node))


@mutator
def drop_node(m, r):
    del m.graph.node[r.randrange(len(m.graph.node))]


@mutator
def reverse_nodes(m, r):
    nodes = list(m.graph.node)[::-1]
    del m.graph.node[:]
    m.graph.node.extend(nodes)


@mutator
def unknown_op(m, r):
    any_node(m, r).op_type += "x"


@mutator
def no_op(m, r):
    any_node(m, r).op_type = ""


@mutator
def other_op(m, r):
    any_node(m, r).op_type = r.choice(
        "Relu Add Conv MatMul Concat If Loop Cast Gemm Reshape Transpose Softmax Slice Gather Split "
        "Pad Resize TopK ReduceSum Squeeze Unsqueeze Constant Identity Upsample Scatter".split())


@mutator
def domain(m, r):
    any_node(m, r).domain = r.choice(["ai.onnx", "ai.onnx.ml", "nobody", "com.microsoft"])


@mutator
def rename_value(m, r):
    n = any_node(m, r)
    n.output[r.randrange(len(n.output))] += "_renamed"


# ── Attributes ──


@mutator
def drop_attr(m, r):
    n = any_node(m, r)
    del n.attribute[r.randrange(len(n.attribute))]


@mutator
def unknown_attr(m, r):
    n = any_node(m, r)
    n.attribute.append(helper.make_attribute(r.choice(["unheard_of", "axis", "to", "mode"]), 1))


@mutator
def duplicate_attr(m, r):
    n = any_node(m, r)
    n.attribute.add().CopyFrom(r.choice(n.attribute))


@mutator
def attr_name(m, r):
    a = any_attr(m, r)
    a.name = r.choice(["", a.name + "s", "_" + a.name, "__" + a.name])


@mutator
def attr_type(m, r):
    any_attr(m, r).type = r.randrange(0, 15)


@mutator
def attr_no_type(m, r):
    any_attr(m, r).ClearField("type")


@mutator
def attr_value(m, r):
    a = any_attr(m, r)
    name, doc = a.name, r.choice([1, -1, 0, 1.5, "x", [1, 2], [-3, 0, 5], [0.5], ["a"], 77, 2**40])
    a.CopyFrom(helper.make_attribute(name, doc))


@mutator
def attr_two_values(m, r):
    a = any_attr(m, r)
    a.i, a.f = 1, 2.0


@mutator
def attr_number(m, r):
    a = any_attr(m, r)
    if a.type == 2:
        a.i = r.choice([-100, -5, -2, -1, 0, 1, 2, 3, 7, 50, 2**31, -(2**62), 2**62])
    elif a.type == 7 and a.ints:
        a.ints[r.randrange(len(a.ints))] = r.choice([-100, -1, 0, 1, 2, 3, 50, 2**40])
    else:
        return False


@mutator
def attr_shorten(m, r):
    a = r.choice([a for g in graphs(m) for n in g.node for a in n.attribute if a.ints or a.floats])
    del a.ints[-1:], a.floats[-1:]


@mutator
def attr_lengthen(m, r):
    a = r.choice([a for g in graphs(m) for n in g.node for a in n.attribute if a.type == 7])
    a.ints.append(r.choice([0, 1, 2]))


@mutator
def attr_string(m, r):
    a = r.choice([a for g in graphs(m) for n in g.node for a in n.attribute if a.type == 3])
    a.s = r.choice([b"", b"nonsense", a.s.upper(), a.s + b" "])


@mutator
def attr_ref(m, r):
    a = any_attr(m, r)
    a.ref_attr_name = "parameter"


# ── Types ──


@mutator
def input_dtype(m, r):
    any_info(m, r).type.tensor_type.elem_type = r.randrange(0, 32)


@mutator
def output_dtype(m, r):
    any_info(m, r, True).type.tensor_type.elem_type = r.randrange(0, 32)


@mutator
def input_dim(m, r):
    t = any_info(m, r).type.tensor_type
    d = r.choice(t.shape.dim)
    d.dim_value = r.choice([0, 1, 2, 3, 5, 17, d.dim_value + 1, -1])


@mutator
def output_dim(m, r):
    d = r.choice(any_info(m, r, True).type.tensor_type.shape.dim)
    d.dim_value = d.dim_value + r.choice([1, 2, 10])


@mutator
def input_rank(m, r):
    t = any_info(m, r).type.tensor_type
    if r.random() < 0.5:
        del t.shape.dim[-1]
    else:
        t.shape.dim.add().dim_value = 2


@mutator
def output_rank(m, r):
    t = any_info(m, r, True).type.tensor_type
    if r.random() < 0.5:
        del t.shape.dim[-1]
    else:
        t.shape.dim.add().dim_value = 2


@mutator
def no_shape(m, r):
    any_info(m, r, r.random() < 0.5).type.tensor_type.ClearField("shape")


@mutator
def no_type(m, r):
    any_info(m, r, r.random() < 0.5).ClearField("type")


@mutator
def other_kind(m, r):
    i = any_info(m, r, r.random() < 0.3)
    old = onnx.TypeProto()
    old.CopyFrom(i.type)
    i.type.Clear()
    kind = r.choice(["sequence_type", "optional_type", "map_type", "sparse_tensor_type"])
    if kind == "map_type":
        i.type.map_type.key_type = r.choice([1, 7, 8])
        i.type.map_type.value_type.CopyFrom(old)
    elif kind == "sparse_tensor_type":
        i.type.sparse_tensor_type.elem_type = 1
        i.type.sparse_tensor_type.shape.dim.add().dim_value = 3
    else:
        getattr(i.type, kind).elem_type.CopyFrom(old)


@mutator
def sequence_of_nothing(m, r):
    i = any_info(m, r)
    i.type.Clear()
    getattr(i.type, r.choice(["sequence_type", "optional_type", "map_type"])).SetInParent()


# ── Graph ──


@mutator
def info_name(m, r):
    any_info(m, r, r.random() < 0.5).name = ""


@mutator
def rename_input(m, r):
    any_info(m, r).name += "_renamed"


@mutator
def rename_output(m, r):
    any_info(m, r, True).name += "_renamed"


@mutator
def drop_graph_input(m, r):
    del m.graph.input[r.randrange(len(m.graph.input))]


@mutator
def duplicate_input(m, r):
    m.graph.input.add().CopyFrom(r.choice(m.graph.input))


@mutator
def graph_name(m, r):
    r.choice([g for g in graphs(m)]).name = ""


@mutator
def no_graph(m, r):
    m.ClearField("graph")


@mutator
def input_to_initializer(m, r):
    i = r.randrange(len(m.graph.input))
    info = m.graph.input[i]
    dims = [d.dim_value for d in info.type.tensor_type.shape.dim]
    count = 1
    for d in dims:
        count *= d
    if info.type.tensor_type.elem_type not in (1, 6, 7) or count > 4096:
        return False
    t = helper.make_tensor(info.name, info.type.tensor_type.elem_type, dims,
                           [r.choice([0, 1, 2, -1, 3, 9]) for _ in range(count)])
    m.graph.initializer.append(t)
    if r.random() < 0.8:
        del m.graph.input[i]


@mutator
def lying_value_info(m, r):
    n = r.choice(m.graph.node)
    v = m.graph.value_info.add()
    v.name = r.choice(n.output)
    v.type.tensor_type.elem_type = r.choice([1, 7, 9])
    for _ in range(r.randrange(4)):
        v.type.tensor_type.shape.dim.add().dim_value = r.choice([1, 2, 3, 4])


@mutator
def subgraph_inputs(m, r):
    g = r.choice([g for g in graphs(m) if g is not m.graph and isinstance(g, onnx.GraphProto)])
    if r.random() < 0.5:
        g.input.add().name = "one_more"
    else:
        del g.input[-1]


@mutator
def subgraph_outputs(m, r):
    g = r.choice([g for g in graphs(m) if g is not m.graph and isinstance(g, onnx.GraphProto)])
    if r.random() < 0.5:
        g.output.add().CopyFrom(g.output[0])
    else:
        del g.output[-1]


@mutator
def shadow(m, r):
    g = r.choice([g for g in graphs(m) if g is not m.graph and isinstance(g, onnx.GraphProto)])
    r.choice(g.node).output[0] = m.graph.input[0].name


# ── Model ──


@mutator
def ir_version(m, r):
    m.ir_version = r.choice([0, 1, 2, 3, 4, 7, 8, 13, 14, 15, 100, -1])


@mutator
def opset(m, r):
    r.choice(m.opset_import).version = r.choice(list(range(0, 29)) + [-1])


@mutator
def no_opset(m, r):
    del m.opset_import[:]


@mutator
def opset_domain(m, r):
    r.choice(m.opset_import).domain = "elsewhere"


@mutator
def metadata(m, r):
    for _ in range(2):
        m.metadata_props.add().key = "key"


# ── Tensors ──


@mutator
def tensor_dtype(m, r):
    any_tensor(m, r).data_type = r.randrange(0, 30)


@mutator
def tensor_dims(m, r):
    t = any_tensor(m, r)
    if t.dims and r.random() < 0.6:
        t.dims[r.randrange(len(t.dims))] = r.choice([-1, 0, 1, 2, 7, 2**40, 2**62])
    else:
        t.dims.append(r.choice([0, 1, 2, -1]))


@mutator
def tensor_no_data(m, r):
    t = any_tensor(m, r)
    for field in "raw_data float_data int32_data int64_data string_data double_data".split():
        t.ClearField(field)


@mutator
def tensor_two_data(m, r):
    t = any_tensor(m, r)
    t.float_data.append(1)
    t.int64_data.append(1)


@mutator
def tensor_raw_string(m, r):
    t = any_tensor(m, r)
    t.data_type, t.raw_data = 8, b"abc"


@mutator
def tensor_external(m, r):
    t = any_tensor(m, r)
    t.data_location = 1
    if r.random() < 0.5:
        t.ClearField("raw_data")
    if r.random() < 0.7:
        e = t.external_data.add()
        e.key, e.value = "location", r.choice(["/etc/passwd", "../x", "", "missing.bin"])


@mutator
def initializer_name(m, r):
    r.choice(m.graph.initializer).name = ""


@mutator
def initializer_twice(m, r):
    m.graph.initializer.add().CopyFrom(r.choice(m.graph.initializer))


# ── Functions ──


@mutator
def function_field(m, r):
    f = r.choice(m.functions)
    what = r.randrange(9)
    if what == 0:
        f.name = ""
    elif what == 1:
        del f.opset_import[:]
    elif what == 2:
        f.opset_import[0].version = r.randrange(1, 29)
    elif what == 3:
        f.input.append(f.input[0])
    elif what == 4:
        f.output.append(f.output[0])
    elif what == 5:
        f.attribute.extend(["a", "a"])
    elif what == 6:
        n = f.node.add()
        n.op_type, n.domain = f.name, f.domain
        n.input.extend(f.input)
        n.output.append("again")
        f.opset_import.append(helper.make_opsetid(f.domain, 1))
    elif what == 7:
        m.functions.add().CopyFrom(f)
    else:
        f.node[0].output[0] = f.input[0]


def to_function(m):
    """The whole graph in a function that is called once: the same rules hold inside it."""
    g = m.graph
    if g.initializer or g.sparse_initializer or not g.node:
        return False
    f = m.functions.add()
    f.name, f.domain = "whole", "made.up"
    f.input.extend(i.name for i in g.input)
    f.output.extend(o.name for o in g.output)
    f.node.extend(g.node)
    f.opset_import.extend(m.opset_import)
    del g.node[:]
    g.node.append(helper.make_node("whole", list(f.input), list(f.output), domain="made.up"))
    m.opset_import.append(helper.make_opsetid("made.up", 1))
    m.ir_version = max(m.ir_version, 10)


def make(job):
    """One broken model: its bytes and what was done to it; None where nothing could be done."""
    path, seed = job
    if path.split("/")[-2] in ONNX_IS_WRONG:
        return None
    r = random.Random(f"{seed} {path}")
    m = onnx.load(path, load_external_data=False)
    if r.random() < 0.08 and to_function(m) is False:
        return None
    done = []
    for _ in range(r.choice([1, 1, 1, 2])):
        mutate = r.choice(MUTATORS)
        try:
            if mutate(m, r) is not False:
                done.append(mutate.__name__)
        except (IndexError, ValueError, AttributeError):
            pass
    return (m.SerializeToString(), " + ".join(done)) if done else None


def judge(data, full):
    try:
        onnx.checker.check_model(onnx.load_from_string(data), full_check=full)
        return ""
    except Exception as e:  # whatever it raises is a rejection
        return str(e).strip().replace("\n", " ") or type(e).__name__


def work(jobs, full, out):
    """In a process of its own, for some models bring the onnx package down."""
    for job in jobs:
        out.send(("begin", job))
        made = make(job)
        out.send(("case", made and (job, made[1], made[0], judge(made[0], full))))
    out.send(("end", None))


def peers(jobs, full, patience=20):
    """The cases of all jobs; those that onnx does not survive are left out, and counted."""
    lost, at = 0, 0
    while at < len(jobs):
        ours, theirs = multiprocessing.Pipe(False)
        worker = multiprocessing.Process(target=work, args=(jobs[at:], full, theirs), daemon=True)
        worker.start()
        theirs.close()
        try:
            while ours.poll(patience):
                kind, what = ours.recv()
                if kind == "begin":
                    at += 1
                elif kind == "end":
                    break
                elif what:
                    yield what
            else:
                lost += 1
        except EOFError:
            lost += 1
        worker.kill()
        worker.join()
    print(f"{lost} models bring onnx down")


def check(onx, folder, cases, full):
    """The rules that onx finds broken in each case."""
    paths = []
    for i, case in enumerate(cases):
        paths.append(os.path.join(folder, f"{i}.onnx"))
        with open(paths[-1], "wb") as out:
            out.write(case[2])
    run = subprocess.run([onx, "check", "--json", *(["--full"] if full else []), *paths], stdout=subprocess.PIPE)
    results = json.loads(run.stdout)
    assert len(results) == len(cases)
    for result in results:
        problems = result.get("problems", [])
        errors = [p for p in problems if p["severity"] == "error"]
        yield errors or ([] if result["valid"] else [{"rule": "load", "message": result["failure"]}])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--onx", default="build/onx")
    p.add_argument("--data", default=os.environ.get("ONX_DATA", "/work/data"))
    p.add_argument("--count", type=int, default=12000)
    p.add_argument("--seed", default="1")
    p.add_argument("--show", type=int, default=10)
    p.add_argument("--plain", action="store_true")
    p.add_argument("--keep", help="folder for models on which the verdicts differ")
    args = p.parse_args()
    models = sorted(glob.glob(f"{args.data}/node/*/model.onnx") +
                    glob.glob(f"{args.data}/simple/*/model.onnx") +
                    glob.glob(f"{args.data}/pytorch-*/*/model.onnx"))
    r = random.Random(args.seed)
    jobs = [(r.choice(models), f"{args.seed}.{i}") for i in range(args.count)]
    accepted, strict = collections.defaultdict(list), collections.defaultdict(list)
    both = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        cases = list(peers(jobs, not args.plain))
        for start in range(0, len(cases), 500):
            part = cases[start:start + 500]
            for (job, done, data, verdict), errors in zip(part, check(args.onx, folder, part, not args.plain)):
                both[bool(verdict), bool(errors)] += 1
                if bool(verdict) == bool(errors):
                    continue
                name = f"{os.path.basename(os.path.dirname(job[0]))}: {done}"
                if verdict:
                    accepted[done].append(f"{name}: {verdict[:200]}")
                else:
                    strict[errors[0]["rule"]].append(f"{name}: {errors[0]['message'][:200]}")
                if args.keep:
                    kind = "accepted" if verdict else "strict"
                    with open(f"{args.keep}/{kind}-{job[1]}.onnx", "wb") as out:
                        out.write(data)
    print(f"{len(cases)} models: both reject {both[True, True]}, both accept {both[False, False]},"
          f" only onnx rejects {both[True, False]}, only onx rejects {both[False, True]}")
    for title, kinds in ("only onnx rejects", accepted), ("only onx rejects", strict):
        for kind, lines in sorted(kinds.items(), key=lambda k: -len(k[1])):
            print(f"{title}: {kind}: {len(lines)}")
            for line in lines[:args.show]:
                print("   ", line)
    failed = both[True, False]
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
