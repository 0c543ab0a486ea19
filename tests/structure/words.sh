#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rejects wording that does not follow the conventions (docs/glossary.md lists the words to use),
# and long lines. This folder has the patterns and faults on purpose, so it is not checked.
#   tests/structure/words.sh ROOT   prints FILE:LINE:RULE:TEXT for each match; exit 1 if any
# Line length: Markdown tables, lines with a URL, command lines, and sentences that are one string
# are exempt.
set -euo pipefail
export LC_ALL=C.UTF-8  # columns are characters, not bytes
cd "$1"

files() {
  find . \( -path ./.git -o -path ./build -o -path ./out -o -path ./tests/golden -o -path ./tests/structure \) \
    -prune -o -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.in' \
       -o -name '*.glsl' -o -name '*.sh' -o -name '*.py' -o -name '*.md' -o -name '*.cmake' -o -name '*.def' \
       -o -name CMakeLists.txt -o -name Makefile \) -printf '%P\0'
}

match() {  # RULE GREP_OPTION...: prints FILE:LINE:RULE:TEXT
  local rule=$1
  shift
  files | { xargs -0 -r grep -nH "$@" || true; } | sed -E "s/^([^:]*:[0-9]+):/\1:$rule:/"
}

{
  match pronoun -iwE 'whoever|nobody|somebody|anew|in vain'
  match per -E '\b[a-z]+_a_(warp|thread|lane|ref|node|triangle|block|multiprocessor)\b'
  match max_min -E '\b(most|least)_[a-z]+'
  match metaphor -iE '\brules? of the house\b|\bthe house\b|\brooms\b|\bin no room\b'
  # Documents: a figure has a leading zero, no dates; in all at most 35,000 words.
  { grep -nHE '(^|[ (|])\.[0-9]|\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b' README.md CONTRIBUTING.md docs/*.md \
    2> /dev/null || true; } | sed -E 's/^([^:]*:[0-9]+):/\1:document:/'
  words=$({ cat README.md CONTRIBUTING.md CHANGELOG.md docs/*.md 2> /dev/null || true; } | wc -w)
  (( words <= 35000 )) || echo "docs/:1:document:$words words in README, CONTRIBUTING, CHANGELOG and docs/"
  match columns -E '^.{101}' | grep -vE '^[^:]*\.md:[0-9]+:columns: *\||https?://' |
    grep -vE '^(tests/gpu\.sh|report/|tests/report/|docs/results/verdicts\.md)' || true
} | cut -c 1-160 | { ! grep .; }
