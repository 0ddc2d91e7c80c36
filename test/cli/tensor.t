# Data files, shown.
$ onx tensor types.onnxtxt
|types.onnxtxt: sequence of 16
|  [0] y: float[2,2], 16 B
|    4 elements, min -0.1, max 3e+38, mean 7.5e+37
|    [[   1.,   2.5],
|     [ -0.1, 3e+38]]
|  [1] f64: double[2], 16 B
|    2 elements, min 0.1, max 1e+300, mean 5e+299
|    [   0.1, 1e+300]
|  [2] f16: float16[3], 6 B
|    3 elements, min 0.1, max inf, mean inf, 1 infinite
|    [ 1., 0.1, inf]
|  [3] bf16: bfloat16[2], 4 B
|    2 elements, min 0.1, max 1., mean 0.550049
|    [ 1., 0.1]
|  [4] f8: float8e4m3fn[3], 3 B
|    3 elements, min 0., max 1., mean 0.5, 1 NaN
|    [ 1.,  0., nan]
|  [5] f4: float4e2m1[3], 2 B
|    3 elements, min 0.5, max 6., mean 2.5
|    [0.5,  1.,  6.]
|  [6] i8: int8[3], 3 B
|    3 elements, min -128, max 127, mean -0.333333
|    [-128,    0,  127]
|  [7] u8: uint8[2], 2 B
|    2 elements, min 0, max 255, mean 127.5
|    [  0, 255]
|  [8] i64: int64[2], 16 B
|    2 elements, min -9223372036854775808, max 9223372036854775807, mean 0
|    [-9223372036854775808,  9223372036854775807]
|  [9] u64: uint64[1], 8 B
|    1 element, min 18446744073709551615, max 18446744073709551615, mean 1.84467e+19
|    [18446744073709551615]
|  [10] i4: int4[3], 2 B
|    3 elements, min -1, max 2, mean 0.666667
|    [ 2,  1, -1]
|  [11] flags: bool[3], 3 B
|    3 elements, 2 true
|    [false,  true,  true]
|  [12] words: string[2,1]
|    2 elements
|    [["one"],
|     ["zwei drei"]]
|  [13] c64: complex64[1], 8 B
|    1 element
|    [1.-0.5j]
|  [14] empty: float[0,3], 0 B
|    0 elements
|    []
|  [15] scalar: float, 4 B
|    1 element, min 7., max 7., mean 7
|    7.
$ onx tensor types.onnxtxt --name f16
|types.onnxtxt: f16: float16[3], 6 B
|  3 elements, min 0.1, max inf, mean inf, 1 infinite
|  [ 1., 0.1, inf]
$ onx tensor types.onnxtxt --name nothing
|onx tensor: types.onnxtxt: there is no initializer or constant 'nothing'
[1]
$ onx tensor digits.onnxtxt --name t --stats
|digits.onnxtxt: int64[12], 96 B
|  12 elements, min 0, max 11, mean 5.5
# Converted from one format to another.
$ for f in pb json textproto npy; do onx tensor types.onnxtxt --name f64 -o f64.$f && onx tensor --compare f64.$f f64.pb; done
|equal: 2 elements
|equal: 2 elements
|equal: 2 elements
|equal: 2 elements
$ cat f64.json
|{
|  "dims": ["2"],
|  "dataType": 11,
|  "name": "f64",
|  "doubleData": [0.1, 1e+300]
|}
$ onx tensor f64.npy --dtype float16 -o half.npy && onx tensor half.npy
|half.npy: float16[2], 4 B
|  2 elements, min 0.1, max inf, mean inf, 1 infinite
|  [0.1, inf]
$ onx tensor f64.npy --dtype int8
|f64.npy: int8[2], 2 B
|  2 elements, min 0, max 127, mean 63.5
|  [  0, 127]
$ onx tensor f64.npy -o - | onx tensor -
|standard input: double[2], 16 B
|  2 elements, min 0.1, max 1e+300, mean 5e+299
|  [   0.1, 1e+300]
# Several tensors become a sequence; .npz files are one.
$ onx tensor types.onnxtxt --name f64 -o one.npz && onx tensor one.npz
|one.npz: sequence of 1
|  [0] f64: double[2], 16 B
|    2 elements, min 0.1, max 1e+300, mean 5e+299
|    [   0.1, 1e+300]
$ onx tensor f64.npy half.npy -o two.npz && onx tensor two.npz --stats
|two.npz: sequence of 2
|  [0] f64: double[2], 16 B
|    2 elements, min 0.1, max 1e+300, mean 5e+299
|  [1] half: float16[2], 4 B
|    2 elements, min 0.1, max inf, mean inf, 1 infinite
$ onx tensor two.npz --name half
|two.npz: half: float16[2], 4 B
|  2 elements, min 0.1, max inf, mean inf, 1 infinite
|  [0.1, inf]
$ onx tensor two.npz --name 0
|two.npz: f64: double[2], 16 B
|  2 elements, min 0.1, max 1e+300, mean 5e+299
|  [   0.1, 1e+300]
$ onx tensor two.npz --name 2
|onx tensor: two.npz: there is no element '2'
[1]
$ onx tensor digits.onnxtxt -o digits.npz && onx tensor digits.npz
|digits.npz: sequence of 1
|  [0] d: float[12], 48 B
|    12 elements, min 0., max 11., mean 5.5
|    [ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.]
$ onx tensor two.npz -o two.json && onx tensor two.json --stats
|two.json: sequence of 2
|  [0] f64: double[2], 16 B
|    2 elements, min 0.1, max 1e+300, mean 5e+299
|  [1] half: float16[2], 4 B
|    2 elements, min 0.1, max inf, mean inf, 1 infinite
$ onx tensor two.npz -o two.npy
|onx tensor: two.npy: .npy files hold one dense tensor
[1]
$ onx tensor two.npz f64.npy -o three.npz
|onx tensor: two.npz: only tensors can be gathered in one file
[1]
# Sequences, maps, optionals and sparse tensors.
$ onx tensor map.textproto --type map
|map.textproto: scores: map of 2, keys string
|  "cat": double, 8 B
|    1 element, min 0.75, max 0.75, mean 0.75
|    0.75
|  "dog": double, 8 B
|    1 element, min 0.25, max 0.25, mean 0.25
|    0.25
$ onx tensor optional.textproto --type optional
|optional.textproto: maybe: optional
|  int32[2], 8 B
|    2 elements, min 1, max 2, mean 1.5
|    [1, 2]
$ onx tensor sparse.textproto --type sparse
|sparse.textproto: s: sparse [3,4]
|  values: float[2], 8 B
|    2 elements, min 0.5, max 1.5, mean 1
|    [0.5, 1.5]
|  indices: int64[2], 16 B
|    2 elements, min 1, max 7, mean 4
|    [1, 7]
$ onx tensor map.textproto --type map --dtype float -o map.pb && onx tensor map.pb
|map.pb: scores: map of 2, keys string
|  "cat": float, 4 B
|    1 element, min 0.75, max 0.75, mean 0.75
|    0.75
|  "dog": float, 4 B
|    1 element, min 0.25, max 0.25, mean 0.25
|    0.25
# Large ones are summarised.
$ onx tensor big.textproto
|big.textproto: int32[20,60], 4.8 kB
|  1,200 elements, min 0, max 1199, mean 599.5
|  [[   0,    1,    2, …,   57,   58,   59],
|   [  60,   61,   62, …,  117,  118,  119],
|   [ 120,  121,  122, …,  177,  178,  179],
|   …,
|   [1020, 1021, 1022, …, 1077, 1078, 1079],
|   [1080, 1081, 1082, …, 1137, 1138, 1139],
|   [1140, 1141, 1142, …, 1197, 1198, 1199]]
$ onx tensor big.textproto --stats
|big.textproto: int32[20,60], 4.8 kB
|  1,200 elements, min 0, max 1199, mean 599.5
$ onx tensor big.textproto --full | wc -l
|82
$ onx tensor long.textproto
|long.textproto: sequence of 25
|  [0] int32, 4 B
|    1 element, min 0, max 0, mean 0
|    0
|  [1] int32, 4 B
|    1 element, min 1, max 1, mean 1
|    1
|  [2] int32, 4 B
|    1 element, min 2, max 2, mean 2
|    2
|  [3] int32, 4 B
|    1 element, min 3, max 3, mean 3
|    3
|  [4] int32, 4 B
|    1 element, min 4, max 4, mean 4
|    4
|  [5] int32, 4 B
|    1 element, min 5, max 5, mean 5
|    5
|  [6] int32, 4 B
|    1 element, min 6, max 6, mean 6
|    6
|  [7] int32, 4 B
|    1 element, min 7, max 7, mean 7
|    7
|  [8] int32, 4 B
|    1 element, min 8, max 8, mean 8
|    8
|  [9] int32, 4 B
|    1 element, min 9, max 9, mean 9
|    9
|  [10] int32, 4 B
|    1 element, min 10, max 10, mean 10
|    10
|  [11] int32, 4 B
|    1 element, min 11, max 11, mean 11
|    11
|  [12] int32, 4 B
|    1 element, min 12, max 12, mean 12
|    12
|  [13] int32, 4 B
|    1 element, min 13, max 13, mean 13
|    13
|  [14] int32, 4 B
|    1 element, min 14, max 14, mean 14
|    14
|  [15] int32, 4 B
|    1 element, min 15, max 15, mean 15
|    15
|  [16] int32, 4 B
|    1 element, min 16, max 16, mean 16
|    16
|  [17] int32, 4 B
|    1 element, min 17, max 17, mean 17
|    17
|  [18] int32, 4 B
|    1 element, min 18, max 18, mean 18
|    18
|  [19] int32, 4 B
|    1 element, min 19, max 19, mean 19
|    19
|  … 5 more (--full shows all)
$ onx tensor long.textproto --full --stats | wc -l
|51
