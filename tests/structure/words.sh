#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rejects wording that does not follow the conventions (docs/glossary.md lists the words to use),
# and long lines.
#   tests/structure/words.sh ROOT          prints FILE:LINE: RULE: TEXT for each match; exit 1 if any
#   tests/structure/words.sh ROOT unused   prints the unused entries of the allow-list
# Paths not cleaned yet are in words_allowed.txt beside this script, or in $WORDS_ALLOWED.
# Line length: Markdown tables, lines with a URL and raw string data (tests/golden) are exempt.
set -euo pipefail
export LC_ALL=C.UTF-8  # columns are characters, not bytes
allowed=${WORDS_ALLOWED:-$(cd "$(dirname "$0")" && pwd)/words_allowed.txt}
cd "$1"
mode=${2:-check}

files() {
  find . \( -path ./.git -o -path ./build -o -path ./out -o -path ./tests/golden \) -prune -o -type f \
    \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.in' -o -name '*.glsl' \
       -o -name '*.sh' -o -name '*.py' -o -name '*.md' -o -name '*.cmake' -o -name '*.def' \
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
  match columns -E '^.{101}' | grep -vE '^[^:]*\.md:[0-9]+:columns: *\||https?://' || true
} | awk -v list="$allowed" -v mode="$mode" '
  # An entry is PATH_PREFIX [RULE...]; an entry without rules disables all rules for the prefix.
  BEGIN {
    while ((getline line < list) > 0) {
      sub(/ *#.*/, "", line)
      n = split(line, word, " ")
      if (n == 0) continue
      prefix[++entries] = word[1]
      rules[entries] = " "
      for (i = 2; i <= n; i++) rules[entries] = rules[entries] word[i] " "
    }
  }
  {
    file = $0
    sub(/:.*/, "", file)
    rule = substr($0, length(file) + 2)
    sub(/^[0-9]+:/, "", rule)
    sub(/:.*/, "", rule)
    exempt = 0
    for (i = 1; i <= entries; i++) {
      if (index(file, prefix[i]) != 1) continue
      if (rules[i] != " " && index(rules[i], " " rule " ") == 0) continue
      exempt = used[i] = 1
    }
    if (exempt) next
    found++
    if (mode == "check") print substr($0, 1, 160)
  }
  END {
    if (mode == "unused") for (i = 1; i <= entries; i++) if (!used[i]) print prefix[i]
    if (mode == "check" && found) exit 1
  }'
