# A case of its own: what onx computes is what it must compute.
$ mkdir -p cases/price/test_data_set_0 cases/none && cp linear.onnx cases/price/model.onnx && cp linear.onnx cases/none/model.onnx
$ onx tensor house.textproto -o cases/price/test_data_set_0/input_0.pb
$ onx run linear.onnx --input house=house.textproto -o out && cp out/output_0.pb cases/price/test_data_set_0/
$ onx conform cases
|skipped: none
|  there is no folder cases/none/test_data_set_0
|1 passed, 0 failed, 1 skipped
$ onx conform cases --filter 'price' --verbose
|passed: price
|1 passed, 0 failed, 0 skipped
$ onx conform cases --list
|none
|price
$ onx conform cases/price --through onnxtxt --dynamic --level 0 --threads 1
|1 passed, 0 failed, 0 skipped
# A wrong one.
$ mkdir -p bad/price && cp -r cases/price/* bad/price/ && onx run linear.onnx --random --set N=2 -o bad/price/test_data_set_0 2>/dev/null
$ onx conform bad
|failed: price
|  different: 2 of 2 elements, largest error 104.567, relative 0.704475
|    first at [0,0]: 253. and 148.4328
|  in output 0, price
|  in bad/price/test_data_set_0
|0 passed, 1 failed, 0 skipped
[1]
$ echo '{"rtol": 1, "atol": 1e9}' >bad/price/data.json && onx conform bad --json - 2>/dev/null | sed 's/"ms": .*/"ms": …/'
|{
|  "cases": [
|    {
|      "name": "price",
|      "outcome": "passed",
|      "ms": …
|    }
|  ],
|  "passed": 1,
|  "failed": 0,
|  "skipped": 0,
|  "random": 0
|}
# A light one.
$ mkdir light && cp linear.onnx light/x.onnx && onx conform light
|onx conform: there are no cases: folders with model.onnx and test_data_set_0, or NAME.onnx beside NAME_output_0.pb
[1]
# The command line.
$ onx conform nowhere
|onx conform: nowhere: cannot be read: No such file or directory
[1]
$ onx conform cases --filter '('
|onx conform: --filter: '(' is no regular expression: Unmatched ( or \(; see 'onx help conform'
[2]
$ onx conform cases --filter nothing
|onx conform: there are no such cases: folders with model.onnx and test_data_set_0, or NAME.onnx beside NAME_output_0.pb
[1]
$ onx conform
|onx conform: too few arguments: onx conform [OPTIONS] DIR...; see 'onx help conform'
[2]
