#!/usr/bin/env bash
# Draws the pictures of docs/presets:  bash docs/make-pictures.sh PROGRAM FOLDER
# A test compares docs/pictures with what comes out.
set -euo pipefail
program=$1 folder=$2
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT
mkdir -p "$folder"
"$program" summary --preset paper --pictures "$drawn" >/dev/null
for name in model encoder-block attention heads; do cp "$drawn/$name.svg" "$folder/paper-$name.svg"; done
"$program" summary --preset annotated --vocab-size 1000 --pictures "$drawn" >/dev/null
cp "$drawn/model.svg" "$folder/annotated-model.svg"
