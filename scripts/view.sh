#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the viewer and opens it on the first of SCENES. `make view` calls it; arguments go to
# heapwood-view.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

if [[ -z ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]]; then
  echo "error: no window can be opened here: DISPLAY is not set (ssh -X sets it)" >&2
  exit 1
fi
scripts/setup.sh build viewer
choose_preset
build heapwood-view
read -ra scenes <<< "${SCENES:-atrium}"
exec "build/$PRESET/bin/heapwood-view" "${scenes[0]}" "$@"
