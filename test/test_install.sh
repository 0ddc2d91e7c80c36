#!/bin/sh
# The installed package: a C program through pkg-config (shared and static), the examples through
# CMake's find_package, from a tree that was moved after it was installed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cmake --install "$BUILD" --prefix "$dir/first" >/dev/null
mv "$dir/first" "$dir/onx"
find "$dir/onx" | sed "s|^$dir/onx||" | sort

pc=$(dirname "$(find "$dir/onx" -name onx.pc)")
export PKG_CONFIG_PATH="$pc"
lib=$(pkg-config --variable=libdir onx)
source=$ROOT/examples/linear_regression.c

"$CC" -std=c17 "$source" -o "$dir/shared" $(pkg-config --cflags --libs onx)
LD_LIBRARY_PATH=$lib "$dir/shared" "$dir/shared.onnx"

libs=$(pkg-config --static --libs onx | sed "s|-lonx|$lib/libonx.a|")
"$CC" -std=c17 "$source" -o "$dir/static" $(pkg-config --cflags onx) $libs
"$dir/static" "$dir/static.onnx"
cmp "$dir/shared.onnx" "$dir/static.onnx"

cmake -S "$ROOT/examples" -B "$dir/examples" -DCMAKE_PREFIX_PATH="$dir/onx" \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" >/dev/null
cmake --build "$dir/examples" >/dev/null
"$dir/examples/inspect" "$dir/static.onnx"

cat >"$dir/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(static_user LANGUAGES C)
find_package(onx 0.1 REQUIRED)
add_executable(user $source)
target_link_libraries(user PRIVATE onx::static)
END
cmake -S "$dir" -B "$dir/user" -DCMAKE_PREFIX_PATH="$dir/onx" -DCMAKE_C_COMPILER="$CC" >/dev/null
cmake --build "$dir/user" >/dev/null
"$dir/user/user" "$dir/user.onnx"

"$dir/onx/bin/onx" version
if grep -rlF "$ROOT" "$dir/onx"; then
    echo "FAILED: these installed files name the folder they were built in"
    exit 1
fi
