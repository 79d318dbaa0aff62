#!/usr/bin/env bash
# Builds Heddle and runs its tests:  bash tests/run.sh [--all]
# Without options, two builds:
#   emulated       everything, with the CUDA kernels compiled for the emulated device: every test of the CPU, and the kernels' tests
#   emulated-race  the kernels alone, each of their accesses watched by the emulator, and their tests
# --all adds
#   release        the build without CUDA
#   asan, tsan     that build under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer, without *_slow_test.cpp
#   emulated-asan  the emulated build under AddressSanitizer with UndefinedBehaviorSanitizer, likewise
#   emulated-tsan  under ThreadSanitizer the emulator's tests and a few kernels (HEDDLE_TEST_FILES in CMakePresets.json): each thread of a block
#                  is a thread of its own there, so that a missing barrier is a race that TSan sees, too
#   cuda           where nvcc is: everything is compiled with it, for every chip; nothing runs
# The last line is ctest's own summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

builds=(emulated emulated-race)
case "${1:-}" in
    "") ;;
    --all) builds+=(release asan tsan emulated-asan emulated-tsan) ;;
    *)
        echo "usage: bash tests/run.sh [--all]" >&2
        exit 2
        ;;
esac

bash apps/setup.sh libgtest-dev
for build in "${builds[@]}"; do
    cmake --preset "$build" -DHEDDLE_TESTS=ON
    cmake --build --preset "$build"
done
if [ "${1:-}" = --all ] && { command -v nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } >/dev/null; then
    cmake --preset cuda -DHEDDLE_TESTS=ON
    cmake --build --preset cuda
fi

# One run over all builds, so that one summary counts every test of each.
together=build/together
mkdir -p "$together"
printf 'subdirs("../%s")\n' "${builds[@]}" >"$together/CTestTestfile.cmake"
status=0
ctest --test-dir "$together" -j "$(nproc)" --output-on-failure --no-label-summary | tee "$together/ctest.log" || status=$?
# ctest lists skipped and failed tests behind its summary.
grep -E '^[0-9]+% tests passed, ' "$together/ctest.log"
exit "$status"
