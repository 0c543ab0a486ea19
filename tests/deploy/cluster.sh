# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# A Slurm cluster on this machine, for tests: munged, slurmctld and one slurmd per virtual node, as
# the calling user, with all their files in $work. Sourced after common.sh, which defines it. Tested
# with Debian 12's packages.

daemons=()  # process ids

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
  needs 'slurmctld slurmd slurm-client munge' slurmctld slurmd munged sbatch
  PATH=$PATH:/usr/sbin:/sbin
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
clean_up() { stop_cluster; }
