#!/usr/bin/env bash
# Builds Heddle and runs its tests:  bash tests/run.sh [--all | --stamps | PIECE...]
# Without arguments, one build and a reading:
#   emulated       everything, with the CUDA kernels compiled for the emulated device: the tests of the CPU and of the kernels. The kernels are
#                  compiled twice: as they are, and with every access watched by the emulator (tests named race:...). All other code is shared.
#   compilers      each other compiler that is installed reads the program (tests/compilers.sh --syntax), so that it keeps building with them
# --all adds these; each is a piece that can be named alone, and takes at most 45 minutes on two cores:
#   plain          the program without CUDA and MPI, without a precompiled header and each source alone: no file relies on its neighbours. Of the
#                  tests it has those of the program, the device and the levels: the others would test code again that emulated has, too.
#   emulated-asan  everything but *_slow_test.cpp under AddressSanitizer with UndefinedBehaviorSanitizer
#   tsan           the CPU's tests under ThreadSanitizer, likewise
#   emulated-tsan  under ThreadSanitizer the emulator's tests and a few kernels (HEDDLE_TEST_FILES in CMakePresets.json): each thread of a block
#                  is a thread of its own there, so that a missing barrier is a race that TSan sees, too
#   emulated-fma   the kernels once more, products and sums becoming one operation as nvcc lets them: the device tests, of which some demand that two
#                  kernels give the same bits
#   mutants        30 small wrong versions of the real source, others each time: a test must fail for each (tests/mutation/README.md)
#   wheel          the Python wheel, tested in a fresh environment (apps/wheel.sh)
#   fuzz           where clang is: each fuzz target of tests/fuzz for 20 seconds
#   cuda           where nvcc is: everything is compiled with it, for every chip; nothing runs. Then tests/gpu/promises.py checks what ptxas
#                  made of the fast kernels
# A piece that passes leaves its commit and date in build/tested/PIECE; --stamps prints them, so that all can be run in parts.
# HEDDLE_WERROR=ON makes warnings errors. The last line is ctest's own summary, where tests ran; the line above it names the pieces that did not pass.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

every="emulated compilers plain emulated-asan tsan emulated-tsan emulated-fma mutants wheel fuzz cuda"
tree() { git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo "no checkout"; }
case "${1:-}" in
    "") pieces=(emulated compilers) ;;
    --all) read -ra pieces <<<"$every" ;;
    --stamps)
        echo "this tree: $(tree)"
        for piece in $every; do echo "$piece: $(cat "build/tested/$piece" 2>/dev/null || echo "not run")"; done
        exit
        ;;
    *) pieces=("$@") ;;
esac
for piece in "${pieces[@]}"; do
    if [[ " $every " != *" $piece "* ]]; then
        echo "run.sh: there is no piece $piece; wanted: $every" >&2
        exit 2
    fi
done

asked() { [[ " ${pieces[*]} " == *" $1 "* ]]; }
can() {
    case $1 in
        emulated-fma) [ "$(uname -m)" != x86_64 ] || grep -qw fma /proc/cpuinfo ;;
        fuzz) bash tests/fuzz/run.sh --can ;;
        mutants | wheel) command -v python3 >/dev/null ;;
        cuda) { command -v nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } >/dev/null ;;
    esac
}
tested=()
wanted=()
for piece in "${pieces[@]}"; do
    if ! can "$piece"; then
        echo "run.sh: $piece is left out: what it needs is not here" >&2
        continue
    fi
    wanted+=("$piece")
    if [[ $piece != @(compilers|mutants|wheel|cuda) ]]; then tested+=("$piece"); fi
done
pieces=("${wanted[@]}")
if asked emulated-asan; then export HEDDLE_TEST_ALL=1; fi  # tests that take a sample take all: wrong answers to exercises, seeds of proofs

bash apps/setup.sh libgtest-dev libopenmpi-dev openmpi-bin mkdocs
build() {
    local tests=ON werror=${HEDDLE_WERROR:-OFF}
    if [ "$1" = fuzz ]; then tests=OFF; fi  # it has none but its own
    if [ "$1" = cuda ]; then werror=ON; fi  # its warnings are what it is compiled for
    cmake --preset "$1" -DHEDDLE_TESTS="$tests" -DHEDDLE_WERROR="$werror" && cmake --build --preset "$1"
}
for piece in "${tested[@]}"; do build "$piece"; done
if asked mutants && ! asked emulated; then build emulated; fi

# Tests write and sync thousands of small files, which takes ten times as long on a disk as in memory.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail -B1M /dev/shm 2>/dev/null | tail -n 1)" -ge 2048 ] 2>/dev/null; then
    TMPDIR=$(mktemp -d /dev/shm/heddle-tests-XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi

mkdir -p build/tested
stamp() { echo "$(tree), $(date -u +%Y-%m-%d), passed" >"build/tested/$1"; }
failed=()
ended() {  # PIECE STATUS
    if [ "$2" -eq 0 ]; then stamp "$1"; else failed+=("$1"); fi
}
# finish: names the pieces that did not pass at the end, because the output of the first ones is far above by then. The pieces that ctest runs
# pass or fail together.
finish() {
    [ ${#failed[@]} -eq 0 ] || echo "run.sh: not passed: ${failed[*]}"
}
if asked compilers; then
    code=0
    HEDDLE_WERROR=${HEDDLE_WERROR:-OFF} bash tests/compilers.sh --syntax || code=$?
    ended compilers "$code"
fi
if asked cuda; then
    code=0
    { build cuda && python3 tests/gpu/promises.py build/cuda; } || code=$?
    if [ "$code" -eq 77 ]; then code=0; fi  # skipped, and it says why
    ended cuda "$code"
fi
if asked mutants; then
    code=0
    python3 tests/mutation/mutate.py build/emulated --count 30 || code=$?
    ended mutants "$code"
fi
if asked wheel; then
    code=0
    bash apps/wheel.sh || code=$?
    ended wheel "$code"
fi
if [ ${#tested[@]} -eq 0 ]; then
    finish
    exit $((${#failed[@]} > 0))
fi

# One run over all builds, so that one summary counts every test of each.
together=build/together
mkdir -p "$together"
printf 'subdirs("../%s")\n' "${tested[@]}" >"$together/CTestTestfile.cmake"
code=0
ctest --test-dir "$together" -j "$(nproc)" --output-on-failure --no-label-summary | tee "$together/ctest.log" || code=$?
for piece in "${tested[@]}"; do ended "$piece" "$code"; done
finish
# ctest lists skipped and failed tests behind its summary.
grep -E '^[0-9]+% tests passed, ' "$together/ctest.log"
exit $((${#failed[@]} > 0))
