#!/bin/sh
# ONNX's backend tests, all of them, in every way in which a model may come and be run. Only what is
# random by specification is not compared element by element.
set -u
[ "${ONX_DATA:-}" ] || { echo "skipped: ONX_DATA is not set"; exit 77; }
: "${BUILD:=build}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0

# ways TEXT [OPTION...]: all cases pass, none is skipped.
way() {
    text=$1
    shift
    if "$BUILD/onx" conform "$ONX_DATA" "$@" >"$dir/out" 2>&1 && grep -q ' 0 skipped$' "$dir/out"; then
        passed=$((passed + 1))
        echo "  $text: $(tail -n 1 "$dir/out")"
    else
        failed=$((failed + 1))
        echo "[$text] failed:"
        tail -n 40 "$dir/out"
    fi
}

way "as they are"
way "saved and loaded" --through protobuf
way "printed and parsed" --through onnxtxt
way "every step bound in the run" --dynamic
way "not optimized" --level 0
way "optimized exactly" --level 1
way "optimized portably" --level 2
for isa in vnni avx512 avx2 base ref; do # the best that the machine has is above
    ! "$BUILD/onx" plan --cpu $isa "$ROOT/examples/models/linear.onnx" >/dev/null 2>&1 ||
        way "at most $isa" --cpu $isa
done
way "products in bfloat16" --fast --rtol 2e-2 --atol 3e-2
way "one thread" --threads 1
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
