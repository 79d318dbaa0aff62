#!/bin/bash
# Lists the instantiations of kernels that no device test has launched, and ends with status 1 when there is one.
#
#     tests/kernels_launched.sh LIBRARY LAUNCHES FILTER PROGRAM...
#
# LIBRARY: the static library with all kernels, built for the emulator. LAUNCHES: what the tests of all PROGRAMs wrote when they ran one by
# one, as ctest runs them, with HEDDLE_EMULATOR_LAUNCHES. FILTER: those of their tests that count, "*" or a filter of GoogleTest's.
# Status 77: nothing can be said, for not all of these tests have run since the library was built.
set -u
[ $# -ge 4 ] || { sed -n '2,8p' "$0" | cut -c3-; exit 2; }
library=$1 launches=$2 filter=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

skip() {
    echo "skipped: $*"
    exit 77
}
[ "$launches" -nt "$library" ] || skip "no test has run since $(basename "$library") was built"

# Suite.Test of all tests that have run, and of all that there are. What is behind # are values of parameters.
sed -n 's/^> .*--gtest_filter=\([^ ]*\).*/\1/p' "$launches" | sort -u > "$work/run"
for program in "$@"; do
    "$program" --gtest_list_tests --gtest_filter="$filter" | awk '{ sub(/ *#.*/, "") } /^[^ ]*\.$/ { suite = $1 } /^  / { print suite $1 }'
done | grep -v DISABLED_ | sort -u > "$work/tests"
[ -s "$work/tests" ] || { echo "there are no tests"; exit 1; }
comm -13 "$work/run" "$work/tests" > "$work/missing"
[ -s "$work/missing" ] && skip "$(wc -l < "$work/missing") of $(wc -l < "$work/tests") tests have not run, $(head -n 1 "$work/missing") is one"

# "kernel<arguments> file.cu" for each; names as the emulator's reports have them (kernel_name.h).
nm -C --defined-only "$library" | awk '
    /^[^ ]*\.o:$/ { file = $1; sub(/\.o:$/, "", file) }
    $2 ~ /^[tTwW]$/ && /_kernel[<(]/ {
        text = substr($0, index($0, $2) + 2)
        gsub(/\(anonymous namespace\)::/, "", text)
        depth = 0; first = 1; last = length(text)
        for (i = 1; i <= length(text); ++i) {
            c = substr(text, i, 1)
            if (c == "<") ++depth
            if (c == ">") --depth
            if (depth == 0 && (c == " " || c == ":")) first = i + 1
            if (depth == 0 && c == "(") { last = i - 1; break }
        }
        name = substr(text, first, last - first + 1)
        gsub(/heddle::/, "", name)
        gsub(/ /, "\t", name)  # one field for sort and join
        own = name
        sub(/<.*/, "", own)  # kernels stand among the arguments of what they call, too
        if (own ~ /_kernel$/) print name, file
    }' | sort -u > "$work/kernels"
[ -s "$work/kernels" ] || { echo "$library has no kernels"; exit 1; }

# Launches are told apart by name only.
cut -d ' ' -f 1 "$work/kernels" | uniq -d | tr '\t' ' ' > "$work/twice"
if [ -s "$work/twice" ]; then
    echo "two files have kernels of one name; give them different ones:"
    cat "$work/twice"
    exit 1
fi

grep -v '^> ' "$launches" | tr ' ' '\t' | sort -u > "$work/launched"
join -v 1 -t ' ' "$work/kernels" "$work/launched" | tr '\t' ' ' > "$work/never"
if [ -s "$work/never" ]; then
    echo "$(wc -l < "$work/never") of $(wc -l < "$work/kernels") kernels were never launched by $(wc -l < "$work/tests") tests:"
    cat "$work/never"
    exit 1
fi
echo "$(wc -l < "$work/kernels") kernels, each of them launched by at least one of $(wc -l < "$work/tests") tests"
