#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deploy/spack's package.py without Spack:
#   tests/deploy/spack.sh
#   1. it loads with stand-ins for Spack's modules, and its options configure the project;
#   2. CMake knows every option that it gives.
# Not tested: Spack itself, and the names and versions of its packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/deploy/common.sh
package=deploy/spack/spack_repo/heapwood/packages/heapwood/package.py
arguments() { python3 tests/deploy/spack_stub.py "$package" "$1" "$2" "$work"; }

# The system's headers have a folder stb; a flat one gets a link.
arguments cpu /usr/include > "$work/cpu" || fail 'package.py for CPU threads'
grep -qx -- '-DSTB_INCLUDE=/usr/include' "$work/cpu" || fail "STB_INCLUDE: $(cat "$work/cpu")"
mkdir -p "$work/flat" "$work/cuda/cccl"
touch "$work/flat/stb_image_write.h"
arguments cuda "$work/flat" > "$work/gpu" || fail 'package.py for GPUs'
for expected in -DHEAPWOOD_CUDA_MODE=on '-DCMAKE_CUDA_ARCHITECTURES=80;90' \
                "-DCMAKE_CXX_FLAGS=-isystem $work/cuda/cccl -isystem $work/cuda" \
                "-DSTB_INCLUDE=$work/stb-include"; do
  grep -qxF -- "$expected" "$work/gpu" || fail "no $expected: $(cat "$work/gpu")"
done
[[ -f $work/stb-include/stb/stb_image_write.h ]] || fail 'the link to a flat stb'
pass 'package.py: options'

mapfile -t options < "$work/cpu"
cmake -S . -B "$work/build" -DCMAKE_BUILD_TYPE=Release "${options[@]}" > "$work/cmake.log" 2>&1 ||
  { tail "$work/cmake.log"; fail cmake; }
! grep -q 'not used by the project' "$work/cmake.log" ||
  { tail "$work/cmake.log"; fail 'options that the project does not know'; }
pass 'the options configure the project'
echo "$passed passed, 0 failed"
