#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the fuzz targets with clang's libFuzzer and the sanitizers, and runs them in turn.
#   scripts/fuzz.sh HOURS [TARGET...]
# Corpora grow in out/fuzz/NAME/corpus and are used again by the next call; an input that fails is
# written beside them. JOBS processes run in parallel (default: one per processor). At the end one
# line per target: seconds, executed inputs, size of the corpus. Exit status 1 if an input failed or
# a target was stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

hours=${1:?usage: scripts/fuzz.sh HOURS [TARGET...]}
shift
scripts/setup.sh build fuzz
targets=("$@")
if (( ${#targets[@]} == 0 )); then
  mapfile -t targets < <(basename -s .cpp tests/fuzz/fuzz_*.cpp | sed 's/^fuzz_//')
fi
cmake --preset fuzz > /dev/null
cmake --build --preset fuzz --parallel "$(jobs)" --target "${targets[@]/#/fuzz_}"
parallel=${JOBS:-$(nproc)}
seconds=$(awk -v h="$hours" -v n="${#targets[@]}" -v p="$parallel" \
          'BEGIN { s = h * 3600 * p / n; print (s < 1 ? 1 : int(s)) }')

run() {  # TARGET SECONDS
  local folder=$PWD/out/fuzz/$1 program=$PWD/build/fuzz/bin/fuzz_$1 seeds=$PWD/tests/fuzz/corpora/$1
  local max_bytes=4096 status=0 start=$SECONDS
  [[ $1 != gltf && $1 != re* ]] || max_bytes=32768
  mkdir -p "$folder/corpus"
  # An empty folder: a target must not find files by accident.
  local empty
  empty=$(mktemp -d)
  (cd "$empty" && "$program" "$folder/corpus" "$seeds" -max_total_time="$2" -max_len=$max_bytes \
    -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=20 -print_final_stats=1 -close_fd_mask=1 \
    -artifact_prefix="$folder/failed-") > "$folder/log" 2>&1 || status=$?
  rm -rf "$empty"
  # 72: libFuzzer was stopped by a signal.
  awk -v name="$1" -v status=$status -v files="$(find "$folder/corpus" -type f | wc -l)" \
    -v seconds=$((SECONDS - start)) '
    BEGIN { end[0] = ""; end[72] = ", stopped" }
    /number_of_executed_units/ { runs = $2 }
    END { printf "%s: %d s, %d inputs, %d in the corpus%s\n", name, seconds, runs, files,
                 status in end ? end[status] : ", FAILED" }' "$folder/log" | tee -a out/fuzz/summary
  return $status
}
export -f run
mkdir -p out/fuzz
printf '%s\n' "${targets[@]}" | xargs -P "$parallel" -I{} bash -c 'run "$1" "$2"' run {} "$seconds"
