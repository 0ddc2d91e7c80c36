# A model that computes the same with less work.
$ onx optimize linear.onnx -o better.onnx
|onx optimize: nodes 2 -> 2, initializers 2 -> 2, their bytes 16 B -> 16 B
$ onx optimize digits.onnxtxt -o better.onnxtxt --level 1 --verify
|onx optimize: input x is random: float[12]
|onx optimize: verified: 1 output, the largest error is 0
|onx optimize: nodes 4 -> 1, initializers 1 -> 1, their bytes 48 B -> 48 B
|onx optimize: changed by fold 3, dce 3
$ onx optimize control.onnxtxt -o - --to onnxtxt --level 0 2>/dev/null | head -n 3
|<
|   ir_version: 10,
|   opset_import: ["" : 21, "com.microsoft" : 1],
$ onx optimize linear.onnx -o better.onnx --verify && onx check better.onnx
|onx optimize: input house is random: float[1,3] (N = 1; see --set)
|onx optimize: verified: 1 output, the largest error is 0
|onx optimize: nodes 2 -> 2, initializers 2 -> 2, their bytes 16 B -> 16 B
|better.onnx: valid
$ onx optimize control.onnxtxt -o a.onnx --disable fold --disable dce,cse
|onx optimize: nodes 11 -> 10, initializers 6 -> 6, their bytes 40.0 kB -> 40.0 kB
|onx optimize: changed by identity 1
$ onx optimize control.onnxtxt -o a.onnx --level 0 --enable dce
|onx optimize: nodes 11 -> 10, initializers 6 -> 5, their bytes 40.0 kB -> 48 B
|onx optimize: changed by dce 2
$ onx optimize control.onnxtxt -o a.onnx --disable folding
|onx optimize: there is no pass 'folding'
[1]
$ onx optimize linear.onnx
|onx optimize: where should the model go? -o FILE; see 'onx help optimize'
[2]
$ onx optimize -o a.onnx
|onx optimize: which model should be optimized?; see 'onx help optimize'
[2]
$ onx optimize linear.onnx -o a.onnx --level 4
|onx optimize: --level needs one of 0, 1, 2, 3, not '4'; see 'onx help optimize'
[2]
$ onx optimize --list | grep " fold"
|    1  fold            what is computed from constants becomes one
$ onx run linear.onnx --random --disable nothing
|onx run: linear.onnx: there is no pass 'nothing'
[1]
$ onx diff linear.onnx disable=fold+cse level=0,enable=fold --input house=house.textproto
|equal: 2 values compared
|equal: 1 output compared
