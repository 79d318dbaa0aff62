# Completes heddle's commands, options and values in bash:  source apps/completion.bash
# Everything is read from the program's own --help, so it is that of the program that stands on the line.

# The words that can stand behind option $1, of a command with the help text $2; "FILE" where a path is wanted.
_heddle_values() {
    local line
    line=$(grep -m 1 -E -- "^  $1 " <<<"$2") || return
    read -r _ line _ <<<"$line"
    case $line in
        FILE | PREFIX | RUN) echo FILE ;;
        *'|'*) tr -d '[]' <<<"${line//|/ }" ;;
    esac
}

_heddle() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=() part help values
    # bash takes --option=value for three words
    [ "$word" = "=" ] && word=""
    [ "$previous" = "=" ] && previous=${COMP_WORDS[COMP_CWORD - 2]}
    for part in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $part == [a-z]* ]] || break
        command+=("$part")
    done
    help=$("${COMP_WORDS[0]}" "${command[@]}" --help 2>/dev/null) || return
    COMPREPLY=()
    if [[ $previous == --* ]]; then
        values=$(_heddle_values "$previous" "$help")
        if [ "$values" = FILE ]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        fi
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
        # what stands behind a switch may be left out
        [[ $values == "true false" && $word == -* ]] || return
    fi
    # options, or the commands that stand in a help text without any
    values=$(sed -nE "s/^  (--[a-z-]+).*/\1/p; s/^  (heddle ${command[*]} )?([a-z-]+)  .*/\2/p" <<<"$help")
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
}

complete -F _heddle heddle
