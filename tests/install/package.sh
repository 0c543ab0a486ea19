#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The package of a build contains the program and the library:
#   tests/install/package.sh BUILD WORK
set -euo pipefail
build=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
fail() { echo "error: $*" >&2; exit 1; }

cpack --config "$build/CPackConfig.cmake" -G TGZ -B "$work" > "$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log"; fail "cpack"; }
tar -xzf "$work"/*.tar.gz -C "$work" --strip-components=1
for file in bin/heapwood include/heapwood/heap.hpp share/doc/heapwood/LICENSE; do
  [ -s "$work/$file" ] || fail "the package has no $file"
done
[ -n "$(find "$work" -name heapwood-config.cmake)" ] || fail "the package has no CMake files"
"$work/bin/heapwood" list allocators > "$work/list" || fail "the packaged program does not run"
echo "package: $(cd "$work" && ls ./*.tar.gz) is complete"
