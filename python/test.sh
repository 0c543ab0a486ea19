#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the Python package's module in build/python and runs its tests (docs/python.md).
# `make python-test` calls it. Skipped, with one line that says why, where Python's venv or pip is
# missing.
#   python/test.sh [PYTEST_ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

venv=build/python-venv suite=build/trimesh-suite
skip() {
  echo "python/test.sh: skipped: $*"
  exit 0
}

command -v python3 > /dev/null || skip "no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "Python is older than 3.10"
python3 -c 'import ensurepip, venv' 2> /dev/null || skip "no venv module; install python3-venv"
python3 - <<'PYTHON' || skip "no Python.h; install python3-dev"
import pathlib, sys, sysconfig
sys.exit(not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists())
PYTHON

# The environment is made again if the list of packages or the interpreter changes.
stamp=$venv/installed
wanted=$(python3 --version; cat python/requirements-test.txt)
if [[ ! -f $stamp || $(< "$stamp") != "$wanted" ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --require-hashes \
    --only-binary :all: --requirement python/requirements-test.txt ||
    skip "pip could not install the packages of python/requirements-test.txt"
  echo "$wanted" > "$stamp"
fi

folder=build/python
stage "configure" cmake --preset cpu -B "$folder" -DHEAPWOOD_PYTHON=ON -DHEAPWOOD_BUILDS_ONLY=ON \
  "-DHEAPWOOD_ALLOCATORS=atomic;heapwood" -DHEAPWOOD_VIEWER_MODE=off -DBUILD_TESTING=OFF \
  -DPython_EXECUTABLE="$PWD/$venv/bin/python" -DHEAPWOOD_WERROR="${WERROR:-OFF}"
stage "compile" cmake --build "$folder" --parallel "$(jobs)" --target heapwood_python
export PYTHONPATH=$folder/python PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" -m pytest --quiet "$@"
(( $# == 0 )) || exit 0
# trimesh's own ray tests (python/tests/trimesh_suite.py), from its source package.
if [[ ! -d $suite/tests ]]; then
  "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --no-binary :all: --require-hashes --requirement python/requirements-trimesh.txt \
    --dest "$suite" || skip "pip could not download trimesh's source package"
  tar -xzf "$suite"/trimesh-*.tar.gz -C "$suite" --strip-components 1
fi
PYTHONPATH+=:$suite:python/tests
"$venv/bin/python" -m pytest --quiet -rs -p trimesh_suite -p no:cacheprovider --rootdir "$suite" \
  "$suite"/tests/test_ray.py "$suite"/tests/test_ray_upstream.py
