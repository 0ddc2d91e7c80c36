#!/usr/bin/env python3
"""Record test/types: cases of every operator, in every type that its versions allow.

    tool/types/generate.py SCHEMAS.json.xz [OPERATOR…]

Needs the Python packages onnx, numpy and ml_dtypes; and onnxruntime, else the operators of
com.microsoft are left as they are, for it is their oracle, in float. How the operators are called is in
operators.txt; what must come out is computed by onnx's reference evaluator, with all floats as
double and rounded once in the end, or, where it knows an operator badly or not at all, by NumPy
in oracle.py. Values of input x are in initializers as test/type_case.h says, expected ones in
want_y."""

import json
import lzma
import pathlib
import re
import sys
import warnings
import zlib

import numpy as np
import onnx
import onnx.parser
from onnx.reference import ReferenceEvaluator

import oracle
import values as V

try:
    import onnxruntime as ort
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
except ImportError:
    ort = None

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "test" / "types"
OPSETS = {"ai.onnx": 28, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}


def read_schemas(path):
    """Schemas by (name, version); version 0: the newest that may be used."""
    found = {}
    for s in sorted(json.load(lzma.open(path)), key=lambda s: s["since"]):
        name, newest = s["name"], found.get((s["name"], 0))
        found[name, s["since"]] = {**s, "opset": s["since"]}
        if not s["deprecated"]:
            found[name, 0] = {**s, "opset": OPSETS[s["domain"]]}
        elif newest:
            newest["opset"] = s["since"] - 1
    return found


def read_microsoft():
    """The same from onnxruntime: what is not of ONNX."""
    found = {}
    for s in get_all_operator_schema() if ort else []:
        name = "com.microsoft::" + s.name if s.domain else s.name
        if s.domain != "com.microsoft" and name != "SimplifiedLayerNormalization":
            continue
        found[name, 0] = {
            "domain": s.domain or "ai.onnx", "name": name, "since": s.since_version,
            "opset": 1 if s.domain else 28,
            "inputs": [{"type": p.typeStr} for p in s.inputs],
            "outputs": [{"type": p.typeStr} for p in s.outputs],
            "types": [{"name": t.type_param_str, "allowed": t.allowed_type_strs} for t in s.type_constraints]}
    return found


def plain(t):
    """tensor(float) as float; seq(tensor(float)) as seq(float)."""
    return re.sub(r"tensor\((\w+)\)", r"\1", t).replace(" ", "")


# ── Types inside others ──

def inner(t):
    return re.findall(r"\w+", t)[-1]


def parts(t):
    """seq(float) is ("seq", "float"); a tensor has no first part."""
    m = re.fullmatch(r"(seq|optional|map)\((?:\w+,)?(.*)\)", t)
    return (m[1], m[2]) if m else ("", t)


def wide(t):
    """The type that the evaluator computes in for this one."""
    return re.sub(r"\w+", lambda m: "double" if V.is_exact_in_double(m[0]) else m[0], t)


def single(t):
    """The same for onnxruntime."""
    return "float" if t in ("float16", "bfloat16", "double") else t


def map_value(f, value):
    if isinstance(value, list):
        return [map_value(f, v) for v in value]
    if isinstance(value, dict):
        return {k: f(v) for k, v in value.items()}
    return None if value is None else f(value)


def unranked(t):
    return re.sub(r"\w+(?=\)*$)", lambda m: m[0] + "[]", t)


def type_text(t, value):
    outer, rest = parts(t)
    if outer == "optional":
        return f"optional({type_text(rest, value)})"
    if outer == "seq":
        return t if rest.startswith("map") else unranked(t)
    if outer == "map":
        return t
    return V.declared(t, np.shape(value))


