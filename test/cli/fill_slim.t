# Slim models: the recipes in doc_string become data. The numbers are those of the reference.
$ fill_slim slim.onnxtxt full.onnx && onx tensor full.onnx
|full.onnx: sequence of 5
|  [0] w: float[4], 16 B
|    4 elements, min -0.40547675, max 0.07472631, mean -0.0825987
|    [  0.07472631,  -0.40547675,  0.025698394, -0.025342837]
|  [1] h: float16[4], 8 B
|    4 elements, min 0.3142, max 0.8604, mean 0.629944
|    [  0.81,  0.535, 0.3142, 0.8604]
|  [2] q: int8[6], 6 B
|    6 elements, min -119, max 38, mean -35
|    [ -49,    1, -119,  -90,   38,    9]
|  [3] d: double[2], 16 B
|    2 elements, min 1.494834412653446, max 2.7853986024057864, mean 2.14012
|    [2.7853986024057864,  1.494834412653446]
|  [4] kept: float[2], 8 B
|    2 elements, min 1., max 2., mean 1.5
|    [1., 2.]
$ onx tensor full.onnx --name inner
|full.onnx: float[2,2], 16 B
|  4 elements, min 0.11241144, max 0.5689035, mean 0.381697
|  [[ 0.5689035, 0.42806756],
|   [0.11241144,  0.4174062]]
$ onx info full.onnx | grep -c note
|0
[1]
$ fill_slim slim.onnxtxt
|usage: fill_slim IN OUT
[2]
$ fill_slim missing.onnx full.onnx
|fill_slim: missing.onnx: cannot open: No such file or directory
[1]
