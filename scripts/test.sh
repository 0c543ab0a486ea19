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
from=$SECONDS status=0
if verbose; then
  run_tests "$@" 2>&1 | tee "$log" | sed -u '/% tests passed, /,$d' || status=$?
else
  run_tests "$@" 2>&1 | log_and_show_progress test "$log" || status=$?
  printf '%-16s %s\n' test "$(clock $((SECONDS - from)))"
fi
verdict=$(grep -E '% tests passed, [0-9]+ tests failed out of [0-9]+$' "$log" | tail -n 1) || {
  tail -n 25 "$log"
  echo "ctest printed no verdict; complete log: $log"
  exit "$status"
}
if ! verbose; then
  # The output of a failed test follows its line, up to the next test's.
  awk '/^ *[0-9]+\/[0-9]+ Test +#/ { failed = !/ Passed |\*\*\*(Skipped|Not Run)/ }
       /^ *Start +[0-9]+: / || /% tests passed, / { failed = 0 }
       failed' "$log" | head -n 200
fi
awk '/^The following tests did not run:/ { skipped = 1; failed = 0; next }
     /^The following tests FAILED:/ { failed = 1; skipped = 0; print; next }
     /^[^ \t]/ { skipped = failed = 0 }
     skipped && NF { ++count }
     failed && NF
     END { if (count) printf "%d tests were skipped; their names are in %s\n", count, log_file }
    ' log_file="$log" "$log"
echo "$verdict"
exit "$status"
