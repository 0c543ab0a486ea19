#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds deploy/container with Docker for CPU threads, on Debian's image, and runs it:
#   tests/deploy/container.sh
# Compiles two allocators, without optimization, which takes minutes. Not tested: the CUDA images.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/deploy/common.sh
docker info > /dev/null 2>&1 || { echo "skipped: no Docker" >&2; exit 77; }
image=heapwood-test-$$
clean_up() { docker image rm --force "$image" > /dev/null 2>&1; }
options='-DHEAPWOOD_ALLOCATORS="atomic;heapwood" -DCMAKE_BUILD_TYPE=None'
docker build -f deploy/container/Dockerfile -t "$image" --build-arg PRESET=cpu \
  --build-arg BUILD_IMAGE=debian:12 --build-arg RUN_IMAGE=debian:12-slim \
  --build-arg CMAKE_OPTIONS="$options" . > "$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log"; fail 'docker build'; }
pass 'the image'
docker run --rm "$image" bench statue:2k --allocators 'atomic,heapwood' --runs 2 --device cpu \
  > "$work/bench.txt" || { cat "$work/bench.txt"; fail 'heapwood bench in the container'; }
grep -q Heapwood "$work/bench.txt" || fail 'the table of heapwood bench'
pass 'heapwood bench in the container'
echo "$passed passed, 0 failed"
