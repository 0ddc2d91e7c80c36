"""Running models: onx beside ONNX Runtime, one process each, in turn, for several rounds. See --help.

Of every round the fastest run counts, of the rounds the median. All ratios are onx / ONNX Runtime, so
that less is better: latency, load (until a session is there), start (load and the first run), memory
(peak resident, beyond what the process had before). The outputs are compared: the largest difference,
as a part of the largest element. Tables go to bench/results/engine.md and .json."""
import argparse, datetime, json, math, os, platform, shutil, statistics, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = "resnet18 mobilenet_v2 vit_b_16 bert_base gpt2 lstm".split()
RATIOS = "latency load start memory".split()


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def call(*command):
    """What a command prints, or an exception with what it says went wrong."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line and line[0] != " "]  # hints are indented
        raise RuntimeError(said[-1] if said else f"exit status {done.returncode}")
    return done.stdout


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.has_ort = subprocess.run(
            [sys.executable, "-c", "import onnxruntime"], capture_output=True).returncode == 0

    def onx(self, model, inputs, threads):
        return json.loads(call(self.args.onx, "bench", "--json", "--inputs", inputs, "--threads", str(threads),
                               "--seconds", str(self.args.seconds), model))

    def ort(self, model, inputs, threads):
        return json.loads(call(sys.executable, "bench/ort.py", "--inputs", inputs, "--threads", str(threads),
                               "--seconds", str(self.args.seconds), "--check", self.folder, model))

    def rounds(self, model, inputs, threads):
        call(self.args.onx, "run", "--inputs", inputs, "--threads", str(threads), "-o", self.folder, model)
        runs = {"onx": [], "ort": []}
        for _ in range(self.args.rounds):
            runs["onx"].append(self.onx(model, inputs, threads))
            if self.has_ort:
                runs["ort"].append(self.ort(model, inputs, threads))
        return runs

    def model(self, name):
        """A row for each number of threads."""
        source, model = f"{self.args.data}/{name}", f"{self.folder}/{name}.onnx"
        try:
            call(self.args.fill, f"{source}/model.slim.onnx", model)
            for threads in self.args.threads:
                yield row(name, threads, self.rounds(model, source, threads))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            yield {"model": name, "error": str(error).replace(self.folder + "/", "")}
        finally:
            if os.path.exists(model):
                os.remove(model)


def figures(runs):
    def median(key):
        return statistics.median(key(r) for r in runs)

    return {"latency_ms": median(lambda r: r["min_ms"]), "load_ms": median(lambda r: r["load_ms"]),
            "start_ms": median(lambda r: r["load_ms"] + r["first_ms"]),
            "memory_mb": median(lambda r: r["peak_rss_mb"])}


def row(name, threads, runs):
    result = {"model": name, "threads": threads, "onx": figures(runs["onx"])}
    if runs["ort"]:
        result["ort"] = figures(runs["ort"])
        result["difference"] = max(r["difference"] for r in runs["ort"])
        result["ratio"] = {k.split("_")[0]: v / max(result["ort"][k], 1e-9) for k, v in result["onx"].items()}
    return result


def cells(r):
    if "error" in r:
        return [r["model"], "", r["error"]] + [""] * 6
    ort, ratio = r.get("ort", {}), r.get("ratio", {})
    return ([r["model"], str(r["threads"]), f"{r['onx']['latency_ms']:.2f}",
             f"{ort['latency_ms']:.2f}" if ort else ""]
            + [f"{ratio[k]:.2f}" if ratio else "" for k in RATIOS]
            + [f"{r['difference']:.1e}" if ort else ""])


def means(rows):
    """Geometric means of the ratios, by number of threads."""
    for threads in sorted({r["threads"] for r in rows if "ratio" in r}):
        chosen = [r["ratio"] for r in rows if r.get("threads") == threads and "ratio" in r]
        yield {"model": "geometric mean", "threads": threads, "ratio": {
            k: math.exp(statistics.fmean(math.log(max(c[k], 1e-9)) for c in chosen)) for k in RATIOS}}


def table(rows):
    lines = [["model", "threads", "onx ms", "ORT ms"] + RATIOS + ["difference"]]
    lines += [cells(r) for r in rows]
    lines += [[m["model"], str(m["threads"]), "", ""] + [f"{m['ratio'][k]:.2f}" for k in RATIOS] + [""]
              for m in means(rows)]
    return lines


def machine():
    with open("/proc/cpuinfo") as f:
        names = [line.split(":")[1].strip() for line in f if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} cores, {names[0] if names else platform.machine()}"


def write(rows, args):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True,
                            text=True).stdout.strip() or "unknown"
    head, *body = table(rows)
    path = f"{ROOT}/bench/results/engine"
    with open(path + ".md", "w") as f:
        print(f"# engine: {datetime.date.today()}, {commit}, {machine()}\n", file=f)
        print("onx beside ONNX Runtime. Latency is that of the fastest run; load, start (load and first run), "
              "memory and\nlatency are ratios, onx / ONNX Runtime. The difference is that of the outputs, as "
              "a part of the largest element.\n", file=f)
        print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|", file=f)
        for line in body:
            print("| " + " | ".join(line) + " |", file=f)
    with open(path + ".json", "w") as f:
        json.dump({"commit": commit, "machine": machine(), "rounds": args.rounds, "seconds": args.seconds,
                   "rows": rows, "means": list(means(rows))}, f, indent=1)
        print(file=f)
    say("written to bench/results/engine.md and .json")


def show(lines):
    widths = [max(len(line[i]) for line in lines if len(line[2]) < 12) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join([line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:])]).rstrip())


def parse():
    parser = argparse.ArgumentParser(prog="bench/run engine", description=__doc__)
    parser.add_argument("--models", type=lambda s: s.split(","), default=MODELS,
                        help="of the zoo, with commas between them, or all (%s)" % ",".join(MODELS))
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2],
                        help="numbers of threads, with commas between them (1,2)")
    parser.add_argument("--rounds", type=int, default=3, help="(3)")
    parser.add_argument("--seconds", type=float, default=1, help="of runs in a round (1)")
    parser.add_argument("--data", default=os.environ.get("ONX_DATA"), help="folder of the zoo ($ONX_DATA)")
    parser.add_argument("--build", default="build", help="folder of the program (build)")
    parser.add_argument("--no-results", action="store_true", help="leave bench/results as it is")
    args = parser.parse_args()
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
        if not bench.has_ort:
            say("without ONNX Runtime: it could not be installed")
        for name in args.models:
            say(name)
            rows.extend(bench.model(name))
    finally:
        shutil.rmtree(folder)
    show(table(rows))
    if not args.no_results:
        write(rows, args)


main()
