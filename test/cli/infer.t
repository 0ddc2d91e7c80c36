# Types and shapes, with symbolic sizes.
$ onx infer shapes.onnxtxt
|onx infer: graph 'shapes', node 'pooled': 'pooled' is declared as float[batch,9], but is float[batch,8]
|  drop the declared type, or write the inferred one
|inputs
|  x: float[batch,seq,8]
|  target: int64[2]
|outputs
|  y: int64[2*?0,3]
|  z: float[batch,16]
|11 values: 11 sizes known, 4 symbolic, 5 unknown
$ onx infer shapes.onnxtxt --all --set batch=2
|onx infer: graph 'shapes', node 'pooled': 'pooled' is declared as float[2,9], but is float[2,8]
|  drop the declared type, or write the inferred one
|values
|  x: float[2,seq,8]
|  target: int64[2]
|  size: int64[2] = 2, seq
|  rest: int64[2] = 2, 4
|  shape: int64[4] = 2, seq, 2, 4
|  heads: float[2,seq,2,4]
|  chosen: int64[3,?0]
|  turned: int64[?0,3]
|  y: int64[2*?0,3]
|  free: float[?1,?2]
|  one: int64[1] = 1
|  pooled: float[2,8]
|  z: float[2,16]
|11 values: 14 sizes known, 1 symbolic, 5 unknown
# Why a size is not known: back to the operator that lost it.
$ onx infer shapes.onnxtxt --why y --why free 2>/dev/null
|  y: int64[2*?0,3]
|    dimension 0 has ?0:
|      'y', from Concat
|      'turned', from Transpose
|      'chosen', from NonZero: it is as many as there are elements of 'x' that are not 0
|  free: float[?1,?2]
|    dimension 0 has ?1:
|      'free', from Reshape: it depends on what 'target' holds
|      'target', an input: what it holds is known only when the model runs
|    dimension 1 has ?2:
|      'free', from Reshape: it depends on what 'target' holds
|      'target', an input: what it holds is known only when the model runs
$ onx infer shapes.onnxtxt --why heads 2>/dev/null
|  heads: float[batch,seq,2,4]
|    all of it is known
$ onx infer shapes.onnxtxt --why nothing 2>/dev/null
[2]
# What is wrong is told, and with --strict it is a failure.
$ onx infer shapes.onnxtxt --strict
|onx infer: graph 'shapes', node 'pooled': 'pooled' is declared as float[batch,9], but is float[batch,8]
|  drop the declared type, or write the inferred one
[1]
# Written into the model: value_info that was wrong is corrected, what is not known has no name.
$ onx infer shapes.onnxtxt -o typed.onnxtxt; sed -n '/^shapes/,/^{/p' typed.onnxtxt
|onx infer: graph 'shapes', node 'pooled': 'pooled' is declared as float[batch,9], but is float[batch,8]
|  drop the declared type, or write the inferred one
|shapes (float[batch,seq,8] x, int64[2] target) => (int64[?,3] y, float[batch,16] z)
|<
|   float[batch,8] pooled,
|   int64[2] size,
|   int64[2] rest,
|   int64[4] shape,
|   float[batch,seq,2,4] heads,
|   int64[3,?] chosen,
|   int64[?,3] turned,
|   float[?,?] free,
|   int64[1] one
|>
|{
$ onx infer typed.onnxtxt --strict -o again.onnxtxt; cmp typed.onnxtxt again.onnxtxt
$ onx infer shapes.onnxtxt --set batch=3 -o - --to onnxtxt 2>/dev/null | sed -n '/^shapes/,/^{/p'
|shapes (float[3,seq,8] x, int64[2] target) => (int64[?,3] y, float[3,16] z)
|<
|   float[3,8] pooled,
|   int64[2] size,
|   int64[2] rest,
|   int64[4] shape,
|   float[3,seq,2,4] heads,
|   int64[3,?] chosen,
|   int64[?,3] turned,
|   float[?,?] free,
|   int64[1] one
|>
|{
$ onx infer linear.onnx --json
|{
|  "model": "linear.onnx",
|  "problems": [],
|  "values": [
|    {
|      "name": "house",
|      "graph": "house_price",
|      "type": "float[N,3]",
|      "dtype": "float",
|      "shape": [
|        "N",
|        3
|      ]
|    },
|    {
|      "name": "sum",
|      "graph": "house_price",
|      "type": "float[N,1]",
|      "dtype": "float",
|      "shape": [
|        "N",
|        1
|      ]
|    },
|    {
|      "name": "price",
|      "graph": "house_price",
|      "type": "float[N,1]",
|      "dtype": "float",
|      "shape": [
|        "N",
|        1
|      ]
|    }
|  ],
|  "values_computed": 2,
|  "sizes_known": 2,
|  "sizes_symbolic": 2,
|  "sizes_unknown": 0,
|  "without_rank": 0,
|  "without_type": 0
|}
# The command line.
$ onx infer shapes.onnxtxt --set bach=3
|onx infer: no input has a dimension 'bach' (did you mean 'batch'?); see 'onx help infer'
[2]
$ onx infer shapes.onnxtxt -o typed
|onx infer: the name 'typed' tells no format: use --to FORMAT; see 'onx help infer'
[2]
$ onx infer missing.onnx
|onx infer: missing.onnx: cannot open: No such file or directory
[1]
