#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds everything and runs the tests that need no GPU; the last line is ctest's verdict. `make
# test` calls it, and `make test-all` with LONG_TESTS=ON; arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

scripts/setup.sh build
choose_preset
build all

# After its verdict ctest lists the skipped tests. A summary replaces that part of its output.
log=build/log/test.log
mkdir -p build/log
run_tests() { ctest --preset "$PRESET" --parallel "$(jobs)" "$@"; }
from=$SECONDS status=0 brief=''
if verbose; then
  run_tests "$@" 2>&1 | tee "$log" | sed -u '/% tests passed, /,$d' || status=$?
  brief=brief  # the failed tests' output has been shown
else
  run_tests "$@" 2>&1 | log_and_show_progress test "$log" || status=$?
  printf '%-16s %s\n' test "$(clock $((SECONDS - from)))"
fi
scripts/test_summary.sh "$log" $brief
exit "$status"
