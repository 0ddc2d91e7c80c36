#!/bin/sh
# What the libraries define and need: libonx.so exports exactly the functions onx.h declares; every
# global name of libonx.a begins with onx_; neither calls what a library must not (printing,
# exiting, allocating past the context, functions that use global state).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fault() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

echo '#include <onx.h>' | "$CC" -I"$ROOT/include" -DONX_BUILD -E -P - |
    tr -s ' \n' ' ' | tr ';' '\n' |
    sed -n 's/.*visibility("default").*[ *]\(onx_[a-z0-9_]*\)(.*/\1/p' |
    LC_ALL=C sort -u >"$dir/declared"
nm -D --defined-only --format=posix "$BUILD/libonx.so" |
    sed -n 's/^\([^ @]*\)@@*[^ ]* [^A].*/\1/p' | LC_ALL=C sort -u >"$dir/exported"
[ "$(wc -l <"$dir/declared")" -gt 200 ] || fault "onx.h could not be read"
diff "$dir/declared" "$dir/exported" || fault "onx.h (<) and libonx.so (>) differ"
readelf -d "$BUILD/libonx.so" | grep -q 'SONAME.*\[libonx\.so\.0\]' || fault "wrong SONAME"

nm --defined-only --extern-only --format=posix "$BUILD/libonx.a" | grep -v -e '\]:$' -e '^onx_' &&
    fault "global names without onx_"

# "file.c: name" for each outside function an object file calls.
nm --undefined-only --format=posix "$BUILD/libonx.a" |
    awk '/\]:$/ { sub(/.*\[/, ""); sub(/\.o\]:$/, ""); file = $0; next } { print file ": " $1 }' >"$dir/needs"
[ -s "$dir/needs" ] || fault "no outside names found in libonx.a"
printing="v?f?printf|puts|fputs|putchar|perror|fwrite"
ending="_?exit|abort|__assert_fail"
global="getenv|setenv|setlocale|strtok|rand|srand|gets|strcat|v?sprintf"
grep -E ": ($printing|$ending|$global)$" "$dir/needs" | grep -v '^os_posix\.c: getenv$' &&
    fault "functions the library must not call"
grep -E ': (malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup)$' "$dir/needs" |
    grep -v '^mem\.c:' && fault "memory goes through base/mem.h"

[ "$failures" -eq 0 ]
