#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/testing.md names every folder of tests/, every fuzz target, model checker and script that
# disturbs commands; each fuzz target has a corpus.
#   tests/structure/testing.sh ROOT   prints what is missing; exit 1 if anything is
set -euo pipefail
cd "$1"
page=docs/testing.md missing=0
report() { echo "$1"; missing=1; }

for folder in tests/*/; do
  folder=$(basename "$folder")
  grep -q "\`$folder\`" "$page" || report "$page: no word about tests/$folder"
done
for file in tests/fuzz/fuzz_*.cpp tests/model/*_model.cpp tests/faults/*.py; do
  [[ -e $file ]] || continue
  name=$(basename "${file%.*}")
  name=${name#fuzz_} name=${name%_model}
  [[ $file == */commands.py ]] || grep -q "\`$name\`" "$page" || report "$page: no word about $file"
  [[ $file != */fuzz/* || -n $(ls "tests/fuzz/corpora/$name" 2> /dev/null) ]] ||
    report "$file: no corpus in tests/fuzz/corpora/$name"
done
exit $missing
