#!/usr/bin/env bash
# Builds Heddle for aarch64 by Debian's cross compiler and runs its tests under qemu, those of the emulated CUDA device included:
#     bash tests/aarch64.sh [FILES] [OPTION OF CTEST...]      such as: bash tests/aarch64.sh '^(matmul|resume|emulator_.*)_test$' -E Large
# FILES is a regular expression: only the test programs with such names are built and run (all when it is left out or empty). Tests with the
# label slow are run only with -L slow. Under qemu a test takes 10 to 50 times as long.
# Needs Debian or a system like it, with g++-aarch64-linux-gnu and qemu-user. No root: the libraries go into build/aarch64-root, and so that tests
# can start programs, the kernel is told to run aarch64 by qemu in a namespace of its own (Linux 6.7), unless it runs such programs already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD/build/aarch64-root

for program in aarch64-linux-gnu-g++ qemu-aarch64; do
    if ! command -v $program >/dev/null; then
        echo "aarch64.sh: there is no $program on the path; apt-get install g++-aarch64-linux-gnu qemu-user" >&2
        exit 1
    fi
done

# fill_root: the libraries of the system's release for arm64, with all that they need. apt keeps what it knows in a folder of its own.
fill_root() {
    local apt=$root.apt
    rm -rf "$root" "$apt"
    mkdir -p "$root" "$apt"/{state/lists,cache/archives}/partial
    : >"$apt/state/status"
    local -a options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$apt/state" -o Dir::State::status="$apt/state/status"
        -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" -o APT::Install-Recommends=0)
    apt-get "${options[@]}" update
    apt-get "${options[@]}" -y --download-only install libstdc++-12-dev libfmt-dev libcli11-dev nlohmann-json3-dev libsentencepiece-dev \
        libxxhash-dev zlib1g-dev libgtest-dev libgmock-dev
    for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
    # What points to / means the root folder.
    find "$root" -type l -lname '/*' | while read -r link; do ln -sfnr "$root$(readlink "$link")" "$link"; done
    rm -rf "$apt"
    touch "$root/filled"
}
[ -e "$root/filled" ] || fill_root

export QEMU_LD_PREFIX=$root
# qemu has a table entry for every page that a program reserves: the emulated device is kept small.
ulimit -Sv $((24 << 20))
export HEDDLE_EMULATOR_MEMORY=8G
if ! "$root/lib/ld-linux-aarch64.so.1" --version >/dev/null 2>&1; then
    if [ -n "${HEDDLE_IN_NAMESPACE:-}" ]; then
        echo "aarch64.sh: the kernel cannot be told to run aarch64 by qemu here; apt-get install qemu-user-binfmt does so for the whole system" >&2
        exit 1
    fi
    # An ELF file's first 20 bytes, as binfmt_misc wants them: 64 bits, little-endian, a program or a shared object, aarch64.
    # shellcheck disable=SC2016  # the inner shell expands it
    HEDDLE_IN_NAMESPACE=1 exec unshare --user --map-root-user --mount bash -c '
        mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
            printf "%s" ":heddle:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$(command -v qemu-aarch64):PF" \
                >/proc/sys/fs/binfmt_misc/register
        exec bash "$@"' bash tests/aarch64.sh "$@"
fi

cmake --preset aarch64 -DHEDDLE_WERROR=ON -DHEDDLE_TEST_FILES="${1:-}"
cmake --build --preset aarch64 --target heddle heddle_tests -j "${JOBS:-$(nproc)}"

if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then
    TMPDIR=$(mktemp -d /dev/shm/heddle-aarch64-XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi
labels=(-LE slow)
case " ${*:2} " in *" -L "* | *" -LE "*) labels=() ;; esac
ctest --test-dir build/aarch64 -j "${JOBS:-$(nproc)}" --output-on-failure --no-label-summary "${labels[@]}" "${@:2}"
