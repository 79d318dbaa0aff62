#!/usr/bin/env bash
# Writes the pages of docs/explained:  bash docs/make-explained.sh PROGRAM FOLDER
# A test compares docs/explained with what comes out.
set -euo pipefail
program=$1 folder=$2
mkdir -p "$folder"

# keep PAGE WORDS...: what heddle explain WORDS... shows.
keep() {
  "$program" explain "${@:2}" --kilobytes 200 --out "$folder/$1.html" >/dev/null
}

keep coalescing --beside softmax-naive softmax-warp --shape 16,40
keep barriers softmax-block --shape 2,128
keep transpose --beside permute-tile permute-padding --shape 32,32
keep bank-conflicts attention-tiles --shape 32,32
keep tensor-cores matmul-tensor-cores --shape 32,32,64
