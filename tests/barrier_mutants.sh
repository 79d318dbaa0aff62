#!/bin/bash
# Removes each barrier, __syncwarp, fence and pipeline wait from the real kernels, one at a time, and demands that the checker says so.
#
#     tests/barrier_mutants.sh BUILD [TEST...]       BUILD: a build with watched kernels (preset emulated)
#                                                    TEST: names of its *_device_test programs; all of them without
#
# A program first runs whole and lists the places where its kernels synchronise. Then it runs once more for each place, which does
# nothing this time (HEDDLE_EMULATOR_SKIP). A mutant is reported when a run ends with a report of the emulator; with a wrong
# result only it is not. Prints a table and ends with status 1 when a place is not reported by any program: a helper of kernels/device may
# have a barrier that one of the kernels which call it would not need.
set -u
[ $# -ge 1 ] || { sed -n '2,11p' "$0" | cut -c3-; exit 2; }
build=$1
shift
tests=("$@")
[ ${#tests[@]} -gt 0 ] || for program in "$build"/tests/checked/*_device_test; do tests+=("$(basename "$program")"); done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset HEDDLE_EMULATOR_SKIP HEDDLE_EMULATOR_LAUNCHES

declare -A verdicts  # of each place, the best one
broken=0
for test in "${tests[@]}"; do
    program=$build/tests/checked/$test
    [ -x "$program" ] || { echo "barrier_mutants.sh: there is no $program" >&2; exit 2; }
    : > "$work/places"
    if ! HEDDLE_EMULATOR_PLACES=$work/places HEDDLE_EMULATOR_SEED=1 "$program" --gtest_filter='-*Large*' > "$work/log" 2>&1; then
        echo "$test: fails without any mutation:"
        grep -m 3 -E 'HEDDLE_EMULATOR_SEED|FAILED' "$work/log"
        broken=$((broken + 1))
        continue
    fi
    while read -r place what; do
        verdict="NOT REPORTED"
        for seed in 1 2 3; do
            HEDDLE_EMULATOR_SKIP=$place HEDDLE_EMULATOR_SEED=$seed timeout 120 "$program" --gtest_filter='-*Large*' --gtest_fail_fast \
                > "$work/log" 2>&1
            status=$?
            if grep -q -E 'kernel .*HEDDLE_EMULATOR_SEED=' "$work/log"; then
                verdict="reported"
                break
            fi
            case $status in 0) ;; 124) verdict="does not end" ;; *) verdict="wrong result only" ;; esac
        done
        detail=$(grep -m 1 -o -E 'race: .*|reads [0-9].*|leaves the kernel.*|deadlock.*|comes to .*' "$work/log" | head -n 1 | cut -c 1-100)
        [ "${verdicts[$place]:-}" = reported ] || verdicts[$place]=$verdict
        printf '%-30s %-50s %-16s %-12s %s\n' "$test" "$place" "$what" "$verdict" "$detail"
    done < <(grep '^kernels/' "$work/places" | sort -u)
done
missed=0
for place in "${!verdicts[@]}"; do
    [ "${verdicts[$place]}" = reported ] || { missed=$((missed + 1)) && echo "missed: $place"; }
done
echo "${#verdicts[@]} places: $missed missed; $broken programs that fail by themselves"
[ $((missed + broken)) = 0 ]
