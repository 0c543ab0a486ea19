#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs_tables.py notices a changed figure, plot and results file, rewrites them, and refuses to add
# results of uncommitted changes. Exit status 77 without Python 3.
set -euo pipefail
command -v python3 > /dev/null || { echo "skipped: python3 is not installed"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd) tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
fail() { echo "$1" >&2; exit 1; }
tables() { python3 -B "$tree/scripts/docs_tables.py" "$@"; }

cp -R --parents -t "$tree" "$root"/README.md "$root"/docs "$root"/scripts/docs_*.py
mv "$tree$root"/* "$tree"
tables check || fail "an unchanged tree was rejected"
results=$tree/docs/results/h100-80gb-hbm3-7bbf066-pools.json.gz
for change in "sed -i /CFMMalloc/s/2.84/2.83/ $tree/README.md" \
  "sed -i s/fill/Fill/ $tree/docs/pictures/slowdown_over_pool.svg" \
  "python3 -c 'import gzip; text = gzip.open(\"$results\").read()
gzip.open(\"$results\", \"w\").write(text.replace(b\"median_ms\\\":1.\", b\"median_ms\\\":3.\"))'"; do
  eval "$change"
  tables check > /dev/null && fail "not noticed: $change"
  tables > /dev/null
  tables check || fail "not rewritten after: $change"
done
echo '{"schema": "heapwood.bench/1", "device": {"name": "x"}, "git": {"sha": "1", "dirty": true}}' \
  > "$tree/report.json"
tables add "$tree/report.json" 2> /dev/null && fail "results of uncommitted changes were added"
sed -i 's/true/false/' "$tree/report.json"
tables add "$tree/report.json" | grep -q '/x-1-bench.json.gz$' || fail "not added by its name"
