#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a reader of a change would otherwise say: format, spelling, rules of the house, clang-tidy. `make check` calls it.
#   scripts/check.sh            all
#   scripts/check.sh quick      what takes seconds: neither clang-tidy nor every header by itself
#   scripts/check.sh format     rewrites the sources as .clang-format says, and checks nothing
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

scripts/setup.sh build check
mapfile -t sources < <(find "${ROOMS[@]}" -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort)

if [[ ${1:-} == format ]]; then
  clang-format-14 -i "${sources[@]}"
  exit
fi

failed=()
step() {  # NAME COMMAND...: all steps run, so that one run shows all there is to mend
  local name=$1
  shift
  echo "== $name"
  "$@" || failed+=("$name")
}

tidy() {
  # Only the compilation database is needed, nothing is built. Allocators' units are generated: one stands for all.
  cmake --preset cpu > /dev/null || return
  { printf '%s\n' "${sources[@]}" | grep '\.cpp$' | grep -v '_absent\|^tests/'
    find build/cpu/generated/heapwood_instances_alloc -name '*.cpp' | head -n 1
  } | xargs -P "$(jobs)" -n 2 clang-tidy-14 -p build/cpu --quiet 2> /dev/null
}

step "format (make format mends it)" clang-format-14 --dry-run -Werror "${sources[@]}"
step "spelling" codespell "${ROOMS[@]}" report cmake docs scripts ./*.md CMakeLists.txt Makefile
step "rules of the house" bash tests/structure/conventions.sh .
if [[ ${1:-} != quick ]]; then
  step "every header by itself" bash tests/structure/headers.sh . g++
  step "clang-tidy" tidy
fi

if (( ${#failed[@]} )); then
  printf 'check: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "check: all is well"
