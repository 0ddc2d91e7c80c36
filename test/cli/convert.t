# From any format to any other and back: the same bytes.
$ for f in onnxtxt json textproto; do onx convert linear.onnx a.$f && onx convert a.$f b.onnx && onx convert b.onnx c.$f && cmp a.$f c.$f; done
$ for m in control function types; do for f in json textproto onnxtxt; do onx convert $m.onnxtxt $m.onnx && onx convert $m.onnx a.$f && onx convert a.$f b.onnx && cmp $m.onnx b.onnx; done; done
# An unedited model keeps its bytes, whatever they are; --touch writes them anew.
$ printf '\010\012\010\012' | cat - linear.onnx >odd.onnx && onx convert odd.onnx a.onnx && cmp odd.onnx a.onnx
$ onx convert --touch odd.onnx a.onnx && cmp -s odd.onnx a.onnx
[1]
# Standard input and output.
$ onx convert --to onnxtxt linear.onnx - | onx convert --from onnxtxt - a.onnx && onx print a.onnx | head -n 3
|model     IR 10, opset 22, from onx
|doc       Price of a house from its rooms, its age and its distance to the sea.
|
$ onx convert --from .onnx --to json - - <linear.onnx | head -n 3
|{
|  "irVersion": "10",
|  "producerName": "onx",
# In place.
$ cp linear.onnx a.onnx && onx convert --touch a.onnx a.onnx && onx info a.onnx | grep inputs
|  inputs          house: float[N,3]
# What cannot be read or written.
$ onx convert missing.onnx a.onnx
|onx convert: missing.onnx: cannot open: No such file or directory
[1]
$ onx convert linear.onnx no/such/folder/a.onnx
|onx convert: no/such/folder/a.onnx: cannot write: No such file or directory
[1]
$ ls no 2>&1 | wc -l
|1
