# What results do not depend on.
$ onx strip control.onnxtxt --docs --metadata -o a.onnxtxt && onx info a.onnxtxt | grep -e doc -e meta
|onx strip: removed 1 doc string, 2 metadata entries: 87 B of 1.0 kB less
[1]
$ onx strip control.onnxtxt --unused --names -o a.onnxtxt && grep -e nowhere -e branch] a.onnxtxt
|onx strip: removed 1 node name, 1 node, 1 initializer: 111 B of 1.0 kB less
[1]
$ onx strip control.onnxtxt --all -o a.onnx && onx strip a.onnx --all -o b.onnx && cmp a.onnx b.onnx
|onx strip: removed 1 doc string, 2 metadata entries, 1 node name, 1 node, 1 initializer, 4 fields of the producer: 224 B of 1.0 kB less
|onx strip: removed nothing: 0 B of 817 B less
$ onx strip control.onnxtxt --inputs -o a.onnx && onx info a.onnx | grep -A 3 inputs
|onx strip: removed 1 node, 2 initializers, 1 input: 147 B of 1.0 kB less
|  inputs          x: float[N,4]
|                  flag: bool
|                  trips: int64
|  outputs         y: float[N,4]
$ onx strip function.onnxtxt --value-info --producer -o a.onnx
|onx strip: removed nothing: 0 B of 343 B less
$ onx strip control.onnxtxt -o a.onnx
|onx strip: what should go? --docs, --unused, ... or --all; see 'onx help strip'
[2]
# Constants: nodes, initializers, inputs.
$ onx constants control.onnxtxt --to-nodes -o a.onnxtxt && grep -c Constant a.onnxtxt
|onx constants: 5 constants moved
|5
$ onx constants a.onnxtxt --to-initializers -o b.onnxtxt && grep -c Constant b.onnxtxt
|onx constants: 5 constants moved
|0
[1]
$ onx constants control.onnxtxt --to-inputs -o a.onnx && onx info a.onnx | grep -A 4 overridable
|onx constants: 4 constants moved
|  overridable     scale: float[2]
|                  bias: float[4]
|                  shape: int64[2]
|                  half: float
|                  a name, with (brackets): float[100,100]
$ onx constants control.onnxtxt --fixed -o a.onnx && onx info a.onnx | grep overridable
|onx constants: 1 constant moved
[1]
$ onx constants control.onnxtxt -o a.onnx
|onx constants: one of --to-initializers, --to-nodes, --to-inputs and --fixed; see 'onx help constants'
[2]
