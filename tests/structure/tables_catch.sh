#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs_tables.py notices changed figures, plots and results, and adds none of uncommitted code.
set -euo pipefail
command -v python3 > /dev/null || exit 77
root=$(cd "$(dirname "$0")/../.." && pwd) tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
fail() { echo "$1" >&2; exit 1; }
tables() { python3 -B "$tree/scripts/docs_tables.py" "$@"; }
cp -R --parents -t "$tree" "$root"/README.md "$root"/docs "$root"/scripts/docs_tables.py
mv "$tree$root"/* "$tree"
tables check || fail "an unchanged tree was rejected"
results=$tree/docs/results/h100-80gb-hbm3-7bbf066-pools.json.gz
for change in "sed -i /CFMMalloc/s/2.84/2.83/ $tree/README.md" \
  "sed -i s/fill/Fill/ $tree/docs/pictures/slowdown_over_pool.svg" \
  "zcat $results | sed 's/median_ms\":1/median_ms\":3/g' | gzip > $tree/new && mv $tree/new $results"; do
  eval "$change"
  tables check > /dev/null && fail "not noticed: $change"
  tables > /dev/null && tables check || fail "not rewritten after: $change"
done
report='{"schema": "heapwood.bench/1", "device": {"name": "x"}, "git": {"sha": "1", "dirty": true}}'
tables add <(echo "$report") 2> /dev/null && fail "results of uncommitted changes were added"
tables add <(echo "${report/true/false}") | grep -q '/x-1-bench.json.gz$' || fail "wrong name"
