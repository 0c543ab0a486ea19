#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the papers' tables and figures and writes them as one page. `make report` calls it.
#   scripts/report.sh                              measures with quick parameters into
#                                                  out/reproduce, writes out/report.html; without a
#                                                  GPU the page begins with the kept GPU run of
#                                                  docs/results
#   RESULTS=full.json scripts/report.sh            the page of these results; nothing is built
#   RESULTS=full.json scripts/report.sh verdicts   writes the verdicts into docs/results/verdicts.md
#   RESULTS=full.json scripts/report.sh keep       keeps the results in docs/results, compressed
#   scripts/report.sh test                         tests the page in a headless Chromium
#                                                  (tests/report); exit status 77 if pip cannot
#                                                  install what they need
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

venv=build/report-venv
# install_python_packages REQUIREMENTS...: into a virtual environment, if the requirements changed.
install_python_packages() {
  local stamp=$venv/installed wanted
  wanted=$(cat "$@")
  [[ -f $stamp && $(< "$stamp") == "$wanted" ]] && return
  scripts/setup.sh wheels
  if ! python3 -c 'import ensurepip, venv' 2> /dev/null; then
    echo "error: Python's venv module is missing; install python3-venv" >&2
    return 1
  fi
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
    "${@/#/--requirement=}" || {
    echo "error: pip could not install the packages of $*; the page needs them" >&2
    return 1
  }
  echo "$wanted" > "$stamp"
}

if [[ ${1:-} == test ]]; then
  scripts/setup.sh build browser
  export CUDA=off
  choose_preset
  build heapwood
  install_python_packages report/requirements.txt report/requirements-test.txt || exit 77
  HEAPWOOD_BINARY=$PWD/build/$PRESET/bin/heapwood \
    "$venv/bin/python" -m unittest discover --start-directory tests/report --top-level-directory .
  exit
fi

if [[ ${1:-} == verdicts ]]; then
  : "${RESULTS:?report.sh verdicts: set RESULTS to the results file}"
  install_python_packages report/requirements.txt
  "$venv/bin/python" -m report "$RESULTS" --verdicts-into docs/results/verdicts.md
  exit
fi

if [[ ${1:-} == keep ]]; then
  : "${RESULTS:?report.sh keep: set RESULTS to the results file}"
  python3 -m report "$RESULTS" --keep docs/results  # needs no package
  exit
fi

# Installed before the measurement, since the page cannot be written without them.
install_python_packages report/requirements.txt
mkdir -p out
kept=()
if [[ -z ${RESULTS:-} ]]; then
  kept=(--kept docs/results)
  scripts/setup.sh build
  choose_preset
  build heapwood
  device=auto
  [[ $PRESET == cuda && $GPU ]] || device=cpu
  reproduce() {
    "build/$PRESET/bin/heapwood" reproduce --quick --device "$device" --out out/reproduce \
      > out/reproduce.txt
  }
  stage_with_progress measure reproduce
  cat out/reproduce.txt
  RESULTS=out/reproduce/results.json
fi
"$venv/bin/python" -m report "$RESULTS" -o out/report.html ${kept[@]:+"${kept[@]}"}
