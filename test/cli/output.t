# Standard output that cannot be written: exit status 1.
$ onx help >/dev/full
|onx: cannot write to standard output: No space left on device
[1]
$ onx info linear.onnx >/dev/full
|onx: cannot write to standard output: No space left on device
[1]
$ onx print linear.onnx >/dev/full
|onx: cannot write to standard output: No space left on device
[1]
$ onx convert --to json linear.onnx - >/dev/full
|onx: cannot write to standard output: No space left on device
[1]
$ onx tensor linear.onnx >/dev/full
|onx: cannot write to standard output: No space left on device
[1]
$ onx tensor linear.onnx --name bias -o - >/dev/full
|onx: cannot write to standard output: No space left on device
[1]
# A pipe that nobody reads: the same, but who closed it knows.
$ { sleep 0.3; onx print linear.onnx; echo $? >status; } | true; sleep 0.6; cat status
|1