def initializers(name, t, value):
    """The tensors that a value is stored in: declarations with values."""
    outer, rest = parts(t)
    if outer == "optional" and parts(rest)[0] == "":
        return [] if value is None else initializers(name + "_0", rest, value)
    if outer == "optional":
        return initializers(name, rest, value)
    if outer == "seq":
        return [x for i, v in enumerate(value) for x in initializers(f"{name}_{i}", rest, v)]
    if outer == "map":
        key = re.match(r"map\((\w+)", t)[1]
        keys = np.array(list(value), V.NUMPY[key])
        found = initializers(name + "_keys", key, keys)
        return found + [x for i, v in enumerate(value.values())
                        for x in initializers(f"{name}_{i}", rest, v)]
    return [f"{V.declared(t, np.shape(value))} {name} = {V.text(value, t)}"]


# ── The lines of operators.txt ──

LINE = re.compile(r"(?P<op>(?:com\.microsoft::)?\w+)(?:@(?P<versions>[\d,]+))?\s*(?P<ins>.*?)\s*(?:;(?P<attrs>.*?))?(?:\s&&\s(?P<nodes>.*?))?"
                  r"(?:\s->\s(?P<outs>[^|%;~]+?))?(?:\s~\s(?P<same>[^|%]+?))?(?:\s\|\s(?P<only>[^%]+?))?(?:\s%\s(?P<ulps>[\d.]+))?\s*")
INPUT = re.compile(r"\+?(?P<type>[\w()]+)\[(?P<shape>[\d,]*)\](?::(?P<lo>[^.]+(?:\.\d+)?)\.\.(?P<hi>.+)|=(?P<is>.*))?")


class Spec:
    def __init__(self, line):
        m = LINE.fullmatch(line)
        if not m:
            sys.exit("operators.txt: " + line)
        self.op, self.attrs = m["op"], (m["attrs"] or "").strip()
        self.nodes, self.same = m["nodes"] or "@", m["same"]
        self.versions = [int(v) for v in (m["versions"] or "0").split(",")]
        self.inputs, self.ulps = m["ins"].split(), m["ulps"]
        self.outputs = m["outs"] or "1"
        self.only = dict(p.split("=") for p in (m["only"] or "").split())


def specs():
    text = (HERE / "operators.txt").read_text()
    text = re.sub(r"\\\n\s*", " ", text)
    return [Spec(l) for l in text.splitlines() if l.strip() and not l.startswith("#")]


# ── One case ──

