#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deploy/reframe with the installed ReFrame's local back end:
#   [HEAPWOOD=build/cpu/bin/heapwood] tests/deploy/reframe.sh
#   1. it runs every combination of parameters and writes performance values;
#   2. a program that fails, and one that builds another tree, fail the sanity check.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/deploy/common.sh
find_heapwood
type -P reframe > /dev/null || { echo "skipped: no reframe (ReFrame)" >&2; exit 77; }
checks=$PWD/deploy/reframe/heapwood_checks.py
cd "$work"
export TMPDIR=$work HOME=$work HEAPWOOD=$heapwood RFM_COLORIZE=n
export HEAPWOOD_SCENES='statue:2k pipes:2k' HEAPWOOD_ALLOCATORS='atomic heapwood cuda'
export HEAPWOOD_POOLS='fast 64M'

# run_reframe NAME OPTION...: logs to NAME.log and NAME.json.
run_reframe() {
  timeout 200 reframe --prefix "$work/$1" --report-file "$work/$1.json" -c "$checks" \
    -S device=cpu -S threads=1 -S runs=3 "${@:2}" -r > "$1.log" 2>&1
}
run_reframe local --exec-policy=serial || { cat local.log; fail 'local back end'; }
grep -qE 'Ran 12/12 test case\(s\) from 12 check\(s\) \(0 failure' local.log ||
  { cat local.log; fail 'not all tests have passed'; }
python3 - local.json << 'PYTHON' || fail 'performance values'
import json, sys
cases = [case for run in json.load(open(sys.argv[1]))['runs'] for case in run['testcases']]
assert len(cases) == 12, len(cases)
for case in cases:
    values = {name.split(':')[-1]: value[0] for name, value in case['perfvalues'].items()}
    assert values['build_time'] > 0 and values['high_water'] > 0, values
    # The system's malloc cannot be walked: absent, not 0.
    absent = 'allocator=cuda' in case['display_name']
    assert ('external_fragmentation' in values) != absent, values
PYTHON
pass 'local: 12 tests'

# The allocators of the default list exist.
"$heapwood" list allocators --json > allocators.json
env -u HEAPWOOD_ALLOCATORS reframe -c "$checks" -l > list.log
grep -oE '%allocator=[^ ]+' list.log | sort -u > named.txt
[[ -s named.txt ]] || fail "no allocators in $work/list.log"
while read -r name; do
  grep -qF "\"${name#%allocator=}\"" allocators.json || fail "${name#%allocator=}: no allocator"
done < named.txt
pass 'the default parameters exist'

# Sanity: an exit code and another tree.
cat > failing << PROGRAM
#!/usr/bin/env bash
"$heapwood" "\$@"
exit 1
PROGRAM
cat > other-tree << PROGRAM
#!/usr/bin/env bash
"$heapwood" "\$@" && [[ "\$*" != *'--allocator heapwood'* ]] ||
  sed -i 's/"hash": "[0-9a-f]*"/"hash": "0123456789abcdef"/' result.json
PROGRAM
chmod +x failing other-tree
expect_failure() {  # PROGRAM TEXT
  ! HEAPWOOD_SCENES=statue:2k HEAPWOOD_ALLOCATORS=heapwood HEAPWOOD_POOLS=fast \
    run_reframe "$1-run" -S heapwood="$work/$1" || fail "$1: passed"
  if ! grep -q '(1 failure' "$1-run.log" || ! grep -q "$2" "$1-run.log"; then
    cat "$1-run.log"
    fail "$1: the reason is not '$2'"
  fi
}
expect_failure failing 'heapwood failed'
expect_failure other-tree 'the hash of the tree is 0123456789abcdef'
expect_failure absent 'heapwood failed'
pass 'a failure, another tree and an absent program are noticed'

echo "$passed passed, 0 failed"
