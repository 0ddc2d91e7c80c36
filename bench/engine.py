"""Running models: onx beside ONNX Runtime, OpenVINO and PyTorch, one process each, in turn, for several
rounds. See --help.

Of every round the fastest run counts, of the rounds the median. Where that of onx or of a peer is more than
a tenth above its fastest, the machine was disturbed, and rounds are added: all run again, up to three times
as often. All ratios are onx / peer, so that less is better: latency, start (time to the first result, less
one run), memory (peak resident, beyond what the process had before). Outputs are compared: the largest
difference from ONNX Runtime's, as a part of the largest element; "other" where shapes differ or ties were
broken otherwise. GFLOP/s count the definition of the operators; the peak is that of float32 arithmetic on these threads, measured by `onx bench --ops`.
Tables go to bench/results/engine.md and .json."""
import argparse, datetime, json, math, os, platform, shutil, statistics, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = {  # name: script, what it is called, the Python package, Python beneath .cache
    "ort": ("ort.py", "ONNX Runtime", "onnxruntime", "venv"),
    "openvino": ("openvino_peer.py", "OpenVINO", "openvino", "venv"),
    "torch": ("torch_peer.py", "PyTorch", "torch", "venv-torch"),
}
RATIOS = "latency start memory".split()


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def call(*command, env=None):
    """What a command prints, or an exception with what it says went wrong."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **(env or {})})
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line and line[0] != " "]  # hints are indented
        raise RuntimeError(said[-1] if said else f"exit status {done.returncode}")
    return done.stdout


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.pythons = args, folder, {}
        for name in args.peers:
            _, title, package, venv = PEERS[name]
            python = f"{ROOT}/.cache/{venv}/bin/python"
            try:
                call(python, "-c", f"import {package}, onnx")
                self.pythons[name] = python
            except (OSError, RuntimeError):
                say(f"without {title}: it is not installed")

    def onx(self, model, inputs, threads, *options):
        return json.loads(call(self.args.onx, "bench", "--json", "--inputs", inputs, "--threads", str(threads),
                               "--seconds", str(self.args.seconds), *options, model))

    def peer(self, name, model, inputs, threads, fast):
        check = ["--check", self.folder] if name == "ort" else []
        return json.loads(call(self.pythons[name], f"bench/{PEERS[name][0]}", "--inputs", inputs,
                               "--threads", str(threads), "--seconds", str(self.args.seconds), *check, model,
                               env={"ONX_FAST": "1"} if fast else None))

    def rounds(self, model, inputs, threads, fast):
        how = ["--fast"] if fast else []
        call(self.args.onx, "run", "--inputs", inputs, "--threads", str(threads), *how, "-o", self.folder, model)
        runs, failed = {"onx": []}, {}
        while len(runs["onx"]) < self.args.rounds or not (
                len(runs["onx"]) >= 3 * self.args.rounds or all(settled(r) for r in runs.values())):
            runs["onx"].append(self.onx(model, inputs, threads, *how))
            for name in self.pythons:
                try:
                    if name not in failed:
                        run = self.peer(name, model, inputs, threads, fast)
                        runs.setdefault(name, []).append(run)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed[name] = str(error)
                    runs.pop(name, None)
        for name, error in failed.items():
            say(f"  left out: {PEERS[name][1]}: {error[:120]}")
        return runs, self.onx(model, inputs, threads, "--ops", *how)

    def model(self, name):
        """A row for each number of threads, and each kind of numerics."""
        source, model = f"{self.args.data}/{name}", f"{self.folder}/{name}.onnx"
        try:
            call(self.args.fill, f"{source}/model.slim.onnx", model)
            for threads in self.args.threads:
                for fast in [False, True] if self.args.fast else [False]:
                    yield row(name, threads, fast, *self.rounds(model, source, threads, fast))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            yield {"model": name, "error": str(error).replace(self.folder + "/", "")}
        finally:
            if os.path.exists(model):
                os.remove(model)


def settled(runs):
    times = [r["min_ms"] for r in runs]
    return statistics.median(times) <= 1.1 * min(times)


def figures(runs):
    def median(key):
        return statistics.median(key(r) for r in runs)

    return {"latency_ms": median(lambda r: r["min_ms"]),
            "start_ms": median(lambda r: max(r["load_ms"] + r["first_ms"] - r["min_ms"], 0.01)),
            "memory_mb": median(lambda r: r["peak_rss_mb"])}


def row(name, threads, fast, runs, ops):
    result = {"model": name, "threads": threads, "numerics": "fast" if fast else "strict",
              "rounds": len(runs["onx"]), "kinds": {peer: figures(r) for peer, r in runs.items()}}
    onx = result["kinds"]["onx"]
    result["gflops"] = ops["flops"] / onx["latency_ms"] / 1e6
    result["of_peak"] = result["gflops"] / max(ops["peak_flops"] / 1e9, 1e-9)
    if runs.get("ort"):
        found = [r["difference"] for r in runs["ort"]]
        result["difference"] = None if None in found else max(found)
    result["ratio"] = {peer: {k.split("_")[0]: v / max(kind[k], 1e-9) for k, v in onx.items()}
                       for peer, kind in result["kinds"].items() if peer != "onx"}
    return result


def cells(r, peers):
    if "error" in r:
        return [r["model"], "", r["error"]] + [""] * (5 + 3 * len(peers))
    line = [r["model"] + (", fast" if r["numerics"] == "fast" else ""), str(r["threads"]),
            f"{r['kinds']['onx']['latency_ms']:.2f}"]
    for peer in peers:
        ratio = r["ratio"].get(peer)
        line += [f"{ratio[k]:.2f}" if ratio else "" for k in RATIOS]
    apart = r.get("difference", "")
    return line + [f"{r['gflops']:.1f}", f"{100 * r['of_peak']:.0f}%",
                   "other" if apart is None else f"{apart:.1e}" if apart != "" else ""]


def means(rows, peers):
    """Geometric means of the ratios, by numerics and number of threads."""
    for key in sorted({(r["numerics"], r["threads"]) for r in rows if "ratio" in r}, reverse=True):
        chosen = [r["ratio"] for r in rows if "ratio" in r and (r["numerics"], r["threads"]) == key]
        yield {"model": "geometric mean", "numerics": key[0], "threads": key[1], "ratio": {
            peer: {k: math.exp(statistics.fmean(math.log(max(c[peer][k], 1e-9)) for c in chosen if peer in c))
                   for k in RATIOS} for peer in peers if any(peer in c for c in chosen)}}


def table(rows, peers):
    head = ["model", "threads", "onx ms"]
    for peer in peers:
        head += [f"{peer} {k}" for k in RATIOS]
    lines = [head + ["GFLOP/s", "peak", "difference"]] + [cells(r, peers) for r in rows]
    for m in means(rows, peers):
        line = [m["model"] + (", fast" if m["numerics"] == "fast" else ""), str(m["threads"]), ""]
        for peer in peers:
            line += [f"{m['ratio'][peer][k]:.2f}" if peer in m["ratio"] else "" for k in RATIOS]
        lines.append(line + ["", "", ""])
    return lines


def machine():
    with open("/proc/cpuinfo") as f:
        names = [line.split(":")[1].strip() for line in f if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} cores, {names[0] if names else platform.machine()}"


def write(rows, peers, args):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True,
                            text=True).stdout.strip() or "unknown"
    head, *body = table(rows, peers)
    with open(f"{args.results}.md", "w") as f:
        print(f"# engine: {datetime.date.today()}, {commit}, {machine()}\n", file=f)
        print(f"onx beside {', '.join(PEERS[p][1] for p in peers) or 'nobody'}: {args.rounds} to {3 * args.rounds} "
              f"rounds of {args.seconds:g} s. Ratios are onx / peer: latency of the\nfastest run, start (time to the first "
              "result, less one run), peak memory. `peak`: the share of the float32\narithmetic that these "
              "threads can do.\n", file=f)
        print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|", file=f)
        for line in body:
            print("| " + " | ".join(line) + " |", file=f)
    with open(f"{args.results}.json", "w") as f:
        json.dump({"commit": commit, "machine": machine(), "rounds": args.rounds, "seconds": args.seconds,
                   "rows": rows, "means": list(means(rows, peers))}, f, indent=1)
        print(file=f)
    say(f"written to {args.results}.md and .json")


def show(lines):
    widths = [max(len(line[i]) for line in lines if len(line[2]) < 12) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join([line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:])]).rstrip())


def parse():
    parser = argparse.ArgumentParser(prog="bench/run engine", description=__doc__)
    parser.add_argument("--models", type=lambda s: s.split(","), default=["all"],
                        help="of the zoo, with commas between them (all)")
    parser.add_argument("--peers", type=lambda s: [p for p in s.split(",") if p], default=list(PEERS),
                        help="with commas between them (%s)" % ",".join(PEERS))
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2],
                        help="numbers of threads, with commas between them (1,2)")
    parser.add_argument("--fast", action="store_true", help="also with numerics FAST")
    parser.add_argument("--rounds", type=int, default=3, help="at least (3)")
    parser.add_argument("--seconds", type=float, default=1, help="of runs in a round (1)")
    parser.add_argument("--data", default=os.environ.get("ONX_DATA"), help="folder of the zoo ($ONX_DATA)")
    parser.add_argument("--build", default="build", help="folder of the program (build)")
    parser.add_argument("--results", default=f"{ROOT}/bench/results/engine", help="files, less .md and .json")
    parser.add_argument("--no-results", action="store_true", help="leave the results as they are")
    args = parser.parse_args()
    unknown = [p for p in args.peers if p not in PEERS]
    if unknown:
        parser.error(f"there is no peer {unknown[0]}: {', '.join(PEERS)}")
    args.onx, args.fill = f"{args.build}/onx", f"{args.build}/examples/fill_slim"
    if args.models == ["all"] and args.data:
        args.models = sorted(n for n in os.listdir(args.data) if os.path.exists(f"{args.data}/{n}/model.slim.onnx"))
    return args


def main():
    args = parse()
    if not args.data or not os.path.isdir(f"{args.data}/resnet18"):
        say("left out: the models of the zoo are not there")
        return
    os.makedirs(f"{ROOT}/.cache", exist_ok=True)
    folder, rows = tempfile.mkdtemp(prefix="bench.", dir=f"{ROOT}/.cache"), []
    try:
        bench = Bench(args, folder)
        for i, name in enumerate(args.models):
            say(f"{i + 1} of {len(args.models)}: {name}")
            rows.extend(bench.model(name))
    finally:
        shutil.rmtree(folder)
    peers = list(bench.pythons)
    show(table(rows, peers))
    if not args.no_results:
        write(rows, peers, args)


main()
