#!/bin/sh
# doc/adding-an-operator.md shows the code as it stands: what it quotes from a file is in that file,
# in that order ("…" leaves something out), and what it shows of `onx` is what `onx` prints.
set -eu
cd "$ROOT"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# quotes PAGE: fails on a quotation that its file does not have; says how many there are.
quotes() {
    awk '
    function flush(    at) {
        if (part == "") return
        at = index(rest, part)
        if (!at) { print FILENAME ":" NR ": this is not (or no longer) in " file ":\n" part; bad = 1 }
        rest = substr(rest, at + length(part))
        part = ""
    }
    !file && /^```c / {
        file = $2
        rest = ""
        while ((getline line < file) > 0) rest = rest line "\n"
        close(file)
        n++
        next
    }
    file && /^```$/ { flush(); file = ""; next }
    file && /^…$/ { flush(); next }
    file { part = part $0 "\n" }
    END { print n + 0 " quotations"; exit bad || !n }' "$1"
}
# shown PAGE: what stands after "$ onx ..." in console blocks, compared with what it prints.
shown() {
    awk '/^```console$/ { on = 1; next } /^```$/ { on = 0 } on' "$1" >"$dir/console"
    sed -n 's/^\$ onx //p' "$dir/console" | while read -r arguments; do
        echo "\$ onx $arguments"
        # shellcheck disable=SC2086 # words
        "$BUILD/onx" $arguments
    done >"$dir/printed"
    [ -s "$dir/console" ] && diff "$dir/console" "$dir/printed"
}

page=doc/adding-an-operator.md
quotes "$page"
shown "$page"

# Both notice a difference.
sed 's/onx_softmax_init(onx_call/&_/' "$page" >"$dir/page.md"
! quotes "$dir/page.md" >/dev/null || { echo "FAILED: a false quotation is accepted"; exit 1; }
sed 's/^Softmax-11/Softmax-14/' "$page" >"$dir/page.md"
! shown "$dir/page.md" >/dev/null || { echo "FAILED: a false output is accepted"; exit 1; }
