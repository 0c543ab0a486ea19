#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A stage that fails with a long log ends the script with the command's status, and names the log.
#   tests/structure/stages.sh ROOT
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/script.sh" << 'END'
set -euo pipefail
source "$1/scripts/stages.sh"
compile() {
  echo 'FAILED: module.o'
  for (( i = 0; i < 20000; ++i )); do echo "error $i"; done
  return 3
}
stage compile compile
END
status=0
(cd "$folder" && V=0 bash script.sh "$1") > "$folder/out" 2>&1 || status=$?
[[ $status == 3 && $(tail -n 1 "$folder/out") == *'complete log: build/log/compile.log' ]] ||
  { echo "status $status, expected 3; the last lines are:" >&2; tail -n 3 "$folder/out" >&2; exit 1; }
