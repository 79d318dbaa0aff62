#!/usr/bin/env bash
# Builds the program with every g++-N and clang++-N on the path, warnings as errors, and proves the gradients with each build:
#     bash tests/compilers.sh [--next] [COMPILER...]      such as: bash tests/compilers.sh g++-11 clang++-14
#   --next   the next Debian release's compilers instead, in a folder that debootstrap fills below build/compilers (needs root)
# Builds stand in build/compilers/NAME. The last compiler builds without unity files and precompiled header, which hide missing includes.
# JOBS is the number of files compiled at a time. Exit status 1 when a compiler fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

next_release=trixie
next_compilers=(g++-13 g++-14 clang++-17 clang++-18 clang++-19)
next=
if [ "${1:-}" = --next ]; then
    next=1
    shift
fi
compilers=("$@")

if [ -n "$next" ]; then
    [ ${#compilers[@]} -gt 0 ] || compilers=("${next_compilers[@]}")
    root=build/compilers/$next_release
    log=$root.log
    mkdir -p build/compilers
    if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
        echo "compilers.sh: --next needs root and debootstrap (apt-get install debootstrap)" >&2
        exit 1
    fi
    if ! { [ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase "$next_release" "$root"; } >"$log" 2>&1; then
        echo "compilers.sh: debootstrap cannot install $next_release here: $(tail -n 1 "$log") ($log)" >&2
        rm -rf --one-file-system "$root"
        exit 1
    fi
    mkdir -p "$root/heddle"
    git ls-files -z -co --exclude-standard | tar --null -T - -c | tar -x -C "$root/heddle"
    # shellcheck disable=SC2016  # the inner shell expands it
    exec chroot "$root" env JOBS="${JOBS:-$(nproc)}" bash -c 'cd /heddle && bash apps/setup.sh "${@/clang++/clang}" && bash tests/compilers.sh "$@"' - \
        "${compilers[@]}"
fi

if [ ${#compilers[@]} -eq 0 ]; then
    mapfile -t compilers < <(compgen -c | grep -xE '(g\+\+|clang\+\+)-[0-9]+' | sort -uV)
fi
if [ ${#compilers[@]} -eq 0 ]; then
    echo "compilers.sh: there is no g++-N or clang++-N on the path; name one, or: apt-get install g++-12 clang-14" >&2
    exit 1
fi

# build COMPILER OPTIONS...: the whole way to a program whose gradients are right.
build() {
    local compiler=$1 folder=build/compilers/$1
    shift
    cmake --preset release -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DHEDDLE_TESTS=OFF -DHEDDLE_WERROR=ON "$@" &&
        cmake --build "$folder" --target heddle heddle-lab -j "${JOBS:-$(nproc)}" &&
        "$folder/heddle" gradcheck
}

mkdir -p build/compilers
failed=0
printf '%-12s %-10s %-8s %s\n' compiler version seconds result
for compiler in "${compilers[@]}"; do
    alone=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=OFF)
    words=
    if [ "$compiler" = "${compilers[-1]}" ]; then
        alone=(-DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON)
        words=", each file alone"
    fi
    log=build/compilers/$compiler.log
    start=$SECONDS
    if build "$compiler" "${alone[@]}" >"$log" 2>&1; then
        result="built, gradients proven$words"
    else
        result="FAILED$words: $({ grep -m 1 -iE 'error|FAILED' "$log" || tail -n 1 "$log"; } | cut -c1-150) ($log)"
        failed=1
    fi
    printf '%-12s %-10s %-8s %s\n' "$compiler" "$("$compiler" -dumpfullversion 2>/dev/null || "$compiler" -dumpversion 2>/dev/null)" \
        $((SECONDS - start)) "$result"
done

exit "$failed"
