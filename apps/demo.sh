#!/usr/bin/env bash
# From nothing to a translation:  bash apps/demo.sh [RUN FOLDER]
# Installs what is missing, builds the program, trains a Transformer on English and German number words (347201: "three hundred
# forty-seven thousand two hundred one", "dreihundertsiebenundvierzigtausendzweihunderteins") and translates 1,000 numbers that it
# has never seen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

run=${1:-runs/demo-$(date +%Y%m%d-%H%M%S)}
heddle=build/release/heddle

bash apps/setup.sh
cmake --preset release -DHEDDLE_TESTS=OFF >&2
cmake --build build/release --target heddle >&2

start=$SECONDS
"$heddle" train --task numbers --out "$run"
trained=$SECONDS
# The unseen pairs that training left in the run's folder, one per line.
"$heddle" translate --model "$run" <"$run/test.en" >"$run/test.translated"
finished=$SECONDS

echo
echo "Some of the numbers it has never seen:"
paste -d '\n' <(head -n 8 "$run/test.en") <(head -n 8 "$run/test.translated") /dev/null | sed '2~3s/^/  -> /'
awk 'NR == FNR { wanted[FNR] = $0; next }
     { total++; if ($0 == wanted[FNR]) exact++ }
     END { if (total == 0) exit 1
           printf "Translated exactly: %d of %d unseen numbers (%.1f %%)\n", exact, total, 100 * exact / total
           if (exact < 0.99 * total) { print "That is fewer than 99 of 100: something is wrong here."; exit 1 } }' \
    "$run/test.de" "$run/test.translated"
echo "Training took $((trained - start)) s, translating $((finished - trained)) s; the run is in $run"
echo "Try it:  echo 'twelve thousand three hundred forty-five' | $heddle translate --model $run"
