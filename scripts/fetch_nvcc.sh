#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs nvcc and its dependencies into build/nvcc from NVIDIA's wheels on PyPI (about 105 MB).
# pip checks each file against the hashes in nvcc_requirements.txt. The wheels are those of CUDA
# 13.0: what their nvcc compiles runs with every driver for CUDA 13 and later.
# Limit: the wheels of CUDA 12 contain ptxas, but no nvcc.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "fetch_nvcc: $*" >&2; exit 1; }

# nvidia-smi prints "CUDA Version: 13.0" ("CUDA UMD Version" in later drivers).
version=$(nvidia-smi 2> /dev/null |
          sed -nE 's/.*CUDA (UMD )?Version *: *([0-9]+\.[0-9]+).*/\2/p' | head -n 1 || true)
major=13
version=${version:-$major.0}
(( ${version%.*} >= major )) ||
  fail "the driver supports CUDA $version, but PyPI has nvcc $major.0 and later only:" \
       "update the driver, or install nvcc $version"

wheels=build/nvcc-wheels
scripts/setup.sh wheels
echo "fetch_nvcc: nvcc for CUDA $major.0 from PyPI into build/nvcc"
rm -rf "$wheels" build/nvcc
# The system's Python: the package python3-venv serves it, not the Python of a version manager.
python=/usr/bin/python3
[[ -x $python ]] || python=python3
"$python" -m venv "$wheels/venv" || fail "python3 -m venv failed"
"$wheels/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
  --target "$wheels" --requirement scripts/nvcc_requirements.txt ||
  fail "pip could not install the wheels of CUDA $major.0"
rm -rf "$wheels/venv"
toolkit=$wheels/nvidia/cu$major
ln -sfn lib "$toolkit/lib64"  # where nvcc and CMake also look

# Checks that a kernel with an atomic compiles and links.
test=$(mktemp -d)
trap 'rm -rf "$test"' EXIT
cat > "$test/t.cu" <<'CUDA'
#include <cuda/atomic>
__global__ void count(int* n) { cuda::atomic_ref<int, cuda::thread_scope_device>(*n).fetch_add(1); }
int main() { count<<<1, 1>>>(nullptr); }
CUDA
"$toolkit/bin/nvcc" -std=c++20 -o "$test/t" "$test/t.cu" ||
  fail "$toolkit/bin/nvcc does not work with this g++: $(g++ --version | head -n 1)"
ln -s "${toolkit#build/}" build/nvcc
