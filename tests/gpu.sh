#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The GPU suite in one call, one line a test: tests/gpu.sh [BIN-FOLDER] [SCENE-FILE...]
#   1. the test programs with HEAPWOOD_TEST_DEVICE=cuda:0 (allocator conformance, builder, rays and pictures);
#   2. the same tree hash on CPU and GPU, for the procedural scenes and the files named;
#   3. compute-sanitizer's memcheck, racecheck and synccheck over a small build with every allocator, and over a picture.
# Needs a GPU and the binaries of `cmake --build --preset cuda`; logs go to ${OUT:-out}/gpu. Exit 1 if anything failed.
set -u
bin=${1:-build/cuda/bin}
shift || true
device=${HEAPWOOD_TEST_DEVICE:-cuda:0}
logs=${OUT:-out}/gpu
mkdir -p "$logs"
passed=0
failed=0

# check NAME SECONDS COMMAND...
check() {
  local name=$1 limit=$2 start=$EPOCHREALTIME status
  shift 2
  local log="$logs/${name//[^A-Za-z0-9._-]/_}.log"
  timeout "$limit" "$@" >"$log" 2>&1 && status=ok || status=FAIL
  if [ $status = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  printf '%-4s %-44s %6.1f s' "$status" "$name" "$(awk "BEGIN { print $EPOCHREALTIME - $start }")"
  # A test program's own count, or the last line of what failed.
  if [ $status = FAIL ]; then
    printf '  %s' "$(grep -E 'FAILED  \]|ERROR SUMMARY|RACECHECK SUMMARY|error' "$log" | tail -1 | cut -c1-150)"
  else
    printf '  %s' "$(grep -E 'PASSED  \]' "$log" | tail -1)"
  fi
  echo
}

tree_hash() { # SCENE DEVICE
  "$bin/heapwood" build "$1" --device "$2" --allocator atomic --runs 1 --json /dev/stdout 2>/dev/null |
    grep -o '"hash": *"[^"]*"' | head -1
}
same_tree() { # SCENE
  local cpu gpu
  cpu=$(tree_hash "$1" cpu)
  gpu=$(tree_hash "$1" "$device")
  echo "cpu $cpu, $device $gpu"
  [ -n "$cpu" ] && [ "$cpu" = "$gpu" ]
}
sanitize() { # TOOL ARGUMENTS...
  local tool=$1
  shift
  compute-sanitizer --tool "$tool" --error-exitcode 9 "$bin/heapwood" "$@"
}

check "devices" 30 "$bin/heapwood" list devices
for program in test_alloc test_kdtree test_render; do
  [ -x "$bin/$program" ] && check "$program" 240 env HEAPWOOD_TEST_DEVICE="$device" "$bin/$program" --gtest_brief=1
done
export -f same_tree tree_hash
export bin device
for scene in atrium:100k statue:100k stadium:60k pipes:100k "$@"; do
  check "tree $(basename "$scene")" 120 bash -c 'same_tree "$1"' _ "$scene"
done
if command -v compute-sanitizer >/dev/null; then
  # Those that trees are built with.
  allocators=$("$bin/heapwood" list allocators --json | grep -oE '"(id|frees)": *"[^"]*"' |
    awk -F'"' '$2 == "id" { id = $4 } $2 == "frees" && $4 != "all at once" { print id }')
  for tool in memcheck racecheck synccheck; do
    for id in $allocators; do
      check "$tool $id" 120 bash -c "$(declare -f sanitize); sanitize \"\$@\"" _ \
        "$tool" build atrium:2k --device "$device" --allocator "$id" --runs 1 --timeout 100
    done
    check "$tool render" 120 bash -c "$(declare -f sanitize); sanitize \"\$@\"" _ \
      "$tool" render atrium:2k --device "$device" --size 64x48 --spp 1 -o "$logs/$tool.png" --timeout 100
  done
else
  echo "note: compute-sanitizer not found, not run"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
