#!/usr/bin/env bash
# Checks CUDA programs of others with `heddle check`, as they are, and prints a table:
#   bash tests/check/public.sh SUITE FOLDER [--fetch] [--every N] [--heddle PROGRAM]
# SUITE     programs   the 136 files of public.tsv (NVIDIA's samples, llm.c, SGEMM_CUDA, LeetGPU): does each compile and end with success?
#           gpuverify  GPUVerify's testsuite/CUDA: is each xfail reported, and no pass? gpuverify.tsv names the files that are left out, and why
#           faults     faults.tsv's 40 changes of programs (a barrier removed, an index off by one, a value not set): is each reported, at its line?
#           indigo     the kernels that IndigoSuite's generator makes, with a bug if their name says so
# FOLDER    holds the repositories as OWNER+NAME; --fetch clones them there
# --every N takes each N-th file only.
# docs/measured/public_cuda.md keeps the tables. Ends with status 77 where FOLDER or a repository is missing.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

declare -A commits=(
    [NVIDIA/cuda-samples]=c94ff366aed18c797b8a85dfaac7817b0228b420
    [karpathy/llm.c]=f1e2ace651495b74ae22d45d1723443fd00ecd3a
    [siboehm/SGEMM_CUDA]=60cba6f9b20a198116c76f18de8047f44df8c8b8
    [lzyrapx/LeetGPU]=6f17c2ab85ab933e6e2faf038b6188ebf052843a
    [mc-imperial/gpuverify]=49219770aad01231edd0d8e0fa3ed036006cf32a
    [burtscher/IndigoSuite]=c95ac19c761f6d1db2c6a247a691cc739468ee2e
)

usage() {
    sed -n '3p' "${BASH_SOURCE[0]}" | cut -c3- >&2
    exit 2
}
suite=${1:-} folder=${2:-}
[ -n "$suite" ] && [ -n "$folder" ] || usage
shift 2
every=1 fetch=no heddle=$root/build/emulated/heddle
while [ $# -gt 0 ]; do
    case $1 in
        --fetch) fetch=yes ;;
        --every) every=$2 && shift ;;
        --heddle) heddle=$2 && shift ;;
        *) usage ;;
    esac
    shift
done
mkdir -p "$folder" && folder=$(cd "$folder" && pwd)
programs=("$heddle")
if [ "$(basename "$heddle")" = heddle ]; then programs+=("$(dirname "$heddle")/heddle-lab"); fi  # which it starts
for program in "${programs[@]}"; do
    [ -x "$program" ] || { echo "public.sh: $program is not there; build it, or name another with --heddle" >&2; exit 2; }
done
heddle=$(realpath "$heddle")  # the programs run in their own folders

# folder_of OWNER/NAME: where the repository lies.
folder_of() { echo "$folder/${1/\//+}"; }
need() {
    local repository
    for repository in "$@"; do
        local at
        at=$(folder_of "$repository")
        if [ ! -d "$at" ] && [ $fetch = yes ]; then
            git clone --quiet "https://github.com/$repository" "$at" && git -C "$at" checkout --quiet "${commits[$repository]}"
        fi
        [ -d "$at" ] && continue
        echo "SKIPPED: $repository is not in $folder; --fetch clones it" >&2
        exit 77
    done
}

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
case $(basename "$heddle") in heddle-check) command="" ;; *) command=check ;; esac
export heddle results command

# one NUMBER FOLDER ARGUMENT...: checks one program in FOLDER; its status, what it said and the seconds it took go to $results.
one() {
    local number=$1 at=$2
    shift 2
    local start
    start=$(date +%s.%N)
    (cd "$at" && timeout 120 "$heddle" $command "$@" </dev/null >"$results/$number.out" 2>"$results/$number.err")
    echo "$? $(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')" >"$results/$number.status"
}
export -f one

# Reads lines "FOLDER<tab>ARGUMENTS", quoted for the shell, and checks each; two at a time.
check_all() {
    local number=0 at arguments
    while IFS=$'\t' read -r at arguments; do
        number=$((number + 1))
        printf '%s\0' "one $number '$at' $arguments"
    done | xargs -0 -P 2 -I{} bash -c '{}'
}

