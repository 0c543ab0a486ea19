#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# requirements.sh reports a requirement without a hash or with several versions, and an installation
# that does not require hashes; and nothing else.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/scripts"
hash=--hash=sha256:0f
printf '%s\n' '# comment' 'a==1.0 \' "    $hash \\" "    $hash" "b-c==2 $hash" '' \
  > "$tree/requirements.txt"
printf '%s\n' '# pip install by hand' 'venv/bin/pip install --quiet \' '  --require-hashes -r x' \
  > "$tree/scripts/good.sh"
bash "$here/requirements.sh" "$tree" || { echo "a good tree was rejected" >&2; exit 1; }
printf '%s\n' "a==1 $hash" 'b==2' "c>=3 $hash" 'd' > "$tree/requirements.txt"
printf '%s\n' '' '"$venv/bin/pip" install a' > "$tree/scripts/bad.sh"
found=$(bash "$here/requirements.sh" "$tree") && { echo "faults not caught" >&2; exit 1; }
expected="requirements.txt:2: not one version: b==2
requirements.txt:3: not one version: c>=3 $hash
requirements.txt:4: not one version: d
scripts/bad.sh:2: pip without --require-hashes: \"\$venv/bin/pip\" install a"
[[ $found == "$expected" ]] || { printf 'expected\n%s\ngot\n%s\n' "$expected" "$found" >&2; exit 1; }
