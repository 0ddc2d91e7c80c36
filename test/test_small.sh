#!/bin/sh
# Programs link what they use: one that only reads and writes models has no kernel; one with the
# table of a model (onx ops --emit-table) has only that model's operators, and is small.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fault() {
    echo "FAILED: $1"
    exit 1
}
libs="$BUILD/libonx.a -lm -lpthread"
! grep -q 'ZLIB_LIBRARY_RELEASE:.*=/' "$BUILD/CMakeCache.txt" || libs="$libs -lz"

cat >"$dir/format.c" <<'C'
#include <onx.h>
int main(int argc, char **argv) {
    onx_model *model = NULL;
    if (argc < 3 || onx_model_load(NULL, argv[1], NULL, &model, NULL)) return 1;
    return onx_model_save(model, argv[2], NULL, NULL) != ONX_OK;
}
C
cat >"$dir/run.c" <<'C'
#include <onx.h>
#include <stdio.h>
int main(int argc, char **argv) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_session *session = NULL;
    if (argc < 2 || onx_model_load(NULL, argv[1], NULL, &model, &diag) ||
        onx_session_new(model, NULL, &session, &diag)) {
        puts(diag.message);
        return 1;
    }
    static float x[3 * 224 * 224], y[1000];
    onx_arg in = {.dtype = ONX_DTYPE_F32, .rank = 4, .dims = {1, 3, 224, 224}};
    in.data = x, in.bytes = sizeof x;
    onx_arg out = {.data = y, .bytes = sizeof y};
    if (onx_session_run(session, 1, &in, 1, &out, NULL, &diag)) puts(diag.message);
    onx_session_free(session);
    onx_model_free(model);
    printf("%zu outputs\n", (size_t)out.dims[1]);
    return out.dims[1] != 1000;
}
C
# build NAME SOURCE…
build() {
    name=$1
    shift
    "$CC" -std=c17 -O2 -no-pie -I"$ROOT/include" -Wl,--gc-sections -o "$dir/$name" "$@" $libs
    strip "$dir/$name" -o "$dir/$name.stripped"
    bytes=$(wc -c <"$dir/$name.stripped")
}

build format "$dir/format.c"
! nm "$dir/format" | grep -E 'onx_(kernels|ops|call|session)_' ||
    fault "a program that only reads and writes models links kernels"
echo "format only: $bytes bytes"

[ -f "${ONX_DATA:-}/resnet18/model.slim.onnx" ] || { echo "skipped: there is no zoo in ONX_DATA"; exit 77; }
model=$dir/resnet18.onnx
"$BUILD/examples/fill_slim" "$ONX_DATA/resnet18/model.slim.onnx" "$model" >/dev/null
"$BUILD/onx" ops --model "$model" --emit-table "$dir/table.c"
build run "$dir/run.c" "$dir/table.c"
! nm "$dir/run" | grep -E 'onx_(kernels|ops)_(rnn|control|strings|gather)' ||
    fault "the program has operators that the model does not"
"$dir/run" "$model" || fault "the program does not run"
echo "resnet18's operators: $bytes bytes"
[ "$bytes" -le 1500000 ] || fault "$bytes bytes are more than 1.5 MB"
