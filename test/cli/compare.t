# Values, not bytes.
$ onx tensor a.textproto -o raw.npy && onx tensor --compare a.textproto raw.npy
|equal: 4 elements
$ onx tensor --compare a.textproto b.textproto
|different: 2 of 4 elements, largest error 0.0625, relative 0.030303
|  first at [0,1]: 2. and 2.0625
[1]
$ onx tensor --compare a.textproto b.textproto --atol 0.1
|equal: 4 elements within the tolerance, largest error 0.0625, relative 0.030303
$ onx tensor --compare a.textproto b.textproto --rtol 0.02
|different: 1 of 4 elements, largest error 0.0625, relative 0.030303
|  first at [0,1]: 2. and 2.0625
[1]
$ onx tensor --compare a.textproto b.textproto --rtol 0.001 --atol 0.001
|different: 2 of 4 elements, largest error 0.0625, relative 0.030303
|  first at [0,1]: 2. and 2.0625
[1]
# Types and shapes must agree.
$ onx tensor a.textproto --dtype double -o double.npy && onx tensor --compare a.textproto double.npy
|different: types float[2,2] and double[2,2]
[1]
$ onx tensor --compare types.onnxtxt --name f64 types.onnxtxt
|equal: 2 elements
$ onx tensor --compare a.textproto types.onnxtxt
|different: kinds a tensor and a sequence
[1]
$ onx tensor --compare two.textproto types.onnxtxt
|different: sizes 2 and 16
[1]
# Integers exactly, also those a double has no room for.
$ onx tensor --compare i.textproto j.textproto
|different: 1 of 2 elements, largest error 1, relative 1.0842e-19
|  first at [0]: 9223372036854775807 and 9223372036854775806
[1]
$ onx tensor --compare i.textproto j.textproto --atol 1
|equal: 2 elements within the tolerance, largest error 1, relative 1.0842e-19
# NaN equals NaN, infinities by sign; strings; maps; optionals; sparse tensors.
$ onx tensor --compare nan.textproto nan.textproto
|equal: 3 elements
$ onx tensor --compare nan.textproto nan2.textproto --rtol 10 --atol 10
|different: 2 of 3 elements, largest error inf, relative inf
|  first at [0]: nan and 1.
[1]
$ onx tensor --compare words.textproto words2.textproto
|different: 1 of 2 elements
|  first at [1]: "two" and "three"
[1]
$ onx tensor --type map --compare map.textproto map2.textproto
|different: keys "dog" and "cow"
[1]
$ onx tensor --type optional --compare optional.textproto none.textproto
|different: sizes 1 and 0
[1]
$ onx tensor --type sparse --compare sparse.textproto sparse2.textproto
|different: 1 of 2 elements, largest error 1, relative 0.125
|  first at [1]: 7 and 8
[1]
$ onx tensor --type sparse --compare sparse.textproto sparse.textproto
|equal: 4 elements
$ onx tensor --compare a.textproto missing.npy
|onx tensor: missing.npy: cannot open: No such file or directory
[1]
