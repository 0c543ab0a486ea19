#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds groups of tests for 64-bit Arm by Debian's cross compiler, with two allocators, and runs
# them in the emulator qemu. The emulator keeps the stronger memory order of the host: this finds
# what does not compile, and what depends on the instruction set or the size of a page, but no race.
#   scripts/arm.sh [GROUP...]      default: simt alloc (labels of ctest: docs/testing.md)
# GoogleTest is compiled from Debian's sources, so that no packages of another architecture are
# needed. Build folder: build/arm64.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

groups=("$@")
(( ${#groups[@]} )) || groups=(simt alloc)
scripts/setup.sh build arm

googletest=build/arm64/googletest sources=/usr/src/googletest/googletest
mkdir -p "$googletest"
for part in all_gtest gtest_main; do
  library=$googletest/lib${part#all_}.a
  [[ -e $library ]] && continue
  file=$sources/src/${part/all_gtest/gtest-all}.cc
  aarch64-linux-gnu-g++ -std=c++17 -O1 -I "$sources" -I "$sources/include" -c "$file" \
    -o "$googletest/$part.o"
  aarch64-linux-gnu-ar rcs "$library" "$googletest/$part.o"
done

# fmt is used from its headers, which its package for this machine has too.
host=$(g++ -print-multiarch)
cmake --preset arm64 -DHEAPWOOD_ALLOCATORS="atomic;heapwood" -DHEAPWOOD_TEST_EXCEPT= \
  -Dfmt_DIR="/usr/lib/$host/cmake/fmt" -DGTEST_INCLUDE_DIR="$sources/include" \
  -DGTEST_LIBRARY="$PWD/$googletest/libgtest.a" \
  -DGTEST_MAIN_LIBRARY="$PWD/$googletest/libgtest_main.a" > /dev/null
cmake --build --preset arm64 --parallel "$(jobs)" --target "${groups[@]/#/tests_}"
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu  # where the cross compiler's C library is
ctest --test-dir build/arm64 --parallel "$(jobs)" --output-on-failure --timeout 600 \
  -L "^($(IFS='|'; echo "${groups[*]}"))\$"
