#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds everything and runs every test that needs no GPU. `make test` calls it; arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

scripts/setup.sh build
choose_preset
build all
ctest --preset "$PRESET" --parallel "$(jobs)" "$@"
