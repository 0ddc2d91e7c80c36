# Calls become what the functions compute.
$ onx inline function.onnxtxt -o -  --to onnxtxt
|<
|   ir_version: 10,
|   opset_import: ["" : 21, "org.example" : 1]
|>
|calls (float[N] x) => (float[N] y)
|{
|   a_f = Constant <value_float: float = 2.0> ()
|   a = Mul (x, a_f)
|   b_f = Constant <value_float: float = 0.5> ()
|   b = Mul (a, b_f)
|   y = Add (b, b)
|}
$ onx inline --only org.example::Twice function.onnxtxt -o a.onnxtxt && onx ops --model a.onnxtxt
|opset ai.onnx 21
|opset org.example 1
|       1  Add-14
|       1  Constant-21
|       1  Mul-14
|       2  org.example::Scale, function of the model
$ onx inline --except org.example::Twice --keep function.onnxtxt -o a.onnxtxt && onx ops --model a.onnxtxt
|opset ai.onnx 21
|opset org.example 1
|       1  Add-14
|       3  Constant-21
|       3  Mul-14
|       1  org.example::Twice, function of the model
# Operators that are functions, too.
$ printf '<ir_version: 10, opset_import: ["" : 28]>\ng (float[N] x) => (float[N] y) {\n [act] y = Celu<alpha = 2.0>(x)\n}\n' >celu.onnxtxt
$ onx inline --schema=Celu celu.onnxtxt -o - --to onnxtxt
|<
|   ir_version: 10,
|   opset_import: ["" : 28]
|>
|g (float[N] x) => (float[N] y)
|{
|   act_Alpha = Constant <value_float: float = 2.0> ()
|   act_AlphaCast = CastLike (act_Alpha, x)
|   act_XScaled = Div (x, act_AlphaCast)
|   act_EluResult = Elu <alpha: float = 1.0> (act_XScaled)
|   y = Mul (act_AlphaCast, act_EluResult)
|}
$ onx inline --schema celu.onnxtxt -o a.onnx && onx ops --model a.onnx
|opset ai.onnx 28
|       4  Cast-28
|       4  Constant-25
|       1  Div-14
|       1  Exp-13
|       1  Less-13
|       2  Mul-14
|       1  Sub-14
|       1  Where-16
# What cannot be.
$ onx inline --only org.example::None function.onnxtxt -o a.onnx
|onx inline: the model has no function 'org.example::None'
[1]
$ onx inline --schema=Add celu.onnxtxt -o a.onnx
|onx inline: there is no operator 'Add' that is a function
[1]
$ onx inline function.onnxtxt
|onx inline: where should the model go? -o FILE; see 'onx help inline'
[2]
$ printf '<ir_version: 10, opset_import: ["" : 21, "d" : 1]>\ng (float[N] x) => (float[N] y) {\n y = d.F(x)\n}\n<domain: "d", opset_import: ["" : 21, "d" : 1]>\nF (p) => (q) {\n q = d.G(p)\n}\n<domain: "d", opset_import: ["" : 21, "d" : 1]>\nG (p) => (q) {\n q = d.F(p)\n}\n' >cycle.onnxtxt
$ onx inline cycle.onnxtxt -o a.onnx
|onx inline: function 'F': a function must not call itself: F calls G calls F
[1]
