# Other versions of opsets: up and down, the same meaning.
$ onx convert --opset 28 linear.onnx up.onnx && onx info up.onnx | grep -e version -e opsets
|  IR version      14
|  opsets          ai.onnx 28
$ onx convert --opset 22 up.onnx down.onnx && onx print down.onnx | tail -n 4
|    bias     float[1]              4 B       [120.0]
|
|     0  sum = MatMul(house, weights) # weigh
|     1  price: float[N,1] = Add(sum, bias=[120.0]) # shift
$ onx convert --opset 7 --to onnxtxt linear.onnx -
|<
|   ir_version: 10,
|   opset_import: ["" : 7],
|   producer_name: "onx",
|   doc_string: "Price of a house from its rooms, its age and its distance to the sea."
|>
|house_price (float[N,3] house) => (float[N,1] price)
|<
|   float[3,1] weights = {41.5, -0.75, -2.25},
|   float[1] bias = {120.0}
|>
|{
|   [weigh] sum = MatMul (house, weights)
|   [shift] price = Add (sum, bias)
|}
# All that is in the way, at once; then nothing is written.
$ printf '<ir_version: 9, opset_import: ["" : 20]>\ng (float[4] x) => (float[4] y) {\n  [a] s = Relu(x)\n  [b] t = ImageDecoder(x)\n  [c] y = Round(s)\n}\n' >new.onnxtxt
$ onx convert --opset 10 new.onnxtxt old.onnxtxt
|onx convert: graph 'g', node 'b' (ImageDecoder): ImageDecoder 20 to 19: there is nothing with its meaning before version 20
|onx convert: 1 thing cannot be kept: nothing was written
[1]
$ ls old.onnxtxt
|ls: cannot access 'old.onnxtxt': No such file or directory
[2]
$ onx convert --opset 17 new.onnxtxt old.onnxtxt
|onx convert: graph 'g', node 'b' (ImageDecoder): ImageDecoder 20 to 19: there is nothing with its meaning before version 20
|onx convert: 1 thing cannot be kept: nothing was written
[1]
# What is not a version.
$ onx convert --opset 99 linear.onnx a.onnx
|onx convert: version 99 of the opset 'ai.onnx' is not known
|  versions 1 to 28 are
[1]
$ onx convert --opset 5 linear.onnx a.onnx
|onx convert: models are converted down to version 7 of 'ai.onnx', not to 5
[1]
$ onx convert --opset x linear.onnx a.onnx
|onx convert: --opset: 'x' is not a version, such as 18 or ai.onnx.ml=3; see 'onx help convert'
[2]
$ onx convert --opset ai.onnx.ml=2 linear.onnx a.onnx
|onx convert: the model does not import the opset 'ai.onnx.ml'
[1]
$ onx convert --opset some.domain=2 linear.onnx a.onnx
|onx convert: the model does not import the opset 'some.domain'
[1]
