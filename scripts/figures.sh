#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the tables of docs/performance.md into ${OUT:-out}/figures (a JSON file and a log each).
#   scripts/figures.sh builds SCENE...   builds with AtomicMalloc, AWMalloc-safe, CFMMalloc and
#                                        Heapwood, also with --prefer build; 4-byte ids; both
#                                        builders
#   scripts/figures.sh rays SCENE...     closest hits at 4096x4096: --prefer trace with both
#                                        intersection tests, and the default costs; the camera of a
#                                        scene is read from SCENE.camera beside it
#   scripts/figures.sh scaling           statue from 69 thousand triangles to 20 million
#   scripts/figures.sh allocators        malloc and free alone: AD, ACD, one allocation per thread,
#                                        mixed sizes
#   scripts/figures.sh all SCENE...      all of these
#   scripts/figures.sh slowdowns SCENE...  builds with every allocator: takes longer
#   scripts/figures.sh pools SCENE...      slowdown over the pool: README's table and plot
# HEAPWOOD is the program (default: build/cuda/bin/heapwood, else build/cpu/bin/heapwood), DEVICE
# its device (auto), SECONDS_EACH the time limit of each run (120). A run that fails does not stop
# the others: it is named at the end, and the exit status is 1. scripts/docs_tables.py publishes a
# JSON file (docs/measuring.md).
set -uo pipefail
if [[ -z ${HEAPWOOD:-} ]]; then
  HEAPWOOD=build/cuda/bin/heapwood
  [[ -x $HEAPWOOD ]] || HEAPWOOD=build/cpu/bin/heapwood
fi
[[ -x $HEAPWOOD ]] || {
  echo "figures: error: $HEAPWOOD not found: build it with make demo" >&2
  exit 2
}
out=${OUT:-out}/figures
mkdir -p "$out"
failed=()

run() {  # NAME ARGUMENT...: runs heapwood; its table is printed and written to NAME.log
  local name=$1
  shift
  echo "== $name: heapwood $*"
  timeout "${SECONDS_EACH:-120}" "$HEAPWOOD" "$@" --device "${DEVICE:-auto}" \
    --json "$out/$name.json" 2>&1 | tee "$out/$name.log" || failed+=("$name")
}

builds() {
  local allocators=atomic,awmalloc-safe,cfmmalloc,heapwood
  run builds bench "$@" --allocators "$allocators" --builder single --runs 9
  run builds-prefer bench "$@" --allocators "$allocators" --builder single --runs 9 --prefer build
  run builds-ids bench "$@" --allocators atomic,heapwood --builder single --refs ids --runs 3
  run builders bench "$@" --allocators heapwood --builder both --runs 5
}
slowdowns() { run slowdowns bench "$@" --allocators all --builder single --runs 5; }
pools() {
  local allocators=atomic,heapwood,heapwood-general,heapwood-pages,awmalloc-safe,cfmmalloc,scatter
  allocators+=,halloc,ouroboros-p-s,ouroboros-p-va,bulk,cuda
  run pools bench "$@" --allocators "$allocators" --builder single --runs 5 \
    --pool live:2,live:4,live:8,live:16,fast
}
rays() {
  for scene; do
    local name
    name=$(basename "${scene%.*}")
    run "rays-$name" trace "$scene" --size 4096x4096 --prefer trace
    run "rays-$name-watertight" trace "$scene" --size 4096x4096 --prefer trace --watertight
    run "rays-$name-default" trace "$scene" --size 4096x4096
  done
}
scaling() {
  run scaling bench statue:69k statue:200k statue:1m statue:4m statue:20m \
    --allocators atomic,heapwood --builder single --runs 3
}
allocators() {
  run ad stress ad --payload 16,256,128K --blocks fill --runs 7
  run acd stress acd --payload 16,256,128K --blocks fill --runs 7
  run alloc stress alloc --requests 10000,100000,1000000 --payload 16,256,4096 --rounds 2
  run mixed stress mixed --rounds 2
}

what=${1:-}
shift || true
case $what in
  builds | slowdowns | pools | rays)
    (( $# )) || { echo "figures: error: $what: no SCENE given" >&2; exit 2; }
    "$what" "$@" ;;
  scaling | allocators) "$what" ;;
  all)
    (( $# )) || { echo "figures: error: all: no SCENE given" >&2; exit 2; }
    builds "$@"
    rays "$@"
    scaling
    allocators ;;
  *) sed -n '3,20s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
if (( ${#failed[@]} )); then
  echo "figures: not measured: ${failed[*]}" >&2
  exit 1
fi
