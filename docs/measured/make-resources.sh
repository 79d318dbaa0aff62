#!/usr/bin/env bash
# Registers, stack, spills and static shared memory of every kernel, as ptxas reports them, for sm_80 and sm_90a:
#
#     bash docs/measured/make-resources.sh > docs/measured/resources.md
#
# Compiles each .cu file once more with nvcc (some minutes on two cores); needs no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find kernels -name '*.cu' | xargs -P "$(nproc)" -I FILE sh -c '"$1" -std=c++20 -O2 --expt-relaxed-constexpr -I. \
    -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -Xptxas -v -c "$2" -o "$3/$(basename "$2").o" \
    2>"$3/$(basename "$2").log"' sh "$nvcc" FILE "$work"

echo '# What the kernels take'
echo
echo "Made by \`docs/measured/make-resources.sh\` with $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/CUDA \1/p'): registers a thread; bytes of stack a thread"
echo '(arrays that do not fit into registers, and calls); bytes of spills stored and loaded. The arena of shared memory is given at the'
echo 'launch and not counted by ptxas. No GPU was needed or used.'
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
        print chip "\t" name "\t" registers "\t" stack "\t" stores "\t" loads }' | sort -u | awk -F '\t' '
    $1 != chip { chip = $1; printf "\n## %s\n\n| kernel | registers | stack | spills stored | loaded |\n|---|---|---|---|---|\n", chip }
    { printf "| `%s` | %s | %s | %s | %s |\n", $2, $3, $4, $5, $6 }'
