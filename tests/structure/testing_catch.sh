#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# testing.sh reports a folder, a fuzz target and a model that the page does not name, and a target
# without a corpus; and nothing else.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/docs "$tree"/tests/{fuzz/corpora/ply,model,faults}
touch "$tree"/tests/fuzz/{fuzz_ply.cpp,corpora/ply/1} "$tree/tests/model/page_model.cpp" \
  "$tree/tests/faults/commands.py"
echo '`fuzz` `model` `faults` `ply` `page`' > "$tree/docs/testing.md"
bash "$here/testing.sh" "$tree" || { echo "a good tree was rejected" >&2; exit 1; }
mkdir "$tree/tests/new"
touch "$tree"/tests/fuzz/fuzz_obj.cpp "$tree/tests/model/queue_model.cpp"
found=$(bash "$here/testing.sh" "$tree") && { echo "faults not caught" >&2; exit 1; }
expected='docs/testing.md: no word about tests/new
docs/testing.md: no word about tests/fuzz/fuzz_obj.cpp
tests/fuzz/fuzz_obj.cpp: no corpus in tests/fuzz/corpora/obj
docs/testing.md: no word about tests/model/queue_model.cpp'
[[ $found == "$expected" ]] || { printf 'expected\n%s\ngot\n%s\n' "$expected" "$found" >&2; exit 1; }
