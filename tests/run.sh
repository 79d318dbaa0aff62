#!/usr/bin/env bash
# Builds Heddle and runs its tests:  bash tests/run.sh [--all]
# The release build with all tests. --all adds the same tests, except those in *_slow_test.cpp, under AddressSanitizer with
# UndefinedBehaviorSanitizer and under ThreadSanitizer. The last line is ctest's own summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

builds=(release)
case "${1:-}" in
    "") ;;
    --all) builds=(release asan tsan) ;;
    *)
        echo "usage: bash tests/run.sh [--all]" >&2
        exit 2
        ;;
esac

bash apps/setup.sh libgtest-dev
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
for build in "${builds[@]}"; do
    cmake --preset "$build" -DHEDDLE_TESTS=ON "${launcher[@]}"
    cmake --build --preset "$build"
done

# One run over all builds, so that one summary counts every test of each.
together=build/together
mkdir -p "$together"
printf 'subdirs("../%s")\n' "${builds[@]}" >"$together/CTestTestfile.cmake"
status=0
ctest --test-dir "$together" -j "$(nproc)" --output-on-failure --no-label-summary | tee "$together/ctest.log" || status=$?
# ctest lists skipped and failed tests behind its summary.
grep -E '^[0-9]+% tests passed, ' "$together/ctest.log"
exit "$status"
