# Running a model: inputs from files, or made up; outputs shown or written.
$ onx tensor house.textproto -o house.npy
$ onx run linear.onnx --input house=house.npy
|price: float[2,1], 8 B
|  2 elements, min 155.75, max 253., mean 204.375
|  [[  253.],
|   [155.75]]
$ mkdir in && onx tensor house.textproto -o in/input_0.pb
$ onx run linear.onnx --inputs in
|price: float[2,1], 8 B
|  2 elements, min 155.75, max 253., mean 204.375
|  [[  253.],
|   [155.75]]
$ onx run linear.onnx --inputs in -o out && ls out && onx tensor out/output_0.pb
|output_0.pb
|out/output_0.pb: price: float[2,1], 8 B
|  2 elements, min 155.75, max 253., mean 204.375
|  [[  253.],
|   [155.75]]
$ onx run linear.onnx --inputs in --output sum
|sum: float[2,1], 8 B
|  2 elements, min 35.75, max 133., mean 84.375
|  [[ 133.],
|   [35.75]]
$ onx run linear.onnx --inputs in --output sum --output price -o two && ls two
|output_0.pb
|output_1.pb
$ onx run linear.onnx --inputs in --all-values
|sum: float[2,1], 8 B
|  2 elements, min 35.75, max 133., mean 84.375
|price: float[2,1], 8 B
|  2 elements, min 155.75, max 253., mean 204.375
$ onx run linear.onnx --inputs in --all-values -o all && ls all
|price.pb
|sum.pb
# Random inputs are the same every time, but not with another seed.
$ onx run linear.onnx --random
|onx run: input house is random: float[1,3] (N = 1; see --set)
|price: float[1,1], 4 B
|  1 element, min 148.4328, max 148.4328, mean 148.433
|  [[148.4328]]
$ onx run linear.onnx --random --set N=3 --seed 2
|onx run: input house is random: float[3,3]
|price: float[3,1], 12 B
|  3 elements, min 131.2993, max 158.21472, mean 140.883
|  [[158.21472],
|   [ 131.2993],
|   [133.13484]]
# The same results, optimized or not.
$ onx run linear.onnx --inputs in --level 0 --threads 1 -o plain && onx tensor --compare plain/output_0.pb out/output_0.pb
|equal: 2 elements
# Data of every kind.
$ onx tensor a.textproto house.textproto -o seq.pb && onx run kinds.onnxtxt --random --input q=seq.pb
|onx run: input s is random: string[1,2] (N = 1; see --set)
|onx run: input b is random: bfloat16[5]
|onx run: input i is random: int4[3]
|onx run: input f is random: bool[4]
|onx run: input c is random: complex64[2]
|onx run: input e is random: float8e4m3fn[3]
|onx run: input z is random: uint64[0]
|onx run: input d is random: double
|s1: string[1,2]
|  2 elements
|  [["seven", "seven"]]
|b1: bfloat16[5], 10 B
|  5 elements, min 0.216, max 0.86, mean 0.443555
|  [ 0.86, 0.216,  0.23,  0.42, 0.492]
|i1: int4[3], 2 B
|  3 elements, min 2, max 7, mean 5
|  [2, 6, 7]
|f1: bool[4], 4 B
|  4 elements, 3 true
|  [ true,  true,  true, false]
|c1: complex64[2], 16 B
|  2 elements
|  [ 0.6322691+0.j, 0.34668535+0.j]
|e1: float8e4m3fn[3], 3 B
|  3 elements, min 0.09, max 0.56, mean 0.385417
|  [0.56,  0.5, 0.09]
|z1: uint64[0], 0 B
|  0 elements
|  []
|d1: double, 8 B
|  1 element, min 0.6997690200805664, max 0.6997690200805664, mean 0.699769
|  0.6997690200805664
|q1: sequence of 2
|  [0] float[2,2], 16 B
|    4 elements, min 1., max 4., mean 2.5
|    [[1., 2.],
|     [3., 4.]]
|  [1] float[2,3], 24 B
|    6 elements, min 1., max 60., mean 15.8333
|    [[ 4., 20.,  8.],
|     [ 2., 60.,  1.]]
$ onx run kinds.onnxtxt --random --input q=seq.pb -o kinds 2>/dev/null; onx tensor kinds/output_8.pb --stats
|kinds/output_8.pb: q1: sequence of 2
|  [0] float[2,2], 16 B
|    4 elements, min 1., max 4., mean 2.5
|  [1] float[2,3], 24 B
|    6 elements, min 1., max 60., mean 15.8333
$ onx run kinds.onnxtxt --random 2>&1 | tail -n 1
|onx run: input 'q' has no shape that could be made up: give it with --input; see 'onx help run'
# A trace, and a table of the operators.
$ onx run linear.onnx --inputs in --level 0 --profile trace.json 2>&1 >/dev/null | sed 's/^ *[0-9.]* *[0-9.]*%/TIME/; s/\(MatMul\|Add\) .*/\1/' | sort
|        ms   share   calls  operator          kernel
|TIME       1  Add
|TIME       1  MatMul
|TIME       2  all
$ grep '"name"\|"ph"\|"shapes"' trace.json
|    "name": "weigh",
|    "ph": "X",
|      "shapes": "float[2,3] float[3,1] -> float[2,1]",
|    "name": "shift",
|    "ph": "X",
|      "shapes": "float[2,1] float[1] -> float[2,1]",
# What can go wrong.
$ onx run linear.onnx
|onx run: linear.onnx: the model needs inputs:
|  house: float[N,3]
|onx run: give them with --input NAME=FILE or --inputs DIR, or let them be --random; see 'onx help run'
[2]
$ onx run linear.onnx --input hose=house.npy
|onx run: the model has no input 'hose' (did you mean 'house'?); see 'onx help run'
[2]
$ onx run linear.onnx --input house
|onx run: --input needs NAME=FILE, not 'house'; see 'onx help run'
[2]
$ onx run linear.onnx --input house=house.npy --input house=house.npy
|onx run: input 'house' is given twice; see 'onx help run'
[2]
$ onx run linear.onnx --input house=nothing.npy
|onx run: nothing.npy: cannot open: No such file or directory
[1]
$ onx run linear.onnx --inputs nowhere
|onx run: nowhere: No such file or directory
[1]
$ onx tensor house.textproto --dtype double -o in/input_0.pb && onx run linear.onnx --inputs in
|onx run: linear.onnx: input 'house' is float[N,3], but what was given is double[2,3]
[1]
$ onx run linear.onnx --input house=a.textproto
|onx run: linear.onnx: input 'house' is float[N,3], but what was given is float[2,2]
[1]
$ cp house.npy in/input_1.npy && onx run linear.onnx --inputs in
|onx run: in/input_1.npy: the model has fewer inputs than there are files
[2]
$ onx run linear.onnx --random --set M=2
|onx run: no input has a dimension 'M' (did you mean 'N'?); see 'onx help run'
[2]
$ onx run linear.onnx --random --set N=-2
|onx run: --set needs the name of a dimension and its size, such as batch=4, not 'N=-2'; see 'onx help run'
[2]
$ onx run linear.onnx --random --output total
|onx run: the model has no value 'total'; see 'onx help run'
[2]
$ onx run linear.onnx --random --output price --all-values
|onx run: only one of --all-values and --output; see 'onx help run'
[2]
$ onx run linear.onnx --random --level 4
|onx run: --level needs one of 0, 1, 2, 3, not '4'; see 'onx help run'
[2]
$ onx run linear.onnx --random --cpu z80
|onx run: linear.onnx: there is no instruction set 'z80' on this machine
[2]
$ onx run linear.onnx --random -o /nowhere/out
|onx run: input house is random: float[1,3] (N = 1; see --set)
|onx run: /nowhere/out: cannot be made: No such file or directory
[1]
$ onx run nothing.onnx --random
|onx run: nothing.onnx: cannot open: No such file or directory
[1]
# Within so much memory, there.
$ onx run linear.onnx --input house=house.textproto --memory 64M --provider cpu | head -n 1
|price: float[2,1], 8 B
$ onx run linear.onnx --input house=house.textproto --memory 1k
|onx run: linear.onnx: out of memory: the session may allocate 1024 bytes
[1]
$ onx run linear.onnx --input house=house.textproto --provider gpu
|onx run: linear.onnx: there is no provider 'gpu'
|  cpu and cuda are known, in order of preference: "cuda, cpu"
[2]
$ onx run linear.onnx --input house=house.textproto --provider CUDAExecutionProvider,CPUExecutionProvider | head -n 1
|price: float[2,1], 8 B
