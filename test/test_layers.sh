#!/bin/sh
# The sources follow the layers; and tool/layers notices when they do not.
set -eu
"$ROOT/tool/layers"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# put FILE LINE...: a file with these lines.
put() {
    mkdir -p "$tree/$(dirname "$1")"
    file=$1
    shift
    printf '%s\n' "$@" >"$tree/$file"
}
# A tree in which every kind of file includes as much as it may.
fresh() {
    rm -rf "$tree"
    put src/base/base.h '#include "onx.h"' '#include <string.h>'
    put src/base/os_posix.c '#include "base/base.h"' '#include <unistd.h>' '#include <sys/mman.h>'
    put src/wire/wire.h '#include "base/base.h"'
    put src/ir/ir.h '#include "wire/wire.h"' '#include "ir/fields.def"'
    put src/text/print.c '#include "ir/ir.h"' '/* #include "api/api.h" */'
    put src/ops/softmax/softmax.c '#include "ops/op.h"' '#include "text/text.h"'
    put src/ops/softmax/softmax_ref.c '#include "ops/op.h"' '#include "rt/kernel.h"'
    put src/ops/softmax/softmax_simd.c '#include "rt/kernel.h"' '#include "cpu/vec.h"'
    put src/ops/softmax/softmax_cuda.c '#include "rt/kernel.h"' '#include "cuda/launch.h"'
    put src/ops/softmax/softmax_test.c '#include "cpu/vec.h"' '#include "api/api.h"'
    put src/rt/exec.c '#include "infer/infer.h"'
    put src/cuda/driver.c '#include "rt/provider.h"'
    put src/export/torch.c '#include "pass/pass.h"'
    put src/api/api.c '#include "export/torch.h"' '#include "cuda/driver.h"'
    put cli/cli.h '#include <onx.h>'
    put cli/main.c '#include "onx.h"' '#include "cli.h"' '#include <unistd.h>'
}
accepts() {
    "$ROOT/tool/layers" "$tree" >/dev/null || { echo "FAILED: $1"; failures=$((failures + 1)); }
}
# refuses FILE LINE: in the fresh tree, FILE with this line alone is the one fault.
refuses() {
    fresh
    put "$@"
    if said=$("$ROOT/tool/layers" "$tree") || [ "$(echo "$said" | wc -l)" -ne 2 ] ||
        [ "${said#"$1":1: }" = "$said" ]; then
        echo "FAILED: $1 with $2 gave: $said"
        failures=$((failures + 1))
    fi
}

fresh
accepts "a clean tree"
refuses src/base/mem.c '#include "wire/wire.h"'
refuses src/wire/decode.c '  #  include  "ir/ir.h"'
refuses src/ir/link.c '#include "text/text.h"'
refuses src/text/parse.c '#include "api/api.h"'
refuses src/ops/softmax/softmax.c '#include "rt/kernel.h"'
refuses src/ops/softmax/softmax_ref.c '#include "rt/exec.h"'
refuses src/ops/softmax/softmax_ref.c '#include "cpu/vec.h"'
refuses src/ops/softmax/softmax_simd.c '#include "cuda/launch.h"'
refuses src/ops/softmax/softmax_cuda.c '#include "cpu/vec.h"'
refuses src/check/check.c '#include "pass/pass.h"'
refuses src/pass/fold.c '#include "rt/exec.h"'
refuses src/cpu/gemm.c '#include "cuda/driver.h"'
refuses src/export/onnx.c '#include "cpu/gemm.h"'
refuses src/ir/edit.c '#include <unistd.h>'
refuses src/base/mem.c '#include <sys/mman.h>'
refuses src/base/base_more.c '#include "base.h"'
refuses src/ir/base.h '#include "base/base.h"'
refuses src/stray.c '#include "base/base.h"'
refuses src/misc/misc.c '#include "base/base.h"'
refuses cli/cmd_info.c '#include "ir/ir.h"'
refuses examples/demo.cpp '#include "base/base.h"'

[ "$failures" -eq 0 ]
