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
  match german -iwE 'mended'
  # Comments stand alone: none begins by leaning on another one. Figures have a leading zero, and
  # "beside" is for places.
  # shellcheck disable=SC2016  # the program is for awk, not the shell
  files | xargs -0 -r awk '
    function report(rule) { printf "%s:%d:%s:%s\n", FILENAME, FNR, rule, $0 }
    FNR == 1 { in_comment = 0 }
    {
      document = FILENAME ~ /\.md$/
      mark = FILENAME ~ /\.(hpp|cpp|cu|cuh|glsl|in)$/ ? "//" : "#"
      text = ""
      starts = !in_comment
      in_comment = 0
      if (document) text = $0
      else if (match($0, "(^|[ ;{}])" mark " ")) {
        text = substr($0, RSTART + RLENGTH)
        in_comment = $0 ~ ("^ *" mark)
        starts = starts || !in_comment  # after code
      } else if ($0 ~ ("^ *" mark)) in_comment = 1
    }
    !document && starts && FILENAME !~ /^python\// &&
      text ~ /^(The same|As |Of (a|an|the|each|all|events|lists|objects) )/ && text !~ /^As (published|long as|many|soon as|large|far)/ { report("leans") }
    !document && text ~ /(^|[ (~])\.[0-9]/ { report("zero") }
    text ~ /(^|[^-_a-z`])[bB]eside / &&
      text !~ /[bB]eside (it|them|the (memory|scene|headers)|a far|fine|mouldings|`path`)/ { report("beside") }
  '
  # Documents: a figure has a leading zero; no dates; a page names at most two commits; each has a
  # limit of words, and all together have one.
  { grep -nHE '(^|[ (|])\.[0-9]|\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b' README.md CONTRIBUTING.md docs/*.md \
    2> /dev/null || true; } | sed -E 's/^([^:]*:[0-9]+):/\1:document:/'
  total=0
  for page in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md; do
    [[ -e $page ]] || continue
    words=$(wc -w < "$page") limit=3400
    case $page in README.md) limit=1100 ;; CHANGELOG.md) limit=1300 ;; CONTRIBUTING.md) limit=800 ;; esac
    (( total += words )) || true
    (( words <= limit )) || echo "$page:1:document:$words words; at most $limit"
    commits=$(sed -E 's/results\/[^ ]*//g' "$page" | grep -oE '\b[0-9a-f]{7}\b' | grep '[0-9]' | grep '[a-f]' | sort -u | wc -l) || true
    (( commits <= 2 )) || echo "$page:1:document:names $commits commits; at most two"
  done
  (( total <= 35000 )) || echo "docs/:1:document:$total words in README, CONTRIBUTING, CHANGELOG and docs/"
  match columns -E '^.{101}' | grep -vE '^[^:]*\.md:[0-9]+:columns: *\||https?://' |
    grep -vE '^(tests/gpu\.sh|report/|tests/report/|docs/results/verdicts\.md)' || true
} | cut -c 1-160 | { ! grep .; }
