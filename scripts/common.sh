# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Functions shared by the other scripts, which source this file from the root of the repository.

# shellcheck disable=SC2034  # used by the scripts that source this file
MODULES=(simt geometry alloc host_alloc workloads kdtree scenes render registry bench app viewer
         include examples python tests)

source scripts/stages.sh

# Number of parallel compile jobs: one per core, and at least 2 GiB of memory for each. A
# translation unit of the builder takes about 1 GiB.
jobs() {
  if [[ -n ${JOBS:-} ]]; then
    echo "$JOBS"
    return
  fi
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
  echo $(( memory < 1 ? 1 : memory < cores ? memory : cores ))
}

# with_fixed_addresses COMMAND...: runs tests under a sanitizer. GCC's sanitizers do not support
# the randomized address layout of newer kernels; where it cannot be turned off, the command runs
# with it.
with_fixed_addresses() {
  local plain=(setarch "$(uname -m)" --addr-no-randomize)
  "${plain[@]}" true 2> /dev/null || plain=()
  "${plain[@]}" "$@"
}

# Exports CUDACXX: the first nvcc that supports C++20. A fetched nvcc precedes an installed one: it
# was fetched because the installed one was unusable.
find_nvcc() {
  local candidate release
  for candidate in "${CUDACXX:-}" "$PWD/build/nvcc/bin/nvcc" "$(command -v nvcc)" \
                   /usr/local/cuda/bin/nvcc; do
    release=$("$candidate" --version 2> /dev/null |
              sed -n 's/.*release \([0-9]*\)\..*/\1/p') || true
    if (( ${release:-0} >= 12 )); then
      export CUDACXX=$candidate
      return 0
    fi
  done
  return 1
}

# Sets PRESET (cpu or cuda) according to CUDA=auto|on|off and GPU to the name of the first GPU
# (empty if there is none), fetches nvcc if it is missing, and prints the decision in one line.
choose_preset() {
  PRESET=cpu
  GPU=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -n 1) || GPU=
  case ${CUDA:-auto} in
    off)
      echo "note: CUDA=off: CPU threads only"
      return ;;
    on) ;;
    auto)
      if [[ -z $GPU ]]; then
        echo "note: no GPU found: CPU threads only"
        return
      fi ;;
    *)
      echo "error: CUDA=$CUDA: expected auto, on or off" >&2
      exit 2 ;;
  esac
  if ! find_nvcc && ! { scripts/fetch_nvcc.sh && find_nvcc; }; then
    if [[ ${CUDA:-auto} == on ]]; then
      echo "error: CUDA=on, but no nvcc was found" >&2
      exit 1
    fi
    echo "note: no nvcc for $GPU: CPU threads only"
    return
  fi
  PRESET=cuda
  echo "note: CUDA for ${GPU:-no GPU (CUDA=on)}, compiled by $CUDACXX"
}

# build TARGET...: configures PRESET and builds the targets, as two stages.
build() {
  stage configure cmake --preset "$PRESET" -DHEAPWOOD_WERROR="${WERROR:-OFF}" \
    -DHEAPWOOD_VIEWER_MODE="${VIEWER:-auto}" -DHEAPWOOD_LONG_TESTS="${LONG_TESTS:-OFF}"
  stage compile cmake --build --preset "$PRESET" --parallel "$(jobs)" --target "$@"
}
