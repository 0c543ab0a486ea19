#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows the slowdown table of `heapwood bench` in at most 25 lines, and its verdict as a sentence.
#   scripts/demo_summary.sh BENCH_TEXT DEVICE     DEVICE cpu: adds a warning about CPU times
set -euo pipefail

# Omits the scenes' properties, empty lines, and allocators that were skipped in every scene, with
# their footnotes. The other notes, which an empty line separates from the rows, are joined.
table=$(awk '
  /^(Memory|Builders):/ { exit }
  /^scene / { rows = notes = 0; print; next }
  /^build time \[ms\]/ || /^slowdown/ { rows = 1; notes = 0; print; next }
  !NF { if (count) exit; notes = rows; next }
  !rows { next }
  notes && /^ / { sub(/^ +/, " "); note[count] = note[count] $0; next }
  notes { note[++count] = $0; next }
  {
    cells = $0
    skipped = gsub(/skipped \[[0-9]+\]/, "", cells)
    if (skipped && cells ~ /^[^ ]+( [^ ]+)*( \*)? *$/) next
    for (i = 1; i <= NF; ++i) if ($i ~ /^\[[0-9]+\]$/) used[$i] = 1
    print
  }
  END {
    for (i = 1; i <= count; ++i) {
      split(note[i], word, " ")
      if (word[1] !~ /^\[[0-9]+\]$/ || used[word[1]]) text = text (text ? "; " : "") note[i]
    }
    if (text) print text
  }' "$1")
lines=$(wc -l <<< "$table")
if (( lines > 25 )); then
  head -n 24 <<< "$table"
  echo "... $((lines - 24)) more lines in $1"
else
  echo "$table"
fi
echo

# What the marks and the notes of the table say: each mark is a scene.
awk '
  /^(Memory|Builders):/ { exit }
  wrapped && /^ / { sub(/^ +/, " "); unclear = unclear $0 }
  { wrapped = wrapped && /^ / }
  /^no clear winner/ { unclear = "N" substr($0, 2); wrapped = 1 }
  !/^◂/ && (marks = gsub(/ ◂/, "")) {
    split($0, cell, /  +/)
    if (!(cell[1] in won)) name[++count] = cell[1]
    won[cell[1]] += marks
  }
  END {
    for (i = 1; i <= count; ++i) {
      scenes = won[name[i]] == 1 ? " scene" : " scenes"
      text = text (i > 1 ? ", " : "") name[i] " in " won[name[i]] scenes
    }
    if (text) printf "Fastest allocator that frees (◂): %s.\n", text
    if (unclear) print unclear "."
  }' "$1"
if [[ $2 == cpu ]]; then
  echo "CPU threads: these times say nothing about a GPU."
fi
