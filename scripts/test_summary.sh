#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Summarizes a ctest run: the output of the tests that failed, their names, the number of skipped
# tests, and ctest's verdict as the last line.
#   scripts/test_summary.sh LOG [brief]     LOG: ctest's output; brief: without the tests' output
set -euo pipefail
log=$1
verdict=$(grep -E '% tests passed, [0-9]+ tests failed out of [0-9]+$' "$log" | tail -n 1) || {
  tail -n 25 "$log"
  echo "ctest printed no verdict; complete log: $log"
  exit
}

if [[ ${2:-} != brief ]]; then
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
