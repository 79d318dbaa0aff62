#!/usr/bin/env bash
# From nothing to a translation:  bash apps/demo.sh [RUN FOLDER]
# Installs what is missing, builds the program, trains a Transformer on English and German number words (347201: "three hundred
# forty-seven thousand two hundred one", "dreihundertsiebenundvierzigtausendzweihunderteins") and translates 1,000 numbers that it
# has never seen: on a GPU where there is one and nvcc to build for it, otherwise on the CPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

run=${1:-runs/demo-$(date +%Y%m%d-%H%M%S)}

# build PRESET FURTHER OPTIONS
build() {
    cmake --preset "$1" -DHEDDLE_TESTS=OFF "${@:2}" >&2 && cmake --build "build/$1" --target heddle >&2
}

# For this machine's chip alone, where CMake can tell which that is.
build_for_gpu() {
    local options=("-DCMAKE_CUDA_COMPILER=$nvcc") version
    version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
    if printf '%s\n' 3.24 "$version" | sort -V -C; then options+=(-DCMAKE_CUDA_ARCHITECTURES=native); fi
    build cuda "${options[@]}"
}

bash apps/setup.sh
gpu=$(nvidia-smi -L 2>/dev/null | sed -n '1s/^GPU [0-9]*: \([^(]*\) (.*/\1/p') || gpu=""
nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
device=cpu
if [ -z "$gpu" ]; then
    found="no GPU found"
elif [ ! -x "$nvcc" ]; then
    found="$gpu found, but no nvcc to build for it"
elif ! build_for_gpu; then
    found="$gpu found, but the build for it failed"
else
    device=cuda found=$gpu
fi
if [ "$device" = cuda ]; then
    heddle=build/cuda/heddle
else
    heddle=build/release/heddle
    build release
fi
echo "Device: $device ($found)"

start=$SECONDS
"$heddle" train --task numbers --device "$device" --out "$run"
trained=$SECONDS
# The unseen pairs that training left in the run's folder, one per line.
"$heddle" translate --model "$run" --device "$device" <"$run/test.en" >"$run/test.translated"
finished=$SECONDS

echo
echo "Some of the numbers it has never seen:"
paste -d '\n' <(head -n 8 "$run/test.en") <(head -n 8 "$run/test.translated") /dev/null | awk 'NR % 3 == 2 { $0 = "  -> " $0 } { print }'
awk 'NR == FNR { wanted[FNR] = $0; next }
     { total++; if ($0 == wanted[FNR]) exact++ }
     END { if (total == 0) exit 1
           printf "Translated exactly: %d of %d unseen numbers (%.1f %%)\n", exact, total, 100 * exact / total
           if (exact < 0.99 * total) { print "That is fewer than 99 of 100: something is wrong here."; exit 1 } }' \
    "$run/test.de" "$run/test.translated"
echo "Training took $((trained - start)) s, translating $((finished - trained)) s; the run is in $run"
if [ "$device" = cuda ]; then
    echo "Building build/release/heddle as well, the program without CUDA that the documentation uses ..."
    build release || echo "That failed; give build/cuda/heddle in its place." >&2
fi
echo "Try it:  echo 'twelve thousand three hundred forty-five' | $heddle translate --model $run"
