#!/usr/bin/env bash
# Registers, stack and spills of every kernel, as ptxas reports them, for sm_80 and sm_90a:
#
#     bash docs/measured/make-resources.sh > docs/measured/resources.md
#
# Compiles each .cu file once more with nvcc (some minutes on two cores); needs no GPU. Counts the instructions of attention's
# kernels where cuobjdump is (tests/gpu/machine_code.py says where it looks).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find kernels -name '*.cu' -not -path '*/emulator/*' | xargs -P "$(nproc)" -I FILE sh -c '"$1" -std=c++20 -O2 --expt-relaxed-constexpr -I. \
    -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -Xptxas -v -c "$2" -o "$3/$(echo "$2" | tr / _).o" \
    2>"$3/$(echo "$2" | tr / _).log"' sh "$nvcc" FILE "$work"

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
        print chip "\t" name "\t" registers " | " stack " | " stores " | " loads }' | sort -u | awk -F '\t' '
    ($1, $2) in cells { print "make-resources: two kernels are called " $2 > "/dev/stderr"; failed = 1; exit 1 }
    { cells[$1, $2] = $3; if (!($2 in seen)) { seen[$2]; names[++count] = $2 } }
    function of(chip, name) { return (chip, name) in cells ? cells[chip, name] : "- | - | - | -" }
    END { if (failed) exit 1
        print "\n| kernel | sm_80: registers | stack | spills stored | loaded | sm_90a: registers | stack | spills stored | loaded |"
        print "|---|---|---|---|---|---|---|---|---|"
        for (i = 1; i <= count; ++i) printf "| `%s` | %s | %s |\n", names[i], of("sm_80", names[i]), of("sm_90a", names[i]) }'

cat <<'END'

## Attention's inner loops

Instructions for each tensor-core instruction (`mma`), in the straight code that has any and over the whole tile loop, with masks,
dropout and edges, most of which a tile skips; and instructions for each asynchronous copy of 16 bytes. What
[tests/gpu/promises.py](../../tests/gpu/promises.py) holds these kernels to. The second argument says whether there is a bias.

At commit 43b1fb3, before addresses were computed once per tile, on sm_90a; a copy took 58 instructions where nothing was masked:

| kernel | registers | spills | a `mma`, straight | a `mma`, tile loop |
|---|---|---|---|---|
| `attention_forward_mma_kernel<32>` | 200 | 0 | 2.7 | 43.5 |
| `attention_forward_mma_kernel<64>` | 254 | 0 | 2.4 | 23.1 |
| `attention_forward_mma_kernel<128>` | 255 | 8 | 3.8 | 24.3 |
| `attention_d_query_mma_kernel<32>` | 159 | 0 | 4.9 | 33.5 |
| `attention_d_query_mma_kernel<64>` | 239 | 0 | 3.8 | 17.9 |
| `attention_d_query_mma_kernel<128>` | 167 | 0 | 6.7 | 26.6 |
| `attention_d_key_mma_kernel<32>` | 179 | 0 | 7.4 | 32.4 |
| `attention_d_key_mma_kernel<64>` | 178 | 0 | 4.7 | 19.8 |
| `attention_d_key_mma_kernel<128>` | 254 | 0 | 6.5 | 24.9 |
| `attention_forward_short_kernel<32>` | 125 | 0 | 7.8 | - |
| `attention_forward_short_kernel<64>` | 156 | 0 | 4.2 | - |
| `attention_forward_short_kernel<128>` | 167 | 0 | 3.5 | - |
| `attention_backward_short_kernel<32>` | 152 | 0 | 4.8 | - |
| `attention_backward_short_kernel<64>` | 212 | 0 | 4.8 | - |

Now:

END
python3 tests/gpu/machine_code.py --table "$work"/kernels_attention_*.o || echo 'Not counted: cuobjdump is missing.'
