#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The main job: every allocator builds the tree of each scene, and each scene becomes a picture. `make demo` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

scripts/setup.sh build
choose_preset
build heapwood
heapwood=build/$PRESET/bin/heapwood
default="atrium statue stadium"
[ "$PRESET" = cuda ] || default="atrium:50k statue:100k stadium:30k"
read -ra scenes <<< "${SCENES:-$default}"

mkdir -p out
echo
# On CPU threads fewer runs and smaller scenes, so that two cores are done in five minutes.
runs=5 samples=16
[ "$PRESET" = cuda ] || runs=2 samples=4
"$heapwood" bench "${scenes[@]}" --allocators all --runs "$runs" --json out/bench.json
made=(out/bench.json)
for scene in "${scenes[@]}"; do
  name=${scene##*/}  # a path's file name; a procedural scene's name without its size
  name=${name%%[.:]*}
  "$heapwood" render "$scene" --spp "$samples" -o "out/$name.png"
  made+=("out/$name.png")
done
echo
echo "Made:"
printf '  %s\n' "${made[@]}"
echo "Next: make report   the papers' tables and figures measured again, as one page (quick: minutes)"
