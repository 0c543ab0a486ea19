#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The examples with every allocator that frees single blocks, from the root of the source tree:
#   tests/library/examples.sh [TYPE...]   as in alloc/registry.def; default: all
# COMPILER: nvcc where there is a GPU (with FLAGS=-arch=native), else g++. JOBS (4) compilers at a
# time. WORK: a folder for programs and logs. One line per allocator; exit 1 if a program fails or
# does not end within 60 seconds. device_new.cpp always uses heapwood::heap and is left out.
# Takes half a minute per allocator and processor with g++, twice that with nvcc.
set -euo pipefail
compiler=${COMPILER:-g++} work=${WORK:-$(mktemp -d)}
examples=(hash_table particles)
mkdir -p "$work"
cmake -DSOURCE="$PWD" -DOUTPUT="$work/include/heapwood" -P cmake/library_headers.cmake
options=(-std=c++20 -O2 -I "$work/include")
case $compiler in
  *nvcc) options+=(-x cu) ;;
  *) options+=(-pthread) ;;
esac
read -ra flags <<< "${FLAGS:-}"

# One program of all examples, with another allocator in the place of heapwood::heap's.
write_program() { # HEADER TYPE
  local heap="heapwood::basic_heap<heapwood::alloc::$2>" e
  grep -h '^#include' "${examples[@]/#/$work/sources/}" | sort -u
  echo "#include <heapwood/alloc/allocators/$1.hpp>"
  for e in "${examples[@]}"; do
    echo "namespace ex_$e {"
    grep -v '^#include' "$work/sources/$e" |
      sed "s/heapwood::heap_handle/heapwood::basic_heap_handle<heapwood::alloc::$2>/g
           s/heapwood::heap heap(/$heap heap(/; s/int main()/int run()/"
    echo "}"
  done
  echo 'int main() {'
  echo '  std::setvbuf(stdout, nullptr, _IOLBF, 4096);'
  for e in "${examples[@]}"; do
    echo "  std::puts(\"$e\");"
    echo "  if (ex_$e::run() != 0) return 1;"
  done
  echo '}'
}
one() { # HEADER TYPE
  local status=ok program=$work/$2 log=$work/$2.log
  write_program "$1" "$2" > "$program.cpp"
  if ! "$compiler" "${options[@]}" "${flags[@]}" "$program.cpp" -o "$program" > "$log" 2>&1; then
    status="FAIL: does not compile: $(grep -m1 error "$log")"
  elif ! timeout -s KILL 60 "$program" > "$log" 2>&1; then
    status="FAIL: $(grep -xE 'hash_table|particles' "$log" | tail -1)"
    status+=", see $log"
  fi
  printf '%-16s %s\n' "$2" "$status" | tee -a "$work/results"
}

mkdir -p "$work/sources"
for e in "${examples[@]}"; do cp "examples/$e.cpp" "$work/sources/$e"; done
: > "$work/results"
while read -r header type rest; do
  [[ $rest != published ]] || continue
  (( $# == 0 )) || [[ " $* " == *" $type "* ]] || continue
  ! grep -qE 'Frees::(never|all_at_once)' "alloc/allocators/$header.hpp" || continue
  while (( $(jobs -pr | wc -l) >= ${JOBS:-4} )); do wait -n || true; done
  one "$header" "$type" &
done < <(grep -E '^[a-z]' alloc/registry.def)
wait
[ -s "$work/results" ] || { echo "error: no such allocator: $*" >&2; exit 1; }
! grep -q FAIL "$work/results"
