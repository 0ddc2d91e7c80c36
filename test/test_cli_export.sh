#!/bin/sh
# `onx export` on PyTorch's files: every option, verified by running; and what is declined.
set -u
torch=${ONX_TORCH:-${ONX_DATA:-/nonexistent}/torch}
[ -d "$torch/mlp" ] || { echo "skipped: neither ONX_TORCH nor ONX_DATA has PyTorch's files"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
onx=$BUILD/onx passed=0 failed=0

fail() { failed=$((failed + 1)); echo "[$1] failed: $(cat "$dir/err" "$dir/out" | head -n 5)"; }
pass() { passed=$((passed + 1)); }

# works NAME CASE/FILE OPTION...: it is exported, and verified with the recorded data.
works() {
    name=$1 file=$2
    shift 2
    if "$onx" export "$torch/$file" -o "$dir/m.onnx" --verify "$torch/${file%/*}" "$@" >"$dir/out" 2>"$dir/err" &&
        grep -q 'outputs are as recorded' "$dir/err" && "$onx" check "$dir/m.onnx" >"$dir/out" 2>&1; then
        pass
    else
        fail "$name"
    fi
}
# prints NAME TEXT COMMAND...: the command says that, on any of its outputs, and may fail.
prints() {
    name=$1 text=$2
    shift 2
    "$@" >"$dir/out" 2>"$dir/err"
    if grep -q -e "$text" "$dir/out" "$dir/err"; then pass; else fail "$name"; fi
}

works traced mlp/traced.pt
works scripted mlp/scripted.pt
works exported mlp/export.pt2
for opset in 10 13 17 21 28; do
    works "opset $opset" mlp/export.pt2 --opset $opset
    prints "imports $opset" "$opset" "$onx" info "$dir/m.onnx"
done
works names mlp/export.pt2 --input-names image --output-names logits
prints input image "$onx" info "$dir/m.onnx"
prints output logits "$onx" info "$dir/m.onnx"
works axes mlp/traced.pt --dynamic-axes x:0=batch
prints symbol batch "$onx" info "$dir/m.onnx"
works shape mlp/scripted.pt --input-shape x=2x16:f32
works samples mlp/scripted.pt --sample-inputs "$torch/mlp"
works inputs mlp/export.pt2 --keep-initializers-as-inputs
works unfolded mlp/traced.pt --no-constant-folding
works functions hf_bert/export.pt2 --modules-as-functions
prints function 'BertLayer (function)' "$onx" info "$dir/m.onnx"
works report mlp/export.pt2 --report
prints lowered 'lowered: linear' "$onx" export "$torch/mlp/traced.pt" -o "$dir/m.onnx" --report
prints fixed 'fixed: ' "$onx" export "$torch/mlp/traced.pt" -o "$dir/m.onnx" --report

"$onx" export "$torch/mlp/export.pt2" -o "$dir/open.onnx" --no-params >"$dir/out" 2>"$dir/err" || fail no-params
if [ "$(wc -c <"$dir/open.onnx")" -lt 2000 ]; then pass; else fail "no-params has no weights"; fi
"$onx" export "$torch/mlp/export.pt2" -o "$dir/text.onnxtxt" >"$dir/out" 2>"$dir/err" && pass || fail text
prints text Gemm cat "$dir/text.onnxtxt"

# What is declined, and what is said.
printf 'x' >"$dir/x.pt"
prints unknown 'none of the files that onx export knows' "$onx" export "$dir/x.pt" -o "$dir/y.onnx"
head -c 1000 "$torch/mlp/traced.pt" >"$dir/cut.pt"
prints cut 'cut off' "$onx" export "$dir/cut.pt" -o "$dir/y.onnx"
prints opset 'opset 6: it can be from 7 to 28' "$onx" export "$torch/mlp/traced.pt" -o "$dir/y.onnx" --opset 6
prints missing 'No such file' "$onx" export "$dir/none.pt" -o "$dir/y.onnx"
prints axes 'should be like' "$onx" export "$torch/mlp/traced.pt" -o "$dir/y.onnx" --dynamic-axes x
[ ! -e "$dir/y.onnx" ] && pass || fail "nothing is written"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
