# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A Slurm cluster on this machine and functions for slurm.sh, which sources this file from the root
# of the repository: munged, slurmctld and one slurmd per virtual node, as the calling user, with
# all their files in $work. Tested with Debian 12's packages. Exit code 77: a program is not
# installed.

daemons=()  # process ids
passed=0

# A temporary folder that daemons of other users may enter; removed at the end.
work=$(mktemp -d "${TMPDIR:-/tmp}/heapwood-deploy.XXXXXX")
chmod 755 "$work"
at_exit() {
  local status=$?
  set +e
  stop_cluster
  if (( status != 0 && status != 77 )); then
    echo "files of the failed test: $work"
  else
    rm -rf "$work"
  fi
}
trap at_exit EXIT
trap 'exit 130' INT TERM

fail() { echo "error: $*" >&2; exit 1; }
pass() { passed=$((passed + 1)); echo "ok: $*"; }

# Ends the test if a program is missing; with INSTALL=1 installs the Debian packages instead.
find_slurm() {
  local packages=(slurmctld slurmd slurm-client munge)
  PATH=$PATH:/usr/sbin:/sbin
  ! type -P slurmctld slurmd munged sbatch > /dev/null || return 0
  if [[ ${INSTALL:-0} == 0 ]]; then
    echo "skipped: no Slurm; run again with INSTALL=1, or: apt-get install ${packages[*]}" >&2
    exit 77
  fi
  apt-get install -qq -y --no-install-recommends "${packages[@]}" > "$work/apt.log" 2>&1 ||
    { tail "$work/apt.log" >&2; fail "apt-get could not install ${packages[*]}"; }
}

# wait_until SECONDS WHAT COMMAND...: fails if COMMAND does not succeed in that time.
wait_until() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" > /dev/null 2>&1; do
    (( SECONDS < end )) || fail "timed out: $what"
    sleep 0.2
  done
}

# expect_refusal STATUS TEXT COMMAND...: COMMAND ends with STATUS and prints one line, with TEXT.
expect_refusal() {
  local expected=$1 text=$2 status=0 output
  shift 2
  output=$("$@" 2>&1) || status=$?
  (( status == expected )) || fail "exit code $status, expected $expected: $*: $output"
  [[ $output == *"$text"* && $output != *$'\n'* ]] ||
    fail "expected one line with '$text': $*: $output"
}

# A port range of $1 ports on which nothing listens.
free_ports() {
  local base port
  for (( base = 20000 + RANDOM % 10000; ; base += 50 )); do
    (( base < 60000 )) || fail "no free ports"
    for (( port = base; port < base + $1; ++port )); do
      ! (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || continue 2
    done
    echo "$base"
    return
  done
}

daemon() {  # COMMAND...
  "$@" < /dev/null >> "$work/daemons.log" 2>&1 &
  daemons+=($!)
}

nodes_are_idle() { [[ $(sinfo --noheader --format=%t --Node | grep -cx idle) == "$1" ]]; }

start_cluster() {  # NODES
  local count=$1 ports first host number
  find_slurm
  mkdir -p "$work/state" "$work/spool"
  host=$(hostname -s)
  ports=$(free_ports $((count + 1)))
  first=$((ports + 1))
  head -c 1024 /dev/urandom > "$work/munge.key"
  chmod 400 "$work/munge.key"
  # cred_expire: a task that is queued again waits for it, 120 s by default.
  cat > "$work/slurm.conf" << CONFIG
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$ports
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket,cred_expire=5
StateSaveLocation=$work/state
SlurmctldPidFile=$work/slurmctld.pid
SlurmdSpoolDir=$work/spool/%n
SlurmdPidFile=$work/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=batch_sched_delay=1,sched_interval=2
JobRequeue=1
KillWait=2
ReturnToService=2
NodeName=DEFAULT CPUs=1 State=UNKNOWN
NodeName=node[1-$count] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$first-$((ports + count))]
PartitionName=test Nodes=ALL Default=YES MaxTime=60 State=UP
CONFIG
  export SLURM_CONF=$work/slurm.conf
  daemon munged --foreground --key-file="$work/munge.key" --socket="$work/munge.socket" \
    --pid-file="$work/munge.pid" --log-file="$work/munge.log" --seed-file="$work/munge.seed"
  wait_until 10 "munged ($work/daemons.log)" munge --no-input --socket="$work/munge.socket"
  daemon slurmctld -D
  for (( number = 1; number <= count; ++number )); do
    mkdir "$work/spool/node$number"
    daemon slurmd -D -N "node$number"
  done
  wait_until 60 "$count idle nodes ($work/daemons.log)" nodes_are_idle "$count"
}

# Ends the jobs, the daemons, and what is left of the jobs.
stop_cluster() {
  local id processes
  [[ ${SLURM_CONF:-} == "$work/slurm.conf" ]] || return 0
  if [[ -n $(timeout 10 squeue --noheader 2> /dev/null) ]]; then
    timeout 10 scancel --quiet --me 2> /dev/null
    for (( id = 0; id < 50; ++id )); do
      [[ -n $(timeout 10 squeue --noheader 2> /dev/null) ]] || break
      sleep 0.2
    done
  fi
  (( ${#daemons[@]} == 0 )) || kill "${daemons[@]}" 2> /dev/null
  for (( id = 0; id < 50; ++id )); do
    kill -0 "${daemons[@]}" 2> /dev/null || break
    sleep 0.2
  done
  kill -KILL "${daemons[@]}" 2> /dev/null
  # What is left of jobs: processes that were started with this cluster's configuration.
  mapfile -t processes < <(grep -lzxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ 2> /dev/null)
  for id in "${processes[@]//[^0-9]/}"; do
    kill -KILL "$id" 2> /dev/null
  done
  wait 2> /dev/null
}
