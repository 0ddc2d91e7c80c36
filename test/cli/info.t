# What is in a model.
$ onx info linear.onnx
|linear.onnx: 271 B, protobuf
|  IR version      10
|  opsets          ai.onnx 22
|  producer        onx
|  doc             Price of a house from its rooms, its age and its distance to the sea.
|  graph           house_price
|  inputs          house: float[N,3]
|  outputs         price: float[N,1]
|  nodes           2
|  operators       1 Add
|                  1 MatMul
|  parameters      4 float in 2 tensors, 16 B
$ onx info control.onnxtxt function.onnxtxt
|control.onnxtxt: 1.2 kB, onnxtxt
|  IR version      10
|  opsets          ai.onnx 21, com.microsoft 1
|  producer        hand 1.0
|  domain          org.example
|  model version   3
|  doc             Branches, loops and strange names. …
|  metadata        author: somebody
|                  license: MIT
|  graph           control
|  inputs          x: float[N,4]
|                  flag: bool
|                  trips: int64
|  overridable     scale: float[2]
|  outputs         y: float[N,4]
|                  all: seq(float[N,4])
|  nodes           6 and 5 in 3 subgraphs
|  operators       2 Mul
|                  1 Add
|                  1 Cast
|                  1 Clip
|                  1 Identity
|                  1 If
|                  1 LRN
|                  1 Loop
|                  1 Reshape
|                  1 com.microsoft::Gelu
|  parameters      10,010 in 6 tensors, 40.0 kB
|                  10,008 float in 5 tensors, 40.0 kB
|                  2 int64 in 1 tensor, 16 B
|  note            one tensor has no valid data:
|                  graph.initializer[4], tensor 'a name, with (brackets)'
|                  the tensor has 10000 elements, but no data
|
|function.onnxtxt: 467 B, onnxtxt
|  IR version      10
|  opsets          ai.onnx 21, org.example 1
|  graph           calls
|  inputs          x: float[N]
|  outputs         y: float[N]
|  nodes           3 and 3 in 2 functions
|  operators       2 org.example::Scale (function)
|                  1 Add
|                  1 Constant
|                  1 Mul
|                  1 org.example::Twice (function)
|  functions       org.example::Scale (2 nodes)
|                  org.example::Twice (1 node)
$ onx info types.onnxtxt
|types.onnxtxt: 655 B, onnxtxt
|  IR version      11
|  opsets          ai.onnx 23
|  graph           types
|  outputs         y: float[2,2]
|  nodes           0
|  parameters      35 in 16 tensors, 93 B
|                  5 float in 3 tensors, 20 B
|                  2 uint8 in 1 tensor, 2 B
|                  3 int8 in 1 tensor, 3 B
|                  2 int64 in 1 tensor, 16 B
|                  2 string in 1 tensor
|                  3 bool in 1 tensor, 3 B
|                  3 float16 in 1 tensor, 6 B
|                  2 double in 1 tensor, 16 B
|                  1 uint64 in 1 tensor, 8 B
|                  1 complex64 in 1 tensor, 8 B
|                  2 bfloat16 in 1 tensor, 4 B
|                  3 float8e4m3fn in 1 tensor, 3 B
|                  3 int4 in 1 tensor, 2 B
|                  3 float4e2m1 in 1 tensor, 2 B
# Any format, also from standard input.
$ onx convert linear.onnx linear.json && onx convert linear.onnx linear.textproto
$ onx info linear.json | head -n 3
|linear.json: 1.3 kB, json
|  IR version      10
|  opsets          ai.onnx 22
$ onx info linear.textproto | head -n 3
|linear.textproto: 1.1 kB, textproto
|  IR version      10
|  opsets          ai.onnx 22
$ onx info - <linear.onnx | head -n 3
|standard input
|  IR version      10
|  opsets          ai.onnx 22
$ onx info - <linear.json | head -n 3
|standard input
|  IR version      10
|  opsets          ai.onnx 22
$ onx info --from onnxtxt - <linear.onnxtxt | head -n 3
|standard input, onnxtxt
|  IR version      10
|  opsets          ai.onnx 22
$ cp linear.onnx model.bin && onx info model.bin | head -n 2
|model.bin: 271 B
|  IR version      10
# One bad file does not hide the others.
$ onx info missing.onnx linear.onnx | head -n 1
|onx info: missing.onnx: cannot open: No such file or directory
|linear.onnx: 271 B, protobuf
$ onx info missing.onnx linear.onnx >/dev/null
|onx info: missing.onnx: cannot open: No such file or directory
[1]
# JSON.
$ onx info --json linear.onnx
|{
|  "file": "linear.onnx",
|  "format": "protobuf",
|  "size": 271,
|  "ir_version": 10,
|  "opsets": [
|    {
|      "domain": "",
|      "version": 22
|    }
|  ],
|  "producer": "onx",
|  "producer_version": "",
|  "domain": "",
|  "model_version": 0,
|  "doc": "Price of a house from its rooms, its age and its distance to the sea.",
|  "metadata": [],
|  "graph": {
|    "name": "house_price",
|    "doc": "",
|    "inputs": [
|      {
|        "name": "house",
|        "type": "float[N,3]",
|        "dtype": "float",
|        "shape": [
|          "N",
|          3
|        ],
|        "overridable": false
|      }
|    ],
|    "outputs": [
|      {
|        "name": "price",
|        "type": "float[N,1]",
|        "dtype": "float",
|        "shape": [
|          "N",
|          1
|        ]
|      }
|    ],
|    "nodes": 2,
|    "subgraphs": 0,
|    "subgraph_nodes": 0
|  },
|  "operators": [
|    {
|      "domain": "",
|      "op": "Add",
|      "overload": "",
|      "count": 1,
|      "function": false
|    },
|    {
|      "domain": "",
|      "op": "MatMul",
|      "overload": "",
|      "count": 1,
|      "function": false
|    }
|  ],
|  "initializers": {
|    "types": [
|      {
|        "dtype": "float",
|        "tensors": 2,
|        "elements": 4,
|        "bytes": 16
|      }
|    ],
|    "inline": {
|      "tensors": 2,
|      "elements": 4,
|      "bytes": 16
|    },
|    "external": {
|      "tensors": 0,
|      "elements": 0,
|      "bytes": 0
|    },
|    "sparse": 0
|  },
|  "constants": {
|    "tensors": 0,
|    "elements": 0,
|    "bytes": 0
|  },
|  "external_files": [],
|  "external_error": "",
|  "bad_tensors": 0,
|  "functions": [],
|  "training_steps": 0,
|  "devices": []
|}
$ onx info --json control.onnxtxt | sed -n '/"graph"/,/"operators"/p'
|  "graph": {
|    "name": "control",
|    "doc": "",
|    "inputs": [
|      {
|        "name": "x",
|        "type": "float[N,4]",
|        "dtype": "float",
|        "shape": [
|          "N",
|          4
|        ],
|        "overridable": false
|      },
|      {
|        "name": "flag",
|        "type": "bool",
|        "dtype": "bool",
|        "shape": [],
|        "overridable": false
|      },
|      {
|        "name": "trips",
|        "type": "int64",
|        "dtype": "int64",
|        "shape": [],
|        "overridable": false
|      },
|      {
|        "name": "scale",
|        "type": "float[2]",
|        "dtype": "float",
|        "shape": [
|          2
|        ],
|        "overridable": true
|      }
|    ],
|    "outputs": [
|      {
|        "name": "y",
|        "type": "float[N,4]",
|        "dtype": "float",
|        "shape": [
|          "N",
|          4
|        ]
|      },
|      {
|        "name": "all",
|        "type": "seq(float[N,4])",
|        "dtype": null,
|        "shape": null
|      }
|    ],
|    "nodes": 6,
|    "subgraphs": 3,
|    "subgraph_nodes": 5
|  },
|  "operators": [
$ onx info --json function.onnxtxt | sed -n '/"functions"/,$p'
|  "functions": [
|    {
|      "domain": "org.example",
|      "name": "Scale",
|      "overload": "",
|      "nodes": 2
|    },
|    {
|      "domain": "org.example",
|      "name": "Twice",
|      "overload": "",
|      "nodes": 1
|    }
|  ],
|  "training_steps": 0,
|  "devices": []
|}
