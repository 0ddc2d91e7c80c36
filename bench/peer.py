"""What the peers of onx have in common: one process that loads a model, runs it over and over, and
prints what `onx bench --json` prints. With --check DIR also how far its outputs are from
DIR/output_0.pb …: the largest difference, as a part of the largest element.

A peer calls main(load): load(path, threads) gives the names of the inputs and a function that takes
a list of arrays for them and returns a list of arrays."""
import argparse, json, math, sys, time

import numpy as np
from onnx import TensorProto, numpy_helper


def memory(key):
    """In MB: VmRSS, or its peak, VmHWM."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in f if line.startswith(key))


def forget_peak():
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass


def read(path):
    tensor = TensorProto()
    with open(path, "rb") as f:
        tensor.ParseFromString(f.read())
    return numpy_helper.to_array(tensor)


def difference(ours, theirs):
    """None: other shapes, or infinities where the other has none. Ties may be broken in other ways."""
    if ours.shape != theirs.shape:
        return None
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    if not a.size or np.array_equal(a, b, equal_nan=True):
        return 0.0
    worst = float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30))
    return worst if math.isfinite(worst) else None


def check(folder, outputs):
    found = [difference(read(f"{folder}/output_{i}.pb"), np.asarray(x)) for i, x in enumerate(outputs)]
    return None if None in found else max(found)


def milliseconds(start):
    return (time.perf_counter() - start) * 1e3


def main(load):
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--check")
    args = parser.parse_args()

    forget_peak()
    before = memory("VmRSS")
    start = time.perf_counter()
    names, run = load(args.model, args.threads)
    load_ms = milliseconds(start)
    feeds = [read(f"{args.inputs}/input_{i}.pb") for i in range(len(names))]

    start = time.perf_counter()
    outputs = run(feeds)
    first_ms = milliseconds(start)
    times, end = [], time.perf_counter() + args.seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        run(feeds)
        times.append(milliseconds(start))
    times.sort()
    figures = {
        "model": args.model, "threads": args.threads, "load_ms": load_ms, "first_ms": first_ms,
        "min_ms": times[0], "median_ms": times[(len(times) + 1) // 2 - 1],
        "p99_ms": times[-(-99 * len(times) // 100) - 1], "runs": len(times),
        "peak_rss_mb": memory("VmHWM") - before,
    }
    if args.check:
        figures["difference"] = check(args.check, outputs)
    json.dump(figures, sys.stdout)
    print()
