#!/bin/sh
# The tour runs to its end, and the bundled model is what its text says.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$ROOT/tool/tour" "$BUILD/onx"
"$BUILD/onx" convert "$ROOT/examples/models/linear.onnxtxt" "$dir/linear.onnx"
cmp "$dir/linear.onnx" "$ROOT/examples/models/linear.onnx"
