# A model cut in two, and joined again.
$ onx extract linear.onnx --outputs sum -o a.onnx && onx extract linear.onnx --inputs sum -o b.onnx
$ onx merge a.onnx b.onnx --map sum=sum -o c.onnx && onx print c.onnx
|model     IR 10, opset 22, from onx 0.1.0
|doc       Price of a house from its rooms, its age and its distance to the sea.
|
|graph house_price_house_price
|  input   house: float[N,3]
|  output  price: float[N,1]
|
|  initializers  2 with 4 elements, 16 B
|    weights  float[3,1]            12 B      [41.5, -0.75, -2.25]
|    bias     float[1]              4 B       [120.0]
|
|     0  sum: float[N,1] = MatMul(house, weights) # weigh
|     1  price: float[N,1] = Add(sum, bias=[120.0]) # shift
$ onx merge a.onnx b.onnx --by-name --name linear -o d.onnx && onx info d.onnx | grep -e graph -e nodes
|  graph           linear
|  nodes           2
# Twice the same model: its names need prefixes.
$ onx merge a.onnx a.onnx -o c.onnx
|onx merge: graph 'house_price': models 1 and 2 both have a value 'house'
|  give one of the models a prefix, rename it, or join the values
[1]
$ onx merge a.onnx a.onnx --prefix1 l/ --prefix2 r/ -o c.onnx && onx info c.onnx | grep -e puts
|  inputs          l/house: float[N,3]
|  outputs         l/sum: float[N,1]
$ onx merge a.onnx a.onnx a.onnx --prefixes l/,m/,r/ -o c.onnx && onx info c.onnx | grep -e puts
|  inputs          l/house: float[N,3]
|  outputs         l/sum: float[N,1]
$ onx merge a.onnx b.onnx --map sum=sum --outputs price,sum -o c.onnx && onx info c.onnx | grep -A 1 outputs
|  outputs         price: float[N,1]
|                  sum: float[N,1]
# What cannot be.
$ onx merge a.onnx b.onnx --map wrong=sum -o c.onnx
|onx merge: no model has an output 'wrong' before one with an input 'sum'; see 'onx help merge'
[2]
$ onx merge a.onnx b.onnx --map sum -o c.onnx
|onx merge: 'sum' is no OUT=IN; see 'onx help merge'
[2]
$ onx merge a.onnx control.onnxtxt -o c.onnx
|onx merge: model 2 imports version 21 of 'ai.onnx', but an earlier one 22
|  bring them to one version: --convert, or onx convert --opset 22
[1]
$ onx merge a.onnx control.onnxtxt --convert -o c.onnx && onx info c.onnx | grep opsets
|  opsets          ai.onnx 22, com.microsoft 1
$ onx merge a.onnx a.onnx b.onnx --prefixes l/,r/ --map sum=sum -o c.onnx
|onx merge: more than one way to join 'sum' and 'sum': say which models, as in 1:sum=2:sum; see 'onx help merge'
[2]
$ onx merge a.onnx a.onnx b.onnx --prefixes l/,r/ --map 2:sum=3:sum -o c.onnx && onx info c.onnx | grep puts
|  inputs          l/house: float[N,3]
|  outputs         l/sum: float[N,1]
$ onx merge a.onnx -o c.onnx
|onx merge: too few arguments: onx merge [OPTIONS] MODEL MODEL... -o OUT; see 'onx help merge'
[2]
