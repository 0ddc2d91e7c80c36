#!/bin/sh
# PyTorch archives with recorded inputs and outputs: each is exported, checked and run, and gives what
# PyTorch gave, also with inputs of other sizes where PyTorch's own file takes them.
#
#     test_export_corpus.sh [FOLDER...]      folders of cases; $ONX_DATA/torch unless given
#
# A case is a folder with traced.pt, scripted.pt, export.pt2 as far as meta.json names them, input_0.pb …,
# output_0.pb …, and the same with other sizes as alt_… and with a batch of one as one_… (made by
# tool/torch-corpus.py). OPSETS are the versions that each is exported to; where one has no such operator,
# that is counted, and no failure, unless it is the first. FORMS may name some of the files. With TABLE=FILE
# the lines of a Markdown table go there.
set -u
[ $# -gt 0 ] || set -- "${ONX_DATA:-/nowhere}/torch"
[ -d "$1" ] || { echo "skipped: there is no folder $1"; exit 77; }
onx=${BUILD:=build}/onx
: "${OPSETS=18 10 13 17 21 28}" "${FORMS=traced.pt scripted.pt export.pt2}" "${TABLE=}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
[ ! "$TABLE" ] || : >"$TABLE"
passed=0 failed=0 declined=0 above=0 counted=0

# list KEY: the strings of a list of meta.json. axes: its dynamic dimensions, as --dynamic-axes has them.
list() { sed -n "s/.*\"$1\":\[\([^]]*\)\].*/\1/p" "$dir/meta" | tr -d '"' | tr , ' '; }
axes() {
    sed -n 's/.*"dynamic":\[\(.*\)\],"saved.*/\1/p' "$dir/meta" | awk '{
        for (n = 0; match($0, /null|\{[^}]*\}/); n++) {
            axes = substr($0, RSTART, RLENGTH)
            $0 = substr($0, RSTART + RLENGTH)
            gsub(/[{}"]/, "", axes)
            gsub(/:/, "=", axes)
            if (axes != "null" && axes != "") { all = all sep "input_" n ":" axes; sep = "," }
        }
        print all
    }'
}

# put NUMBER PREFIX: the recorded tensors of that prefix, as a set of data of the model in $dir/case.
put() {
    mkdir -p "$dir/case/test_data_set_$1"
    for kind in input output; do
        for file in "$case/$2$kind"_*.pb; do
            [ ! -f "$file" ] || ln -s "$file" "$dir/case/test_data_set_$1/${file##*/"$2"}"
        done
    done
}

# has FORM LIST
has() { case " $(list "$2") " in *" $1 "*) return 0 ;; *) return 1 ;; esac }

# export_one FORM OPSET: status 0 when all is well; else the reason is in $dir/why.
export_one() {
    rm -rf "$dir/case"
    put 0 ''
    names=$(cd "$dir/case/test_data_set_0" && echo input_*.pb | sed 's/\.pb//g; s/ /,/g')
    how="--input-names $names --sample-inputs $case"
    [ -e "$dir/case/test_data_set_0/input_0.pb" ] || how=
    ! has "$1" alt_for || put 1 alt_
    ! has "$1" one_for || put 2 one_
    case $1 in *.pt) ! [ -d "$dir/case/test_data_set_1" -o -d "$dir/case/test_data_set_2" ] ||
        [ ! "$(axes)" ] || how="$how --dynamic-axes $(axes)" ;; esac
    echo '{"rtol": 1e-4, "atol": 1e-5}' >"$dir/case/data.json"
    [ ! -f "$case/data.json" ] || cp "$case/data.json" "$dir/case/data.json"
    model=$dir/case/model.onnx
    timeout 120 "$onx" export $how --opset "$2" -o "$model" "$case/$1" >"$dir/out" 2>&1 ||
        { reason export; return 1; }
    "$onx" check --full "$model" >"$dir/out" 2>&1 || { reason check; return 1; }
    timeout 300 "$onx" conform "$dir/case" >"$dir/out" 2>&1 || { reason run; return 1; }
}
reason() {
    status=$?
    echo "$1: $(sed "s|$dir[^ ]*: ||g; s|^onx [a-z]*: ||; s|$case[^ ]*: ||g" "$dir/out" | grep -v '^failed: \|^assumed: ' |
        head -n 1 | cut -c 1-300)" >"$dir/why"
    [ $status -ne 124 ] || echo "$1: it takes too long" >"$dir/why"
    [ $status -lt 126 ] || echo "$1: status $status" >"$dir/why"
}

# The nodes of a file exported to the version that PyTorch's exporter took.
nodes() {
    opset=$(sed -n 's/^  "": \([0-9]*\).*/\1/p' "$case/dynamo.json" 2>/dev/null)
    [ ! "$opset" ] || "$onx" export $how --opset "$opset" -o "$model" "$case/$1" >/dev/null 2>&1
    "$onx" info "$model" | sed -n 's/^  nodes *\([0-9]*\).*/\1/p'
}

# One line: what became of each file, and the nodes beside those of PyTorch's own exporter.
one_case() {
    tr -d ' \n' <"$case/meta.json" >"$dir/meta"
    line= bad= fewest= row=
    for form in $FORMS; do
        if ! has "$form" saved; then row="$row – |"; continue; fi
        first=1 said=ok lacks=
        for opset in $OPSETS; do
            if export_one "$form" "$opset"; then
                [ ! $first ] || { n=$(nodes "$form"); [ "$fewest" ] && [ "$fewest" -le "$n" ] || fewest=$n; }
            elif [ ! $first ] && grep -q 'before version\|from opset' "$dir/why"; then
                lacks="$lacks $opset"
                sed "s/.*): //; s/^export/$opset/" "$dir/why" >>"$dir/lacking"
            else
                said=FAILED bad="$bad
    $form at opset $opset: $(cat "$dir/why")"
                cat "$dir/why" >>"$dir/reasons"
                break
            fi
            first=
        done
        [ $said = ok ] && passed=$((passed + 1)) || failed=$((failed + 1))
        [ ! "$lacks" ] || declined=$((declined + 1))
        line="$line ${form%.*} $said${lacks:+ (not$lacks)}" row="$row $said |"
    done
    theirs=$(sed -n 's/^ "nodes": \([0-9]*\).*/\1/p' "$case/dynamo.json" 2>/dev/null)
    if [ "$fewest" ] && [ "$theirs" ]; then
        counted=$((counted + 1))
        [ "$fewest" -le "$theirs" ] || above=$((above + 1))
    fi
    printf '%-28s%s%s%s\n' "$name" "$line" "${fewest:+, $fewest nodes}${theirs:+, PyTorch $theirs}" "$bad"
    [ ! "$TABLE" ] || echo "| $name |$row ${fewest:-–} | ${theirs:-–} |" >>"$TABLE"
}

for folder; do
    for case in "$folder"/*/; do
        case=${case%/} name=$(basename "$case")
        [ ! -f "$case/meta.json" ] || one_case
    done
done
count() { [ ! -f "$dir/$1" ] || { echo "$2:"; sort "$dir/$1" | uniq -c | sort -rn | head -n 60; }; }
count lacking "not at every version"
count reasons "failed"
[ $counted -eq 0 ] || echo "more nodes than PyTorch's exporter: $above of $counted"
echo "$declined files not at every version; $passed passed, $failed failed"
[ $((passed + failed)) -gt 0 ] && [ $failed -eq 0 ]
