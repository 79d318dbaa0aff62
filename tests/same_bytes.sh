#!/usr/bin/env bash
# Whether two builds of the program write the same bytes:  bash tests/same_bytes.sh OLD NEW
# OLD and NEW are two `heddle` programs. Each trains the demo's task; trains 60 updates, is resumed for 60 more; and translates 1,000 lines by beam
# search and by sampling, scores and evaluates them. Compared are all files of the run folders and all that is printed to stdout, times left
# out (and what contains them: pages, event files). Then NEW resumes and translates with what OLD wrote. Takes two to three minutes.
# Exit status 1 when anything differs.
set -euo pipefail
if [ $# -ne 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
    echo "usage: bash tests/same_bytes.sh OLD NEW   (two heddle programs)" >&2
    exit 2
fi
old=$(realpath "$1") new=$(realpath "$2")
folder=$(mktemp -d "${TMPDIR:-/tmp}/heddle-same-bytes-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The commands in the folder $1 by the program $2.
run() {
    mkdir "$1"
    (
        cd "$1"
        exec 2>stderr
        "$2" train --task numbers --out demo
        "$2" train --task numbers --updates 60 --save-every 30 --keep 3 --out resumed
        cp -r resumed before
        "$2" train --resume resumed --updates 120
        results "$2" demo
    ) || { cat "$1/stderr" >&2; return 1; }
}

# All that the program $1 prints with the run $2.
results() {
    "$1" translate --model "$2" <"$2/test.en" >beam.txt
    "$1" translate --model "$2" --beam 1 <"$2/test.en" >greedy.txt
    "$1" translate --model "$2" --sample --seed 3 <"$2/test.en" >sampled.txt
    "$1" score --model "$2" --source-file "$2/test.en" --target-file "$2/test.de" >scores.txt
    "$1" evaluate beam.txt --reference "$2/test.de" >evaluated.txt
    "$1" summary --model "$2" >summary.txt
}

# Makes the files below $1 comparable.
without_times() {
    rm -f "$1/stderr"
    find "$1" \( -name '*.html' -o -name 'events.*' -o -name lock \) -delete
    find "$1" -name '*.json*' -exec sed -i -E \
        -e 's/"([a-z_]*seconds?|elapsed|eta|loading|step|log_bytes|digest)": ?("[^"]*"|[-+.e0-9]+|null)/"\1":-/g' \
        -e '/"kind":"note"/s/in [0-9:.]+( s)?["), ]/in - /g' {} +
}

run old "$old" &
run new "$new" || { echo "same_bytes.sh: $new failed" >&2; exit 1; }
wait %1 || { echo "same_bytes.sh: $old failed" >&2; exit 1; }

# What the old one wrote, used by the new one.
mkdir across
(
    cd across
    exec 2>stderr
    cp -r ../old/demo .
    cp -r ../old/before resumed
    "$new" train --resume resumed --updates 120
    results "$new" demo
) || { cat across/stderr >&2; exit 1; }

for each in old new across; do without_times "$each"; done
status=0
diff -r old new || status=1
diff -r old/resumed across/resumed || status=1
for text in beam greedy sampled scores evaluated summary; do diff "old/$text.txt" "across/$text.txt" || status=1; done
if [ "$status" -eq 0 ]; then
    echo "the same bytes: $(find old -type f | wc -l) files, $(wc -l <old/beam.txt) translations three times"
else
    echo "same_bytes.sh: the programs write different bytes" >&2
fi
exit "$status"
