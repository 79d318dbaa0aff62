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
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
cd "$folder"

# The commands by the program $1, in this folder. Each line ends with &&: where a function is a condition, `set -e` does not hold.
everything() {
    "$1" train --task numbers --out demo &&
        "$1" train --task numbers --updates 60 --save-every 30 --keep 3 --out resumed &&
        cp -r resumed before &&
        "$1" train --resume resumed --updates 120 &&
        results "$1" demo
}

# What the old program wrote, used by the new one.
what_the_old_one_wrote() {
    cp -r ../old/demo . && cp -r ../old/before resumed && "$new" train --resume resumed --updates 120 && results "$new" demo
}

# All that the program $1 prints with the run $2.
results() {
    "$1" translate --model "$2" <"$2/test.en" >beam.txt &&
        "$1" translate --model "$2" --beam 1 <"$2/test.en" >greedy.txt &&
        "$1" translate --model "$2" --sample --seed 3 <"$2/test.en" >sampled.txt &&
        "$1" score --model "$2" --source-file "$2/test.en" --target-file "$2/test.de" >scores.txt &&
        "$1" evaluate beam.txt --reference "$2/test.de" >evaluated.txt &&
        "$1" summary --model "$2" >summary.txt
}

# in_folder FOLDER COMMAND...: the status of the command in a new folder of this name; its stderr is shown when it fails.
in_folder() {
    mkdir "$1"
    (cd "$1" && "${@:2}" 2>stderr) || { echo "same_bytes.sh: $*:" >&2; cat "$1/stderr" >&2; return 1; }
}

# Makes the files below $1 comparable.
without_times() {
    rm -f "$1/stderr"
    find "$1" \( -name '*.html' -o -name 'events.*' -o -name lock \) -delete
    find "$1" -name '*.json*' -exec sed -i -E \
        -e 's/"([a-z_]*seconds?|elapsed|eta|loading|step|log_bytes|digest)": ?("[^"]*"|[-+.e0-9]+|null)/"\1":-/g' \
        -e '/"kind":"note"/s/in [0-9:.]+( s)?["), ]/in - /g' {} +
}

in_folder old everything "$old" &
in_folder new everything "$new"
wait %1
in_folder across what_the_old_one_wrote

for each in old new across; do without_times "$each"; done
status=0
diff -r old new || status=1
diff -r old/resumed across/resumed || status=1
for text in beam greedy sampled scores evaluated summary; do
    [ -s "old/$text.txt" ] && diff "old/$text.txt" "across/$text.txt" || status=1
done
if [ "$status" -eq 0 ]; then
    echo "the same bytes: $(find old -type f | wc -l) files, $(wc -l <old/beam.txt) translations three times"
else
    echo "same_bytes.sh: the programs write different bytes" >&2
fi
exit "$status"
