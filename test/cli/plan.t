# The plan of a run; how much scratch a kernel needs, and its name, may differ.
$ onx plan linear.onnx --set N=2 --level 0 --threads 1 --all | sed -n '/^steps/,$p' | sed 's/\(MatMul\|Add\)  *[a-z0-9_]* [a-z0-9]* */\1 … /; s/; scratch.*//; s/^\( *slab *\)[0-9]* /\1… /'
|steps
|    0  MatMul … sum = house, weights
|    1  Add … price = sum, bias; over input 0
|
|values
|  where          offset      bytes  steps       type                         name
|  input               0       24 B              float[2,3]                   house
|  constant            0       12 B              float[3,1]                   weights
|  share               0        8 B              float[2,1]                   sum
|  constant            0        4 B              float[1]                     bias
|  output              0        8 B              float[2,1]                   price
$ onx plan linear.onnx --set N=2 --level 0 --json | sed 's/\("cpu"\|"threads"\|"slab"\|"bound"\|"packed"\|"kernel"\|"scratch"\|"offset"\): .*/\1: …/'
|{
|  "model": "linear.onnx",
|  "cpu": …
|  "threads": …
|  "slab": …
|  "bound": …
|  "packed": …
|  "steps": [
|    {
|      "node": "weigh",
|      "op": "MatMul",
|      "kernel": …
|      "when": "run",
|      "in": [
|        0,
|        1
|      ],
|      "out": [
|        2
|      ],
|      "overwrites": -1,
|      "scratch": …
|    },
|    {
|      "node": "shift",
|      "op": "Add",
|      "kernel": …
|      "when": "run",
|      "in": [
|        2,
|        3
|      ],
|      "out": [
|        4
|      ],
|      "overwrites": 0,
|      "scratch": …
|    }
|  ],
|  "values": [
|    {
|      "name": "house",
|      "type": "float[2,3]",
|      "where": "input",
|      "offset": …
|      "bytes": 24,
|      "first": 0,
|      "last": 0
|    },
|    {
|      "name": "weights",
|      "type": "float[3,1]",
|      "where": "constant",
|      "offset": …
|      "bytes": 12,
|      "first": 0,
|      "last": 0
|    },
|    {
|      "name": "sum",
|      "type": "float[2,1]",
|      "where": "share",
|      "offset": …
|      "bytes": 8,
|      "first": 0,
|      "last": 1
|    },
|    {
|      "name": "bias",
|      "type": "float[1]",
|      "where": "constant",
|      "offset": …
|      "bytes": 4,
|      "first": 0,
|      "last": 1
|    },
|    {
|      "name": "price",
|      "type": "float[2,1]",
|      "where": "output",
|      "offset": …
|      "bytes": 8,
|      "first": 1,
|      "last": 2
|    }
|  ]
|}
$ onx plan linear.onnx --set M=2
|onx plan: no input has a dimension 'M' (did you mean 'N'?); see 'onx help plan'
[2]
