#!/bin/sh
# The examples do what they say: one saves a model, one, in C++, reads it, one runs a model.
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

"$BUILD/onx" tensor "$ROOT/test/cli/files/house.textproto" -o "$dir/house.npy"
"$BUILD/examples/run_model" "$ROOT/examples/models/linear.onnx" "$dir/house.npy" >"$dir/out"
diff - "$dir/out" <<'END'
     0  253
     1  155.75
END
if "$BUILD/examples/run_model" "$dir/linear.onnx" "$dir/house.npy" 2>"$dir/err"; then
    echo "FAILED: a model ran without its inputs"
    exit 1
fi
grep -q "^run_model: .*'A'" "$dir/err" || { cat "$dir/err"; exit 1; }

"$BUILD/examples/predict" "$ROOT/examples/models/linear.onnx" >"$dir/out"
diff - "$dir/out" <<'END'
253 and 155.75
END
[ "$(wc -l <"$ROOT/examples/predict.c")" -lt 30 ] || { echo "FAILED: predict.c is not short"; exit 1; }

"$BUILD/examples/watch_value" "$ROOT/examples/models/linear.onnx" "$dir/house.npy" >"$dir/out"
"$BUILD/examples/watch_value" "$ROOT/examples/models/linear.onnx" "$dir/house.npy" sum >>"$dir/out"
diff - "$dir/out" <<'END'
sum  (MatMul)
price  (Add)
sum: float[2,1], from 35.75 to 133, 0 not finite
END

"$BUILD/examples/run_threads" "$ROOT/examples/models/linear.onnx" 4 50 >"$dir/out" 2>/dev/null
diff - "$dir/out" <<'END'
200 runs
END

"$BUILD/examples/custom_op" >"$dir/out"
diff - "$dir/out" <<'END'
2 4 6
END

# A library of operators: with it the model runs, without it it does not.
cat >"$dir/peaks.onnxtxt" <<'END'
<ir_version: 10, opset_import: ["" : 22, "my.ops" : 1]>
peaks (float[N] x) => (int64[M] y) { y = my.ops.Peaks (x) }
END
"$BUILD/onx" tensor "$ROOT/test/cli/files/waves.textproto" -o "$dir/waves.npy"
"$BUILD/onx" run --library "$BUILD/examples/ops_library.so" --input "x=$dir/waves.npy" \
    "$dir/peaks.onnxtxt" >"$dir/out"
grep -q 'int64\[3\]' "$dir/out" && grep -q '1, 4, 6' "$dir/out" || { cat "$dir/out"; exit 1; }
"$BUILD/onx" check --library "$BUILD/examples/ops_library.so" "$dir/peaks.onnxtxt"
if "$BUILD/onx" run --input "x=$dir/waves.npy" "$dir/peaks.onnxtxt" 2>"$dir/err"; then
    echo "FAILED: an operator ran without its library"
    exit 1
fi
grep -q 'my.ops::Peaks is not known' "$dir/err" || { cat "$dir/err"; exit 1; }
if "$BUILD/onx" run --library "$dir/none.so" "$dir/peaks.onnxtxt" 2>"$dir/err"; then
    echo "FAILED: a library that is not there was loaded"
    exit 1
fi
grep -q 'none.so.*cannot be loaded' "$dir/err" || { cat "$dir/err"; exit 1; }

"$BUILD/examples/custom_schema" >"$dir/out"
diff - "$dir/out" <<'END'
float[3*N,3]
END
