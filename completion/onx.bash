# Completion of onx for bash. The program itself knows its commands and options, so this file only says
# where files belong, and which.
_onx() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} onx=${COMP_WORDS[0]} words files
    local models='onnx|onnxtxt|onnxtext|json|onnxjson|textproto|txtpb|prototxt|pbtxt|pb'
    local data='pb|npy|npz|json|textproto|txtpb|prototxt|pbtxt|onnx|onnxtxt'

    # bash takes --option=value apart at the '='.
    [[ $cur == = ]] && cur= && prev=${COMP_WORDS[COMP_CWORD - 1]}
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}

    if ((COMP_CWORD == 1)); then
        words="$("$onx" help --list-options 2>/dev/null) --help --version"
    else
        [[ ${COMP_WORDS[COMP_CWORD - 3]} == --input ]] && prev=--input # --input NAME=FILE
        case ${COMP_WORDS[1]}$prev in
            run--output) return ;;
            run-o) prev=--output-dir ;;
        esac
        case $prev in
            --cpu) words='base avx2 avx512 neon' ;;
            --level) words='0 1 2 3' ;;
            --disable | --enable) words=$("$onx" optimize --list 2>/dev/null | awk '$1 + 0 { print $2 }') ;;
            --inputs | --output-dir) files=/ ;; # folders alone
            --input) files=$data ;;
            --set | --seed | --threads | --seconds) return ;;
            --profile) files=json ;;
            --from | --to) words='protobuf onnxtxt json textproto' ;;
            --type) words='tensor sequence map optional sparse' ;;
            --dtype) words='float double float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool' ;;
            --name | --why | --graph | --max-elements | --width | --threshold | --align | --rtol | --atol) return ;;
            -o | --output) files=$data ;;
            --sample-inputs | --verify) files=/ ;;
            --lowerings) files=$models ;;
            --opset | --input-names | --output-names | --dynamic-axes | --input-shape | --custom-opset) return ;;
            --external) files='*' ;;
        esac
        if [[ -z ${words-}${files-} ]]; then
            case ${COMP_WORDS[1]} in
                help) words=$("$onx" help --list-options 2>/dev/null) ;;
                tensor) files=$data ;;
                export) files='pt|pt2|pth|ptl' ;;
                info | print | convert | extract | merge | rename | dims | strip | optimize | constants | infer | run | bench | plan) files=$models ;;
            esac
        fi
        [[ $cur == -* ]] && words=$("$onx" help --list-options "${COMP_WORDS[1]}" 2>/dev/null) files=
    fi

    COMPREPLY=($(compgen -W "${words-}" -- "$cur"))
    [[ ${files-} ]] || return 0
    local IFS=$'\n' file
    compopt -o filenames 2>/dev/null
    for file in $(compgen -f -- "$cur"); do
        if [[ -d $file || $files == '*' || $file =~ \.($files)$ ]]; then COMPREPLY+=("$file"); fi
    done
}
complete -F _onx onx
