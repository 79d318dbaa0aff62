# Completes heddle's commands, options and values in bash:  source apps/completion.bash
# Everything is read from the program's own --help, so it is that of the program that stands on the line.

# How the help text $2 writes the values of option $1: "FILE FILE", "RUN...", "pre|post".
_heddle_placeholder() {
    local line
    line=$(grep -m 1 -E -- "^  $1 " <<<"$2") || return
    line=${line#"  $1 "}
    echo "${line%%  *}"
}

# The words that can stand for placeholder $1 of the command with help text $2, the rest of the arguments; "FILE" where a path is wanted.
_heddle_values() {
    case ${1%...} in
        FILE | "FILE FILE" | FOLDER | PREFIX | RUN) echo FILE ;;
        NAME) _heddle_names "${@:2}" ;;
        *'|'*) tr -d '[]' <<<"${1//|/ }" ;;
    esac
}

# The names that a command with help text $1, the rest of the arguments, can list: experiments, write-ups, corpora, ops.
_heddle_names() {
    if grep -q " list$" <<<"$1"; then
        echo list
        ! grep -q " all " <<<"$1" || echo all
        "${@:2}" list | grep -o "^[^ ]*"
    elif grep -q "^  --list " <<<"$1"; then
        "${@:2}" --list | cut -f 1 | uniq
    fi
}

# The words that can stand where an option's name may be left out: help text, command.
_heddle_positional() {
    local option
    grep -o -- "; also without --[a-z-]*" <<<"$1" | while read -r _ _ _ option; do
        _heddle_values "$(_heddle_placeholder "$option" "$1")" "$@"
    done
}

# The commands that the help text $1 lists, of a command with commands of its own behind "heddle $2".
_heddle_commands() { sed -nE "s/^  (heddle $2 )?([a-z][a-z-]*)  .*/\2/p" <<<"$1"; }

# The words of $1 that begin with $2; for "FILE" among them the files.
_heddle_offer() {
    local words=() part files=""
    for part in $1; do if [ "$part" = FILE ]; then files=yes; else words+=("$part"); fi; done
    [ -z "$files" ] || compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$2"; [ -z "$files" ] || compgen -f -- "$2")
}

_heddle() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} words=() command=() part help i placeholder values
    COMPREPLY=()
    # bash takes --option=value for three words, and leaves the tilde to whoever runs the program
    for part in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [ "$part" = "=" ] || words+=("$part"); done
    [ "$word" = "=" ] && word=""
    [[ $program == \~/* ]] && program=$HOME/${program:2}

    [ "${words[0]:-}" != help ] || words=("${words[@]:1}") # help COMMAND
    help=$("$program" --help 2>/dev/null) || return
    for part in "${words[@]}"; do
        values=$(_heddle_commands "$help" "${command[*]}")
        [ -n "$values" ] || break
        grep -qFx -- "$part" <<<"$values" || return
        command+=("$part")
        help=$("$program" "${command[@]}" --help 2>/dev/null) || return
    done

    # the option that the word may be a value of, so many words before it
    for ((i = ${#words[@]} - 1; i >= ${#command[@]}; --i)); do [[ ${words[i]} == --* ]] && break; done
    if ((i >= ${#command[@]})); then
        placeholder=$(_heddle_placeholder "${words[i]}" "$help")
        part=$(wc -w <<<"$placeholder")
        if [[ $placeholder == *... && $word != -* ]] || ((${#words[@]} - i <= part)); then
            values=$(_heddle_values "$placeholder" "$help" "$program" "${command[@]}")
            _heddle_offer "$values" "$word"
            # what stands behind a switch may be left out
            [[ $values == "true false" && $word == -* ]] || return
        fi
    elif [[ ${#words[@]} -eq ${#command[@]} && $word != -* ]]; then
        values=$(_heddle_positional "$help" "$program" "${command[@]}")
        [ -z "$values" ] || { _heddle_offer "$values" "$word"; return; }
    fi
    # options, or commands; of heddle itself the options are in a sentence
    values=$(sed -nE "s/^  (--[a-z-]+).*/\1/p" <<<"$help"; _heddle_commands "$help" "${command[*]}")
    if ((${#command[@]} == 0)); then
        values="help $values"
        [[ $word != -* ]] || values=$(sed -nE "s/^heddle (COMMAND )?(--[a-z-]+)[ ,].*/\2/p" <<<"$help")
    fi
    _heddle_offer "$values" "$word"
}

complete -F _heddle heddle
