#!/bin/sh
# onx code: programs are compiled and run, and build models equal to those they were made of. A few models here; the
# zoo and many more in tool/code-check.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export BUILD
fault() {
    echo "FAILED: $1"
    exit 1
}
onx=$BUILD/onx

# Every field, strange names, almost nothing; and the models of the other tests.
cp "$ROOT"/test/code/*.textproto "$ROOT"/test/cli/files/*.onnxtxt "$dir"
printf '12345678' >"$dir/outside.bin"
for model in everything names bare empty control function kinds types; do
    file=$(ls "$dir/$model".*)
    "$onx" convert "$file" "$dir/$model.onnx"
done

# Long: a string of 64 KiB, 200 initializers, 300 nodes in modules, as many declared types.
awk 'BEGIN {
    print "ir_version: 10 opset_import { domain: \"\" version: 21 } producer_name: \"onx\" graph { name: \"model\""
    text = "0123456789abcdef"
    while (length(text) < 65536) text = text text
    printf "doc_string: \"%s\"\n", text
    for (i = 0; i < 200; i++) printf "initializer { dims: [20] data_type: 6 name: \"w%d\" int32_data: [%d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] }\n", i, i
    print "input { name: \"v0\" type { tensor_type { elem_type: 1 } } }"
    for (i = 0; i < 300; i++) {
        printf "node { input: \"v%d\" output: \"v%d\" op_type: \"Relu\" name: \"/block%d/relu/%d\" }\n", i, i + 1, int(i / 20), i
        printf "value_info { name: \"v%d\" type { tensor_type { elem_type: 1 shape { dim { dim_value: %d } } } } }\n", i + 1, i
    }
    print "output { name: \"v300\" } }"
}' >"$dir/long.textproto"
"$onx" convert "$dir/long.textproto" "$dir/long.onnx"
"$onx" code --lang c "$dir/long.onnx" -o "$dir/long.c"
grep -q '^static void build_model_block7_relu(' "$dir/long.c" || fault "nodes are not cut into modules"
[ -s "$dir/long.weights" ] || fault "there are no weights"

set -- "$dir/everything.onnx" "$dir/names.onnx" "$dir/bare.onnx" "$dir/empty.onnx" "$dir/long.onnx" "$dir/control.onnx" \
    "$dir/function.onnx" "$dir/kinds.onnx" "$dir/types.onnx"
for case in test_if_seq test_loop13_seq test_scan9_sum test_adam test_range_float_type_positive_delta_expanded \
    test_sequence_map_add_2_sequences_expanded test_optional_get_element_sequence test_cast_FLOAT_to_STRING; do
    [ ! -f "${ONX_DATA:-}/node/$case/model.onnx" ] || set -- "$@" "$ONX_DATA/node/$case/model.onnx"
done
"$ROOT/tool/code-check" "$@" | tee "$dir/summary"

# With all data in the program.
"$onx" code --lang c "$dir/long.onnx" >"$dir/inline.c"
! grep -q 'load_weights' "$dir/inline.c" || fault "a program on standard output reads weights"
# shellcheck disable=SC2046 # a word or none
${CC:-cc} -std=c17 -I"$ROOT/include" $(nm -D "$BUILD/libonx.so" | grep -q __asan && echo -fsanitize=address,undefined) \
    "$dir/inline.c" -o "$dir/inline" -L"$BUILD" -lonx -Wl,-rpath,"$BUILD"
"$dir/inline" "$dir/again.onnx"
"$onx" convert "$dir/again.onnx" "$dir/again.textproto"
"$onx" convert "$dir/long.onnx" "$dir/before.textproto"
cmp "$dir/before.textproto" "$dir/again.textproto" || fault "data in the program are not the same"

# Weights of another program are refused; so is a difference, by the check itself.
"$ROOT/tool/code-check" --lang c "$dir/nothing.onnx" >"$dir/out" 2>&1 && fault "a missing model is equal"
printf x >"$dir/short.weights"
${CC:-cc} -std=c17 -I"$ROOT/include" $(nm -D "$BUILD/libonx.so" | grep -q __asan && echo -fsanitize=address,undefined) \
    "$dir/long.c" -o "$dir/long" -L"$BUILD" -lonx -Wl,-rpath,"$BUILD"
! "$dir/long" "$dir/x.onnx" "$dir/short.weights" 2>"$dir/err" || fault "false weights are accepted"
grep -q 'not those of this program' "$dir/err" || fault "$(cat "$dir/err")"

# Texts that a language has no words for.
printf 'graph { name: "a\\000b" }' >"$dir/nul.textproto"
! "$onx" code --lang c "$dir/nul.textproto" >"$dir/out" 2>"$dir/err" || fault "a NUL in a C string"
grep -q '^onx code: .*graph: .*NUL' "$dir/err" || fault "$(cat "$dir/err")"
[ ! -s "$dir/out" ] || fault "half a program was written"
