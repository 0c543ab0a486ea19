#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the k-d tree of each scene with every allocator, renders each scene, and shows the results.
# `make demo` calls it; after Ctrl-C the same command resumes.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

scripts/setup.sh build
choose_preset
build heapwood
heapwood=build/$PRESET/bin/heapwood

# CPU threads: smaller scenes and fewer runs, so that two cores need less than three minutes.
if [[ $PRESET == cuda && $GPU ]]; then
  device=auto runs=5 samples=16 default="atrium statue stadium"
else
  device=cpu runs=2 samples=4 default="atrium:30k statue:60k stadium:20k"
fi
read -ra scenes <<< "${SCENES:-$default}"
mkdir -p out

# An interrupted benchmark with the same arguments resumes; any other one starts from the beginning.
# If out/bench.json exists, it is complete.
partial=out/bench.partial.json
arguments=("${scenes[@]}" --allocators all --runs "$runs" --device "$device")
if [[ ! -f $partial.arguments || $(< "$partial.arguments") != "${arguments[*]}" ]]; then
  rm -f "$partial"
  echo "${arguments[*]}" > "$partial.arguments"
fi
bench() {
  "$heapwood" bench "${arguments[@]}" --json "$partial" --resume > out/bench.txt
}
stage_with_progress bench bench || {
  [[ ! -s out/bench.txt ]] || echo "results so far: out/bench.txt" >&2
  exit 1
}
mv "$partial" out/bench.json
rm -f "$partial.arguments"

pictures=()
for scene in "${scenes[@]}"; do
  name=${scene##*/}  # a path's file name, or a procedural scene's name without its size
  name=${name%%[.:]*}
  picture=out/$name.png
  for (( number = 2; ; ++number )); do  # atrium:50k atrium:100k
    [[ " ${pictures[*]} " == *" $picture "* ]] || break
    picture=out/$name-$number.png
  done
  render() {
    "$heapwood" render "$scene" --spp "$samples" --device "$device" -o "$picture" > out/render.txt
  }
  stage_with_progress "render $name" render
  pictures+=("$picture")
done
rm -f out/render.txt

echo
if verbose; then cat out/bench.txt; else sed '/^Memory:/,$d' out/bench.txt; fi
[[ $device != cpu ]] || echo "CPU threads: these times say nothing about a GPU."
echo "Details: out/bench.txt (memory, method), out/bench.json"
echo "Pictures: ${pictures[*]}"
echo "Next: make report   measures the papers' tables and figures, as one page"
