#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs_tables.py writes the right tables and notices differences (tables_catch.py). Exit status 77
# without Python 3.
set -euo pipefail
command -v python3 > /dev/null || { echo "skipped: python3 is not installed"; exit 77; }
exec python3 -B "$(dirname "$0")/tables_catch.py"
