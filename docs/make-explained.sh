#!/usr/bin/env bash
# Draws the pictures of the chapters into KERNELS/<op>:
#     bash docs/make-explained.sh PROGRAM kernels
# A test compares them with what comes out.
set -euo pipefail
program=$1 kernels=$2

# A chapter names the steps that it is about in a comment above their picture:
#     <!-- heddle explain EXAMPLE --shape SHAPE --picture "STEPS" -->
#     ![what is seen](PICTURE.svg)
for chapter in "$(dirname "${BASH_SOURCE[0]}")"/../kernels/*/README.md; do
  op=$(basename "$(dirname "$chapter")") command=""
  while IFS= read -r line; do
    if [[ $command =~ ^'<!-- heddle explain '([a-z0-9-]+)' --shape '([0-9,]+)' --picture "'([^\"]+)'" -->'$ ]]; then
      words=("${BASH_REMATCH[1]}" --shape "${BASH_REMATCH[2]}" --picture "${BASH_REMATCH[3]}")
      [[ $line =~ \]\(([a-z0-9_]+\.svg)\)$ ]] || { echo "make-explained.sh: $chapter: no picture follows $command" >&2; exit 1; }
      mkdir -p "$kernels/$op"
      "$program" explain "${words[@]}" --out "$kernels/$op/${BASH_REMATCH[1]}" >/dev/null
    fi
    command=$line
  done <"$chapter"
done
