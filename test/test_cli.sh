#!/bin/sh
# The program, as its users see it. Each test/cli/*.t is a session: commands after "$ ", below each what
# it prints on both outputs, after "|", and "[N]" when it exits with N > 0. Lines that begin with "#" are
# comments.
#     test/test_cli.sh [--update] [NAME...]
# --update writes what the commands print now into the sessions: look at the differences.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${ROOT:=$(dirname "$here")}" "${BUILD:=$ROOT/build}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
update=
[ "${1:-}" != --update ] || { update=1; shift; }

mkdir "$dir/bin"
ln -s "$BUILD/onx" "$dir/bin/onx"
ln -s "$BUILD/examples/fill_slim" "$dir/bin/fill_slim"
PATH=$dir/bin:$PATH
export PATH ROOT
unset NO_COLOR COLUMNS LC_ALL
export LANG=C

# session FILE: what FILE would say if it were right, run in a fresh folder with the files of the tests.
session() {
    rm -rf "$dir/work"
    mkdir "$dir/work"
    cp "$ROOT"/test/cli/files/* "$dir/work/"
    cd "$dir/work" || exit 1
    onx convert linear.onnxtxt linear.onnx
    while IFS= read -r line; do
        case $line in
            '$ '*)
                printf '%s\n' "$line"
                (eval "${line#??}") >"$dir/out" 2>&1 </dev/null
                status=$?
                sed 's/^/|/' "$dir/out"
                [ $status -eq 0 ] || echo "[$status]"
                ;;
            '#'*) printf '%s\n' "$line" ;;
        esac
    done <"$1"
    cd "$here" || exit 1
}

passed=0 failed=0
[ $# -gt 0 ] || set -- $(cd "$here/cli" && ls ./*.t | sed 's|^\./||; s|\.t$||')
for name; do
    file=$here/cli/$name.t
    session "$file" >"$dir/transcript"
    if cmp -s "$file" "$dir/transcript"; then
        passed=$((passed + 1))
    elif [ "$update" ]; then
        cp "$dir/transcript" "$file"
        echo "updated $name"
    else
        failed=$((failed + 1))
        echo "[$name] failed: wanted (-) and got (+)"
        diff -u "$file" "$dir/transcript" | tail -n +3
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
