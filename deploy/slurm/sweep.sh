#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Submits a sweep to Slurm: an array job that measures one shard per task, and a job that merges
# the shards when the array has ended (docs/sweeps.md).
#   deploy/slurm/sweep.sh FOLDER SHARDS [SBATCH_OPTION...] -- COMMAND [ARGUMENT...]
#   deploy/slurm/sweep.sh out/sweep 8 --partition=gpu --gpus=1 -- bench atrium statue --runs 15
# FOLDER    results.json, shards/ and log/; on a file system that all nodes share
# SHARDS    number of shards; N%MAX runs at most MAX at once
# COMMAND   bench, stress, graph, strings, particles, animate, replay or reproduce, with its
#           arguments except --json, --out, --resume and --shard
# A repeated call submits the shards that are missing and merges.
# HEAPWOOD  the program (default: heapwood); may be several words: "apptainer run --nv heapwood.sif"
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

refuse() { echo "sweep.sh: error: $*" >&2; exit 2; }

options=() wait=() status=0
[[ ${3:-} ]] || refuse "usage: sweep.sh FOLDER SHARDS [SBATCH_OPTION...] -- COMMAND [ARGUMENT...]"
folder=$(realpath -m -- "$1") shards=$2
shift 2
[[ $shards =~ ^([1-9][0-9]{0,5})(%[1-9][0-9]*)?$ ]] ||
  refuse "SHARDS '$shards': expected a number of shards, or N%MAX: 8%2"
count=${BASH_REMATCH[1]} throttle=${BASH_REMATCH[2]}
while (( $# )) && [[ $1 != -- ]]; do
  case $1 in
    # Waits for the merge: the array's exit code would end this script before it.
    --wait | -W) wait=(--wait) ;;
    --array* | -a* | --dependency* | -d*)
      refuse "$1: sweep.sh chooses it; leave it out" ;;
    *) options+=("$1") ;;
  esac
  shift
done
(( $# > 1 )) || refuse "no command: add -- and one, such as -- bench atrium statue"
shift
case $1 in
  bench | stress | graph | strings | particles | animate | replay | reproduce) ;;
  *) refuse "'$1': expected bench, stress, graph, strings, particles, animate, replay, reproduce" ;;
esac
for word in "$@"; do
  case $word in
    --json | --json=* | --out | --out=* | --resume | --shard | --shard=*)
      refuse "$word: sweep.sh chooses it for each shard; leave it out" ;;
    --minutes | --minutes=*) refuse "$word: limit the time by sbatch's --time instead" ;;
    --list | --dry-run) refuse "$word measures nothing; run it without Slurm" ;;
  esac
done

heapwood=${HEAPWOOD:-heapwood}
read -ra program <<< "$heapwood"
found=$(type -P "${program[0]:-}") ||
  refuse "'${program[0]:-}': no such program; set HEAPWOOD to the path of heapwood"
heapwood="$(realpath -s "$found")${heapwood#"${program[0]}"}"
type -P sbatch > /dev/null || refuse "no sbatch: this machine is not a Slurm login node"

# A folder has one sweep.
sweep="$count shards: $(printf '%q ' "$@")"
mkdir -p "$folder/shards" "$folder/log"
if [[ -f $folder/sweep ]]; then
  [[ $(< "$folder/sweep") == "$sweep" ]] ||
    refuse "$folder: has another sweep ($(< "$folder/sweep")); choose another folder"
  for file in "$folder/job" "$folder/merge"; do
    job=$(cat "$file" 2> /dev/null || true)
    [[ -z $job || -z $(squeue --noheader --jobs="$job" 2> /dev/null) ]] ||
      refuse "$folder: job $job has not ended; wait for it or cancel the sweep"
  done
fi
echo "$sweep" > "$folder/sweep"

missing=()
for (( number = 1; number <= count; ++number )); do
  [[ -f $folder/shards/$number.done ]] || missing+=("$number")
done

submit() {  # LOG SBATCH_OPTION... SCRIPT ARGUMENT...: prints the id of the job
  local log=${folder//%/%%}/log/$1 id status=0
  shift
  id=$(sbatch --parsable --output="$log" "${options[@]}" "$@") || status=$?
  echo "${id%%;*}"
  return "$status"
}

after=()
if (( ${#missing[@]} )); then
  tasks=$(IFS=,; echo "${missing[*]}")
  (( ${#missing[@]} < count )) || tasks=1-$count
  array=$(submit %a.txt --array="$tasks$throttle" "$here/shard.sbatch" "$folder" "$count" \
    "$heapwood" "$@")
  echo "$array" > "$folder/job"
  echo "job $array: ${#missing[@]} of $count shards"
  # afterany: what has been measured is merged even if a task failed.
  after=(--dependency="afterany:$array")
fi
merge=$(submit merge.txt "${after[@]}" "${wait[@]}" "$here/merge.sbatch" "$folder" "$count" \
  "$heapwood") || status=$?
[[ $merge ]] || exit "$status"
echo "$merge" > "$folder/merge"
echo "job $merge: merges into $folder/results.json"
exit "$status"
