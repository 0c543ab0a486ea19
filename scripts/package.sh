#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds a .deb and a .tar.gz in build/packages/ with the programs, the library's headers and its
# CMake configuration. `make package` calls it. The programs need the C library of this machine or a
# later one; the .deb states its version.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

scripts/setup.sh build
choose_preset
targets=(heapwood)
# The viewer is packaged where it can be built.
! pkg-config --exists imgui glfw3 epoxy 2> /dev/null || targets+=(heapwood-view)
build "${targets[@]}"
make_packages() { cpack --config "build/$PRESET/CPackConfig.cmake" -B build/packages; }
stage packages make_packages
needed=$(objdump -T "build/$PRESET/bin/heapwood" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
echo "programs need ${needed/_/ } or later"
ls build/packages/*.deb build/packages/*.tar.gz
