# lib.sh: what the benchmark scripts share. Source it from the root of the repository.

say() { echo "bench: $*" >&2; }
field() { shift "$1"; echo "$1"; }
megabytes() { awk "BEGIN { printf \"%.1f\", $1 * 1024 / 1e6 }"; }
seconds() { awk "BEGIN { printf \"%.1f\", $1 / 1e3 }"; }
ratio() { awk "BEGIN { printf \"%.0f\", $1 / $2 }"; }

# work_folder GIGABYTES: a folder for large files, if there is room for that many.
work_folder() {
    mkdir -p .cache
    free=$(df -Pk .cache | awk 'NR == 2 { print int($4 / 1e6) }')
    [ "$free" -ge "$1" ] || { say "needs $1 GB of disk, $free are free"; exit 1; }
    mktemp -d "$PWD/.cache/bench.XXXXXX"
}

# The helper, built against the static library.
bench() {
    if [ ! .cache/bench -nt bench/bench.c ] || [ ! .cache/bench -nt build/libonx.a ]; then
        cc -O2 -Iinclude -o .cache/bench bench/bench.c build/libonx.a -lm $(grep -q 'ZLIB_LIBRARY_RELEASE:.*=/' build/CMakeCache.txt && echo -lz) >&2
    fi
    .cache/bench "$@"
}

peer_python() {
    tool/setup python || :
    .cache/venv/bin/python -c 'import onnx' 2>/dev/null && echo .cache/venv/bin/python
}

rows=
# row WHAT FIGURE UNIT GOAL
row() {
    printf '%-42s %10s %-6s %s\n' "$1" "$2" "$3" "$4"
    rows="$rows$1|$2|$3|$4
"
}

# finish NAME: write the rows to bench/results/NAME.md and .json.
finish() {
    mkdir -p bench/results
    machine="$(nproc) cores, $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)"
    commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
    {
        printf '# %s: %s, %s, %s\n\n| what | figure | | goal |\n|---|---:|---|---|\n' "$1" \
            "$(date -u +%Y-%m-%d)" "$commit" "$machine"
        printf '%s' "$rows" | awk -F'|' '{ printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }'
    } >"bench/results/$1.md"
    printf '%s' "$rows" | awk -F'|' -v commit="$commit" '
        BEGIN { printf "{\"commit\": \"%s\", \"figures\": [", commit }
        { printf "%s\n  {\"what\": \"%s\", \"figure\": %s, \"unit\": \"%s\"}", (NR > 1 ? "," : ""), $1, $2, $3 }
        END { print "\n]}" }' >"bench/results/$1.json"
    say "written to bench/results/$1.md and .json"
}
