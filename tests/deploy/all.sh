#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the tests of deploy/ but container.sh, which takes minutes; `make deploy-test` calls it. The
# last line is 'N passed, N failed, N skipped', of the scripts; exit code 1 if one failed.
#   [INSTALL=1] [HEAPWOOD=build/cpu/bin/heapwood] tests/deploy/all.sh
set -u
cd "$(dirname "$0")/../.." || exit
passed=0 failed=0 skipped=0
for name in slurm reframe; do
  echo "== $name"
  "tests/deploy/$name.sh"
  case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    130) exit 130 ;;
    *) failed=$((failed + 1)) ;;
  esac
done
echo "$passed passed, $failed failed, $skipped skipped"
(( failed == 0 ))
