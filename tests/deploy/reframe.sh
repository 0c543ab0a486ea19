#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deploy/reframe with ReFrame's local back end, and with those for Slurm on the virtual nodes of
# cluster.sh:
#   [INSTALL=1] [HEAPWOOD=build/cpu/bin/heapwood] tests/deploy/reframe.sh
#   1. all run every combination of parameters and write performance values;
#   2. a program that fails, and one that builds another tree, fail the sanity check.
# ReFrame is installed into build/reframe-venv, with INSTALL=1 only.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/deploy/common.sh
source tests/deploy/cluster.sh
find_heapwood
venv=$PWD/build/reframe-venv
if ! [[ -x $venv/bin/reframe ]]; then
  [[ ${INSTALL:-0} != 0 ]] || { echo "skipped: no ReFrame; run again with INSTALL=1" >&2; exit 77; }
  needs python3-venv python3
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
    --requirement deploy/reframe/requirements.txt || { rm -rf "$venv"; fail "pip"; }
fi
checks=$PWD/deploy/reframe/heapwood_checks.py
cd "$work"
export TMPDIR=$work HOME=$work HEAPWOOD=$heapwood RFM_COLORIZE=n
export HEAPWOOD_SCENES='statue:2k pipes:2k' HEAPWOOD_ALLOCATORS='atomic heapwood cuda'
export HEAPWOOD_POOLS='fast 64M'

# run_reframe NAME OPTION...: logs to NAME.log and NAME.json.
run_reframe() {
  timeout 200 "$venv/bin/reframe" --prefix "$work/$1" --report-file "$work/$1.json" -c "$checks" \
    -S device=cpu -S threads=1 -S runs=3 "${@:2}" -r > "$1.log" 2>&1
}
# Fails unless all 12 tests have run and each has its figures.
check_report() {  # NAME
  grep -qE 'Ran 12/12 test case\(s\) from 12 check\(s\) \(0 failure' "$1.log" ||
    { cat "$1.log"; fail "$1: not all tests have passed"; }
  "$venv/bin/python" - "$1.json" << 'PYTHON' || fail "$1: performance values"
import json, sys
cases = [case for run in json.load(open(sys.argv[1]))['runs'] for case in run['testcases']]
assert len(cases) == 12, len(cases)
for case in cases:
    values = {name.split(':')[-1]: value[0] for name, value in case['perfvalues'].items()}
    assert values['build_time_q1'] <= values['build_time'] <= values['build_time_q3'], values
    assert values['high_water'] > 0 and values['pool_size'] > 0, values
    # The system's malloc cannot be walked: absent, not 0.
    absent = 'allocator=cuda' in case['display_name']
    assert ('external_fragmentation' in values) != absent, values
PYTHON
}

run_reframe local --exec-policy=serial || { cat local.log; fail 'local back end'; }
check_report local
pass 'local: 12 tests'

# The allocators of the default list exist.
"$heapwood" list allocators --json > allocators.json
env -u HEAPWOOD_ALLOCATORS "$venv/bin/reframe" -c "$checks" -l > list.log
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

# Slurm: the back end `slurm` asks the accounting, `squeue` does without it.
start_cluster 2 accounting
cat > settings.py << 'PYTHON'
def partition(scheduler):
    return {'name': scheduler, 'scheduler': scheduler, 'launcher': 'srun', 'environs': ['builtin'],
            'max_jobs': 4}


site_configuration = {
    'systems': [{'name': 'test', 'hostnames': ['.*'],
                 'partitions': [partition('slurm'), partition('squeue')]}],
    'environments': [{'name': 'builtin'}],
}
PYTHON
for scheduler in slurm squeue; do
  run_reframe "$scheduler" -C settings.py --system="test:$scheduler" -J partition=test ||
    { cat "$scheduler.log"; fail "back end $scheduler"; }
  check_report "$scheduler"
  pass "$scheduler: 12 tests"
done
echo "$passed passed, 0 failed"
