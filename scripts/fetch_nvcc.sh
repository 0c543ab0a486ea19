#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts nvcc and what it needs into build/nvcc, from NVIDIA's wheels on PyPI (about 105 MB). Not newer than the CUDA version
# of the driver here (13.0 where there is none): an older driver would refuse the program.
# Limit: CUDA 13 and later. The wheels of CUDA 12 have ptxas, but no nvcc.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "fetch_nvcc: $*" >&2; exit 1; }

# nvidia-smi says "CUDA Version: 13.0" ("CUDA UMD Version" in later drivers).
version=$(nvidia-smi 2> /dev/null | sed -nE 's/.*CUDA (UMD )?Version *: *([0-9]+\.[0-9]+).*/\2/p' | head -n 1 || true)
version=${version:-13.0}
major=${version%.*} minor=${version#*.}
(( major >= 13 )) ||
  fail "the driver speaks CUDA $version, but PyPI has nvcc from 13.0 on: update the driver, or install nvcc $version yourself"

wheels=build/nvcc-wheels
scripts/setup.sh wheels
echo "fetch_nvcc: nvcc for CUDA $version from PyPI into build/nvcc"
rm -rf "$wheels" build/nvcc
# The system's Python, not one that a version manager put in front: python3-venv belongs to it.
python=/usr/bin/python3
[[ -x $python ]] || python=python3
"$python" -m venv "$wheels/venv" || fail "python3 -m venv failed"
range=">=$major.0,<$major.$((minor + 1))"
"$wheels/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$wheels" \
  "nvidia-cuda-nvcc$range" "nvidia-nvvm$range" "nvidia-cuda-crt$range" "nvidia-cuda-runtime$range" \
  "nvidia-cuda-cccl$range" || fail "pip could not get the wheels of CUDA $version"
rm -rf "$wheels/venv"
toolkit=$wheels/nvidia/cu$major
ln -sfn lib "$toolkit/lib64"  # where nvcc and CMake also look

# Shown, not believed: a kernel with an atomic compiles and links.
test=$(mktemp -d)
trap 'rm -rf "$test"' EXIT
cat > "$test/t.cu" <<'CUDA'
#include <cuda/atomic>
__global__ void count(int* n) { cuda::atomic_ref<int, cuda::thread_scope_device>(*n).fetch_add(1); }
int main() { count<<<1, 1>>>(nullptr); }
CUDA
"$toolkit/bin/nvcc" -std=c++20 -o "$test/t" "$test/t.cu" || fail "$toolkit/bin/nvcc does not compile with this g++"
ln -s "${toolkit#build/}" build/nvcc
