#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# words.sh reports what it should: a small tree with one fault of each kind, next to correct text.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{alloc,docs,old,build}
export WORDS_ALLOWED=$tree/allowed
printf '%s\n' '# comment' 'old/       # all rules' 'docs/wide columns' > "$WORDS_ALLOWED"
long=$(printf '%0101d' 0)

file() { printf '%s\n' "${@:2}" > "$tree/$1"; }
file alloc/good.hpp '// Bytes per warp.' 'int bytes_per_warp, almost, is_a_nodeless, mostly;' "//${long:3}"
file docs/table.md "| $long |" "see https://example.org/$long" 'There is room for two more.' "${long:2}µ"
file docs/wide.md "$long"
file old/bad.cpp '// Whoever comes last' 'int most_listed, bytes_a_warp;' "// $long"
file build/bad.cpp '// nobody'
file alloc/data.png 'nobody'
bash "$here/words.sh" "$tree" || { echo "a tree without a fault was rejected" >&2; exit 1; }

file alloc/who.hpp '' '// Whoever finishes goes on.'
file docs/vain.md 'A search in vain.'
file docs/diary.md 'Since 2026-11-25 it takes' 'only .69 ms.' '0.5 and v1.5 are right'
file alloc/per.hpp 'int bytes_a_warp = 0;'
file alloc/max.hpp 'int most_listed = 30;'
file alloc/min.cu 'int least_chunk = 30;'
file Makefile '# the rules of the house'
file alloc/long.cpp '' '' "// $long"
file docs/wide.md "$long nobody"
rm "$tree/old/bad.cpp"
expected='Makefile:1:metaphor
alloc/long.cpp:3:columns
alloc/max.hpp:1:max_min
alloc/min.cu:1:max_min
alloc/per.hpp:1:per
alloc/who.hpp:2:pronoun
docs/diary.md:1:document
docs/diary.md:2:document
docs/vain.md:1:pronoun
docs/wide.md:1:pronoun'
if found=$(bash "$here/words.sh" "$tree"); then
  echo "exit code 0 although there are faults" >&2
  exit 1
fi
found=$(cut -d: -f1-3 <<< "$found" | LC_ALL=C sort)
if [[ $found != "$expected" ]]; then
  diff <(echo "$expected") <(echo "$found") >&2
  exit 1
fi
[[ $(bash "$here/words.sh" "$tree" unused) == old/ ]] || { echo "unused entry not reported" >&2; exit 1; }
