#!/usr/bin/env bash
# Builds Heddle and runs its tests:  bash tests/run.sh [--all]
# Without options, one build:
#   emulated       everything, with the CUDA kernels compiled for the emulated device: the tests of the CPU and of the kernels. The kernels are
#                  compiled twice: as they are, and with every access watched by the emulator (tests named race:...). All other code is shared.
# --all adds
#   plain          the program without CUDA and MPI, without a precompiled header and each source alone: no file relies on its neighbours. Of the
#                  tests it has those of the program, the device and the levels: the others would test code again that emulated has, too.
#   emulated-asan  everything but *_slow_test.cpp under AddressSanitizer with UndefinedBehaviorSanitizer
#   tsan           the CPU's tests under ThreadSanitizer, likewise
#   emulated-tsan  under ThreadSanitizer the emulator's tests and a few kernels (HEDDLE_TEST_FILES in CMakePresets.json): each thread of a block
#                  is a thread of its own there, so that a missing barrier is a race that TSan sees, too
#   emulated-fma   the kernels once more, products and sums becoming one operation as nvcc lets them: the device tests, of which some demand that two
#                  kernels give the same bits
#   mutants        30 small wrong versions of the real source, others each time: a test must fail for each (tests/mutation/README.md)
#   fuzz           where clang is: each fuzz target of tests/fuzz for 20 seconds
#   cuda           where nvcc is: everything is compiled with it, for every chip; nothing runs. Then tests/gpu/promises.py checks what ptxas
#                  made of the fast kernels
# Each other compiler that is installed reads the program (tests/compilers.sh --syntax), so that it keeps building with them.
# HEDDLE_WERROR=ON makes warnings errors. The last line is ctest's own summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tested=(emulated)
built=()
case "${1:-}" in
    "") ;;
    --all)
        export HEDDLE_LEARN_ALL=1  # all wrong answers to the exercises, not every eighth one
        tested+=(plain emulated-asan tsan emulated-tsan)
        if [ "$(uname -m)" != x86_64 ] || grep -qw fma /proc/cpuinfo; then tested+=(emulated-fma); fi
        if bash tests/fuzz/run.sh --can; then tested+=(fuzz); fi
        if { command -v nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } >/dev/null; then built+=(cuda); fi
        ;;
    *)
        echo "usage: bash tests/run.sh [--all]" >&2
        exit 2
        ;;
esac

bash apps/setup.sh libgtest-dev libopenmpi-dev openmpi-bin mkdocs
for build in "${tested[@]}" "${built[@]}"; do
    tests=ON
    if [ "$build" = fuzz ]; then tests=OFF; fi  # it has none but its own
    werror=${HEDDLE_WERROR:-OFF}
    if [ "$build" = cuda ]; then werror=ON; fi  # its warnings are what it is compiled for
    cmake --preset "$build" -DHEDDLE_TESTS="$tests" -DHEDDLE_WERROR="$werror"
    cmake --build --preset "$build"
done

# Tests write and sync thousands of small files, which takes ten times as long on a disk as in memory.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail -B1M /dev/shm 2>/dev/null | tail -n 1)" -ge 2048 ] 2>/dev/null; then
    TMPDIR=$(mktemp -d /dev/shm/heddle-tests-XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi

status=0
HEDDLE_WERROR=${HEDDLE_WERROR:-OFF} bash tests/compilers.sh --syntax || status=1
if [[ " ${built[*]} " == *" cuda "* ]]; then
    python3 tests/gpu/promises.py build/cuda || [ $? -eq 77 ] || status=1  # 77: skipped, and it says why
fi

if [ "${1:-}" = --all ] && command -v python3 >/dev/null; then
    python3 tests/mutation/mutate.py build/emulated --count 30 || status=1
fi

# One run over all builds, so that one summary counts every test of each.
together=build/together
mkdir -p "$together"
printf 'subdirs("../%s")\n' "${tested[@]}" >"$together/CTestTestfile.cmake"
ctest --test-dir "$together" -j "$(nproc)" --output-on-failure --no-label-summary | tee "$together/ctest.log" || status=$?
# ctest lists skipped and failed tests behind its summary.
grep -E '^[0-9]+% tests passed, ' "$together/ctest.log"
exit "$status"
