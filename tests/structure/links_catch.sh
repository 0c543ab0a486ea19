#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# links.sh reports a missing file and a missing heading, and nothing else.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/docs"
printf '%s\n' '# A' '## What is "it", then?' '[b](docs/b.md#one-two) [u](https://example.org/x#y)' > "$tree/a.md"
printf '%s\n' '## One, two' '<a id="old"></a>[a](../a.md#what-is-it-then) [self](#old) [folder](../docs/)' \
  '```' '[code](none.md)' '```' > "$tree/docs/b.md"
bash "$here/links.sh" "$tree" || { echo "good links were rejected" >&2; exit 1; }
printf '%s\n' '[file](c.md)' '[heading](../a.md#b)' > "$tree/docs/bad.md"
found=$(bash "$here/links.sh" "$tree") && { echo "bad links not caught" >&2; exit 1; }
expected=$'docs/bad.md:1: no such file: c.md\ndocs/bad.md:2: no such heading: ../a.md#b'
[[ $found == "$expected" ]] || { printf 'expected\n%s\ngot\n%s\n' "$expected" "$found" >&2; exit 1; }
