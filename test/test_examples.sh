#!/bin/sh
# The examples do what they say: the C one saves a model, the C++ one reads it.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$BUILD/examples/linear_regression" "$dir/linear.onnx"
"$BUILD/examples/inspect" "$dir/linear.onnx" >"$dir/out"
diff - "$dir/out" <<'END'
input   X: float[N,3]
input   A: float[3,1]
input   B: float[1]
node    XA = MatMul(X, A)
node    Y = Add(XA, B)
output  Y: float[N,1]
END

if "$BUILD/examples/linear_regression" "$dir/no/folder/linear.onnx" 2>"$dir/err"; then
    echo "FAILED: saving into a folder that is not there succeeded"
    exit 1
fi
grep -q '^linear_regression: .*linear\.onnx' "$dir/err" || { cat "$dir/err"; exit 1; }
