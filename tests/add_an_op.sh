#!/usr/bin/env bash
# Adds the op of docs/examples/swish to a copy of the project, builds it there and runs the tests that every op must pass:
#     bash tests/add_an_op.sh [FOLDER]      the copy; left out: build/add-an-op
# When docs/examples/swish/declaration.patch no longer applies: declare the op in autograd/ops.h, and
#     git diff autograd/ops.h >docs/examples/swish/declaration.patch && git checkout autograd/ops.h
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy=${1:-build/add-an-op}
mkdir -p "$copy"
copy=$(realpath "$copy")
git ls-files -z -co --exclude-standard | tar --null --ignore-failed-read -T - -c | tar -x -C "$copy"
cp -r docs/examples/swish/{kernels,autograd} "$copy"
cd "$copy"
patch --quiet -p1 <docs/examples/swish/declaration.patch

cmake --preset emulated -DHEDDLE_WERROR="${HEDDLE_WERROR:-OFF}"
tests=(rooms_test kernel_rules_test mutation_test every_op_test every_op_device_test random_graphs_test)
cmake --build --preset emulated --target "${tests[@]}" checked_every_op_device_test heddle
build/emulated/heddle gradcheck swish
for test in "${tests[@]}"; do "build/emulated/tests/$test" --gtest_brief=1; done
build/emulated/tests/checked/every_op_device_test --gtest_brief=1 --gtest_filter='*swish*:*Swish*'
echo "add_an_op.sh: swish passes the tests of every op"
