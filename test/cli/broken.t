# Files that are not what they should be: exit status 1, and where it went wrong.
$ head -c 100 linear.onnx >cut.onnx && onx info cut.onnx
|onx info: cut.onnx: graph (byte 79): a value of 184 bytes is declared, but only 19 are left
|  the file is cut off or not an ONNX file
[1]
$ onx print cut.onnx
|onx print: cut.onnx: graph (byte 79): a value of 184 bytes is declared, but only 19 are left
|  the file is cut off or not an ONNX file
[1]
$ onx convert cut.onnx out.onnx
|onx convert: cut.onnx: graph (byte 79): a value of 184 bytes is declared, but only 19 are left
|  the file is cut off or not an ONNX file
[1]
$ [ -e out.onnx ]
[1]
$ onx tensor cut.onnx
|onx tensor: cut.onnx: graph (byte 79): a value of 184 bytes is declared, but only 19 are left
|  the file is cut off or not an ONNX file
[1]
$ head -c 100 cut.onnx | onx info -
|onx info: standard input: graph (byte 79): a value of 184 bytes is declared, but only 19 are left
|  the file is cut off or not an ONNX file
[1]
$ printf 'hello, world\n' >hello.onnx && onx info hello.onnx
|onx info: hello.onnx: ModelProto (byte 2): a field tag is malformed
|  the file is damaged, cut off, or not an ONNX file
[1]
$ printf '\377\377\377\377' >bytes.onnx && onx info bytes.onnx
|onx info: bytes.onnx: ModelProto (byte 0): a field tag is malformed
|  the file is damaged, cut off, or not an ONNX file
[1]
$ mkdir folder.onnx && onx info folder.onnx
|onx info: folder.onnx: cannot read: Is a directory
[1]
# An empty file is an empty model.
$ : >empty.onnx && onx info empty.onnx && onx print empty.onnx
|empty.onnx, protobuf
|  IR version      0
|  opsets          none
|  graph           none
|model     IR 0
# Text says line and column.
$ sed 's/MatMul(/MatMul[/' linear.onnxtxt >bad.onnxtxt && onx info bad.onnxtxt
|onx info: bad.onnxtxt: line 10, column 23 (byte 303): expected '(' before the node's inputs, found '['
[1]
$ onx convert linear.onnx bad.json && head -c 200 bad.json >cut.json && onx info cut.json
|onx info: cut.json: line 7, column 37, in graph.node[0].input (byte 200): the JSON text ends too early
[1]
$ onx convert linear.onnx bad.textproto && sed 's/graph {/graf {/' bad.textproto >worse.textproto && onx info worse.textproto
|onx info: worse.textproto: line 4, column 1 (byte 120): ModelProto has no field 'graf'
[1]
# Data.
$ printf '\223NUMPY\001\000' >bad.npy && onx tensor bad.npy
|onx tensor: bad.npy: byte 0: not a .npy file, or one cut off
[1]
$ printf 'PK\003\004' >bad.npz && onx tensor bad.npz
|onx tensor: bad.npz: no end record: not a zip archive, or one cut off
[1]
$ printf 'dims: 3\ndata_type: 1\nfloat_data: [1, 2]\n' >short.textproto && onx tensor short.textproto
|short.textproto: float[3]
|onx tensor: short.textproto: tensor '': 'float_data' has 2 entries, but 3 elements of float need 3
[1]
$ onx tensor --compare short.textproto short.textproto
|onx tensor: short.textproto: tensor '': 'float_data' has 2 entries, but 3 elements of float need 3
[1]
$ printf 'dims: 1000000000\ndims: 0\ndata_type: 1\n' >flat.textproto && onx tensor flat.textproto
|flat.textproto: float[1000000000,0], 0 B
|  0 elements
|  []
$ printf 'dims: 4611686018427387904\ndims: 4\ndata_type: 1\n' >huge.textproto && onx tensor huge.textproto
|huge.textproto: float[4611686018427387904,4]
|onx tensor: huge.textproto: tensor '': the product of the dimensions overflows
[1]
$ onx tensor words.textproto --dtype float
|onx tensor: words.textproto: tensor '': strings have no dense form
[1]
