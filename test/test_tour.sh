#!/bin/sh
# The tour runs to its end, and the bundled model is what its text says.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$ROOT/tool/tour" "$BUILD/onx" "$dir/tour" | tee "$dir/log"
# The network enlarges better than bicubic interpolation, by more than 1.5 dB.
awk '/^  bicubic/ { b = $2 } /^  network/ { n = $2 } END { exit !(b > 30 && n > b + 1.5) }' "$dir/log"
"$BUILD/onx" convert "$ROOT/examples/models/linear.onnxtxt" "$dir/linear.onnx"
cmp "$dir/linear.onnx" "$ROOT/examples/models/linear.onnx"
