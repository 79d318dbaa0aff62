#!/usr/bin/env bash
# The page of all commands and options, in the words of the program's own --help, on stdout:
#
#     bash docs/make-command-line.sh [--man] [PROGRAM] > command-line.md
#
# PROGRAM is build/release/heddle when it is left out. --man makes a manual page of the same words instead.
set -euo pipefail

form="markdown"
if [ "${1:-}" = --man ]; then
    form="man"
    shift
fi
program=${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release/heddle}

# "train", "bench train", ...: what --help lists, and what the help of a command with commands of its own lists.
commands() {
    local name
    for name in $("$program" --help | sed -nE '/^commands:/,/^$/s/^  ([a-z-]+) .*/\1/p'); do
        echo "$name"
        [ "$name" != explain ] || echo "explain FILE.cu"  # which has options of its own
        "$program" "$name" --help | sed -nE "s/^  heddle ($name [a-z-]+) .*/\1/p"
    done
}

# section TITLE TEXT
# shellcheck disable=SC2016  # the quotes of Markdown
markdown_section() { printf '\n## %s\n\n```\n%s\n```\n' "$1" "$2"; }
man_section() {
    printf '.SH %s\n.nf\n' "${1^^}"
    sed -E 's/\\/\\e/g; s/-/\\-/g; s/^([.'"'"'])/\\\&\1/' <<<"$2"
    echo .fi
}

if [ $form = man ]; then
    printf '.TH HEDDLE 1 "" "%s"\n' "$("$program" --version | head -n 1)"
    printf '.SH NAME\nheddle \\- trains translators, and translates with them\n'
else
    cat <<'END'
# The command line

All commands and options, as `heddle --help` and `heddle COMMAND --help` print them, with defaults in brackets.
END
fi
${form}_section heddle "$("$program" --help)"
while read -r name; do
    # shellcheck disable=SC2086  # a command may be two words
    ${form}_section "heddle $name" "$("$program" $name --help)"
done < <(commands)
