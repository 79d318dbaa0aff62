#!/usr/bin/env bash
# bash docs/make-api.sh [FOLDER]: the API of each room as web pages, from the comments in its headers; FOLDER/index.html (build/api) links them.
# Needs Doxygen (Debian's package doxygen).
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/api}")
if ! command -v doxygen > /dev/null; then
    echo "make-api: doxygen is missing; on Debian: apt-get install doxygen" >&2
    exit 1
fi

rooms=(core kernels autograd nn optim heddle) # in the order of their includes: a room's page links to those before it
version=$(sed -n 's/^project(heddle VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p "$out"
tags=()
for room in "${rooms[@]}"; do
    mkdir -p "$out/$room"
    {
        cat docs/Doxyfile
        echo "PROJECT_NAME = \"Heddle: $room\""
        echo "PROJECT_NUMBER = $version"
        echo "INPUT = $room"
        echo "USE_MDFILE_AS_MAINPAGE = $room/README.md"
        echo "STRIP_FROM_PATH = ."
        echo "OUTPUT_DIRECTORY = \"$out/$room\""
        echo "GENERATE_TAGFILE = \"$out/$room/tags.xml\""
        echo "TAGFILES = ${tags[*]-}"
    } | doxygen - 2> "$out/$room/warnings.txt"
    tags+=("\"$out/$room/tags.xml=../$room\"")
done

{
    echo '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Heddle: API</title>'
    echo "<h1>Heddle $version</h1><p>Programs include <code>heddle/heddle.h</code>. Each room uses only those above it in this list.</p><ul>"
    for room in "${rooms[@]}"; do
        title=$(sed -n '1s/^# *//p' "$room/README.md")
        echo "<li><a href=\"$room/index.html\">${title:-$room}</a></li>"
    done
    echo '</ul></html>'
} > "$out/index.html"
echo "$out/index.html"
