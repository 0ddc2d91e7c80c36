# A model that is right.
$ onx check linear.onnx
|linear.onnx: valid
# One that is not: every problem, with its place, its rule and what to do.
$ printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2,3] x, float[4] z) => (float[2,4] y) { [sum] y = Add(x, z, z) w = Relux(q) v = Softmax <axi = 1> (x) }\n' >bad.onnxtxt
$ onx check bad.onnxtxt
|bad.onnxtxt: error: graph.node[0] 'sum' (Add): Add 14 has exactly 2 inputs, not 3 [input-count]
|  (A:T, B:T) -> (C:T) [T:n]
|bad.onnxtxt: error: graph.node[1] (Relux): input 0, 'q', is not defined anywhere [value-undefined]
|  define it, or correct the name
|bad.onnxtxt: error: graph.node[1] (Relux): there is no operator Relux [op-unknown]
|  did you mean Relu?
|bad.onnxtxt: error: graph.node[2] (Softmax), attribute 'axi': Softmax 13 has no attribute 'axi' [attr-unknown]
|  did you mean 'axis'?
|bad.onnxtxt: invalid: 4 errors, 0 warnings
[1]
# With --full, also what inference finds.
$ printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2,3] x, float[4] z) => (float[2,4] y) { y = Add(x, z) }\n' >shapes.onnxtxt
$ onx check shapes.onnxtxt
|shapes.onnxtxt: valid
$ onx check --full shapes.onnxtxt
|shapes.onnxtxt: error: graph.node[0] (Add): the shape of input 1 does not broadcast with those before it: sizes must be equal, or one of them 1 [infer-node]
|  its inputs are float[2,3], float[4]
|shapes.onnxtxt: invalid: 1 error, 0 warnings
[1]
# Warnings do not make a model invalid, and can be left out.
$ printf '<ir_version: 8, opset_import: ["" : 17, "" : 17]>\ng (float[2] x) => (float[2] y) { y = Relu(x) }\n' >twice.onnxtxt
$ onx check twice.onnxtxt
|twice.onnxtxt: warning: model: the opset '' is imported twice [opset-repeated]
|  remove one of the two
|twice.onnxtxt: valid: 0 errors, 1 warning
$ onx check --quiet twice.onnxtxt
|twice.onnxtxt: valid
# Of many problems of one kind the first ten are shown.
$ { printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] x) => (float[2] x) {\n'; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "y$i = Relu(q$i)"; done; echo '}'; } >many.onnxtxt
$ onx check many.onnxtxt | tail -n 4
|many.onnxtxt: error: graph.node[9] (Relu): input 0, 'q10', is not defined anywhere [value-undefined]
|  define it, or correct the name
|many.onnxtxt: error: and 2 more like that [value-undefined]
|many.onnxtxt: invalid: 12 errors, 0 warnings
# Many files, some of them no models.
$ printf garbage >broken.onnx; onx check linear.onnx missing.onnx bad.onnxtxt broken.onnx 2>&1 | grep -v ": error: \|^  "
|linear.onnx: valid
|missing.onnx: cannot open: No such file or directory
|bad.onnxtxt: invalid: 4 errors, 0 warnings
|broken.onnx: ModelProto (byte 0): a field tag is malformed
$ onx check --json linear.onnx missing.onnx twice.onnxtxt
|[
|  {
|    "file": "linear.onnx",
|    "problems": [],
|    "more": {},
|    "valid": true,
|    "errors": 0,
|    "warnings": 0
|  },
|  {
|    "file": "missing.onnx",
|    "valid": false,
|    "status": "NOT_FOUND",
|    "failure": "missing.onnx: cannot open: No such file or directory"
|  },
|  {
|    "file": "twice.onnxtxt",
|    "problems": [
|      {
|        "rule": "opset-repeated",
|        "severity": "warning",
|        "place": "model",
|        "graph": "model",
|        "message": "the opset '' is imported twice",
|        "hint": "remove one of the two"
|      }
|    ],
|    "more": {},
|    "valid": true,
|    "errors": 0,
|    "warnings": 1
|  }
|]
[1]
# External data that are not there.
$ onx convert --external=data.bin --threshold 1 linear.onnx apart.onnx && onx check apart.onnx && rm data.bin && onx check apart.onnx
|apart.onnx: valid
|apart.onnx: error: graph, initializer 'weights': the data of tensor 'weights' should lie in 'data.bin', which is not there [external-data]
|  put the file into the model's folder
|apart.onnx: error: graph, initializer 'bias': the data of tensor 'bias' should lie in 'data.bin', which is not there [external-data]
|  put the file into the model's folder
|apart.onnx: invalid: 2 errors, 0 warnings
[1]
# Standard input; the rules.
$ onx check --from onnxtxt - <twice.onnxtxt
|-: warning: model: the opset '' is imported twice [opset-repeated]
|  remove one of the two
|-: valid: 0 errors, 1 warning
$ onx check --rules | head -n 3
|error    model-graph            a model has a graph
|error    ir-version             the IR version is one that exists: 1 to 14
|error    ir-feature             the IR version of the model has what the model uses
# Command lines.
$ onx check
|onx check: needs a model; see 'onx help check'
[2]
$ onx check --from nonsense linear.onnx
|onx check: --from needs protobuf, onnxtxt, json or textproto, not 'nonsense'; see 'onx help check'
[2]
