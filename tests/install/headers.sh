#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cmake/library_headers.cmake in folders whose names are patterns for CMake:
#   tests/install/headers.sh SOURCE
set -euo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "error: $*" >&2; cat "$work/log" >&2; exit 1; }
collect() {  # SOURCE OUTPUT
  cmake "-DSOURCE=$1" "-DOUTPUT=$2" -P "$root/cmake/library_headers.cmake" > "$work/log" 2>&1
}

for name in '[x]' 'a*b' 'what?' 'a b[c'; do
  source=$work/$name output=$work/$name/build/heapwood
  mkdir "$source"
  cp -R "$root"/{alloc,include,simt} "$source"
  collect "$source" "$output" || fail "$name: not collected"
  [[ -e $output/heap.hpp && -e $output/alloc/allocator.hpp ]] || fail "$name: headers are missing"
  # A file that is no longer a header is removed, at the next time.
  touch "$output/old.hpp"
  collect "$source" "$output" || fail "$name: not collected again"
  [[ -e $output/heap.hpp && ! -e $output/old.hpp ]] || fail "$name: an old file is left"
done
# The pattern [y] means y, whose files are no headers of the library.
mkdir -p "$work/y/heapwood"
touch "$work/y/heapwood/program.cpp"
collect "$root" "$work/[y]/heapwood" || fail 'not collected'
[[ -e $work/y/heapwood/program.cpp ]] || fail 'another folder was changed'
! collect "$work/none" "$work/out" || fail 'an empty source is not an error'
grep -q 'no headers in' "$work/log" || fail 'an empty source: wrong message'
