# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts beside it, from the root of the repository: what `make demo` and `make test` share.

# shellcheck disable=SC2034  # for the scripts that source this one
ROOMS=(simt geometry alloc kdtree scenes render engine app viewer tests)

# As many compilers as there are cores, and 2 GiB for each: a translation unit of the builder takes about one.
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

# Exports CUDACXX: the first nvcc that knows C++20. A fetched one comes first, since it was fetched for a reason.
find_nvcc() {
  local candidate release
  for candidate in "${CUDACXX:-}" "$PWD/build/nvcc/bin/nvcc" "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
    release=$("$candidate" --version 2> /dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p') || true
    if (( ${release:-0} >= 12 )); then
      export CUDACXX=$candidate
      return 0
    fi
  done
  return 1
}

# Sets PRESET to cpu or cuda after CUDA=auto|on|off, says why in one line, and gets nvcc where it is missing.
choose_preset() {
  local why
  PRESET=cpu
  case ${CUDA:-auto} in
    off)
      echo "CUDA: not built (CUDA=off)"
      return ;;
    on) why="CUDA=on" ;;
    auto)
      if ! why=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -n 1) || [[ -z $why ]]; then
        echo "CUDA: not built, no GPU answers (CUDA=on builds it all the same)"
        return
      fi ;;
    *)
      echo "error: CUDA=$CUDA is none of auto, on, off" >&2
      exit 2 ;;
  esac
  if ! find_nvcc && ! { scripts/fetch_nvcc.sh && find_nvcc; }; then
    if [[ ${CUDA:-auto} == on ]]; then
      echo "error: CUDA=on, but there is no nvcc" >&2
      exit 1
    fi
    echo "CUDA: not built, there is no nvcc for the GPU ($why)"
    return
  fi
  PRESET=cuda
  echo "CUDA: built by $CUDACXX ($why)"
}

# build TARGET...: configures PRESET and builds. The configuration's details are in the log, and shown when it fails.
build() {
  local log=build/$PRESET.configure.log
  mkdir -p build
  if ! cmake --preset "$PRESET" -DHEAPWOOD_WERROR="${WERROR:-OFF}" -DHEAPWOOD_VIEWER_MODE="${VIEWER:-auto}" > "$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
  cmake --build --preset "$PRESET" --parallel "$(jobs)" --target "$@"
}
