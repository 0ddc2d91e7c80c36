# The listing.
$ onx print linear.onnx
|model     IR 10, opset 22, from onx
|doc       Price of a house from its rooms, its age and its distance to the sea.
|
|graph house_price
|  input   house: float[N,3]
|  output  price: float[N,1]
|
|  initializers  2 with 4 elements, 16 B
|    weights  float[3,1]            12 B      [41.5, -0.75, -2.25]
|    bias     float[1]              4 B       [120.0]
|
|     0  sum = MatMul(house, weights) # weigh
|     1  price: float[N,1] = Add(sum, bias=[120.0]) # shift
$ onx print control.onnxtxt
|model     IR 10, opset 21, com.microsoft 1, from hand 1.0
|doc       Branches, loops and strange names. …
|metadata  author: somebody
|metadata  license: MIT
|
|graph control
|  input   x: float[N,4]
|  input   flag: bool
|  input   trips: int64
|  output  y: float[N,4]
|  output  all: seq(float[N,4])
|
|  initializers  5 with 10,009 elements, 40.0 kB
|    scale                      float[2]              8 B       input, [1.0, 2.0]
|    bias                       float[4]              16 B      [0.5, -1.0, 3.25, 1e-07]
|    shape                      int64[2]              16 B      [-1, 4]
|    half                       float                 4 B       0.5
|    "a name, with (brackets)"  float[100,100]        40.0 kB   no valid data
|
|     0  chosen = If(flag) # branch
|        then_branch big() → (t: float[N,4])
|          initializers  1 with 1 element, 4 B
|            two  float[1]              4 B       [2.0]
|           0  t: float[N,4] = Mul(x, two=[2.0])
|        else_branch small() → (e: float[N,4])
|           0  e: float[N,4] = com.microsoft::Gelu(x)
|     1  reshaped = Reshape(chosen, shape=[-1, 4]) {allowzero=1}
|     2  halved = Mul(reshaped, half=0.5)
|     3  shifted = Add(halved, bias)
|     4  y: float[N,4], all: seq(float[N,4]) = Loop(trips, flag, shifted)
|        body step(i: int64, going: bool, state: float[N,4]) → (go: bool, next: float[N,4], out: float[N,4])
|           0  go: bool = Identity(going)
|           1  next: float[N,4] = Clip(state, _, half=0.5)
|           2  out: float[N,4] = Cast(next) {to=float}
|     5  unused = LRN(nowhere?) {size=3, alpha=0.0001, bias=1.0}
$ onx print function.onnxtxt
|model     IR 10, opset 21, org.example 1
|
|graph calls
|  input   x: float[N]
|  output  y: float[N]
|
|     0  a = org.example::Scale(x) {factor=2.0}
|     1  b = org.example::Scale(a) {factor=0.5}
|     2  y: float[N] = org.example::Twice(b)
|
|function org.example::Scale<factor>(v) → (w), opset 21
|     0  f = Constant() {value_float=@factor}
|     1  w = Mul(v, f)
|
|function org.example::Twice(v) → (w), opset 21
|     0  w = Add(v, v)
$ onx print types.onnxtxt
|model     IR 11, opset 23
|
|graph types
|  output  y: float[2,2]
|
|  initializers  16 with 35 elements, 93 B
|    y       float[2,2]            16 B      [1.0, 2.5, -0.1, 3e+38]
|    f64     double[2]             16 B      [0.1, 1e+300]
|    f16     float16[3]            6 B       [1.0, 0.1, inf]
|    bf16    bfloat16[2]           4 B       [1.0, 0.1]
|    f8      float8e4m3fn[3]       3 B       [1.0, 0.0, nan]
|    f4      float4e2m1[3]         2 B       [0.5, 1.0, 6.0]
|    i8      int8[3]               3 B       [-128, 0, 127]
|    u8      uint8[2]              2 B       [0, 255]
|    i64     int64[2]              16 B      [-9223372036854775808, 9223372036854775807]
|    u64     uint64[1]             8 B       [18446744073709551615]
|    i4      int4[3]               2 B       [2, 1, -1]
|    flags   bool[3]               3 B       [false, true, true]
|    words   string[2,1]                     ["one", "zwei drei"]
|    c64     complex64[1]          8 B       [1.0-0.5j]
|    empty   float[0,3]            0 B       []
|    scalar  float                 4 B       7.0
# Folded, at several widths.
$ onx print --width 60 control.onnxtxt | sed -n '/^graph/,$p'
|graph control
|  input   x: float[N,4]
|  input   flag: bool
|  input   trips: int64
|  output  y: float[N,4]
|  output  all: seq(float[N,4])
|
|  initializers  5 with 10,009 elements, 40.0 kB
|    scale                      float[2]              8 B
|        input, [1.0, 2.0]
|    bias                       float[4]              16 B
|        [0.5, -1.0, 3.25, 1e-07]
|    shape                      int64[2]              16 B
|        [-1, 4]
|    half                       float                 4 B
|        0.5
|    "a name, with (brackets)"  float[100,100]        40.0 kB
|        no valid data
|
|     0  chosen = If(flag) # branch
|        then_branch big() → (t: float[N,4])
|          initializers  1 with 1 element, 4 B
|            two  float[1]              4 B       [2.0]
|           0  t: float[N,4] = Mul(x, two=[2.0])
|        else_branch small() → (e: float[N,4])
|           0  e: float[N,4] = com.microsoft::Gelu(x)
|     1  reshaped = Reshape(chosen, shape=[-1, 4])
|            {allowzero=1}
|     2  halved = Mul(reshaped, half=0.5)
|     3  shifted = Add(halved, bias)
|     4  y: float[N,4], all: seq(float[N,4]) = Loop(trips,
|            flag, shifted)
|        body step(i: int64, going: bool,
|              state: float[N,4]) → (go: bool,
|              next: float[N,4], out: float[N,4])
|           0  go: bool = Identity(going)
|           1  next: float[N,4] = Clip(state, _, half=0.5)
|           2  out: float[N,4] = Cast(next) {to=float}
|     5  unused = LRN(nowhere?) {size=3, alpha=0.0001,
|            bias=1.0}
$ onx print --width 1 linear.onnx
|model     IR 10,
|          opset 22, from
|          onx
|doc       Price
|          of
|          a
|          house
|          from
|          its
|          rooms,
|          its
|          age
|          and
|          its
|          distance
|          to
|          the
|          sea.
|
|graph house_price
|  input   house: float[N,3]
|  output  price: float[N,1]
|
|  initializers
|  2 with 4 elements, 16 B
|    weights
|        float[3,1]
|        12 B
|        [41.5, …]
|    bias     float[1]
|        4 B
|        [120.0]
|
|     0  sum = MatMul(house,
|            weights)
|            # weigh
|     1  price: float[N,1]
|            = Add(sum,
|            bias=[120.0])
|            # shift
# One graph, or function.
$ onx print --graph Scale function.onnxtxt
|
|function org.example::Scale<factor>(v) → (w), opset 21
|     0  f = Constant() {value_float=@factor}
|     1  w = Mul(v, f)
$ onx print --graph small control.onnxtxt
|
|graph small
|  output  e: float[N,4]
|
|     0  e: float[N,4] = com.microsoft::Gelu(x)
$ onx print --graph nothing control.onnxtxt
|onx print: the model has no graph or function 'nothing'
[1]
# More and fewer elements.
$ onx print --max-elements 1 types.onnxtxt | sed -n '5,9p'
|
|  initializers  16 with 35 elements, 93 B
|    y       float[2,2]            16 B      [1.0, …]
|    f64     double[2]             16 B      [0.1, …]
|    f16     float16[3]            6 B       [1.0, …]
$ onx convert digits.onnxtxt digits.onnx
$ onx print digits.onnx
|model     IR 10, opset 21
|
|graph digits
|  input   x: float[12]
|  output  y: float[12]
|
|  initializers  1 with 12 elements, 48 B
|    d  float[12]             48 B      [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, …]
|
|     0  c = Constant() {value_ints=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15, … 2 more]}
|     1  s = Constant() {value_string="a text that is longer than the sixty characters that are sho…"}
|     2  t = Constant() {value=int64[12] [0, 1, 2, 3, 4, 5, 6, 7, …]}
|     3  y: float[12] = Add(x, d)
$ onx print --all digits.onnx
|model     IR 10, opset 21
|
|graph digits
|  input   x: float[12]
|  output  y: float[12]
|
|  initializers  1 with 12 elements, 48 B
|    d  float[12]             48 B      [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
|
|     0  c = Constant() {value_ints=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}
|     1  s = Constant() {value_string="a text that is longer than the sixty characters that are shown of a text"}
|     2  t = Constant() {value=int64[12] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}
|     3  y: float[12] = Add(x, d)
$ onx print --max-elements 2 digits.onnx
|model     IR 10, opset 21
|
|graph digits
|  input   x: float[12]
|  output  y: float[12]
|
|  initializers  1 with 12 elements, 48 B
|    d  float[12]             48 B      [0.0, 1.0, …]
|
|     0  c = Constant() {value_ints=[0,1,2,3, … 14 more]}
|     1  s = Constant() {value_string="a text that is longer than the sixty characters that are sho…"}
|     2  t = Constant() {value=int64[12] [0, 1, …]}
|     3  y: float[12] = Add(x, d)
# Colour only when asked for: this is no terminal.
$ onx print linear.onnx | grep -c "$(printf '\033')"
|0
[1]
$ onx print --color linear.onnx | sed "s/$(printf '\033')/^/g" | head -n 5
|^[2mmodel^[0m     IR 10, opset 22, from onx
|^[2mdoc^[0m       Price of a house from its rooms, its age and its distance to the sea.
|
|^[1mgraph^[0m ^[1mhouse_price^[0m
|  ^[2minput^[0m   ^[1mhouse^[0m: ^[32mfloat[N,3]^[0m
# Names cannot reach the terminal.
$ printf '<ir_version: 10, opset_import: ["": 21]> g (float "a\033[31m") => (float b) { b = Relu("a\033[31m") }' >esc.onnxtxt
$ onx print esc.onnxtxt
|model     IR 10, opset 21
|
|graph g
|  input   "a?[31m": float
|  output  b: float
|
|     0  b: float = Relu("a?[31m")
$ onx info esc.onnxtxt | grep inputs
|  inputs          a?[31m: float
