#!/usr/bin/env bash
# Draws the pictures of docs/presets:  bash docs/make-pictures.sh PROGRAM FOLDER
# A test compares docs/pictures with what comes out.
set -euo pipefail
program=$1 folder=$2
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT
mkdir -p "$folder"

# Draws the model that the options describe and keeps these pictures of it: chapter, names, options.
keep() {
  local chapter=$1 names=$2
  shift 2
  "$program" summary "$@" --pictures "$drawn" >/dev/null
  for name in $names; do cp "$drawn/$name.svg" "$folder/$chapter-$name.svg"; done
}

# What is the same in two models is drawn once: the chapters on the others show the paper's.
keep paper "model encoder-block decoder-block attention heads" --preset paper
keep notebook "model encoder-block decoder-block heads" --preset notebook
keep explained "encoder" --preset explained
keep explained "head" --preset explained --heads 1 --head-dim 64
keep explained "causal-head heads" --preset explained --heads 12 --head-dim 42
keep translator "model" --preset translator --source-vocab-size 322 --target-vocab-size 322
keep annotated "model encoder-block decoder-block" --preset annotated --vocab-size 1000

# The colours of a picture that stands alone.
style=$(grep -o '<style>.*</style>' "$drawn/model.svg")

# Keeps a picture of a chapter's page: chapter, its title there, name. Only what follows from a formula: its numbers are the same
# everywhere. The values for the page's script are left out.
chart() {
  local chapter=$1 title=$2 name=$3
  [ -f "$drawn/$chapter.html" ] || "$program" chapter "$chapter" --out "$drawn" >/dev/null 2>&1
  sed -n "s|^<figure[^>]*>\(<svg [^>]*aria-label=\"$title\".*</svg>\)<figcaption>.*|\1|p" "$drawn/$chapter.html" |
    sed -E "s|^<svg [^>]*>|&$style|; s| data-[a-z-]+=\"[^\"]*\"||g" >"$folder/$chapter-$name.svg"
  [ -s "$folder/$chapter-$name.svg" ] || { echo "the chapter $chapter has no picture '$title'" >&2; exit 1; }
}

chart paper "the causal mask of 4 tokens" mask
chart annotated "four columns of 20" waves
chart annotated "learning rate" schedule
chart annotated "loss of a target among 5 words" smoothing
