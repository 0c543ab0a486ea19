#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every package from PyPI is pinned to files whose hashes are known: pip installs with
# --require-hashes, and every requirement is one version with a SHA-256.
#   tests/structure/requirements.sh ROOT   prints FILE:LINE: FAULT: TEXT; exit 1 if any
set -euo pipefail
cd "$1"
pruned=(\( -path ./.git -o -path ./build -o -path ./out \) -prune -o)
faults=0

# A command or a requirement may continue over several lines that end in a backslash.
# shellcheck disable=SC2016  # the programs are for awk
join='{ if (text == "") line = FNR; text = text $0 } /\\$/ { sub(/\\$/, "", text); next }'
requirements=$(find . "${pruned[@]}" -type f -name '*requirements*.txt' -printf '%P\n' | sort)
for file in $requirements; do
  # shellcheck disable=SC2016
  awk "$join"'
    text !~ /^ *(#|$)/ {
      if (text !~ /^[A-Za-z0-9._-]+==[^ *]+ /) fault = "not one version"
      else if (text !~ / --hash=sha256:[0-9a-f]+/) fault = "no hash"
      else fault = ""
      if (fault != "") { printf "%s:%d: %s: %s\n", FILENAME, line, fault, text; found++ }
    }
    { text = "" }
    END { exit found != 0 }' "$file" || faults=1
done
scripts=$(find . "${pruned[@]}" -type f \( -name '*.sh' -o -path './.ci/*' -o -name '*.cmake' -o \
  -name CMakeLists.txt -o -name Makefile \) ! -path './tests/structure/*' -printf '%P\n')
for file in $scripts; do
  # shellcheck disable=SC2016
  awk "$join"'
    text ~ /pip[0-9.]*"? install / && text !~ /^ *#/ && text !~ /--require-hashes/ {
      printf "%s:%d: pip without --require-hashes: %s\n", FILENAME, line, text
      found++
    }
    { text = "" }
    END { exit found != 0 }' "$file" || faults=1
done
exit $faults
