#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page of the papers' tables and figures, measured again. `make report` calls it.
#   scripts/report.sh                          measures with quick parameters into out/reproduce, makes out/report.html of it
#   RESULTS="a.json b.json" scripts/report.sh  the page of these results (parts of one measurement); nothing is built
#   AGAINST=old.json scripts/report.sh         with a comparison
#   RESULTS=full.json scripts/report.sh verdicts   writes the verdicts into docs/reproduction.md
#   scripts/report.sh test                     the tests of the page, in a headless Chromium (tests/report)
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

venv=build/report-venv
python_packages() {  # REQUIREMENTS...: into an environment of their own, when they changed
  local stamp=$venv/installed wanted
  wanted=$(cat "$@")
  [[ -f $stamp && $(< "$stamp") == "$wanted" ]] && return
  scripts/setup.sh wheels
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${@/#/--requirement=}"
  echo "$wanted" > "$stamp"
}

if [[ ${1:-} == test ]]; then
  scripts/setup.sh build browser
  export CUDA=off
  choose_preset
  build heapwood
  python_packages report/requirements.txt report/requirements-test.txt
  HEAPWOOD_BINARY=$PWD/build/$PRESET/bin/heapwood "$venv/bin/python" -m unittest discover --start-directory tests/report --top-level-directory .
  exit
fi

if [[ ${1:-} == verdicts ]]; then
  : "${RESULTS:?report.sh verdicts: RESULTS=results.json...}"
  python_packages report/requirements.txt
  read -ra results <<< "$RESULTS"
  "$venv/bin/python" -m report "${results[@]}" --verdicts-into docs/reproduction.md
  exit
fi

if [[ -z ${RESULTS:-} ]]; then
  scripts/setup.sh build
  choose_preset
  build heapwood
  "build/$PRESET/bin/heapwood" reproduce --quick --out out/reproduce
  RESULTS=out/reproduce/results.json
fi
python_packages report/requirements.txt
mkdir -p out
read -ra results <<< "$RESULTS"
read -ra against <<< "${AGAINST:-}"
"$venv/bin/python" -m report "${results[@]}" -o out/report.html ${against[@]:+--against "${against[@]}"}
