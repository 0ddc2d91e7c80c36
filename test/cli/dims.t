# Which there are.
$ onx dims control.onnxtxt
|input   x: float[N,4]
|input   flag: bool
|input   trips: int64
|output  y: float[N,4]
|output  all: seq(float[N,4])
|dims    N: x:0 and 2 more
# Fixed, by name or by input.
$ onx dims control.onnxtxt --set N=3 -o a.onnx && onx dims a.onnx
|input   x: float[3,4]
|input   flag: bool
|input   trips: int64
|output  y: float[3,4]
|output  all: seq(float[3,4])
$ onx dims control.onnxtxt --fix x:0=3 -o a.onnx && onx dims a.onnx
|input   x: float[3,4]
|input   flag: bool
|input   trips: int64
|output  y: float[3,4]
|output  all: seq(float[3,4])
# Freed: what follows from it is inferred.
$ onx dims linear.onnx --fix house:0=1 -o a.onnx && onx dims a.onnx
|input   house: float[1,3]
|output  price: float[1,1]
$ onx dims a.onnx --free house:0=houses -o b.onnx && onx dims b.onnx
|input   house: float[houses,3]
|output  price: float[houses,1]
|dims    houses: house:0 and 1 more
$ onx dims a.onnx --free 'house:0=?' -o b.onnx && onx dims b.onnx
|input   house: float[?,3]
|output  price: float[?,1]
# A Reshape that holds the old size.
$ printf '<ir_version: 8, opset_import: ["" : 18]>\ng (float[1,3,4] x) => (float[1,12] y) <int64[2] s = {1, 12}> { y = Reshape (x, s) }\n' >r.onnxtxt
$ onx dims r.onnxtxt --free x:0=batch -o - --to onnxtxt
|onx dims: warning: graph 'g', node 'y' (Reshape): its constant shape may hold a size that is no longer fixed
|  put -1 or 0 where the size was
|<
|   ir_version: 8,
|   opset_import: ["" : 18]
|>
|g (float[batch,3,4] x) => (float[1,12] y)
|<
|   int64[2] s = {1, 12}
|>
|{
|   y = Reshape (x, s)
|}
# What cannot be.
$ onx dims control.onnxtxt --set K=3 -o a.onnx
|onx dims: no dimension is called 'K'
|  'onx dims MODEL' lists those that there are
[1]
$ onx dims control.onnxtxt --set N=-3 -o a.onnx
|onx dims: '-3' is no size; see 'onx help dims'
[2]
$ onx dims control.onnxtxt --set N -o a.onnx
|onx dims: --set takes NAME=SIZE, not 'N'; see 'onx help dims'
[2]
$ onx dims control.onnxtxt --free x:7=N -o a.onnx
|onx dims: input 'x' has no dimension 7 (it has 2)
[1]
$ onx dims control.onnxtxt --free x=N -o a.onnx
|onx dims: --free takes INPUT:AXIS=NAME; see 'onx help dims'
[2]
$ onx dims linear.onnx --fix house:1=4 -o a.onnx
|onx dims: graph 'house_price', node 'weigh' (MatMul): MatMul needs as many columns in A as there are rows in B
|  its inputs are float[N,4], float[3,1]
[1]
$ onx dims control.onnxtxt --set N=3
|onx dims: where should the model go? -o FILE; see 'onx help dims'
[2]
