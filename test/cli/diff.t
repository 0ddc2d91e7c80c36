$ onx diff linear.onnx level=0 level=3 --input house=house.textproto
|equal: 2 values compared
|equal: 1 output compared
# Against recorded values.
$ onx run linear.onnx --input house=house.textproto --all-values -o values && ls values
|price.pb
|sum.pb
$ onx diff linear.onnx level=0 values --input house=house.textproto
|equal: 2 values compared
|equal: 1 output compared
$ onx run linear.onnx --random --set N=2 --all-values -o values 2>/dev/null && onx diff linear.onnx values level=3 --input house=house.textproto
|different: 2 of 2 values; the first is sum, of node MatMul 'weigh'
|  largest error 104.567, 0.786 of the largest magnitude
|  at [0,0]: 28.4328 and 133.
[1]
# The command line.
$ onx diff linear.onnx level=7 level=0 --input house=house.textproto
|onx diff: 'level=7' is neither a folder nor a list of settings such as level=0,cpu=base (cpu=ISA level=0..3 threads=N provider=NAME disable=PASS enable=PASS dynamic fast); see 'onx help diff'
[2]
$ onx diff linear.onnx level=0
|onx diff: too few arguments: onx diff [OPTIONS] MODEL A B; see 'onx help diff'
[2]
# A rewrite makes the difference: which?
$ printf '<ir_version: 8, opset_import: ["" : 13]>\ng (float[1,1,4] x) => (float[1,1,4] y)\n<float[1,1,1] w = {0.3}, float s = {0.7}>\n{ a = Conv(x, w) y = Mul(a, s) }\n' > scaled.onnxtxt
$ onx diff scaled.onnxtxt level=0 level=2 --rtol 0 | grep -v -e first -e largest
|onx diff: input x is random: float[1,1,4]
|equal: 2 values compared
|different: output y, though not when every value is looked at: a rewrite makes the difference
|  at [0,0,1]: 0.15656863 and 0.15656865
|  at [0,0,1]: 0.15656863 and 0.15656865
|without the pass absorb the outputs are equal
