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
works external mlp/export.pt2 --external=m.data
[ -s "$dir/m.data" ] && pass || fail "external data"
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
prints 'no axis' 'no input or output has that name' "$onx" export "$torch/mlp/traced.pt" -o "$dir/y.onnx" --dynamic-axes z:0=n
prints 'no input' "there is no input 'y'" "$onx" export "$torch/mlp/scripted.pt" -o "$dir/y.onnx" --input-shape y=2x16
prints file 'x.pt: this is none' "$onx" export "$dir/x.pt" -o "$dir/y.onnx"
prints missing 'No such file' "$onx" export "$dir/none.pt" -o "$dir/y.onnx"
prints axes 'should be like' "$onx" export "$torch/mlp/traced.pt" -o "$dir/y.onnx" --dynamic-axes x

# Options that make no sense, or did not come out: STATUS TEXT FILE OPTION...
refuses() {
    status=$1 text=$2 file=$3
    shift 3
    "$onx" export "$torch/$file" -o "$dir/y.onnx" "$@" >"$dir/out" 2>"$dir/err"
    if [ $? -eq "$status" ] && grep -q -e "$text" "$dir/err"; then pass; else fail "$text"; fi
}
mkdir "$dir/empty"
refuses 2 "'b' is for input 1, and there are not so many" mlp/export.pt2 --input-names a,b
refuses 2 "'b' is for output 1, and there are not so many" mlp/export.pt2 --output-names a,b
refuses 2 "something else in the program has it" mlp/export.pt2 --output-names l.0.weight
refuses 2 "'x' is given twice" mlp/export.pt2 --input-names x --output-names x
refuses 2 "has two names, 'a' and 'b'" mlp/traced.pt --dynamic-axes x:0=a,0=b
refuses 2 'it has 2 dimensions' mlp/traced.pt --dynamic-axes x:5=batch
refuses 2 'which is no name' mlp/traced.pt --dynamic-axes x:0=3
refuses 2 "'float\[-2,16\]' is not a type" mlp/scripted.pt --input-shape x=-2x16
refuses 2 "input 'x' is given twice" mlp/scripted.pt --input-shape x=2x16 --input-shape x=3x16
refuses 2 'there is no .*/input_0.pb' mlp/scripted.pt --sample-inputs "$dir/empty"
refuses 2 'there is no .*/input_0.pb' mlp/export.pt2 --verify "$dir/empty"
refuses 2 'which --no-params leaves out' mlp/export.pt2 --no-params --verify "$torch/mlp"
refuses 2 'a version of ai.onnx' mlp/export.pt2 --custom-opset ai.onnx=13
cp "$torch/mlp/input_0.pb" "$dir/empty"
cp "$torch/mlp/input_0.pb" "$dir/empty/output_0.pb"
refuses 1 'output_0 is not as recorded' mlp/export.pt2 --verify "$dir/empty"
[ ! -e "$dir/y.onnx" ] && pass || fail "nothing is written"
works 'axis from the end' mlp/export.pt2 --dynamic-axes x:-2=batch
prints 'symbol from the end' 'batch,16' "$onx" info "$dir/m.onnx"
prints 'another size' "dimension 0 of 'output' is batch, and is not called 'n'" \
    "$onx" export "$torch/mlp/traced.pt" -o "$dir/m.onnx" --dynamic-axes x:0=batch,output:0=n
for opset in 7 9 10 11 13 15 17 23; do
    works "old $opset" math/export.pt2 --opset $opset
    works "functions $opset" hf_bert/traced.pt --opset $opset --modules-as-functions
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
