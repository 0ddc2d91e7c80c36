#!/usr/bin/env python3
"""Makes PyTorch archives to test `onx export` with, and records what PyTorch computes with them.

    torch-corpus.py FOLDER [--sets LIST] [--only RE] [--jobs N] [--limit SECONDS] [--no-dynamo] [--list]

Each case is a folder NAME with
    traced.pt scripted.pt export.pt2    torch.jit.trace, torch.jit.script, torch.export: those that torch can make
    input_I.pb output_I.pb              as ONNX's TensorProto; outputs are those of inference
    alt_… one_…                         the same with other sizes, and with a batch of one
    meta.json                           dynamic axes; what was saved; what torch said against the rest; for which
                                        files alt_… and one_… hold
    data.json                           tolerances, where torch itself is not sure to 1e-5 + 1e-4·|b|
    dynamo.json                         how many nodes of which kind torch.onnx.export makes
test/test_export_corpus.sh FOLDER exports, checks, runs and compares them.

Sets, all unless some are named: given (the kinds of models of the project's own corpus), vision (torchvision, timm),
language and every (transformers), sound (torchaudio), sequences (text and speech), networks, images (before and
behind networks), programs (control flow,
mutation, types), quantized, operators (each ATen operator in several forms, also with dimensions of any size). They
need the packages that they are about; those that are not there are left out. Weights are random, nothing is fetched.
Cases run side by side, each in a process of its own; one that takes longer than --limit is given up.
"""

import argparse
import importlib
import json
import os
import re
import signal
import sys
import time
import traceback
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_corpus"))
warnings.filterwarnings("ignore")

import logging

logging.disable(logging.WARNING)

import torch
import torch_case

SETS = (
    "given,vision,language,sound,sequences,networks,images,programs,quantized,operators,rare,"
    "layers,modules,every"
)


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("folder")
    p.add_argument("--sets", default=SETS)
    p.add_argument("--only", default="")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--limit", type=int, default=300)
    p.add_argument("--no-dynamo", action="store_true")
    p.add_argument("--list", action="store_true")
    return p.parse_args()


def work(a, name):
    """The child: what it says goes to NAME.log."""
    fd = os.open(f"{a.folder}/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    try:
        torch_case.build(torch_case.CASES[name], a.folder, not a.no_dynamo)
        os.unlink(f"{a.folder}/{name}.log")
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(0)


def tell(a, name, took):
    try:
        with open(f"{a.folder}/{name}/meta.json") as f:
            m = json.load(f)
        errors = "".join(f"\n      {k}: {v[:160]}" for k, v in m["errors"].items())
        line = f"{' '.join(m['saved'])} alt {len(m['alt_for'])} one {len(m['one_for'])}{errors}"
    except OSError:
        line = f"FAILED: {name}.log"
    print(f"{name:34s} {took:6.1f} {line}", flush=True)


def run(a, queue):
    running = {}
    while queue or running:
        while queue and len(running) < a.jobs:
            name = queue.pop(0)
            pid = os.fork()
            if pid == 0:
                work(a, name)
            running[pid] = (name, time.time())
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid:
            name, start = running.pop(pid)
            tell(a, name, time.time() - start)
            continue
        for pid, (_, start) in running.items():
            if time.time() - start > a.limit:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def main():
    a = arguments()
    torch.set_num_threads(1)
    for s in a.sets.split(","):
        try:
            importlib.import_module(f"torch_{s}")
        except ImportError as e:
            print(f"{s} is left out: {e}", file=sys.stderr)
    cases = torch_case.CASES
    queue = sorted((n for n in cases if re.search(a.only, n)), key=lambda n: -cases[n].options.get("cost", 1))
    if a.list:
        print(*queue, sep="\n")
        return
    os.makedirs(a.folder, exist_ok=True)
    torch.export.export(torch.nn.Flatten(), (torch.zeros(2, 3),))  # what it imports is there in all children
    torch.jit.script(torch.nn.Flatten())
    run(a, queue)


main()
