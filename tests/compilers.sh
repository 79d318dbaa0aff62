#!/usr/bin/env bash
# Builds the program with every g++-N and clang++-N on the path, warnings as errors, and proves the gradients with each build:
#     bash tests/compilers.sh [--syntax|--next] [COMPILER...]      such as: bash tests/compilers.sh g++-11 clang++-14
#   --syntax only lets every installed compiler but the build's own (CXX, or c++) read the program, the lab and the grader: about a minute each
#   --next   the next Debian release's compilers instead, in a folder that debootstrap fills below build/compilers (needs root)
# Builds stand in build/compilers/NAME. The last compiler builds without unity files and precompiled header, which hide missing includes.
# clang before 16 neither lets a lambda capture a structured binding nor compiles what GCC 12's library returns as std::ranges::subrange (unique, rotate,
# stable_partition ...). JOBS is the number of files compiled at a time. Exit status 1 when a compiler fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

next_release=trixie
next_compilers=(g++-13 g++-14 clang++-17 clang++-18 clang++-19)
next=
syntax=
case "${1:-}" in
    --next) next=1 && shift ;;
    --syntax) syntax=1 && shift ;;
esac
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

# others: the compilers on the path by one name each, without the one that builds.
others() {
    declare -A known=(["$(readlink -f "$(command -v "${CXX:-c++}")")"]=1)
    for compiler in $(compgen -c | grep -xE '(g|clang)\+\+(-[0-9]+)?' | sort -uV); do
        file=$(readlink -f "$(command -v "$compiler")")
        [ -n "${known[$file]:-}" ] || echo "$compiler"
        known[$file]=1
    done
}

if [ -n "$syntax" ]; then
    [ ${#compilers[@]} -gt 0 ] || mapfile -t compilers < <(others)
    [ ${#compilers[@]} -gt 0 ] || echo "compilers.sh: syntax checks skipped: no compiler is installed but the one that builds" >&2
elif [ ${#compilers[@]} -eq 0 ]; then
    mapfile -t compilers < <(compgen -c | grep -xE '(g\+\+|clang\+\+)-[0-9]+' | sort -uV)
fi
if [ -z "$syntax" ] && [ ${#compilers[@]} -eq 0 ]; then
    echo "compilers.sh: there is no g++-N or clang++-N on the path; name one, or: apt-get install g++-12 clang-14" >&2
    exit 1
fi

# build COMPILER OPTIONS...: the whole way to a program whose gradients are right.
build() {
    local compiler=$1 folder=build/compilers/$1
    shift
    cmake --preset release -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DHEDDLE_TESTS=OFF -DHEDDLE_WERROR=ON "$@" &&
        cmake --build "$folder" --target heddle heddle-lab heddle-grader -j "${JOBS:-$(nproc)}" &&
        "$folder/heddle" gradcheck
}

# read_only COMPILER: objects and libraries are empty files, so that a second run reads only what changed. clang writes a precompiled header to stdout
# when it only reads.
read_only() {
    local folder=build/compilers/$1-syntax empty='<CMAKE_COMMAND> -E touch' without_header=ON
    [[ $1 == g++* ]] || without_header=OFF
    cmake --preset release -B "$folder" -DCMAKE_CXX_COMPILER="$1" -DHEDDLE_TESTS=OFF -DHEDDLE_WERROR="${HEDDLE_WERROR:-ON}" -DHEDDLE_CCACHE=OFF \
        -DCMAKE_DISABLE_PRECOMPILE_HEADERS=$without_header \
        -DCMAKE_CXX_COMPILE_OBJECT="<CMAKE_CXX_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -fsyntax-only <SOURCE> > <OBJECT>" \
        -DCMAKE_CXX_CREATE_STATIC_LIBRARY="$empty <TARGET>" -DCMAKE_CXX_LINK_EXECUTABLE="$empty <TARGET>" &&
        cmake --build "$folder" -j "${JOBS:-$(nproc)}" -- -k 0
}

mkdir -p build/compilers
failed=0
printf '%-12s %-10s %-8s %s\n' compiler version seconds result
for compiler in "${compilers[@]}"; do
    alone=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=OFF)
    words=
    work=(build "$compiler")
    good="built, gradients proven"
    if [ -n "$syntax" ]; then
        work=(read_only "$compiler")
        good="reads all"
        alone=()
    elif [ "$compiler" = "${compilers[-1]}" ]; then
        alone=(-DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON)
        words=", each file alone"
    fi
    log=build/compilers/$compiler${syntax:+-syntax}.log
    start=$SECONDS
    if "${work[@]}" "${alone[@]}" >"$log" 2>&1; then
        result="$good$words"
    else
        result="FAILED$words: $({ grep -m 1 'error: ' "$log" || tail -n 1 "$log"; } | cut -c1-150) ($log)"
        failed=1
    fi
    printf '%-12s %-10s %-8s %s\n' "$compiler" "$("$compiler" -dumpfullversion 2>/dev/null || "$compiler" -dumpversion 2>/dev/null)" \
        $((SECONDS - start)) "$result"
done

exit "$failed"
