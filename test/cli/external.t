# Tensor data beside the model.
$ onx convert --external --threshold 0 types.onnxtxt a.onnx && ls a.onnx*
|a.onnx
|a.onnx.data
$ onx info a.onnx | grep -A9 parameters
|  parameters      35 in 16 tensors, 93 B
|                  5 float in 3 tensors, 20 B
|                  2 uint8 in 1 tensor, 2 B
|                  3 int8 in 1 tensor, 3 B
|                  2 int64 in 1 tensor, 16 B
|                  2 string in 1 tensor
|                  3 bool in 1 tensor, 3 B
|                  3 float16 in 1 tensor, 6 B
|                  2 double in 1 tensor, 16 B
|                  1 uint64 in 1 tensor, 8 B
$ onx convert --inline a.onnx b.onnx && onx tensor --compare b.onnx types.onnxtxt
|equal: 35 elements
$ onx convert --external=w.bin --threshold 16 --align 16 types.onnxtxt c.onnx && onx info c.onnx | grep external
|    external      8 in 3 tensors, 48 B
|  external files  w.bin: complete, 48 B (3 tensors)
$ wc -c <w.bin
|48
$ onx convert --external-many --threshold 16 types.onnxtxt d.onnx && ls d.onnx*
|d.onnx
|d.onnx.0.data
|d.onnx.1.data
|d.onnx.2.data
$ onx tensor --compare d.onnx types.onnxtxt
|equal: 35 elements
# Data that stay external go along with the model.
$ mkdir there && onx convert c.onnx there/c.onnx && cmp w.bin there/w.bin
# Missing or cut: information is given, with a note; a listing too; what needs the data fails.
$ head -c 20 w.bin >there/w.bin
$ onx info there/c.onnx | grep -A9 external
|    external      8 in 3 tensors, 48 B
|  external files  w.bin: cut off, has 20 B of 48 B (3 tensors)
|  note            the external data cannot be used:
|                  graph.initializer[1], external data of tensor 'f64'
|                  16 bytes at 16 lie outside 'w.bin', which has 20
|                  the data file is cut off, or belongs to another model
$ onx info --json there/c.onnx | grep -A20 external_files
|  "external_files": [
|    {
|      "location": "w.bin",
|      "state": "cut off",
|      "size": 20,
|      "needed": 48,
|      "tensors": 3,
|      "bytes": 48
|    }
|  ],
|  "external_error": "16 bytes at 16 lie outside 'w.bin', which has 20",
|  "bad_tensors": 0,
|  "functions": [],
|  "training_steps": 0,
|  "devices": []
|}
$ rm there/w.bin && onx info there/c.onnx | grep -A9 external
|    external      8 in 3 tensors, 48 B
|  external files  w.bin: missing (3 tensors)
|  note            the external data cannot be used:
|                  graph.initializer[0], external data of tensor 'y'
|                  cannot open external data: No such file or directory
|                  the data file belongs in the folder 'there'
$ onx print there/c.onnx | sed -n '4,9p'
|onx print: without external data: w.bin: graph.initializer[0], external data of tensor 'y': cannot open external data: No such file or directory
|  the data file belongs in the folder 'there'
|  output  y: float[2,2]
|
|  initializers  16 with 35 elements, 93 B
|    y       float[2,2]            16 B      in w.bin
|    f64     double[2]             16 B      in w.bin
|    f16     float16[3]            6 B       [1.0, 0.1, inf]
$ onx tensor there/c.onnx --name y
|onx tensor: w.bin: graph.initializer[0], external data of tensor 'y': cannot open external data: No such file or directory
|  the data file belongs in the folder 'there'
[1]
$ onx convert there/c.onnx there/e.onnx
|onx convert: w.bin: graph.initializer[0], external data of tensor 'y': cannot open external data: No such file or directory
|  the data file belongs in the folder 'there'
[1]
# Out of the folder.
$ printf '<ir_version: 10, opset_import: ["": 21]> g () => (float[4] w) <float[4] w = ["location": "../w.bin"]> {}' >there/out.onnxtxt
$ onx info there/out.onnxtxt | grep -A4 external
|    external      4 in 1 tensor, 16 B
|  external files  ../w.bin: refused (1 tensor)
|  note            the external data cannot be used:
|                  graph.initializer[0], external data of tensor 'w'
|                  the location '../w.bin' is not a relative path without '..'
|                  external data must lie beneath the model's folder
$ onx tensor there/out.onnxtxt
|onx tensor: there/out.onnxtxt: graph.initializer[0], external data of tensor 'w': the location '../w.bin' is not a relative path without '..'
|  external data must lie beneath the model's folder
[1]
