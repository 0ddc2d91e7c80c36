# complete.sh WORD...: what bash offers for the last word, one to a line.
exec bash -c '
source "$ROOT/completion/onx.bash"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_onx
for word in "${COMPREPLY[@]}"; do printf "%s\n" "$word"; done' complete "$@"
