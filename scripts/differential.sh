#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares the closest hits of every traversal with brute force in double precision, on many random
# meshes (tests/render/test_differential.cpp).
#   scripts/differential.sh [MESHES] [FIRST-SEED] [BIN-FOLDER]
# Defaults: 20000 meshes from seed 1, the test program in build/cpu/bin. JOBS processes run in
# parallel (default: one per processor). HEAPWOOD_TEST_DEVICE=cuda:0 tests the kernels of a GPU. The
# exit status is 1 if a hit was wrong; the message names the seed, and HEAPWOOD_TEST_MESHES=1
# HEAPWOOD_TEST_SEED=... repeats that mesh.
set -euo pipefail
cd "$(dirname "$0")/.."

meshes=${1:-20000} first=${2:-1} bin=${3:-build/cpu/bin} jobs=${JOBS:-$(nproc)}
test=$bin/test_render
[[ -x $test ]] || {
  echo "differential: $test not found;" \
       "build it: cmake --build --preset cpu --target test_render" >&2
  exit 1
}

each=$(( (meshes + jobs - 1) / jobs ))
pids=()
for (( job = 0; job < jobs; ++job )); do
  HEAPWOOD_TEST_MESHES=$each HEAPWOOD_TEST_SEED=$(( first + job * each )) \
    "$test" --gtest_filter='Differential.*' --gtest_brief=1 &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
(( failed )) || echo "differential: $(( each * jobs )) meshes from seed $first: all hits right"
exit "$failed"
