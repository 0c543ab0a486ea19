#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The papers' parameters on GPUs: `heapwood reproduce --full` in parts, DIR/part1 to DIR/partN, merged into DIR/results.json.
#   scripts/reproduce_full.sh DIR [OPTION...]                  one part after the other
#   GPUS="0 1 2 3" scripts/reproduce_full.sh DIR [OPTION...]   side by side on these GPUs of one kind
# OPTIONs are those of `heapwood reproduce`: --scenes meshes. PARTS is how many (as many as GPUS, else 4); MINUTES (8) is when a part
# begins no more cases. The same command goes on with what is missing: exit 1 while there is any. HEAPWOOD is the program.
set -euo pipefail
[[ ${1:-} && $1 != -* ]] || { sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
shift
if [[ -z ${HEAPWOOD:-} ]]; then
  HEAPWOOD=build/cuda/bin/heapwood
  [[ -x $HEAPWOOD ]] || HEAPWOOD=build/cpu/bin/heapwood
fi
[[ -x $HEAPWOOD ]] || { echo "reproduce_full: error: no program $HEAPWOOD: make test builds it" >&2; exit 2; }
read -ra gpus <<< "${GPUS:-}"
parts=${PARTS:-${#gpus[@]}}
(( parts )) || parts=4
mkdir -p "$out"

part() {  # K OPTION...
  local k=$1
  shift
  "$HEAPWOOD" reproduce --full --out "$out/part$k" --part "$k/$parts" --minutes "${MINUTES:-8}" "$@" > "$out/part$k.log" 2>&1 && return
  echo "reproduce_full: part $k failed: $(tail -n 1 "$out/part$k.log")" >&2
  return 1
}

failed=0
if (( ${#gpus[@]} )); then
  # Part K is the GPU's at (K - 1) mod their number; those of one GPU follow each other.
  workers=()
  for g in "${!gpus[@]}"; do
    for (( k = g + 1; k <= parts; k += ${#gpus[@]} )); do
      CUDA_VISIBLE_DEVICES=${gpus[g]} part "$k" "$@" || exit 1
    done &
    workers+=($!)
  done
  for worker in "${workers[@]}"; do wait "$worker" || failed=1; done
else
  for (( k = 1; k <= parts; ++k )); do part "$k" "$@" || failed=1; done
fi
(( failed )) && exit 1

files=()
for (( k = 1; k <= parts; ++k )); do files+=("$out/part$k/results.json"); done
python3 -m report "${files[@]}" --merged "$out/results.json" > /dev/null
python3 -m report "$out/results.json" --times | tee "$out/times.txt"
if grep -h 'cases left' "$out"/part*.log >&2; then exit 1; fi
