#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deploy/slurm on a real Slurm with four virtual nodes on this machine:
#   [INSTALL=1] [HEAPWOOD=build/cpu/bin/heapwood] tests/deploy/slurm.sh
#   1. an array of four shards is measured on several nodes and merged;
#   2. every measuring command;
#   3. a task that is queued again while it runs, and one whose program is killed, lose nothing;
#   4. a damaged shard and wrong calls are refused in one line, and nothing is lost.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/deploy/cluster.sh
heapwood=$(realpath "${HEAPWOOD:-build/cpu/bin/heapwood}")
[[ -x $heapwood ]] || fail "$heapwood: no such program; build it, or set HEAPWOOD"
start_cluster 4
pass "a cluster of four nodes"

sweep=$PWD/deploy/slurm/sweep.sh
cd "$work"
# Writes down the process of a shard, so that the test can kill it.
# shellcheck disable=SC2094  # $heapwood is another file
cat > heapwood << PROGRAM
#!/usr/bin/env bash
[[ \${SLURM_ARRAY_TASK_ID:-} ]] && echo \$\$ > "$work/process.\$SLURM_ARRAY_TASK_ID"
exec "$heapwood" "\$@"
PROGRAM
chmod +x heapwood
export HEAPWOOD=$work/heapwood

cpu=(--device cpu --threads 1)
fast=("${cpu[@]}" --allocators 'atomic,heapwood' --runs 2)
# run_sweep FOLDER SHARDS COMMAND...: until it is merged; returns the exit code of the merge.
run_sweep() { timeout 120 "$sweep" "$1" "$2" --wait -- "${@:3}" > "$1.log" 2>&1; }
# json FILE EXPRESSION: a value of the results file, which is `r`.
json() { python3 -c "import json, sys; r = json.load(open(sys.argv[1])); print($2)" "$1"; }
queue_is_empty() { [[ -z $(squeue --noheader) ]]; }
ok_scenes() { json "$1" 'len({x["source"] for x in r["results"] if x["status"] == "ok"})'; }

