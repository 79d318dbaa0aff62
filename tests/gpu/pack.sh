#!/usr/bin/env bash
# Makes the folder that tests/gpu.sh needs on a machine without network and packages:
#
#     tests/gpu.sh --pack DIR [--data DIR] [--peer FILE]
#
#   --data   the folder with Multi30k's train.de, train.en, val.de and val.en  [../shared/data/multi30k]
#   --peer   the PyTorch program that training is measured against             [../shared/peers/torch_train.py]
#
# Runs where the packages of apps/setup.sh are installed (Debian or Ubuntu, x86-64). What goes in, and why in this form:
#   headers only     CLI11, nlohmann-json, xxhash
#   sources          GoogleTest: compiled there, by the compiler that compiles the tests
#   static library   zlib: plain C, and what it asks of the C library is older than any machine with CUDA 13
#   shared libraries fmt, SentencePiece: their sources are in no package that is installed here. glibc and libstdc++ run what was built
#                    against older ones, so these run where both are at least as new as what the file NEEDS says; the build stage tries
#                    it first
# No link is among the files, and each library stands once, under the name that programs look for when they start.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

pack=$1
shift
data=../shared/data/multi30k peer=../shared/peers/torch_train.py
while [ $# -gt 1 ]; do
    case $1 in
        --data) data=$2 ;;
        --peer) peer=$2 ;;
        *) break ;;
    esac
    shift 2
done
[ $# -eq 0 ] || { echo "gpu.sh --pack: what is $1?" >&2; exit 2; }
for needed in "$peer" "$data"/{train,val}.{de,en}; do
    [ -r "$needed" ] || { echo "gpu.sh --pack: there is no $needed; name another place with --data or --peer" >&2; exit 1; }
done
if [ -e "$pack" ] && [ ! -e "$pack/NEEDS" ]; then
    echo "gpu.sh --pack: $pack is there and is no pack; name a new folder" >&2
    exit 1
fi
bash apps/setup.sh libgtest-dev

rm -rf "$pack"
mkdir -p "$pack"/{include,lib/cmake/fmt,share/cmake,tools,peer,data}
libraries=/usr/lib/$(gcc -print-multiarch)
includes=/usr/include/$(gcc -print-multiarch)
cp -rL /usr/include/{fmt,CLI,nlohmann} "$pack/include"
cp -L /usr/include/{xxhash.h,sentencepiece_processor.h,sentencepiece_trainer.h,zlib.h} "$pack/include"
if [ -e /usr/include/zconf.h ]; then cp -L /usr/include/zconf.h "$pack/include"; else cp -L "$includes/zconf.h" "$pack/include"; fi
if [ -e /usr/include/xxh3.h ]; then cp -L /usr/include/xxh3.h "$pack/include"; fi
cp -rL /usr/share/cmake/{CLI11,nlohmann_json} "$pack/share/cmake"
cp -L "$libraries/libz.a" "$pack/lib"

# library NAME: copies it under its run-time name, which is printed.
library() {
    local file=$libraries/lib$1.so name
    name=$(objdump -p "$file" | awk '$1 == "SONAME" { print $2 }')
    cp -L "$file" "$pack/lib/$name"
    echo "$name"
}
fmt=$(library fmt)
library sentencepiece >"$pack/lib/names"
library sentencepiece_train >>"$pack/lib/names"
cat >"$pack/lib/cmake/fmt/fmt-config.cmake" <<END
get_filename_component(root "\${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
add_library(fmt::fmt SHARED IMPORTED)
set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION "\${root}/lib/$fmt" INTERFACE_INCLUDE_DIRECTORIES "\${root}/include"
                      INTERFACE_COMPILE_DEFINITIONS FMT_SHARED)
END

mkdir "$pack/googletest"
cp -rL /usr/src/googletest/{CMakeLists.txt,googletest,googlemock} "$pack/googletest"
rm -rf "$pack"/googletest/*/{test,samples,docs}
cp -L "$(command -v ninja)" "$pack/tools/ninja"
cp "$peer" "$pack/peer/torch_train.py"
cp "$data"/{train,val}.{de,en} "$pack/data"

{
    echo "The newest versions of the C and C++ libraries' symbols that the shared libraries in this pack ask for:"
    objdump -p "$pack"/lib/*.so* | grep -oE '(GLIBC|GLIBCXX|CXXABI)_[0-9.]+' | sort -u -V |
        awk -F _ '{ last[$1] = $0 } END { for (i in last) print last[i] }' | sort
} >"$pack/NEEDS"
echo "$pack: $(du -sm "$pack" | cut -f1) MB, $(find "$pack" -type f | wc -l) files"