programs() {
    need NVIDIA/cuda-samples karpathy/llm.c siboehm/SGEMM_CUDA lzyrapx/LeetGPU
    local list=$results/list names=$results/names repository path arguments
    tail -n +2 "$here/public.tsv" | awk -v n="$every" 'NR % n == 0' | while IFS=$'\t' read -r repository path arguments; do
        local at options=""
        at=$(folder_of "$repository")/$(dirname "$path")
        if [ "$repository" = NVIDIA/cuda-samples ]; then options="-I '$(folder_of "$repository")/Common'"; fi
        if [[ $arguments != *--repeats* ]]; then options="--repeats 2 $options"; fi
        printf '%s\t%s\n' "$at" "$options '$(basename "$path")' $arguments" >>"$list"
        printf '%s\t%s\n' "$repository" "$path" >>"$names"
    done
    check_all <"$list"
    echo "| repository | file | compiles | ends with success | reported | s |"
    echo "|---|---|---|---|---|---|"
    local number=0 compiled=0 good=0 status seconds
    while IFS=$'\t' read -r repository path; do
        number=$((number + 1))
        read -r status seconds <"$results/$number.status"
        local compiles=yes success=yes said=""
        case $status in
            0) ;;
            3) said=$(grep -m1 -oE '^heddle.check: [0-9]+ violation.*' "$results/$number.err" | cut -d' ' -f2- | sed 's,^check: ,,') ;;
            2) compiles=no success=no said=$(grep -m1 -E 'error' "$results/$number.err" | cut -c1-110 | tr '|' '/') ;;
            124) success=no said="more than 120 s" ;;
            *) success=no said=$(tail -n 1 "$results/$number.err" | cut -c1-110 | tr '|' '/') ;;
        esac
        # A violation is reported whatever the program returned.
        if [ "$status" = 3 ] && grep -q 'the program failed, too' "$results/$number.err"; then success=no; fi
        if [ $compiles = yes ]; then compiled=$((compiled + 1)); fi
        if [ $success = yes ]; then good=$((good + 1)); fi
        echo "| $repository | $path | $compiles | $success | $said | $seconds |"
    done <"$names"
    echo
    echo "$number files: $compiled compile, $good end with success."
}

gpuverify() {
    need mc-imperial/gpuverify
    local list=$results/list names=$results/names at file expected why left=0
    at=$(folder_of mc-imperial/gpuverify)/testsuite/CUDA
    while IFS=$'\t' read -r file expected why; do
        if [ -n "$why" ]; then
            left=$((left + 1))
            continue
        fi
        printf '%s\t%s\n' "$at/$(dirname "$file")" "--gpuverify '$(basename "$file")'" >>"$list"
        printf '%s\t%s\n' "$file" "$expected" >>"$names"
    done < <(tail -n +2 "$here/gpuverify.tsv" | awk -v n="$every" 'NR % n == 0')
    check_all <"$list"
    echo "| file | expected | verdict | reported | s |"
    echo "|---|---|---|---|---|"
    local number=0 passes=0 false=0 fails=0 found=0 status seconds  # status 0: as the file expects
    while IFS=$'\t' read -r file expected; do
        number=$((number + 1))
        read -r status seconds <"$results/$number.status"
        local verdict=right said
        said=$(tail -n 1 "$results/$number.err" | cut -c1-110 | tr '|' '/')
        if [ "$expected" = xfail ]; then
            fails=$((fails + 1))
            if [ "$status" = 0 ]; then found=$((found + 1)); else verdict=missed; fi
        else
            passes=$((passes + 1))
            if [ "$status" != 0 ]; then verdict=wrong false=$((false + 1)); fi
        fi
        echo "| $file | $expected | $verdict | $said | $seconds |"
    done <"$names"
    echo
    local passed="$((passes - false)) of $passes passes pass"
    if [ $false = 0 ]; then passed="all $passes passes pass"; fi
    echo "$found of $fails xfails reported, $passed, $left files left out."
}

