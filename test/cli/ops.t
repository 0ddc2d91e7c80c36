# Operators: all, one, those of a model.
$ onx ops | sed -n '1,3p'
|Abs
|Acos
|Acosh
$ test $(onx ops | grep -c '^[A-Z]') -ge 203 && onx ops | grep -v :: | LC_ALL=C sort -c && echo sorted
|sorted
$ onx ops Softmax@12
|Softmax-11
|domain ai.onnx, versions 1 11 13
|inputs
|  input: T
|outputs
|  output: T
|attributes
|  axis: int = 1
|types
|  T: float float16 double
|runs on the cpu, input: float float16 double
$ onx ops ai.onnx::Dropout@7 | head -3
|Dropout-7
|domain ai.onnx, versions 1 6 7 10 12 13 22
|inputs
$ onx ops LinearClassifier@2 | head -2
|ai.onnx.ml::LinearClassifier-1
|domain ai.onnx.ml, versions 1
$ onx ops ai.onnx.ml::LinearClassifier | grep post
|  post_transform: string = "NONE"
$ onx ops Concat@4
|Concat-4
|domain ai.onnx, versions 1 4 11 13
|inputs
|  inputs: T, one or more
|outputs
|  concat_result: T
|attributes
|  axis: int, required
|types
|  T: float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64
|     complex128
|runs on the cpu, inputs: float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32
|     uint64 complex64 complex128
$ onx ops Mish@18 | sed -n "/^function/,\$p"
|function
|  Softplus_X = Softplus (X)
|  TanHSoftplusX = Tanh (Softplus_X)
|  Y = Mul (X, TanHSoftplusX)
|runs on the cpu, X: float float16 double
$ onx ops Upsample@10 | head -1
|Upsample-10, deprecated
$ onx ops Softmx
|onx ops: there is no operator 'Softmx'
|  is 'Softmax' meant?
[1]
$ onx ops nowhere::Relu
|onx ops: there is no operator 'Relu' in the domain nowhere
|  is 'Relu' meant?
[1]
$ onx ops Softmax@0
|onx ops: '0' is not a version; see 'onx help ops'
[2]
$ onx ops Softmax@
|onx ops: '' is not a version; see 'onx help ops'
[2]
$ onx ops Softmax@1x
|onx ops: '1x' is not a version; see 'onx help ops'
[2]
$ onx ops GridSample@15
|onx ops: opset 15 does not have 'GridSample' yet
[1]
$ onx ops onx.internal::Relu
|onx ops: there is no operator 'Relu' in the domain onx.internal
|  is 'Relu' meant?
[1]
$ onx ops --json Flatten@9
|[
|  {
|    "domain": "ai.onnx",
|    "name": "Flatten",
|    "since": 9,
|    "deprecated": false,
|    "min_input": 1,
|    "max_input": 1,
|    "min_output": 1,
|    "max_output": 1,
|    "inputs": [
|      {
|        "name": "input",
|        "type": "T",
|        "option": "Single",
|        "homogeneous": true,
|        "min": 1
|      }
|    ],
|    "outputs": [
|      {
|        "name": "output",
|        "type": "T",
|        "option": "Single",
|        "homogeneous": true,
|        "min": 1
|      }
|    ],
|    "attributes": [
|      {
|        "name": "axis",
|        "type": "INT",
|        "required": false,
|        "default": 1
|      }
|    ],
|    "types": [
|      {
|        "name": "T",
|        "allowed": [
|          "tensor(float)",
|          "tensor(uint8)",
|          "tensor(int8)",
|          "tensor(uint16)",
|          "tensor(int16)",
|          "tensor(int32)",
|          "tensor(int64)",
|          "tensor(string)",
|          "tensor(bool)",
|          "tensor(float16)",
|          "tensor(double)",
|          "tensor(uint32)",
|          "tensor(uint64)",
|          "tensor(complex64)",
|          "tensor(complex128)"
|        ]
|      }
|    ],
|    "has_function": false,
|    "has_context_function": false,
|    "has_inference": true,
|    "has_kernel": true
|  }
|]
$ onx ops --json GRU@3 | sed -n '/activation_alpha/,/}/p; /default/p'
|        "name": "activation_alpha",
|        "type": "FLOATS",
|        "required": false
|      },
|        "default": "forward"
|        "default": 0
|        "default": 0
$ onx ops --json Cast | grep -c tensor
|52
$ test $(onx ops --json | grep -c '"since"') -ge 659 && echo all
|all
$ onx ops --model function.onnxtxt
|opset ai.onnx 21
|opset org.example 1
|       1  Add-14
|       1  Constant-21
|       1  Mul-14
|       2  org.example::Scale, function of the model
|       1  org.example::Twice, function of the model
$ onx ops --model control.onnxtxt | grep -v microsoft
|opset ai.onnx 21
|       1  Add-14
|       1  Cast-21
|       1  Clip-13
|       1  Identity-21
|       1  If-21
|       1  LRN-13
|       1  Loop-21
|       2  Mul-14
|       1  Reshape-21
$ onx ops --model function.onnxtxt --json
|{
|  "opsets": [
|    {
|      "domain": "ai.onnx",
|      "version": 21
|    },
|    {
|      "domain": "org.example",
|      "version": 1
|    }
|  ],
|  "operators": [
|    {
|      "domain": "ai.onnx",
|      "name": "Add",
|      "overload": "",
|      "since": 14,
|      "count": 1,
|      "known": true,
|      "runs": true,
|      "is_function": false
|    },
|    {
|      "domain": "ai.onnx",
|      "name": "Constant",
|      "overload": "",
|      "since": 21,
|      "count": 1,
|      "known": true,
|      "runs": true,
|      "is_function": false
|    },
|    {
|      "domain": "ai.onnx",
|      "name": "Mul",
|      "overload": "",
|      "since": 14,
|      "count": 1,
|      "known": true,
|      "runs": true,
|      "is_function": false
|    },
|    {
|      "domain": "org.example",
|      "name": "Scale",
|      "overload": "",
|      "since": 0,
|      "count": 2,
|      "known": true,
|      "runs": true,
|      "is_function": true
|    },
|    {
|      "domain": "org.example",
|      "name": "Twice",
|      "overload": "",
|      "since": 0,
|      "count": 1,
|      "known": true,
|      "runs": true,
|      "is_function": true
|    }
|  ]
|}
$ onx ops --model nothing.onnx
|onx ops: nothing.onnx: cannot open: No such file or directory
[1]
$ onx ops Relu --model function.onnxtxt
|onx ops: name an operator or a model, not both; see 'onx help ops'
[2]
$ onx ops --emit-table x.c
|onx ops: --emit-table needs --model; see 'onx help ops'
[2]
