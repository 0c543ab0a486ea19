#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs_tables.py writes the right table, and notices when a document, a results file or a definition
# no longer agrees with the others.
set -euo pipefail
command -v python3 > /dev/null || { echo "skipped: python3 is not installed"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
tables() { python3 -B "$here/../../scripts/docs_tables.py" --root "$tree" "$@" 2>&1; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

mkdir -p "$tree/docs/results"
report() {  # MEDIAN DIRTY: a report of bench with three results
  cat << JSON
{"schema": "heapwood.bench/1",
 "argv": ["/home/me/bin/heapwood", "bench", "/data/a b.ply", "--json", "x.json", "--runs", "3"],
 "git": {"sha": "0123456789ab", "dirty": $2}, "device": {"kind": "cuda", "name": "NVIDIA H200"},
 "results": [
  {"scene": "a", "triangles": 9999, "allocator": "atomic", "label": "AtomicMalloc",
   "lower_bound": true, "status": "ok", "median_ms": 0.8334, "memory": {"pool_bytes": 5452595}},
  {"scene": "b", "triangles": 1056000, "allocator": "atomic", "label": "AtomicMalloc",
   "lower_bound": true, "status": "ok", "median_ms": $1, "memory": {"pool_bytes": 4294967296}},
  {"scene": "a", "triangles": 9999, "allocator": "heapwood", "label": "Heapwood",
   "lower_bound": false, "status": "ok", "slowdown": 0.987, "registers": 50},
  {"scene": "b", "allocator": "heapwood", "label": "Heapwood", "lower_bound": false,
   "status": "skipped"}]}
JSON
}
define() {  # LINE: the definition of the table, with one more line
  cat > "$tree/docs/results/tables.txt" << 'TEXT'
# A comment.
[times]
files:   h200-0123456-*.json.gz
caption: {device.name} at {git.sha:sha}, `{argv:command}`.
corner:  scene
columns: scene
column:  registers | scene=a | {registers}
head:    triangles | allocator=atomic | {triangles:count}
head:    pool, MiB | | {memory.pool_bytes:MiB}
rows:    allocator | {label}{lower_bound:star} | allocator!=heapwood | {median_ms:3}
row:     {label} | allocator=heapwood | **{slowdown:.2f}**
TEXT
  echo "$1" >> "$tree/docs/results/tables.txt"
}
document() { printf '%s\n' '# Times' "<!-- table: $1 -->" 'old' '<!-- end of table -->' 'After.'; }

report 2.9 false > "$tree/report.json"
define ''
document times > "$tree/README.md"
tables add "$tree/report.json" times > /dev/null
[[ $(ls "$tree/docs/results") == $'h200-0123456-times.json.gz\ntables.txt' ]] ||
  fail "another name: $(ls "$tree/docs/results")"
gzip -dc "$tree"/docs/results/*.gz | grep -qE '/home|/data' && fail "a folder was kept"

found=$(tables check) && fail "an old table was not noticed"
[[ $found == "README.md:2: table 'times' differs"* ]] || fail "another message: $found"
tables > /dev/null
tables check || fail "a table that was just written was rejected"
expected=$(cat << 'TEXT'
# Times
<!-- table: times -->
NVIDIA H200 at 0123456, `heapwood bench 'a b.ply' --runs 3`.

| scene | a | b | registers |
| :--- | ---: | ---: | ---: |
| triangles | 9999 | 1.06M |  |
| pool, MiB | 5.2 | 4096 |  |
| AtomicMalloc * | .833 | 2.90 |  |
| Heapwood | **.99** | skipped | 50 |
<!-- end of table -->
After.
TEXT
)
[[ $(< "$tree/README.md") == "$expected" ]] || fail "expected
$expected
got
$(< "$tree/README.md")"

rejects() {  # WHAT MESSAGE
  local found
  found=$(tables check) && fail "$1 was accepted"
  [[ $found == *"$2"* ]] || fail "$1: expected '$2', got '$found'"
}
sed -i 's/2\.90/2.89/' "$tree/README.md"
rejects 'a changed figure' "README.md:2: table 'times' differs"
tables > /dev/null
report 2.8 false > "$tree/report.json"
tables add "$tree/report.json" times > /dev/null
rejects 'a changed results file' "README.md:2: table 'times' differs"
tables > /dev/null
tables check || fail "a rewritten table was rejected"

report 2.8 true > "$tree/report.json"
tables add "$tree/report.json" > /dev/null && fail "results of uncommitted code were added"
define 'row: several | | {label}'
rejects 'a figure with several values' "has several values"
define 'row: none | allocator=bulk | {median_ms}'
rejects 'a row without figures' "row 'none': no figures"
define ''
document other > "$tree/docs/other.md"
rejects 'an unknown table' "docs/other.md:2: table 'other' is not in"
rm "$tree/docs/other.md"
printf '%s\n' '[unused]' 'files: h200-*.json.gz' 'columns: scene' 'row: t | | {triangles}' \
  >> "$tree/docs/results/tables.txt"
rejects 'a table in no document' "table 'unused' is in no document"
define ''
mv "$tree"/docs/results/h200-0123456-{times,}.json.gz 2> /dev/null || true
mv "$tree"/docs/results/h200-0123456*.json.gz "$tree/docs/results/h200-1111111-times.json.gz"
sed -i 's/h200-0123456/h200-1111111/' "$tree/docs/results/tables.txt"
rejects 'a file named after another commit' "does not begin with device and commit"
