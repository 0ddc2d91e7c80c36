#!/bin/sh
# Our operators are ONNX's: every version, input, output, attribute, type and body. The schemas are
# in $ONX_SCHEMAS, or lie in shared/data beside the repository.
set -eu
schemas=${ONX_SCHEMAS:-$ROOT/../shared/data/onnx-schemas-1.23.1.json.xz}
if [ ! -r "$schemas" ]; then
    echo "skipped: ONX_SCHEMAS is not set, and there is no $schemas"
    exit 77
fi
if ! python3 -c 'import lzma' 2>/dev/null; then
    echo "skipped: there is no python3 with lzma"
    exit 77
fi
"$ROOT/tool/schema-diff" "$schemas" "$BUILD/onx"
