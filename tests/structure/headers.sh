#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every header compiles by itself, all of them compile twice in one translation unit, and two such
# units link.
#   tests/structure/headers.sh ROOT COMPILER
# Except headers that only nvcc compiles (simt/cuda*.hpp, registry/*instance.hpp, *.cuh).
set -euo pipefail
cd "$1"
compiler=$2
flags=(-std=c++20 -Wall -Wextra -Wno-unknown-pragmas -Werror -I . -I include -x c++)
cores=$(nproc)
folders=(simt geometry alloc host_alloc workloads kdtree scenes render registry bench app include)
if pkg-config --exists imgui glfw3 epoxy 2> /dev/null; then  # packages of the viewer
  folders+=(viewer)
  read -ra imgui < <(pkg-config --cflags imgui)
  flags+=("${imgui[@]}")
else
  echo "skipped: viewer/: its packages are not installed (scripts/setup.sh viewer)"
fi

mapfile -t headers < <(find "${folders[@]}" -name '*.hpp' 2> /dev/null |
                       grep -vxE '(simt/cuda(_warp)?|registry/.*instance)\.hpp' | sort)
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

alone() { echo "#include \"${1#include/}\"" | "$compiler" "${@:2}" -fsyntax-only - || { echo "$1 does not compile by itself"; return 1; }; }
export -f alone
export compiler
printf '%s\n' "${headers[@]}" | xargs -P "$cores" -I{} bash -c 'alone "$@"' alone {} "${flags[@]}"

for unit in one two; do
  printf '#include "%s"\n' "${headers[@]#include/}" "${headers[@]#include/}" > "$objects/$unit.cpp"
done
printf '%s\n' one two | xargs -P 2 -I{} "$compiler" "${flags[@]}" -c "$objects/{}.cpp" -o "$objects/{}.o"
ld -r -o "$objects/both.o" "$objects/one.o" "$objects/two.o"
echo "${#headers[@]} headers: each compiles by itself, all compile twice, two units link"
