#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the tables of docs/performance.md again, into ${OUT:-out}/figures (a JSON file and a log each).
#   scripts/figures.sh builds SCENE...   builds with AtomicMalloc, AWMalloc-safe, CFMMalloc, Heapwood, also with --prefer build; 4-byte ids;
#                                        both builders
#   scripts/figures.sh rays SCENE...     closest hits at 4096x4096, --prefer trace with both intersections, and the default costs; a
#                                        scene's camera is SCENE.camera beside it
#   scripts/figures.sh scaling           statue from 69 thousand triangles to 20 million
#   scripts/figures.sh allocators        malloc and free alone: AD, ACD, one allocation a thread, mixed sizes
#   scripts/figures.sh all SCENE...
# HEAPWOOD is the program (build/cuda/bin/heapwood, else build/cpu/bin/heapwood), DEVICE what it runs on (auto), SECONDS_EACH (120) the
# most that one of its runs may take. One that fails is named at the end, and the others go on; exit 1 then.
set -uo pipefail
if [[ -z ${HEAPWOOD:-} ]]; then
  HEAPWOOD=build/cuda/bin/heapwood
  [[ -x $HEAPWOOD ]] || HEAPWOOD=build/cpu/bin/heapwood
fi
[[ -x $HEAPWOOD ]] || { echo "figures: error: no program $HEAPWOOD: make test builds it" >&2; exit 2; }
out=${OUT:-out}/figures
mkdir -p "$out"
failed=()

run() {  # NAME ARGUMENT...: heapwood with them, its table on the terminal and in NAME.log
  local name=$1
  shift
  echo "== $name: heapwood $*"
  timeout "${SECONDS_EACH:-120}" "$HEAPWOOD" "$@" --device "${DEVICE:-auto}" --json "$out/$name.json" 2>&1 | tee "$out/$name.log" || failed+=("$name")
}

builds() {
  run builds bench "$@" --allocators atomic,awmalloc-safe,cfmmalloc,heapwood --builder single --runs 9
  run builds-prefer bench "$@" --allocators atomic,awmalloc-safe,cfmmalloc,heapwood --builder single --runs 9 --prefer build
  run builds-ids bench "$@" --allocators atomic,heapwood --builder single --refs ids --runs 3
  run builders bench "$@" --allocators heapwood --builder both --runs 5
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
  run scaling bench statue:69k statue:200k statue:1m statue:4m statue:20m --allocators atomic,heapwood --builder single --runs 3
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
  builds | rays)
    (( $# )) || { echo "figures: error: $what of which scenes?" >&2; exit 2; }
    "$what" "$@" ;;
  scaling | allocators) "$what" ;;
  all)
    (( $# )) || { echo "figures: error: all of which scenes?" >&2; exit 2; }
    builds "$@"
    rays "$@"
    scaling
    allocators ;;
  *) sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
if (( ${#failed[@]} )); then
  echo "figures: not measured: ${failed[*]}" >&2
  exit 1
fi
