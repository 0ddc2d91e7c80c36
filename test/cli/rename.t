# Values, wherever they are written.
$ onx rename control.onnxtxt x=image half=h -o - --to onnxtxt | grep -e image -e h,
|control (float[N,4] image, bool flag, int64 trips, float[2] scale) => (float[N,4] y, seq(float[N,4]) all)
|         t = Mul (image, two)
|         e = com.microsoft.Gelu (image)
$ onx rename linear.onnx house=price price=house -o a.onnx && onx info a.onnx | grep puts
|  inputs          price: float[N,3]
|  outputs         house: float[N,1]
# Prefixes; kinds of names.
$ onx rename linear.onnx --prefix p/ -o a.onnx && onx print a.onnx | tail -n 4
|    p/bias     float[1]              4 B       [120.0]
|
|     0  p/sum = MatMul(p/house, p/weights) # p/weigh
|     1  p/price: float[N,1] = Add(p/sum, p/bias=[120.0]) # p/shift
$ onx rename linear.onnx --prefix p/ --inputs --outputs -o a.onnx && onx print a.onnx | tail -n 4
|    bias     float[1]              4 B       [120.0]
|
|     0  sum = MatMul(p/house, weights) # weigh
|     1  p/price: float[N,1] = Add(sum, bias=[120.0]) # shift
$ onx rename control.onnxtxt N=batch --dims -o a.onnx && onx info a.onnx | grep puts
|  inputs          x: float[batch,4]
|  outputs         y: float[batch,4]
$ onx rename control.onnxtxt branch=fork --nodes -o - --to onnxtxt | grep fork
|   [fork] chosen = If (flag) <then_branch: graph = big () => (float[N,4] t)
$ onx rename control.onnxtxt 's*=the_s*' -o - --to onnxtxt | grep -o -w 'the_s[a-z]*' | sort -u
|the_scale
|the_shape
|the_shifted
|the_state
# A name that is taken, or that there is not.
$ onx rename control.onnxtxt x=y -o a.onnx
|onx rename: graph 'control': 'x' cannot be called 'y': 'y' of graph 'control' has that name
|  choose another name, or give the other value a new one as well
[1]
$ onx rename control.onnxtxt x=t -o a.onnx
|onx rename: graph 'control': 'x' cannot be called 't': 't' of graph 'big' has that name
|  choose another name, or give the other value a new one as well
[1]
$ onx rename control.onnxtxt missing=y -o a.onnx
|onx rename: nothing is called 'missing'
[1]
$ onx rename control.onnxtxt x -o a.onnx
|onx rename: 'x' is no OLD=NEW; see 'onx help rename'
[2]
$ onx rename control.onnxtxt -o a.onnx
|onx rename: no OLD=NEW, no --prefix; see 'onx help rename'
[2]
