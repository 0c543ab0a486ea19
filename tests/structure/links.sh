#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Relative links in Markdown documents are valid: the file exists and, after #, so does the heading.
#   tests/structure/links.sh ROOT   prints FILE:LINE: no such file|heading: LINK; exit 1 if any
set -euo pipefail
cd "$1"
pruned=(\( -path ./.git -o -path ./build -o -path ./out \) -prune -o)
paths=$(find . "${pruned[@]}" -printf '%P\n')
# shellcheck disable=SC2016  # the program is for awk
grep '\.md$' <<< "$paths" | sort | xargs -r awk -v paths="$paths" '
  BEGIN { for (n = split(paths, path, "\n"); n > 0; n--) exists[path[n]] = 1 }
  # The name of a heading as GitHub makes it: lower case, no punctuation, dashes for blanks.
  function anchor(heading) {
    sub(/^#+ +/, "", heading)
    heading = tolower(heading)
    gsub(/[^a-z0-9 _-]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
  }
  function normal(name) {
    while (sub(/[^\/]+\/\.\.\//, "", name) || sub(/\.\//, "", name)) {}
    return name
  }
  FNR == 1 { code = 0 }
  /^```/ { code = !code }
  code { next }
  /^#+ / { exists[FILENAME "#" anchor($0)] = 1 }
  {
    rest = $0
    while (match(rest, /<a id="[^"]*"/)) {
      exists[FILENAME "#" substr(rest, RSTART + 7, RLENGTH - 8)] = 1
      rest = substr(rest, RSTART + RLENGTH)
    }
    rest = $0
    while (match(rest, /\]\([^) ]+\)/)) {
      link = substr(rest, RSTART + 2, RLENGTH - 3)
      rest = substr(rest, RSTART + RLENGTH)
      if (link ~ /^[a-z]+:/) continue
      links++
      where[links] = FILENAME ":" FNR
      shown[links] = link
      folder = FILENAME
      if (!sub(/[^\/]*$/, "", folder)) folder = ""
      wanted[links] = link ~ /^#/ ? FILENAME link : normal(folder link)
    }
  }
  END {
    for (i = 1; i <= links; i++) {
      file = wanted[i]
      sub(/#.*/, "", file)
      sub(/\/$/, "", file)
      if (file in exists && (wanted[i] in exists || wanted[i] !~ /#/)) continue
      print where[i] ": no such " (file in exists ? "heading" : "file") ": " shown[i]
      failed = 1
    }
    exit failed
  }'
