#!/usr/bin/env bash
# Installs what Heddle is built from, where it is missing:  bash apps/setup.sh [FURTHER PACKAGES]
# Nothing happens, and no rights are needed, when all is there. Messages go to stderr.
set -euo pipefail

packages=(cmake ninja-build g++ libfmt-dev libcli11-dev nlohmann-json3-dev libsentencepiece-dev libxxhash-dev zlib1g-dev libpugixml-dev "$@")

say() { echo "setup: $*" >&2; }

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "this system has no apt-get; install the equivalents of: ${packages[*]}"
    exit 0
fi

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
missing=()
for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        say "these packages are missing, and only root can install them: apt-get install ${missing[*]}"
        exit 1
    fi
    as_root=(sudo)
fi
say "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
