#!/bin/bash
# Removes each barrier, __syncwarp, fence and pipeline wait from the real kernels, one at a time, and demands that the checker says so.
#
#     tests/barrier_mutants.sh BUILD [TEST...]       BUILD: a checked build (preset emulated-race)
#                                                    TEST: names of its *_device_test programs; all of them without
#
# A program first runs whole and lists the places where its kernels synchronise. Then it runs once more for each place, which does
# nothing this time (HEDDLE_EMULATOR_SKIP). A mutant is reported when a run ends with a report of the emulator; with a wrong
# result only it is not. What may stay unreported stands in barrier_mutants.txt, with the reason: "FILE | TEXT OF THE LINE | REASON".
# Prints a table and ends with status 1 when a mutant is neither reported nor listed.
set -u
[ $# -ge 1 ] || { sed -n '2,11p' "$0" | cut -c3-; exit 2; }
build=$1
shift
source=$(cd "$(dirname "$0")/.." && pwd)
listed=$source/tests/barrier_mutants.txt
tests=("$@")
[ ${#tests[@]} -gt 0 ] || for program in "$build"/tests/*_device_test; do tests+=("$(basename "$program")"); done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset HEDDLE_EMULATOR_SKIP HEDDLE_EMULATOR_LAUNCHES

# reason FILE LINE: why the line may be removed unseen, or nothing.
reason() {
    local text file part why
    text=$(sed -n "$2p" "$source/$1")
    while IFS='|' read -r file part why; do
        file=$(echo $file) part=$(sed 's/^ *//; s/ *$//' <<< "$part")
        [[ $file == "$1" && $text == *"$part"* ]] && { echo "${why# }"; return; }
    done < <(grep -v '^#' "$listed" | grep '|')
}

mutants=0 reported=0 explained=0 missed=0
for test in "${tests[@]}"; do
    program=$build/tests/$test
    [ -x "$program" ] || { echo "barrier_mutants.sh: there is no $program" >&2; exit 2; }
    : > "$work/places"
    if ! HEDDLE_EMULATOR_PLACES=$work/places HEDDLE_EMULATOR_SEED=1 "$program" --gtest_filter='-*Large*' > "$work/log" 2>&1; then
        echo "$test: fails without any mutation:"
        grep -m 3 -E 'HEDDLE_EMULATOR_SEED|FAILED' "$work/log"
        missed=$((missed + 1))
        continue
    fi
    while read -r place what; do
        mutants=$((mutants + 1))
        verdict="NOT REPORTED"
        for seed in 1 2 3; do
            HEDDLE_EMULATOR_SKIP=$place HEDDLE_EMULATOR_SEED=$seed timeout 600 "$program" --gtest_filter='-*Large*' --gtest_fail_fast \
                > "$work/log" 2>&1
            status=$?
            if grep -q -E 'kernel .*HEDDLE_EMULATOR_SEED=' "$work/log"; then
                verdict="reported"
                break
            fi
            [ $status = 0 ] || verdict="wrong result only"
        done
        detail=$(grep -m 1 -o -E 'race: .*|reads [0-9].*|leaves the kernel.*|deadlock.*|comes to .*' "$work/log" | head -n 1 | cut -c 1-100)
        if [ "$verdict" = reported ]; then
            reported=$((reported + 1))
        else
            detail=$(reason "${place%:*}" "${place##*:}")
            if [ -n "$detail" ]; then
                verdict="redundant" explained=$((explained + 1))
            else
                missed=$((missed + 1))
            fi
        fi
        printf '%-30s %-50s %-16s %-12s %s\n' "$test" "$place" "$what" "$verdict" "$detail"
    done < <(sort -u "$work/places")
done
echo "$mutants mutants: $reported reported, $explained redundant with a reason, $missed missed"
[ $missed = 0 ]
