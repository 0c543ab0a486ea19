#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures with the papers' parameters on GPUs: `heapwood reproduce --full` in parts, DIR/part1 to
# DIR/partN, merged into DIR/results.json.
#   scripts/reproduce_full.sh DIR [OPTION...]                  one part after another
#   GPUS="0 1 2 3" scripts/reproduce_full.sh DIR [OPTION...]   in parallel on these GPUs, which must
#                                                              be of the same model
# OPTIONs are passed to `heapwood reproduce`, for example --scenes meshes. PARTS is the number of
# parts (default: the number of GPUS, else 4). A part starts no further case after MINUTES (8). The
# exit status is 1 while cases are missing; the same command measures them. HEAPWOOD is the program.
set -euo pipefail
[[ ${1:-} && $1 != -* ]] || { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
shift
if [[ -z ${HEAPWOOD:-} ]]; then
  HEAPWOOD=build/cuda/bin/heapwood
  [[ -x $HEAPWOOD ]] || HEAPWOOD=build/cpu/bin/heapwood
fi
[[ -x $HEAPWOOD ]] || {
  echo "reproduce_full: error: $HEAPWOOD not found: build it with make demo" >&2
  exit 2
}
read -ra gpus <<< "${GPUS:-}"
parts=${PARTS:-${#gpus[@]}}
(( parts )) || parts=4
mkdir -p "$out"

part() {  # K OPTION...
  local k=$1
  shift
  "$HEAPWOOD" reproduce --full --out "$out/part$k" --shard "$k/$parts" --minutes "${MINUTES:-8}" \
    "$@" > "$out/part$k.log" 2>&1 && return
  echo "reproduce_full: part $k failed: $(tail -n 1 "$out/part$k.log")" >&2
  return 1
}

failed=0
if (( ${#gpus[@]} )); then
  # GPU number G measures the parts K with (K - 1) mod (number of GPUs) = G, one after another.
  workers=()
  for g in "${!gpus[@]}"; do
    (
      failed=0
      for (( k = g + 1; k <= parts; k += ${#gpus[@]} )); do
        CUDA_VISIBLE_DEVICES=${gpus[g]} part "$k" "$@" || failed=1
      done
      exit "$failed"
    ) &
    workers+=($!)
  done
  for worker in "${workers[@]}"; do wait "$worker" || failed=1; done
else
  for (( k = 1; k <= parts; ++k )); do part "$k" "$@" || failed=1; done
fi
(( failed )) && exit 1

files=()
for (( k = 1; k <= parts; ++k )); do files+=("$out/part$k/results.json"); done
"$HEAPWOOD" merge "$out/results.json" "${files[@]}"
if grep -h 'cases left' "$out"/part*.log >&2; then exit 1; fi
