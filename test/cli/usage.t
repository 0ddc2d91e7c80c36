# Wrong command lines: exit status 2, and a way out.
$ onx inof linear.onnx
|onx: unknown command 'inof'; did you mean 'info'?
[2]
$ onx frobnicate
|onx: unknown command 'frobnicate'; see 'onx help'
[2]
$ onx info
|onx info: too few arguments: onx info [--json] MODEL...; see 'onx help info'
[2]
$ onx info --jsn linear.onnx
|onx info: unknown option --jsn (did you mean --json?); see 'onx help info'
[2]
$ onx info --frobnicate linear.onnx
|onx info: unknown option --frobnicate; see 'onx help info'
[2]
$ onx info --json=yes linear.onnx
|onx info: --json takes no value; see 'onx help info'
[2]
$ onx info --from
|onx info: --from needs a value: --from FORMAT; see 'onx help info'
[2]
$ onx info --from=yaml linear.onnx
|onx info: --from needs protobuf, onnxtxt, json or textproto, not 'yaml'; see 'onx help info'
[2]
$ onx info -x linear.onnx
|onx info: unknown option -x; see 'onx help info'
[2]
$ onx print linear.onnx linear.onnx
|onx print: too many arguments: 'linear.onnx'; see 'onx help print'
[2]
$ onx print --max-elements many linear.onnx
|onx print: --max-elements needs a number, not 'many'; see 'onx help print'
[2]
$ onx print --max-elements=-1 linear.onnx
|onx print: --max-elements needs a number, not '-1'; see 'onx help print'
[2]
$ onx print --max-elements 99999999999999999999 linear.onnx
|onx print: --max-elements needs a number, not '99999999999999999999'; see 'onx help print'
[2]
$ onx version now
|onx version: too many arguments: 'now'; see 'onx help version'
[2]
$ onx convert linear.onnx
|onx convert: too few arguments: onx convert [OPTIONS] IN OUT; see 'onx help convert'
[2]
$ onx convert linear.onnx out.xyz
|onx convert: the name 'out.xyz' tells no format: use --to FORMAT; see 'onx help convert'
[2]
$ onx convert linear.onnx -
|onx convert: standard output needs a format: --to FORMAT; see 'onx help convert'
[2]
$ onx convert --external --inline linear.onnx out.onnx
|onx convert: only one of --external, --external-many and --inline; see 'onx help convert'
[2]
$ onx convert --external --align 3 linear.onnx out.onnx
|onx convert: the alignment is not a power of two up to 1 GiB
[2]
$ onx convert --external=../w.data --threshold 0 linear.onnx out.onnx
|onx convert: out.onnx: the data file needs a plain name, not '../w.data'
|  it lies in the folder of the model file
[2]
$ onx convert --external --to protobuf linear.onnx -
|onx convert: external data can be written beside a file only
[2]
$ onx tensor
|onx tensor: too few arguments: onx tensor [OPTIONS] FILE...; see 'onx help tensor'
[2]
$ onx tensor --compare linear.onnx
|onx tensor: --compare needs two files; see 'onx help tensor'
[2]
$ onx tensor --compare --rtol x a.npy b.npy
|onx tensor: --rtol needs a number that is not negative, not 'x'; see 'onx help tensor'
[2]
$ onx tensor --type scalar a.pb
|onx tensor: --type needs one of tensor, sparse, sequence, map, optional, not 'scalar'; see 'onx help tensor'
[2]
$ onx tensor --dtype float33 a.pb
|onx tensor: --dtype needs an element type such as float16, not 'float33'; see 'onx help tensor'
[2]
$ onx tensor --dtype string a.pb
|onx tensor: --dtype needs an element type such as float16, not 'string'; see 'onx help tensor'
[2]
$ onx tensor linear.onnx -o weights.onnx
|onx tensor: 'weights.onnx' ends in none of .pb .npy .npz .json .textproto; see 'onx help tensor'
[2]
$ onx tensor linear.onnx -o
|onx tensor: --output needs a value: --output FILE; see 'onx help tensor'
[2]
# Files may begin with a dash, after "--".
$ cp linear.onnx ./-.onnx && onx info -- -.onnx | head -n 1
|-.onnx: 271 B, protobuf
