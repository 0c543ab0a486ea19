#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs all tests under the sanitizers, with all allocators: also those that .ci/run leaves out for
# their time.
#   scripts/sanitize.sh [asan|tsan]... [-- CTEST-OPTION...]
# Build folders: build/asan-all, build/tsan-all. 16 cores take about 10 minutes per sanitizer. The
# options are passed to ctest: scripts/sanitize.sh tsan -- -L 'bench|app'.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

presets=() options=()
while (( $# > 0 )); do
  case $1 in
    asan | tsan) presets+=("$1") ;;
    --) options=("${@:2}"); break ;;
    *)
      echo "error: '$1': expected asan, tsan or --" >&2
      exit 2 ;;
  esac
  shift
done
(( ${#presets[@]} )) || presets=(asan tsan)
scripts/setup.sh build faults viewer

status=0
for preset in "${presets[@]}"; do
  folder=build/$preset-all
  cmake --preset "$preset" -B "$folder" -DHEAPWOOD_ALLOCATORS= -DHEAPWOOD_TEST_EXCEPT= \
    -DHEAPWOOD_LONG_TESTS=ON > /dev/null
  cmake --build "$folder" --parallel "$(jobs)"
  echo "=== $preset"
  with_fixed_addresses ctest --test-dir "$folder" --parallel "$(jobs)" --output-on-failure \
    "${options[@]}" || status=1
done
exit $status
