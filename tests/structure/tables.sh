#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tables in the documents agree with the results files under docs/results/.
#   tests/structure/tables.sh ROOT   exit 1 if one differs, 77 without Python 3
set -euo pipefail
command -v python3 > /dev/null || { echo "skipped: python3 is not installed"; exit 77; }
python3 "$1/scripts/docs_tables.py" check
