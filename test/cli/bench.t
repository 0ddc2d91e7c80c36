# Measuring: the figures differ, their names do not.
$ onx bench linear.onnx --seconds 0.01 --threads 1 2>/dev/null | sed 's/: [a-z0-9]*,/: ISA,/; s/  *[0-9.][0-9.]*  / N  /'
|linear.onnx: ISA, 1 thread
|  load_ms N  to load the model and prepare it
|  first_ms N  first run
|  min_ms N  fastest run
|  median_ms N  median
|  p99_ms N  99% of runs are not slower
|  runs N  runs
|  peak_rss_mb N  MB of memory at the peak, beyond those of the bare program
$ onx bench linear.onnx --seconds 0 --set N=5 --json 2>/dev/null | sed 's/: .*/: …/'
|{
|  "model": …
|  "cpu": …
|  "threads": …
|  "load_ms": …
|  "first_ms": …
|  "min_ms": …
|  "median_ms": …
|  "p99_ms": …
|  "runs": …
|  "peak_rss_mb": …
|}
$ onx bench linear.onnx --seconds 0 --level 0 --ops 2>/dev/null | sed -n '/operator/,$s/^ *[0-9.]* *[0-9.]*% *1 *[0-9.]* \(G[A-Z/]*s\) *[0-9]*%/TIME 1 \1/; s/\(MatMul\|Add\) .*/\1/; /TIME/p' | sort
|TIME 1 GB/s  Add
|TIME 1 GFLOP/s  MatMul
$ onx bench linear.onnx --seconds 0 --level 0 --ops 2>/dev/null | tail -1 | sed 's/[0-9][0-9.e+-]*/N/g'
|N GFLOP a run, N% of the N GFLOP/s that these threads can do; memory is copied at N GB/s
$ onx bench linear.onnx --seconds 0 --level 0 --ops --json 2>/dev/null | grep '"op"\|"calls"' | sort
|      "calls": 1,
|      "calls": 1,
|      "op": "Add",
|      "op": "MatMul",
$ onx bench linear.onnx --seconds many
|onx bench: --seconds needs a number that is not negative, not 'many'; see 'onx help bench'
[2]