# 1. Four shards.
four=(bench statue:2k pipes:2k atrium:2k stadium:2k "${fast[@]}")
run_sweep four 4 "${four[@]}" || { cat four.log four/log/*; fail "the sweep of four shards"; }
grep -q 'nothing is missing' four/log/merge.txt || fail "four/log/merge.txt"
[[ $(ok_scenes four/results.json) == 4 ]] || fail "scenes"
[[ $(json four/results.json '[x["shard"]["number"] for x in r["shards"]]') == '[1, 2, 3, 4]' ]] ||
  fail "shards"
used=$(grep -ho 'on node[1-4]' four/log/[1-4].txt | sort -u | wc -l)
(( used > 1 )) || fail "all shards ran on one node"
"$heapwood" compare four/results.json four/results.json > /dev/null || fail "compare"
pass "4 shards on $used nodes, merged"
run_sweep four 4 "${four[@]}" || fail "a complete sweep, submitted again"
! grep -q ' of 4 shards' four.log || fail "complete shards are submitted again"
pass "a complete sweep is merged only"
"$sweep" four 4 --hold -- "${four[@]}" > held.log
expect_refusal 2 "job $(< four/merge) has not ended" "$sweep" four 4 -- "${four[@]}"
scontrol release "$(< four/merge)"
wait_until 60 'the held merge' queue_is_empty
pass "a sweep whose merge waits in the queue is refused"

# 2. Every command; the program as several words, and folders whose names need quotes.
"$heapwood" build statue:2k "${cpu[@]}" --record-trace statue.trace > /dev/null
commands=(
  'stress alloc --payload 16,64 --requests 64 --pool 1M --runs 2'
  'graph rgg:200 --phase init --runs 2'
  'animate statue~:1k --frames 2 --trace none --pool 16M'
  'replay statue.trace --runs 2'
  'reproduce regeff-5a'
)
for command in "${commands[@]}"; do
  read -ra words <<< "$command"
  name="${words[0]}, 100%"
  HEAPWOOD="env heapwood=1 $work/heapwood" \
    run_sweep "$name" 2 "${words[@]}" "${cpu[@]}" --allocators 'atomic,heapwood' ||
    { cat "$name.log" "$name"/log/*; fail "$command"; }
  # reproduce counts the cases of the items that were not asked for as missing.
  grep -qE 'nothing is missing|: 4 results; missing: ' "$name/log/merge.txt" ||
    fail "$name: $(cat "$name/log/merge.txt")"
  pass "${words[0]} in 2 shards, merged"
done

# 3. Each shard has a small scene and one that takes seconds. The tasks are interrupted in the
# second: its time is lost, the first result is not.
long=(bench statue:2k pipes:2k statue:50k pipes:50k "${cpu[@]}" --allocators 'atomic,heapwood'
      --runs 11)
samples() { json "$1" "[x['runs_ms'] for x in r['results'] if x['source'].endswith(':2k')]"; }
"$sweep" killed 2 -- "${long[@]}" > killed.log
array=$(< killed/job)
wait_until 60 'the first results' test -s killed/shards/1.json -a -s killed/shards/2.json
samples killed/shards/1.json > samples.1
samples killed/shards/2.json > samples.2
[[ ! -f killed/shards/1.done && ! -f killed/shards/2.done ]] || fail 'the tasks ended too early'
expect_refusal 2 'has not ended' "$sweep" killed 2 -- "${long[@]}"
scontrol requeue "${array}_1"
kill -KILL "$(< process.2)"
wait_until 120 'the sweep with killed tasks' queue_is_empty
grep -q 'restart 1' killed/log/1.txt || fail 'task 1 was not queued again'
[[ -f killed/shards/1.done && ! -f killed/shards/2.done ]] || fail 'complete shards'
[[ $(samples killed/shards/1.json) == "$(< samples.1)" ]] || fail 'shard 1 was measured again'
grep -q 'error: incomplete shards: 2;' killed/log/merge.txt || fail 'merge: shard 2 is incomplete'
[[ $(ok_scenes killed/results.json) == 3 ]] || fail 'merge: results of the killed task are lost'
pass 'a task that is queued again continues'
run_sweep killed 2 "${long[@]}" || { cat killed.log killed/log/*; fail 'continued sweep'; }
grep -q ' 1 of 2 shards' killed.log || fail 'shard 1 was submitted again'
[[ $(samples killed/shards/2.json) == "$(< samples.2)" ]] || fail 'shard 2 was measured again'
[[ $(ok_scenes killed/results.json) == 4 ]] || fail 'scenes'
pass 'a sweep with a killed task is continued by the same call'

# scancel ends a task for good; the others are merged.
"$sweep" cancelled 2 -- "${long[@]}" > cancelled.log
wait_until 60 'the first results' test -s cancelled/shards/1.json -a -s cancelled/shards/2.json
scancel "$(< cancelled/job)_2"
wait_until 120 'the sweep with a cancelled task' queue_is_empty
[[ -f cancelled/shards/1.done && ! -f cancelled/shards/2.done ]] || fail 'scancel'
[[ $(ok_scenes cancelled/results.json) == 3 ]] || fail 'scancel: results are lost'
run_sweep cancelled 2 "${long[@]}" || fail 'the sweep with a cancelled task, continued'
[[ $(ok_scenes cancelled/results.json) == 4 ]] || fail 'scancel: scenes'
pass 'a cancelled task is continued by the same call'

# 4. A damaged shard: the merge says so in one line, and the file of earlier results stays.
cp four/results.json earlier.json
truncate --size=400 four/shards/3.json
status=0
run_sweep four 4 "${four[@]}" || status=$?
(( status != 0 )) || fail 'a truncated shard was merged'
[[ $(tail -n 1 four/log/merge.txt) == *'shards/3.json: line '*'not valid JSON'* ]] ||
  fail "a truncated shard: $(tail -n 1 four/log/merge.txt)"
cmp -s four/results.json earlier.json || fail 'a truncated shard: results.json was changed'
rm four/shards/3.*
run_sweep four 4 "${four[@]}" || { cat four.log four/log/*; fail 'a repaired sweep'; }
[[ $(json four/results.json 'len(r["results"])') == $(json earlier.json 'len(r["results"])') ]] ||
  fail 'a repaired sweep: results'
pass 'a damaged shard is refused; without it the shard is measured again'

call() { expect_refusal 2 "$1" "$sweep" "${@:2}"; }
call 'another sweep' four 4 -- bench atrium
call 'another sweep' four 5 -- "${four[@]}"
call usage
call 'SHARDS' new 0 -- bench atrium
call 'SHARDS' new 2x -- bench atrium
call 'no command' new 2 --partition=test
call 'no command' new 2 --
call "'render'" new 2 -- render atrium
call '--json' new 2 -- bench atrium --json out.json
call '--shard=1/2' new 2 -- bench atrium --shard=1/2
call '--minutes' new 2 -- reproduce --minutes 5
call '--array=1-3' new 2 --array=1-3 -- bench atrium
HEAPWOOD=absent call "'absent'" new 2 -- bench atrium
[[ ! -d new ]] || fail 'a refused call created a folder'
! "$sweep" new 2 --partition=absent -- bench atrium > new.log 2>&1 || fail 'an absent partition'
[[ ! -f new/job ]] || fail 'an absent partition: a job was noted'
pass 'wrong calls are refused in one line'
echo "$passed passed, 0 failed"
