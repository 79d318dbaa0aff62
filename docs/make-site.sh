#!/usr/bin/env bash
# bash docs/make-site.sh [FOLDER [PROGRAM]]: all documentation as one web site; FOLDER/index.html (build/site) is its first page.
# PROGRAM (build/emulated/heddle, if it is there) adds a page of all options, a page of `heddle explain` for each kernel and those of `heddle lab`, which take
# some minutes, and if Doxygen is there, the API pages are made, too; with `none` the site has the committed pages only.
# Needs MkDocs: Debian's package mkdocs, or from PyPI; if it is missing, it is installed for this run.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/site}")
program=${2:-build/emulated/heddle}
if [ $# -lt 2 ] && [ ! -x "$program" ]; then
    echo "make-site: there is no $program: no page of all options, no explain pages and no lab pages" >&2
    program=none
fi
if [ -n "$(ls -A "$out" 2> /dev/null)" ] && [ ! -e "$out/search/search_index.json" ]; then
    echo "make-site: $out is not empty and holds no site; it would be deleted: choose another folder" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdocs=mkdocs
if ! command -v mkdocs > /dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        echo "make-site: installing Debian's package mkdocs" >&2
        apt-get install -y --no-install-recommends mkdocs python3-pygments > /dev/null
    else
        echo "make-site: installing MkDocs from PyPI into a virtual environment, which is deleted afterwards" >&2
        python3 -m venv "$work/venv"
        "$work/venv/bin/pip" install --quiet 'mkdocs<2' pygments
        mkdocs=$work/venv/bin/mkdocs
    fi
fi

pages=$work/pages # what is no Markdown: explain/, lab/, api/
mkdir -p "$pages"
if [ "$program" != none ]; then
    program=$(realpath "$program")
    mkdir "$pages/explain" "$pages/docs"
    bash docs/make-command-line.sh "$program" > "$pages/docs/command-line.md"
    "$program" explain list > "$pages/explain/list.txt"
    while read -r name _; do
        "$program" explain "$name" --out "$pages/explain/$name.html" > "$work/said" 2>&1 < /dev/null || { cat "$work/said" >&2; exit 1; }
    done < "$pages/explain/list.txt"
    for pair in 'softmax-naive softmax-warp 16,40' 'permute-tile permute-padding 32,32'; do
        read -r left right shape <<< "$pair"
        both=$left-beside-$right
        "$program" explain --beside "$left" "$right" --shape "$shape" --out "$pages/explain/$both.html" > "$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
        echo "$both  $shape  $left beside $right" >> "$pages/explain/list.txt"
    done
    "$program" lab all --out "$pages/lab" > /dev/null
fi
if [ "${2-}" != none ] && command -v doxygen > /dev/null; then
    bash docs/make-api.sh "$pages/api" > /dev/null
fi

python3 docs/site/site.py collect "$work" "$pages"
"$mkdocs" build --quiet --strict --config-file "$work/mkdocs.yml" --site-dir "$out"
python3 docs/site/site.py check "$out"
echo "$out/index.html"
