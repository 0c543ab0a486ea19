#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds deploy/container for CPU threads and runs it:
#   [INSTALL=1] tests/deploy/container.sh
# With Docker on Debian's image. Without, as root, its steps run with chroot in a Debian file system
# made by debootstrap (container.py). Compiles two allocators, without optimization, which takes
# minutes. Not tested: the CUDA images.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/deploy/common.sh
file=$PWD/deploy/container/Dockerfile
options='-DHEAPWOOD_ALLOCATORS="atomic;heapwood" -DCMAKE_BUILD_TYPE=None'

if docker info > /dev/null 2>&1; then
  image=heapwood-test-$$
  clean_up() { docker image rm --force "$image" > /dev/null 2>&1; }
  docker build -f "$file" -t "$image" --build-arg PRESET=cpu --build-arg BUILD_IMAGE=debian:12 \
    --build-arg RUN_IMAGE=debian:12-slim --build-arg CMAKE_OPTIONS="$options" . \
    > "$work/build.log" 2>&1 || { tail -n 40 "$work/build.log"; fail 'docker build'; }
  run() { docker run --rm "$image" "$@"; }
else
  (( EUID == 0 )) || { echo "skipped: neither Docker nor root" >&2; exit 77; }
  needs debootstrap debootstrap
  base=${BASE:-$work/base}  # a file system made earlier by: debootstrap --variant=minbase bookworm
  [[ -d $base ]] || debootstrap --variant=minbase bookworm "$base" > "$work/debootstrap.log" ||
    { tail "$work/debootstrap.log"; fail debootstrap; }
  python3 tests/deploy/container.py "$file" "$PWD" "$work" "$base" PRESET=cpu \
    CMAKE_OPTIONS="$options" > "$work/build.log" 2>&1 ||
    { tail -n 40 "$work/build.log"; fail 'the steps of the Dockerfile'; }
  root=$(sed -n 's/^root //p' "$work/build.log")
  entry=$(sed -n 's/^entry //p' "$work/build.log")
  run() { chroot "$root" "$entry" "$@"; }
fi
pass 'the steps of the Dockerfile'
run bench statue:2k --allocators 'atomic,heapwood' --runs 2 --device cpu > "$work/bench.txt" ||
  { cat "$work/bench.txt"; fail 'heapwood bench in the container'; }
grep -q Heapwood "$work/bench.txt" || fail 'the table of heapwood bench'
pass 'heapwood bench in the container'
echo "$passed passed, 0 failed"
