#!/bin/sh
# `onx run` on tests of the ONNX backend: data of every kind in and out, the results as expected.
set -u
[ "${ONX_DATA:-}" ] || { echo "skipped: ONX_DATA is not set"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
onx=$BUILD/onx passed=0 failed=0

# check CASE [OPTION...]: the outputs that `onx run` writes for a case are those that belong to it.
check() {
    data=$ONX_DATA/$1/test_data_set_0 model=$ONX_DATA/$1/model.onnx name=$1
    shift
    rm -rf "$dir/out"
    ok=1 count=0
    "$onx" run --inputs "$data" -o "$dir/out" "$@" "$model" 2>"$dir/err" || ok=
    for wanted in "$data"/output_*.pb; do
        count=$((count + 1))
        [ ! "$ok" ] || "$onx" tensor --compare --rtol 1e-3 --atol 1e-5 "$dir/out/${wanted##*/}" "$wanted" \
            >"$dir/err" 2>&1 || ok=
    done
    [ ! "$ok" ] || [ "$(ls "$dir/out" | wc -l)" -eq $count ] || { ok= && ls "$dir/out" >"$dir/err"; }
    if [ "$ok" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "[$name] failed: $(cat "$dir/err")"
    fi
}

# Tensors of several types, strings, sequences, optionals, subgraphs.
for case in relu add_bcast matmul_2d argmax_keepdims_example equal_string cast_FLOAT_to_BFLOAT16 \
    identity_sequence identity_opt sequence_insert_at_back optional_get_element_sequence if loop11 \
    split_to_sequence_1 string_concat scan_sum; do
    [ -d "$ONX_DATA/node/test_$case" ] || { echo "[$case] failed: there is no such case"; failed=$((failed + 1)); }
    check "node/test_$case"
done
check node/test_matmul_2d --level 0 --cpu base --threads 1

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
