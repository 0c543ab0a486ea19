#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The package of a build contains the program, the library and the manual page, which has a section
# for each command:
#   tests/install/package.sh BUILD WORK
set -euo pipefail
build=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
fail() { echo "error: $*" >&2; exit 1; }

cpack --config "$build/CPackConfig.cmake" -G TGZ -B "$work" > "$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log"; fail "cpack"; }
tar -xzf "$work"/*.tar.gz -C "$work" --strip-components=1
for file in bin/heapwood include/heapwood/heap.hpp share/man/man1/heapwood.1 \
            share/doc/heapwood/LICENSE; do
  [ -s "$work/$file" ] || fail "the package has no $file"
done
[ -n "$(find "$work" -name heapwood-config.cmake)" ] || fail "the package has no CMake files"
"$work/bin/heapwood" list allocators > "$work/list" || fail "the packaged program does not run"
page=$work/share/man/man1/heapwood.1
for command in list build bench stress graph render trace reproduce; do
  grep -q "^\.SH COMMAND ${command^^}\$" "$page" || fail "the manual page has no section $command"
done
if grep -nvE "^\.(TH|SH|B|I|nf|fi)|^[^.']|^\$" "$page"; then
  fail "these lines of the manual page are requests to troff"
fi
# A build's folder may have blanks in its name.
for argument in -DPROGRAM -DOUTPUT; do
  grep -q "\"$argument=" "$build/cmake_install.cmake" ||
    fail "cmake --install does not quote $argument for the manual page"
done
echo "package: $(cd "$work" && ls ./*.tar.gz) is complete"
