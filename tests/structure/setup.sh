#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/setup.sh asks on a terminal before it installs packages, and nowhere else; stand-ins for
# dpkg-query, sudo and apt-get.
#   tests/structure/setup.sh ROOT
set -euo pipefail
setup=$1/scripts/setup.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\nexit 1\n' > "$folder/dpkg-query"
printf '#!/bin/sh\nexec "$@"\n' > "$folder/sudo"
printf '#!/bin/sh\necho "$*" >> "%s/installed"\n' "$folder" > "$folder/apt-get"
chmod +x "$folder"/*
export PATH=$folder:$PATH
unset CI YES

# expect STATUS INSTALLS TEXT COMMAND...: COMMAND's exit status, whether it installs strace, and a
# part of its output.
expect() {
  local status=0
  rm -f "$folder/installed"
  "${@:4}" > "$folder/out" 2>&1 || status=$?
  if [[ $status != "$1" || $(< "$folder/out") != *"$3"* ]] ||
     [[ $([[ ! -f $folder/installed ]] || cat "$folder/installed") != $2 ]]; then
    printf 'expected status %s, installed %s, %s; got %s, and\n' "$1" "$2" "$3" "$status" >&2
    cat "$folder"/{out,installed} >&2
    exit 1
  fi
}
# script waits for seconds if its input has ended before the command.
on_terminal() { { echo "$1"; sleep 0.2; } | script -qec "$2 '$setup' faults" /dev/null; }
expect 0 '*strace' 'setup: installed' "$setup" faults < /dev/null
expect 0 '*strace' 'apt-get install --no-install-recommends strace' on_terminal '' ''
expect 0 '*strace' 'Install these packages?' on_terminal y ''
expect 1 '' 'repeat yours with YES=1' on_terminal n ''
expect 0 '*strace' 'setup: installed' on_terminal n YES=1
expect 0 '*strace' 'setup: installed' on_terminal n CI=true
