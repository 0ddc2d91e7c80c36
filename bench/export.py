"""Exporting an archive of torch.export: onx beside torch.onnx.export, a process each.

    python3 bench/export.py --onx build/onx [FILE.pt2 …]     (without a file: resnet50, random weights)

Prints for each file: seconds from the file to the ONNX file (of onx the whole process, of PyTorch without
the start of Python and its imports), the peak resident memory as a part of the archive, and nodes."""
import argparse, os, resource, subprocess, sys, tempfile, time


def torch_export(path, out):
    import torch, onnx, onnxscript  # noqa: F401  (imports are not counted)
    start = time.perf_counter()
    torch.onnx.export(torch.export.load(path), dynamo=True, optimize=True, verbose=False).save(out)
    took = time.perf_counter() - start
    nodes = len(onnx.load(out, load_external_data=False).graph.node)
    print("RESULT", took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, nodes)


def make_resnet50(path):
    import torch, torchvision
    batch = {"x": {0: torch.export.Dim("batch")}}
    model, images = torchvision.models.resnet50().eval(), torch.randn(2, 3, 224, 224)
    torch.export.save(torch.export.export(model, (images,), dynamic_shapes=batch), path)


def run_self(*args):
    return subprocess.run([sys.executable, __file__, *args], check=True, capture_output=True, text=True).stdout


def run_onx(onx, path, out):
    best, peak = 1e30, 0
    for _ in range(3):
        start = time.perf_counter()
        child = subprocess.Popen([onx, "export", path, "-o", out], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        best, peak = min(best, time.perf_counter() - start), max(peak, usage.ru_maxrss * 1024)
        if status:
            sys.exit(f"onx export {path} failed")
    listing = subprocess.run([onx, "info", out], capture_output=True, text=True).stdout
    nodes = next((line.split()[1] for line in listing.splitlines() if line.strip().startswith("nodes")), "?")
    return best, peak, nodes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onx", default="build/onx")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = args.files
        if not files:
            files = [os.path.join(folder, "resnet50.pt2")]
            run_self("--self", "make", files[0], "-")
        print("| archive | MB | onx s | PyTorch s | times faster | onx memory | PyTorch memory | nodes |")
        print("|---|---|---|---|---|---|---|---|")
        for path in files:
            size, out = os.path.getsize(path), os.path.join(folder, "out.onnx")
            seconds, peak, nodes = run_onx(args.onx, path, out)
            said = run_self("--self", "export", path, out)
            theirs = next(line for line in said.splitlines() if line.startswith("RESULT")).split()[1:]
            print(f"| {os.path.basename(path)} | {size / 1e6:.1f} | {seconds:.2f} | {float(theirs[0]):.1f} | "
                  f"{float(theirs[0]) / seconds:.0f} | {peak / size:.2f} | {float(theirs[1]) / size:.1f} | "
                  f"{nodes}, {theirs[2]} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--self"]:
        (make_resnet50(sys.argv[3]) if sys.argv[2] == "make" else torch_export(sys.argv[3], sys.argv[4]))
    else:
        main()
