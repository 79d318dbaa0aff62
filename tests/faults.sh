#!/usr/bin/env bash
# The long form of the tests of faults:  bash tests/faults.sh
# 1,000 kills, each of the first 2,000 allocations of a training, a resumed run and a translation, every system call of a save with three errors,
# disks of ten sizes, 200 pairs of starts at once. Prints what was counted as a table of Markdown, for docs/measured/reliability.md. In ctest the
# same tests run on a sample. Builds the preset `release`; the log stands in build/release/faults. Exit status 1 when a test failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

programs=(save_interrupted_slow_test program_faults_slow_test program_resume_slow_test)
tests='InterruptedSave.*:*Faults.*:FailingAllocations.*:*KillsAtRandomMoments'
build=build/release
logs=$build/faults
{
    cmake --preset release -DHEDDLE_TESTS=ON
    cmake --build --preset release --target heddle "${programs[@]}"
} >&2
mkdir -p "$logs"
rm -f "$logs"/*
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then
    TMPDIR=$(mktemp -d /dev/shm/heddle-faults-XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi

# A test each, two at a time.
status=0
for program in "${programs[@]}"; do
    "$build/tests/$program" --gtest_list_tests --gtest_filter="$tests" | awk -v program="$program" '
        /^[^ ]/ { suite = $1 }
        /^ / { print program, suite $1 }'
done | HEDDLE_FAULTS=all xargs -P 2 -L 1 bash -c '"$0/tests/$2" --gtest_filter="$3" >"$1/$3.log" 2>&1' "$build" "$logs" || status=1

echo "| fault | trials | outcome |"
echo "|---|---|---|"
cat "$logs"/*.log | sed -n 's/^FAULTS //p'
for log in $(grep -lE '^\[  (FAILED|SKIPPED) ' "$logs"/*.log || true) $(grep -LE '^\[  PASSED' "$logs"/*.log || true); do
    echo "$log: $(grep -m 1 -E 'Failure|^\[  (FAILED|SKIPPED) ' "$log" || tail -n 1 "$log")" >&2
done
exit "$status"
