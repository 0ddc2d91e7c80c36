# The part of a model that computes some of its values.
$ onx extract control.onnxtxt --outputs halved -o half.onnxtxt && onx print half.onnxtxt | head -n 12
|model     IR 10, opset 21, com.microsoft 1, from hand 1.0
|doc       Branches, loops and strange names. …
|metadata  author: somebody
|metadata  license: MIT
|
|graph control
|  input   x: float[N,4]
|  input   flag: bool
|  output  halved: float[N,4]
|
|  initializers  2 with 3 elements, 20 B
|    shape  int64[2]              16 B      [-1, 4]
$ onx extract control.onnxtxt --inputs reshaped --outputs shifted -o - --to onnxtxt
|<
|   ir_version: 10,
|   opset_import: ["" : 21],
|   producer_name: "hand",
|   producer_version: "1.0",
|   domain: "org.example",
|   model_version: 3,
|   doc_string: "Branches, loops and strange names.
|A second line.",
|   metadata_props: ["author": "somebody", "license": "MIT"]
|>
|control (float[N,4] reshaped) => (float[N,4] shifted)
|<
|   float[4] bias = {0.5, -1.0, 3.25, 1e-07},
|   float half = {0.5}
|>
|{
|   halved = Mul (reshaped, half)
|   shifted = Add (halved, bias)
|}
$ onx convert linear.onnx a.onnx && onx extract a.onnx -o b.onnx && onx convert b.onnx - --to onnxtxt | tail -n 8
|<
|   float[3,1] weights = {41.5, -0.75, -2.25},
|   float[1] bias = {120.0}
|>
|{
|   [weigh] sum = MatMul (house, weights)
|   [shift] price = Add (sum, bias)
|}
# It must be there, and be computable: the way to what is missing is shown.
$ onx extract control.onnxtxt --outputs nowhere -o x.onnx
|onx extract: 'nowhere': the outputs need what nothing defines: 'nowhere'
|  add what is missing to the inputs, or cut behind it
[1]
$ onx extract control.onnxtxt --outputs t -o x.onnx
|onx extract: graph 'control': there is no value 't' to be an output
|  values of subgraphs and functions cannot be cut at; 'onx print' lists those of the graph
[1]
$ onx extract control.onnxtxt --inputs trips --outputs shifted -o x.onnx
|onx extract: 'shifted' <- 'halved' <- 'reshaped' <- 'chosen' <- 'x': the outputs need inputs that were not given: 'x', 'flag'
|  add what is missing to the inputs, or cut behind it
[1]
$ onx extract control.onnxtxt --inputs x,x --outputs y -o x.onnx
|onx extract: 'x' is given twice as an input
[2]
# Nothing was written.
$ ls x.onnx
|ls: cannot access 'x.onnx': No such file or directory
[2]
# It must be told where to write.
$ onx extract control.onnxtxt --outputs y
|onx extract: where should the model go? -o FILE; see 'onx help extract'
[2]
$ onx extract control.onnxtxt --outputs y -o -
|onx extract: standard output needs a format: --to FORMAT; see 'onx help extract'
[2]
$ onx extract control.onnxtxt --outputs y -o y.what
|onx extract: the name 'y.what' tells no format: use --to FORMAT; see 'onx help extract'
[2]
$ onx extract missing.onnx -o x.onnx
|onx extract: missing.onnx: cannot open: No such file or directory
[1]