indigo() {
    need burtscher/IndigoSuite
    local at list=$results/list names=$results/names
    cp -r "$(folder_of burtscher/IndigoSuite)" "$results/suite"
    (cd "$results/suite/Generators" && python3 generate_suite.py >/dev/null 2>&1 </dev/null)
    at=$(echo "$results"/suite/Generators/IndigoSuite_*)
    # The first graph has many edges a vertex, so that neighbours meet, and more threads than edges, as some kernels want. The second
    # one is a tree, whose leaves have no edges.
    local graph
    for graph in undirect_uniform_degree100n_1000e binary_tree_100n_99e; do
        find "$at/CUDA" -name '*.cu' | sort | awk -v n="$every" 'NR % n == 0' | while read -r file; do
            printf '%s\t%s\n' "$at" "-I include '$file' -- '$(find "$at/inputs" -name $graph.egr)' 512 3" >>"$list"
            basename "$file" .cu >>"$names"
        done
    done
    check_all <"$list"
    # A kernel counts with what was found for either graph: a violation, or the note on a plain read beside atomic updates, which is
    # what is wrong with some of them.
    local count number=0 racy=0 found=0 noted=0 sound=0 false=0 name
    count=$(($(wc -l <"$names") / 2))
    while read -r name; do
        number=$((number + 1))
        [ $number -le $count ] || break
        local said=nothing one status seconds
        for one in $number $((number + count)); do
            read -r status seconds <"$results/$one.status"
            if [ "$status" = 3 ]; then
                said=violation
            elif [ "$status" != 0 ] && [ $said != violation ]; then
                said="status $status"
            elif [ $said = nothing ] && tr -s ' \n' ' ' <"$results/$one.err" | grep -q 'a plain read beside atomic updates'; then
                said=note
            fi
        done
        case $name in
            *Bug*)
                racy=$((racy + 1))
                case $said in
                    violation) found=$((found + 1)) ;;
                    note) noted=$((noted + 1)) ;;
                    *) echo "missed: $name ($said)" ;;
                esac
                ;;
            *)
                sound=$((sound + 1))
                if [ "$said" != nothing ]; then
                    false=$((false + 1))
                    echo "false: $name ($said)"
                fi
                ;;
        esac
    done <"$names"
    echo "Of $racy kernels with a bug $found have a violation and $noted a note; $false of $sound sound ones have one."
}

faults() {
    need siboehm/SGEMM_CUDA lzyrapx/LeetGPU
    local list=$results/list names=$results/names number=0 repository path change kinds lines
    tail -n +2 "$here/faults.tsv" | awk -v n="$every" 'NR % n == 0' | while IFS=$'\t' read -r repository path change kinds lines; do
        number=$((number + 1))
        local at arguments
        at=$results/changed/$number
        mkdir -p "$at"
        cp "$(folder_of "$repository")/$(dirname "$path")"/* "$at/"
        sed -i "$change" "$at/$(basename "$path")"
        arguments=$(awk -F'\t' -v r="$repository" -v p="$path" '$1 == r && $2 == p { print $3 }' "$here/public.tsv")
        printf '%s\t%s\n' "$at" "'$(basename "$path")' $arguments" >>"$list"
        printf '%s\t%s\t%s\t%s\n' "$path" "$change" "$kinds" "$lines" >>"$names"
    done
    check_all <"$list"
    echo "| file | change | status | found | reported |"
    echo "|---|---|---|---|---|"
    local found=0 status seconds
    number=0
    while IFS=$'\t' read -r path change kinds lines; do
        number=$((number + 1))
        read -r status seconds <"$results/$number.status"
        local verdict=no said
        said=$(grep -m1 -E "^($(basename "$path" | sed 's/[()+.]/./g')):[0-9]+: " "$results/$number.err" | cut -c1-150 | tr '|' '/')
        # The first report names one of the kinds and one of the lines that the change breaks.
        if [ "$status" = 3 ] && echo "$said" | grep -qE "(${kinds//,/|})" && echo "$said" | grep -qE ":(${lines//,/|})\b"; then
            verdict=yes found=$((found + 1))
        fi
        echo "| $(basename "$path") | \`$change\` | $status | $verdict | $said |"
    done <"$names"
    echo
    echo "$found of $number faults reported at their line."
}

case $suite in
    programs | gpuverify | faults | indigo) "$suite" ;;
    *) usage ;;
esac
