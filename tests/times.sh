#!/usr/bin/env bash
# Where the time of a build and of the last run of its tests went:  bash tests/times.sh [BUILD [ROWS]]      (build/emulated, 15)
# The sources that took longest to compile, from ninja's log, and the tests, from ctest's; each with its share of all seconds of its kind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build/emulated}
rows=${2:-15}
tests=$build
if [ $# -eq 0 ] && [ -e build/together/Testing ]; then tests=build/together; fi  # where tests/run.sh runs ctest

table() {  # TITLE; lines "SECONDS NAME" on stdin
    echo "$1"
    sort -rn | awk -v rows="$rows" '{all += $1; if (NR <= rows) line[NR] = $0}
        END {for (i = 1; i in line; ++i) {split(line[i], part, " "); printf "%8.1f s %5.1f %%  %s\n", part[1], 100 * part[1] / all, substr(line[i], length(part[1]) + 2)}
             printf "%8.1f s          %d in all\n", all, NR}'
}

# An output that was built again counts with its last time.
awk -F'\t' '!/^#/ {took[$4] = ($2 - $1) / 1000} END {for (name in took) if (name ~ /\.(o|gch)$/) print took[name], name}' "$build/.ninja_log" | table "compiled"
echo
awk '/^[0-9]+\/[0-9]+ Test: / {name = substr($0, index($0, "Test: ") + 6)} /^Test time = / {print $4, name}' "$tests/Testing/Temporary/LastTest.log" | table "tests"
