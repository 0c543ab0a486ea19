#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what is missing with apt-get (Debian 12 and 13, Ubuntu 24.04); silent where nothing is.
#   scripts/setup.sh [build] [check] [wheels] [viewer] [browser]   what for: building and testing, `make check`, Python packages
#                                                                  (scripts/fetch_nvcc.sh, the page of `make report`),
#                                                                  heapwood-view and its tests, the tests of that page
set -euo pipefail

packages=()
for purpose in "${@:-build}"; do
  case $purpose in
    build)
      packages+=(g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev libcu++-dev libstb-dev
                 libtinyobjloader-dev robin-map-dev) ;;
    check) packages+=(clang-format-14 clang-tidy-14 codespell) ;;  # by version: they must agree on every machine
    viewer)
      packages+=(pkg-config libglfw3-dev libimgui-dev libepoxy-dev libgl1-mesa-dri fonts-inter xvfb xdotool) ;;
    wheels) packages+=(python3-venv) ;;
    browser) packages+=(python3-venv chromium) ;;
    *) echo "setup: error: unknown purpose '$purpose'; one of build, check, viewer, wheels, browser" >&2; exit 2 ;;
  esac
done

if ! command -v apt-get > /dev/null; then
  echo "setup: no apt-get here; needed are the equivalents of: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  # A line for each architecture that it is installed for.
  dpkg-query -W -f='${Status}\n' "$package" 2> /dev/null | grep -qx 'install ok installed' || missing+=("$package")
done
(( ${#missing[@]} )) || exit 0

as_root=()
if (( EUID != 0 )); then
  if ! command -v sudo > /dev/null; then
    echo "setup: error: neither root nor sudo; ask an administrator for: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: apt-get install ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {  # a fresh machine may still be at its own updates: wait for them
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >> "$log" 2>&1
}
install() { apt install -y --no-install-recommends "${missing[@]}"; }
# The package lists may be absent or old: only then are they fetched.
if ! install && ! { apt update && install; }; then
  tail -n 15 "$log" >&2
  echo "setup: error: apt-get could not install ${missing[*]}" >&2
  exit 1
fi
