#!/bin/sh
# ONNX's backend tests under valgrind: no read of memory that nobody wrote, none outside of what was
# allocated. A sample, with the plain and with the vector kernels; ONX_MEMORY=all: all of them.
# The newest instructions are not known to valgrind, so the vector kernels are those of the base.
set -u
[ "${ONX_DATA:-}" ] || { echo "skipped: ONX_DATA is not set"; exit 77; }
command -v valgrind >/dev/null || { echo "skipped: valgrind is not there"; exit 77; }
: "${BUILD:=build}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0

check() { valgrind -q --error-exitcode=99 --num-callers=20 "$BUILD/onx" conform --threads 1 "$@"; }

# way TEXT [OPTION...]: all cases pass, and valgrind has nothing to say.
way() {
    text=$1
    shift
    if check "$@" >"$dir/out" 2>"$dir/err" && ! grep -q '^==' "$dir/err"; then
        passed=$((passed + 1))
        echo "  $text: $(tail -n 1 "$dir/out")"
    else
        failed=$((failed + 1))
        echo "[$text] failed:"
        tail -n 20 "$dir/out"
        head -n 40 "$dir/err"
    fi
}

if [ "${ONX_MEMORY:-}" = all ]; then
    way "vector kernels" --cpu base "$ONX_DATA"
    way "plain kernels" --cpu ref "$ONX_DATA/node" "$ONX_DATA/simple" "$ONX_DATA"/pytorch-*
    way "bound in the run" --cpu base --dynamic "$ONX_DATA/node"
else
    way "vector kernels" --cpu base --filter '[act]$' "$ONX_DATA/node"
    way "plain kernels" --cpu ref --filter '[lnrsy]$' "$ONX_DATA/node"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
