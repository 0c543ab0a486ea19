#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks format, spelling, conventions, words, links, pinned packages, tables, headers and the lists
# in docs/testing.md, and runs clang-tidy. `make check` calls it.
#   scripts/check.sh            everything
#   scripts/check.sh quick      the checks that take seconds: without clang-tidy and the compilation
#                               of each header by itself
#   scripts/check.sh format     formats the sources with clang-format, and checks nothing
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

scripts/setup.sh build check
mapfile -t sources < <(find "${MODULES[@]}" \
  -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort)

if [[ ${1:-} == format ]]; then
  clang-format-14 -i "${sources[@]}"
  exit
fi

failed=()
step() {  # NAME COMMAND...: runs COMMAND; a failure is reported at the end, after all steps
  local name=$1
  shift
  echo "== $name"
  "$@" || failed+=("$name")
}

tidy() {
  # Needs the compilation database and generated headers, no build. A folder of its own, so that
  # the options of build/cpu do not matter.
  local folder=build/tidy files
  mkdir -p build
  cmake --preset cpu -B "$folder" > "$folder.log" && cmake --build "$folder" \
    --target heapwood_git >> "$folder.log" || { cat "$folder.log"; return 1; }
  mapfile -t files < <(printf '%s\n' "${sources[@]}" | grep '\.cpp$' |
                       grep -v '_absent\|^tests/\|^examples/')
  if ! grep -q 'Viewer: built' "$folder.log"; then
    echo "skipped: viewer/: its packages are not installed (scripts/setup.sh viewer)"
    mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -v '^viewer/')
  fi
  # The allocators' translation units are generated from one template: one is checked for all.
  files+=("$(find "$folder/generated/heapwood_instances_alloc" -name '*.cpp' | sort | head -n 1)")
  printf '%s\n' "${files[@]}" |
    xargs -P "$(jobs)" -n 2 clang-tidy-14 -p "$folder" --quiet 2> /dev/null
}

step "format (make format repairs it)" clang-format-14 --dry-run -Werror "${sources[@]}"
step "spelling" codespell "${MODULES[@]}" report cmake deploy docs scripts ./*.md \
  CMakeLists.txt Makefile
step "conventions" bash tests/structure/conventions.sh .
step "words" bash tests/structure/words.sh .
step "links" bash tests/structure/links.sh .
step "requirements" bash tests/structure/requirements.sh .
step "testing.md" bash tests/structure/testing.sh .
step "tables of the documents" bash tests/structure/tables.sh .
if [[ ${1:-} != quick ]]; then
  step "every header by itself" bash tests/structure/headers.sh . g++
  step "clang-tidy" tidy
fi

if (( ${#failed[@]} )); then
  printf 'check: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "check: passed"
