#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tables in the documents agree with their results files; exit status 77 without Python 3.
command -v python3 > /dev/null || { echo "skipped: python3 is not installed"; exit 77; }
exec python3 -B "$1/scripts/docs_tables.py" check
