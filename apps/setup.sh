#!/usr/bin/env bash
# Installs what Heddle is built from, where it is missing:  bash apps/setup.sh [FURTHER PACKAGES, by Debian's names]
# Nothing happens, and no rights are needed, when all is there. Messages go to stderr.
set -euo pipefail

# apt-get              dnf                  pacman         brew ("-": comes with the system, or there is none)
table="
cmake                  cmake                cmake          cmake
ninja-build            ninja-build          ninja          ninja
g++                    gcc-c++              gcc            -
libfmt-dev             fmt-devel            fmt            fmt
libcli11-dev           cli11-devel          cli11          cli11
nlohmann-json3-dev     json-devel           nlohmann-json  nlohmann-json
libsentencepiece-dev   sentencepiece-devel  sentencepiece  sentencepiece
libxxhash-dev          xxhash-devel         xxhash         xxhash
zlib1g-dev             zlib-devel           zlib           -
libmicrohttpd-dev      libmicrohttpd-devel  libmicrohttpd  libmicrohttpd
libgtest-dev           gtest-devel          gtest          googletest
libopenmpi-dev         openmpi-devel        openmpi        open-mpi
openmpi-bin            openmpi              openmpi        open-mpi
"
packages=(cmake ninja-build g++ libfmt-dev libcli11-dev nlohmann-json3-dev libsentencepiece-dev libxxhash-dev zlib1g-dev libmicrohttpd-dev "$@")

say() { echo "setup: $*" >&2; }
has() { command -v "$1" >/dev/null; }

if has apt-get && has dpkg-query; then
    column=1
    installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
    install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
elif has dnf && has rpm; then
    column=2
    installed() { rpm -q --whatprovides "$1" >/dev/null; }
    install=(dnf install -y -q)
elif has pacman; then
    column=3
    installed() { pacman -T "$1" >/dev/null; }
    install=(pacman -S --noconfirm --needed)
elif has brew; then
    column=4
    installed() { brew list --versions "$1" >/dev/null; }
    install=(brew install -q)
else
    say "this system has none of apt-get, dnf, pacman and brew; install the equivalents of: ${packages[*]}"
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    name=$package  # a package that the table does not know has one name everywhere
    while read -r -a row; do
        if [ "${row[0]:-}" = "$package" ]; then name=${row[column - 1]}; fi
    done <<<"$table"
    [ "$name" = - ] || installed "$name" || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ] && [ "$column" -ne 4 ]; then  # brew refuses to run as root
    if ! has sudo; then
        say "these packages are missing, and only root can install them: ${install[*]} ${missing[*]}"
        exit 1
    fi
    as_root=(sudo)
fi
say "installing ${missing[*]}"
if [ "$column" -eq 1 ]; then "${as_root[@]}" apt-get update -qq >&2; fi
${as_root[@]+"${as_root[@]}"} "${install[@]}" "${missing[@]}" >&2
