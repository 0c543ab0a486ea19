#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# conventions.sh reports what it should: a small tree with one violation of each kind.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{simt,alloc,kdtree,scenes,render,registry,app,scripts}
spdx='// SPDX-License-Identifier: MIT'

file() { printf '%s\n' "${@:2}" > "$tree/$1"; }
file simt/config.hpp "$spdx" '#define HEAPWOOD_FN'
file simt/cuda.hpp "$spdx" '__global__ void kernel();'
file alloc/good.hpp "$spdx" '#include <cstddef>' '#include "simt/config.hpp"  // __shared__ "app/cli.hpp"'
file registry/instance.in '#if defined(__CUDACC__)' '#include "simt/cuda.hpp"'
file render/kernel.cu "$spdx" '#include "simt/cuda.hpp"' '#include "kdtree/tree.hpp"'
bash "$here/conventions.sh" "$tree" || { echo "a tree without a breach was refused" >&2; exit 1; }

# expect FILE:LINE TEXT FIRST-LINE LINE...: FILE with these lines gets one message, with TEXT.
expect() {
  local found
  file "${1%:*}" "${@:3}"
  found=$(bash "$here/conventions.sh" "$tree") && { echo "not caught: $1 $2" >&2; exit 1; }
  if [[ $found != "$1: "*"$2"* || $found == *$'\n'* ]]; then
    printf 'expected one line, %s: ... %s; got\n%s\n' "$1" "$2" "$found" >&2
    exit 1
  fi
  rm "$tree/${1%:*}"
}
expect alloc/up.hpp:3 'alloc/ must not include kdtree/' "$spdx" '' '#include "kdtree/tree.hpp"'
expect kdtree/app.cpp:2 'kdtree/ must not include app/' "$spdx" '#include "app/cli.hpp"'
expect render/near.hpp:2 'is in no folder of the project' "$spdx" '#include "camera.hpp"'
expect app/device.cpp:2 'is for .cu files' "$spdx" '#include "simt/cuda.hpp"'
expect alloc/macro.hpp:2 'macros' "$spdx" '#define GRANULE 16'
expect alloc/lane.hpp:2 'CUDA (threadIdx)' "$spdx" 'inline int lane() { return threadIdx.x; }'
expect alloc/atomic.hpp:2 'CUDA' "$spdx" '#include <cuda/atomic>'
expect alloc/bits.hpp:2 'simt/math.hpp' "$spdx" 'int low(unsigned x) { return std::countr_zero(x); }'
expect scenes/wave.cpp:2 'std::sin( in scenes/' "$spdx" 'float wave(float x) { return std::sin(x); }'
expect scenes/power.cpp:2 'powf( in scenes/' "$spdx" 'float f(float x) { return powf(x, 0.7f); }'
expect scenes/dice.cpp:2 'std::uniform_int_distribution< in scenes/' \
  "$spdx" 'std::uniform_int_distribution<int> dice(1, 6);'
expect app/bare.cpp:1 'SPDX' 'int x;'
expect app/joined.cpp:1 'SPDX' "$spdx A comment that was joined to the line." 'int x;'
expect scripts/bare.sh:2 'SPDX' '#!/bin/sh' 'true'
expect app/long.cpp:601 '600 lines' "$spdx" "$(yes '//' | head -n 700)"
