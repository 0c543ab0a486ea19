#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a command on a separate display and exits with its code; 77 and a reason without Xvfb.
#   tests/viewer/xvfb.sh [-option-of-Xvfb ...] COMMAND ARGUMENT...
set -uo pipefail
if ! command -v Xvfb > /dev/null; then
  echo "skipped: Xvfb is not installed (scripts/setup.sh viewer)" >&2
  exit 77
fi
options=()
while [[ ${1:-} == -* ]]; do
  options+=("$1" "$2")
  shift 2
done

# Xvfb takes a free display and writes its number once it accepts connections.
ready=$(mktemp)
Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp "${options[@]}" 3> "$ready" 2> /dev/null &
server=$!
trap 'kill $server 2> /dev/null; wait $server 2> /dev/null; rm -f "$ready"' EXIT
for _ in {1..200}; do
  [[ -s $ready ]] && break
  kill -0 $server 2> /dev/null || break
  sleep 0.05
done
if ! [[ -s $ready ]]; then
  echo "skipped: Xvfb does not start" >&2
  exit 77
fi
DISPLAY=:$(< "$ready")
export DISPLAY
"$@"
