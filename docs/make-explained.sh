#!/usr/bin/env bash
# Writes the pages of docs/explained into FOLDER, and the pictures of the chapters into KERNELS/<op>:
#     bash docs/make-explained.sh PROGRAM docs/explained kernels
# A test compares both with what comes out.
set -euo pipefail
program=$1 folder=$2 kernels=$3
mkdir -p "$folder"

# keep PAGE WORDS...: the page that heddle explain WORDS... makes. The pages share explain.js and explain.css.
keep() {
  "$program" explain "${@:2}" --kilobytes 160 --shared-scripts --out "$folder/$1.html" >/dev/null
}

keep coalescing --beside softmax-naive softmax-warp --shape 16,40
keep barriers softmax-block --shape 2,128
keep transpose --beside permute-tile permute-padding --shape 32,32
keep bank-conflicts attention-tiles --shape 32,32
keep tensor-cores matmul-swizzle --shape 32,32,64

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
