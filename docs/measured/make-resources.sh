#!/usr/bin/env bash
# Registers a thread, bytes of stack and of spills stored and loaded of every kernel, as ptxas reports them for sm_80 and sm_90a, as a
# Markdown table; where cuobjdump is (tests/gpu/machine_code.py says where it looks) also the instructions of attention's kernels.
#
#     bash docs/measured/make-resources.sh > FILE
#
# Compiles each .cu file once more with nvcc (some minutes on two cores); needs no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find kernels -name '*.cu' -not -path '*/emulator/*' | xargs -P "$(nproc)" -I FILE sh -c '"$1" -std=c++20 -O2 --expt-relaxed-constexpr -I. \
    -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -Xptxas -v -c "$2" -o "$3/$(echo "$2" | tr / _).o" \
    2>"$3/$(echo "$2" | tr / _).log"' sh "$nvcc" FILE "$work"

cat "$work"/*.log | c++filt | awk '
    /Compiling entry function/ { chip = $NF; gsub(/\047/, "", chip)
        name = $0; sub(/.*entry function \047/, "", name); sub(/\047 for \047.*/, "", name)
        sub(/^void /, "", name); gsub(/heddle::kernels::|\(anonymous namespace\)::|heddle::device::|heddle::/, "", name)
        depth = 0                                   # the name ends at the first parenthesis outside of <>
        for (i = 1; i <= length(name); ++i) {
            c = substr(name, i, 1)
            if (c == "<") ++depth
            if (c == ">") --depth
            if (c == "(" && depth == 0) { name = substr(name, 1, i - 1); break }
        } }
    /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
    /Used .* registers/ { for (i = 1; i < NF; ++i) if ($i == "Used") registers = $(i + 1)
        print chip "\t" name "\t" registers " | " stack " | " stores " | " loads }' | sort -u | awk -F '\t' '
    ($1, $2) in cells { print "make-resources: two kernels are called " $2 > "/dev/stderr"; failed = 1; exit 1 }
    { cells[$1, $2] = $3; if (!($2 in seen)) { seen[$2]; names[++count] = $2 } }
    function of(chip, name) { return (chip, name) in cells ? cells[chip, name] : "- | - | - | -" }
    END { if (failed) exit 1
        print "| kernel | sm_80: registers | stack | spills stored | loaded | sm_90a: registers | stack | spills stored | loaded |"
        print "|---|---|---|---|---|---|---|---|---|"
        for (i = 1; i <= count; ++i) printf "| `%s` | %s | %s |\n", names[i], of("sm_80", names[i]), of("sm_90a", names[i]) }'

echo
python3 tests/gpu/machine_code.py --table "$work"/kernels_attention_*.o || echo 'Not counted: cuobjdump is missing.'
