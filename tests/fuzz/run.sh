#!/usr/bin/env bash
# Fuzzes the readers of untrusted bytes:  bash tests/fuzz/run.sh [--programs FOLDER] [SECONDS [TARGET...]]
# Each target of tests/fuzz runs for so many seconds (20), two at a time, and a table of Markdown says what came of it. Without --programs the
# preset `fuzz` is built first, which needs clang; its absence is said, and no error. --can only asks for clang: status 1 when it is missing.
# Inputs that are new to a target are kept below build/fuzz/corpus, and the next run begins with them and the seeds; those that make it fail are
# kept below build/fuzz/findings: mend the code, then keep the input with seeds.py, so that every build's tests read it. Exit status 1
# when there are findings. The bounds: memory 1 GiB, 10 s for an input, inputs of up to 4096 bytes.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.." || exit

# Whether clang++ and its libFuzzer are there; what is missing is said.
can_fuzz() {
    command -v clang++ >/dev/null && clang++ -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null <<'PROGRAM' && return
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }
PROGRAM
    echo "SKIPPED: fuzzing needs clang++ with libFuzzer (apt-get install clang)" >&2
    return 1
}

if [ "${1:-}" = --can ]; then
    can_fuzz
    exit
fi
programs=
if [ "${1:-}" = --programs ]; then
    programs=$2
    shift 2
fi
seconds=${1:-20}
shift $(($# > 0))
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: bash tests/fuzz/run.sh [--can | --programs FOLDER] [SECONDS [TARGET...]]" >&2
    exit 2
fi
if [ -z "$programs" ]; then
    can_fuzz || exit 0
    cmake --preset fuzz >&2 && cmake --build --preset fuzz >&2 || exit 1
    programs=build/fuzz/tests/fuzz
fi
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for program in "$programs"/fuzz_*; do targets+=("${program##*/fuzz_}"); done
fi
kept=$(dirname "$(dirname "$programs")")
# Targets read and write small files; and a folder of their own shows what they leave behind.
export TMPDIR
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-fuzzing-XXXXXX")
trap 'rm -rf "$TMPDIR"' EXIT

# fuzz TARGET: a row of the table; the log stands beside the findings.
fuzz() {
    local target=$1 corpus=$kept/corpus/$1 findings=$kept/findings/$1 log=$kept/findings/$1.log seeds=$TMPDIR/seeds/$1
    mkdir -p "$corpus" "$findings"
    python3 "$here/seeds.py" unpack "$target" "$seeds"
    "$programs/fuzz_$target" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -max_len=4096 -print_final_stats=1 \
        -artifact_prefix="$findings/" "$corpus" "$seeds" >"$log" 2>&1
    local status=$?
    local executions edges features found
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    read -r edges features < <(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\) .*/\1 \2/p' "$log" | tail -n 1)
    found=none
    if [ "$status" -ne 0 ]; then
        found="**$(grep -aoE 'broken promise: .*|SUMMARY: .*|ERROR: libFuzzer: .*' "$log" | head -n 1)**"
        [ "$found" = "****" ] && found="**status $status: $(tail -n 1 "$log")**"
    fi
    printf '| %s | %s | %s | %s | %s |\n' "$target" "${executions:-0}" "${edges:-0}" "${features:-0}" "$found"
    return "$status"
}

echo "| target | executions | edges covered | features | findings |"
echo "|---|---|---|---|---|"
failed=0
running=0
for target in "${targets[@]}"; do
    if [ "$running" -ge 2 ]; then
        wait -n || failed=1
    else
        running=$((running + 1))
    fi
    fuzz "$target" &
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit "$failed"
