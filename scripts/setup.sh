#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs missing packages with apt-get (Debian 12 and 13, Ubuntu 24.04); silent if none is
# missing. On a terminal it asks first, unless YES=1 or CI is set.
#   [YES=1] scripts/setup.sh [PURPOSE...]
#     build     building and testing (the default)
#     check     `make check`
#     wheels    Python packages: scripts/fetch_nvcc.sh and the page of `make report`
#     viewer    heapwood-view and its tests
#     browser   the tests of the page
#     python    the Python package and its tests: python/test.sh
#     fuzz      clang with libFuzzer: scripts/fuzz.sh
#     faults    strace: tests/faults/
set -euo pipefail

packages=()
for purpose in "${@:-build}"; do
  case $purpose in
    build)
      packages+=(g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev
                 libcu++-dev libstb-dev robin-map-dev) ;;
    check) packages+=(clang-format-14 clang-tidy-14 codespell) ;;  # same version on every machine
    viewer)
      packages+=(pkg-config libglfw3-dev libimgui-dev libepoxy-dev libgl1-mesa-dri fonts-inter xvfb
                 xdotool) ;;
    wheels) packages+=(python3-venv) ;;
    browser) packages+=(python3-venv chromium) ;;
    python) packages+=(python3-venv python3-dev) ;;
    fuzz) packages+=(clang-14 libclang-rt-14-dev) ;;
    faults) packages+=(strace) ;;
    *) echo "setup: error: purpose '$purpose': expected build, check, viewer, wheels, browser," \
            "python, fuzz or faults" >&2
       exit 2 ;;
  esac
done

if ! command -v apt-get > /dev/null; then
  echo "setup: no apt-get on this machine; install the equivalents of: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  # dpkg-query prints one line per architecture.
  dpkg-query -W -f='${Status}\n' "$package" 2> /dev/null | grep -qx 'install ok installed' ||
    missing+=("$package")
done
(( ${#missing[@]} )) || exit 0

as_root=()
if (( EUID != 0 )); then
  if ! command -v sudo > /dev/null; then
    echo "setup: error: neither root nor sudo; ask an administrator to run:" \
         "apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

command="${as_root[*]} apt-get install --no-install-recommends ${missing[*]}"
echo "setup: ${command# }"
if [[ -t 0 && -t 2 && -z ${CI:-} && ${YES:-0} == 0 ]]; then
  read -r -p "Install these packages? [Y/n] " answer || answer=n
  if [[ ! ${answer:-y} =~ ^[Yy] ]]; then
    echo "setup: nothing was installed; run the command above, or repeat yours with YES=1" >&2
    exit 1
  fi
fi
from=$SECONDS
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {  # waits for updates that a new machine may still be installing
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >> "$log" 2>&1
}
install() { apt install -y --no-install-recommends "${missing[@]}"; }
# The package lists may be absent or old: they are fetched if the first attempt fails.
if ! install && ! { apt update && install; }; then
  tail -n 15 "$log" >&2
  echo "setup: error: apt-get could not install ${missing[*]}" >&2
  if [[ " ${missing[*]} " == *' clang-tidy-14 '* ]]; then
    echo "setup: make check needs Debian 12 or Ubuntu 24.04, which have version 14 of clang" >&2
  fi
  exit 1
fi
echo "setup: installed in $((SECONDS - from)) s"
