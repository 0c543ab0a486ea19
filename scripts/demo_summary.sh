#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows the slowdown table of `heapwood bench` in at most 25 lines, and one row of it as a sentence.
#   scripts/demo_summary.sh BENCH_TEXT DEVICE     DEVICE cpu: adds a warning about CPU times
set -euo pipefail

# Omits the scenes' properties, empty lines, and allocators that were skipped in every scene, with
# their footnotes. The notes are joined into one line.
table=$(awk '
  /^(Memory|Builders):/ { exit }
  /^scene / { print; next }
  /^build time \[ms\]/ { rows = 1; print; next }
  /^slowdown/ { print; next }
  !rows || !NF { next }
  /^((◂|\*) |no clear winner)/ { notes = notes (notes ? "; " : "") $0; next }
  /^\[[0-9]+\] / { if (used[$1]) notes = notes (notes ? "; " : "") $0; next }
  !/^ / {
    cells = $0
    skipped = gsub(/skipped \[[0-9]+\]/, "", cells)
    if (skipped && cells ~ /^[^ ]+( \*)? *$/) next
    for (i = 1; i <= NF; ++i) if ($i ~ /^\[[0-9]+\]$/) used[$i] = 1
    print
  }
  END { if (notes) print notes }' "$1")
lines=$(wc -l <<< "$table")
if (( lines > 25 )); then
  head -n 24 <<< "$table"
  echo "... $((lines - 24)) more lines in $1"
else
  echo "$table"
fi
echo

# The row of the sentence: Heapwood, else the last allocator with a figure.
awk -v text="$table" 'BEGIN {
  n = split(text, line, "\n")
  split(line[1], title, " ")
  for (i = 1; i <= n; ++i) {
    if (line[i] ~ /^slowdown/) rows = 1
    else if (rows && split(line[i], cell, " ") > 1 && cell[2] ~ /^[0-9.]+$/ && name != "Heapwood") {
      name = cell[1]
      ratio = cell[2]
    }
  }
  if (name == "") exit
  printf "Building %s with %s takes %s times as long as with AtomicMalloc, the simplest " \
         "allocator, which never reuses memory (*).\n", title[2], name, ratio
}' | fold -s -w 80 | sed 's/ $//'
spread=$(tr -s '\n ' ' ' < "$1" |
         sed -nE 's/.*quartiles at most ([0-9]+)[.0-9]*% of the median apart.*/\1/p')
if (( ${spread:-0} >= 10 )); then
  echo "The quartiles of a build's runs are up to $spread% apart: smaller differences are noise."
fi
if [[ $2 == cpu ]]; then
  echo "CPU threads: these times say nothing about a GPU."
fi
