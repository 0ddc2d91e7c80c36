"""The milliseconds that onnx.load takes for a file, the fastest of three."""
import sys, time
import onnx

best = 1e30
for _ in range(3):
    start = time.perf_counter()
    model = onnx.load(sys.argv[1])
    best = min(best, time.perf_counter() - start)
    del model
print(f"{best * 1e3:.3f}")