class Case:
    def __init__(self, spec, version, schema, types):
        self.spec, self.version, self.schema, self.types = spec, version, schema, types
        self.label = " ".join(f"{k}={v}" for k, v in types.items() if "*" + k not in spec.outputs) or "all"
        self.label += f", version {version}" if version else ""
        self.rng = np.random.default_rng(zlib.crc32((spec.op + self.label + spec.attrs).encode()))
        self.ins = [self.input(t) for t in spec.inputs]
        self.in_names = [f"x{i}" if i else "x" for i in range(len(self.ins))]
        self.out_names, self.out_types = self.outputs()

    def fill(self, text, f=lambda t: t):
        """What stands for types in attributes and nodes."""
        def every(m):
            types = [plain(t) for v in self.schema["types"] if v["name"] == m[1] for t in v["allowed"]]
            return " ".join(m[2].replace("#", str(V.NUMBER[t])).replace("$", t) for t in types)

        def tensor(m):
            t = f(self.type(m[1]))
            shape = tuple(int(d) for d in m[2].split(",") if d)
            v = np.resize(V.given(m[3], self.type(m[1])), shape).astype(V.NUMPY[t])
            return f"{V.declared(t, shape)} {V.text(v, t)}"

        text = re.sub(r"\{\*(\w+) ([^}]*)\}", every, text)
        text = re.sub(r"\{(\w+)\[([\d,]*)\]=([^}]*)\}", tensor, text)
        text = re.sub(r"\{\^(\w+)\}", lambda m: f(self.type(m[1])).upper(), text)
        text = re.sub(r"\{#(\w+)\}", lambda m: str(V.NUMBER[inner(f(self.type(m[1])))]), text)
        text = re.sub(r"\{(\w+)\[\]\}", lambda m: unranked(f(self.type(m[1]))), text)
        text = re.sub(r"\{(\w+)\.\}", lambda m: inner(f(self.type(m[1]))), text)
        return re.sub(r"\{([A-Z]\w*)\}", lambda m: f(self.type(m[1])), text)

    def type(self, name):
        return self.types.get(name, name)

    def input(self, text):
        """(type, value); a missing one is None."""
        if text == "-":
            return None
        m = INPUT.fullmatch(text)
        if not m:
            sys.exit(f"operators.txt: {self.spec.op}: {text}")
        t = re.sub(r"\w+", lambda w: self.type(w[0]), m["type"])
        shape = tuple(int(d) for d in m["shape"].split(",") if d)

        def make(elem):
            n = int(np.prod(shape, dtype=int))
            if m["is"] is not None:
                v = V.given(m["is"], elem)
                v = np.resize(v, n) if v.size != n else v
            else:
                v = V.values(elem, n, self.rng, *(None if x is None else float(x) for x in (m["lo"], m["hi"])))
            return v.reshape(shape)

        outer, rest = parts(t)
        if outer == "optional":
            outer, rest = parts(rest)
        if outer == "seq":
            return t, [make(rest) for _ in range(3)]
        if outer == "map":
            key = re.match(r"map\((\w+)", t)[1]
            return t, {(k if key == "string" else i): make(rest)
                       for i, k in [(2, "b"), (0, "a"), (5, "zebra")]}
        return t, make(rest)

    def outputs(self):
        """Names and types of the results; where the line names them, the node has one output."""
        params, want = self.schema["outputs"], self.fill(self.spec.outputs).split()
        count = int(want[0]) if want[0].isdigit() else len(want)
        names, types = [], []
        for i in range(count):
            t = plain(params[min(i, len(params) - 1)]["type"]) if want[0].isdigit() else want[i]
            name, t = t.split(":") if ":" in t else (f"y{i}" if i else "y", t)
            names.append(name)
            types.append(re.sub(r"\w+", lambda w: self.type(w[0]), t))
        return names, types

    def node(self, f=lambda t: t):
        domain = self.schema["domain"]
        name = self.spec.op.split("::")[-1]
        name = name if domain == "ai.onnx" else f"{domain}.{name}"
        ins = ", ".join('""' if v is None else n for n, v, s in zip(self.in_names, self.ins, self.spec.inputs)
                        if not s.startswith("+"))
        attrs, outs = self.fill(self.spec.attrs, f), self.out_names
        outs = "y" if ":" in self.spec.outputs else ", ".join(outs)
        node = f"{outs} = {name}{f' <{attrs}>' if attrs else ''} ({ins})"
        return self.fill(self.spec.nodes, f).replace("@", node)

    def opsets(self):
        domain, opset = self.schema["domain"], self.schema["opset"]
        return f'"" : {opset}' if domain == "ai.onnx" else f'"" : 28, "{domain}" : {opset}'

    def model(self, f, ins, outs, more=""):
        head = f"<ir_version: 13, opset_import: [{self.opsets()}]>"
        return f"{head}\ng ({', '.join(ins)}) => ({', '.join(outs)})\n{more}{{ {self.node(f)} }}\n"

    def evaluate(self, wide=wide):
        """The reference evaluator, in wide types."""
        there = [(n, v) for n, v in zip(self.in_names, self.ins) if v]
        ins = [f"{type_text(wide(t), v)} {n}" for n, (t, v) in there]
        outs = [f"{unranked(wide(t))} {n}" for n, t in zip(self.out_names, self.out_types)]
        text = self.model(wide, ins, outs)
        if self.spec.same or self.version:  # the same, as the newest version says it
            text = text.replace(self.opsets(), f'"" : 28, "ai.onnx.ml" : {OPSETS["ai.onnx.ml"]}')
        if self.spec.same:
            text = text[:text.index("{ ")] + "{ " + self.fill(self.spec.same, wide) + " }"
        model = onnx.parser.parse_model(text)
        feeds = {n: map_value(lambda x, t=t: np.asarray(x).astype(V.NUMPY[inner(wide(t))]), v) for n, (t, v) in there}
        return ReferenceEvaluator(model).run(None, feeds)

    def evaluate_ort(self):
        """onnxruntime, with all floats as float."""
        there = [(n, v) for n, v in zip(self.in_names, self.ins) if v]
        ins = [x for n, (t, v) in there for x in initializers(n, single(t), v.astype(V.NUMPY[single(t)]))]
        outs = [f"{single(t)}[] {n}" for n, t in zip(self.out_names, self.out_types)]
        text = self.model(single, ins, outs).replace('"" : 28', '"" : 21').replace("version: 13", "version: 10")
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        model = onnx.parser.parse_model(text).SerializeToString()
        return ort.InferenceSession(model, options, ["CPUExecutionProvider"]).run(None, {})

    def is_microsoft(self):
        return "com.microsoft" in self.spec.op

    def ulps(self):
        """What onnxruntime computes in float is as good as float, whatever the type."""
        if not self.is_microsoft() or not self.spec.ulps:
            return self.spec.ulps
        return {"float": self.spec.ulps, "double": int(self.spec.ulps) << 29}.get(self.out_types[0])

    def expected(self):
        own = None if self.spec.same else getattr(oracle, self.spec.op, None)
        if self.is_microsoft() and not self.spec.same:
            own = Case.evaluate_ort
        found = own(self) if own else None
        if found is None:
            found = self.evaluate()
        return [map_value(lambda x, t=t: V.to_type(x, inner(t)), v) for v, t in zip(found, self.out_types)]

    def text(self):
        ins, more, outs = [], [], []
        for n, v in zip(self.in_names, self.ins):
            if v is None:
                continue
            t, value = v
            stored = initializers(n, t, value)
            if parts(t)[0]:
                ins.append(f"{type_text(t, value)} {n}")
                more += stored
            else:
                ins += stored
        for n, t, value in zip(self.out_names, self.out_types, self.expected()):
            outs.append(f"{type_text(t, value)} {n}")
            more += initializers("want_" + n, t, value)
        ulps = f"ulps: {self.ulps()}\n" if self.ulps() else ""
        more = f"<{', '.join(more)}>\n" if more else ""
        return f"== {self.label}\n{ulps}{self.model(lambda t: t, ins, outs, more)}"


