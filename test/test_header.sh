#!/bin/sh
# onx.h compiles alone, without warnings, as C and as every C++ since 11; so do its macros.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/use.c" <<'END'
#include <onx.h>
onx_value *use(onx_graph *g, onx_value *a, onx_value *b);
onx_value *use(onx_graph *g, onx_value *a, onx_value *b) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_value *one = onx_graph_add_op(g, "Relu", NULL, a);
    return options.size ? onx_graph_add_op(g, "Add", "sum", one, b) : NULL;
}
END
cp "$dir/use.c" "$dir/use.cpp"

for std in c17 c11 c++11 c++14 c++17 c++20; do
    case $std in
        c++*) compiler=$CXX file=$dir/use.cpp ;;
        *) compiler=$CC file=$dir/use.c ;;
    esac
    "$compiler" -std=$std -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only \
        -I"$ROOT/include" "$file"
    echo "$std ok"
done