def assignments(spec, schema):
    """Types for the variables: as many as the variable with the most alternatives has."""
    used = {w for p in schema["inputs"] + schema["outputs"] for w in [p["type"]]}
    allowed = {}
    for v in schema["types"]:
        if v["name"] in used:
            all_ = [plain(t) for t in v["allowed"]]
            only = spec.only.get(v["name"])
            allowed[v["name"]] = [t for t in all_ if not only or re.fullmatch(only, t)]
    count = max((len(a) for a in allowed.values()), default=1)
    pair = oracle.PAIRS.get(spec.op)
    for k in range(count):
        types = {n: a[k % len(a)] for n, a in allowed.items()}
        yield pair(types, allowed) if pair else types


def main():
    schemas, only = {**read_schemas(sys.argv[1]), **read_microsoft()}, sys.argv[2:]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    written, bad = {}, 0
    for spec in specs():
        if (only and spec.op not in only) or (spec.op, 0) not in schemas:
            continue
        for version, schema in ((v, schemas[spec.op, v]) for v in spec.versions):
            for types in assignments(spec, schema):
                try:
                    case = Case(spec, version, schema, types).text()
                except Exception as e:
                    print(f"{spec.op} {types}: {type(e).__name__}: {str(e)[:300]}", file=sys.stderr)
                    bad += 1
                    continue
                written.setdefault(spec.op, []).append(case)
    OUT.mkdir(exist_ok=True)
    for op, cases in written.items():
        (OUT / f"{op.replace('::', '.')}.txt").write_text("\n".join(cases))
    missing = sorted({name for name, _ in schemas if "::" not in name} - {s.op for s in specs()})
    print(f"{len(written)} operators, {sum(map(len, written.values()))} cases, {bad} without an answer")
    if missing and not only:
        print("no line for:", *missing)
    return 1 if bad else 0


sys.exit(main())
