#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A check of this folder accepts a small tree without a fault and reports one fault of each kind:
#   tests/structure/catch.sh conventions|words|links|tables|requirements|testing
set -euo pipefail
name=$1 here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
long=$(printf '%0101d' 0)

fail() { echo "$name.sh: $1" >&2; exit 1; }
check() { bash "$here/$name.sh" "$tree"; }
file() { mkdir -p "$(dirname "$tree/$1")"; printf '%s\n' "${@:2}" > "$tree/$1"; }  # NAME LINE...
accepts() { check || fail 'a tree without a fault was rejected'; }
# rejects EXPECTED [FILTER...]: the whole report, after FILTER.
rejects() {
  local found
  found=$(check) && fail 'no fault was reported'
  (( $# < 2 )) || found=$("${@:2}" <<< "$found" | LC_ALL=C sort)
  diff <(echo "$1") <(echo "$found") >&2 || fail 'the report differs'
}

catch_conventions() {
  local spdx='// SPDX-License-Identifier: MIT'
  file simt/config.hpp "$spdx" '#define HEAPWOOD_FN'
  file simt/cuda.hpp "$spdx" '__global__ void kernel();'
  file alloc/good.hpp "$spdx" '#include <cstddef>' '#include "simt/config.hpp"  // __shared__ "app/cli.hpp"'
  file registry/instance.in '#if defined(__CUDACC__)' '#include "simt/cuda.hpp"'
  file render/kernel.cu "$spdx" '#include "simt/cuda.hpp"' '#include "kdtree/tree.hpp"'
  accepts
  # expect FILE:LINE TEXT LINE...: FILE with these lines gets one message, with TEXT.
  expect() {
    local found
    file "${1%:*}" "${@:3}"
    found=$(check) && fail "not caught: $1 $2"
    [[ $found == "$1: "*"$2"* && $found != *$'\n'* ]] || fail "expected $1: ... $2; got $found"
    rm "$tree/${1%:*}"
  }
  expect alloc/up.hpp:3 'alloc/ must not include kdtree/' "$spdx" '' '#include "kdtree/tree.hpp"'
  expect kdtree/app.cpp:2 'kdtree/ must not include app/' "$spdx" '#include "app/cli.hpp"'
  expect render/near.hpp:2 'is in no folder of the project' "$spdx" '#include "camera.hpp"'
  expect app/device.cpp:2 'is for .cu files' "$spdx" '#include "simt/cuda.hpp"'
  expect alloc/macro.hpp:2 'macros' "$spdx" '#define GRANULE 16'
  expect alloc/lane.hpp:2 'CUDA (threadIdx)' "$spdx" 'inline int lane() { return threadIdx.x; }'
  expect alloc/atomic.hpp:2 'CUDA' "$spdx" '#include <cuda/atomic>'
  expect alloc/bits.hpp:2 'simt/math.hpp' "$spdx" 'int low(unsigned x) { return std::countr_zero(x); }'
  expect scenes/wave.cpp:2 'std::sin( in scenes/' "$spdx" 'float wave(float x) { return std::sin(x); }'
  expect scenes/power.cpp:2 'powf( in scenes/' "$spdx" 'float f(float x) { return powf(x, 0.7f); }'
  expect scenes/dice.cpp:2 'std::uniform_int_distribution< in scenes/' \
    "$spdx" 'std::uniform_int_distribution<int> dice(1, 6);'
  expect app/bare.cpp:1 'SPDX' 'int x;'
  expect app/joined.cpp:1 'SPDX' "$spdx A comment that was joined to the line." 'int x;'
  expect scripts/bare.sh:2 'SPDX' '#!/bin/sh' 'true'
  expect app/long.cpp:601 '600 lines' "$spdx" "$(yes '//' | head -n 700)"
}

catch_words() {
  file alloc/good.hpp '// Bytes per warp.' 'int bytes_per_warp, almost, is_a_nodeless, mostly;' "//${long:3}"
  file docs/table.md "| $long |" "see https://example.org/$long" 'There is room for two more.' "${long:2}µ"
  file alloc/alone.hpp '// As published.' 'f(.5f);' '// Two of' '// The same, in a file beside it.'
  file docs/commits.md 'at 4151cf9 and 7c20e56, `results/x-6361376-y.json.gz`' 'files beside the scene'
  file report/wide.py "$long"
  file build/bad.cpp '// nobody'
  file alloc/data.png 'nobody'
  accepts
  file alloc/who.hpp '' '// Whoever finishes goes on.'
  file docs/vain.md 'A search in vain.'
  file docs/diary.md 'Since 2026-11-25 it takes' 'only .69 ms.' '0.5 and v1.5 are right'
  file alloc/per.hpp 'int bytes_a_warp = 0;'
  file alloc/max.hpp 'int most_listed = 30;'
  file alloc/min.cu 'int least_chunk = 30;'
  file Makefile '# the rules of the house'
  file alloc/leans.hpp '// Counts.' '' '// The same for lists.' 'int x;  // As add().' '// beside that' '// by .69' '' '// Of the last call.'
  file docs/commits.md 'at 4151cf9 and 7c20e56' 'and eabc6f1, beside others' 'mended'
  file docs/riddle.md "$(yes word | head -n 3401)"
  file alloc/long.cpp '' '' "// $long"
  file report/wide.py "$long nobody"
  rejects 'Makefile:1:metaphor
alloc/leans.hpp:3:leans
alloc/leans.hpp:4:leans
alloc/leans.hpp:5:beside
alloc/leans.hpp:6:zero
alloc/leans.hpp:8:leans
alloc/long.cpp:3:columns
alloc/max.hpp:1:max_min
alloc/min.cu:1:max_min
alloc/per.hpp:1:per
alloc/who.hpp:2:pronoun
docs/commits.md:1:document
docs/commits.md:2:beside
docs/commits.md:3:german
docs/diary.md:1:document
docs/diary.md:2:document
docs/riddle.md:1:document
docs/vain.md:1:pronoun
report/wide.py:1:pronoun' cut -d: -f1-3
}

catch_links() {
  file a.md '# A' '## What is "it", then?' '[b](docs/b.md#one-two) [u](https://example.org/x#y)'
  file docs/b.md '## One, two' \
    '<a id="old"></a>[a](../a.md#what-is-it-then) [self](#old) [folder](../docs/)' \
    '```' '[code](none.md)' '```'
  accepts
  file docs/bad.md '[file](c.md)' '[heading](../a.md#b)'
  rejects $'docs/bad.md:1: no such file: c.md\ndocs/bad.md:2: no such heading: ../a.md#b'
}

# docs_tables.py notices changed figures, plots and results, and adds none of uncommitted code.
catch_tables() {
  command -v python3 > /dev/null || exit 77
  local root report results=$tree/docs/results/h200-974e071-pools.json.gz
  root=$(cd "$here/../.." && pwd)
  tables() { python3 -B "$tree/scripts/docs_tables.py" "$@"; }
  cp -R --parents -t "$tree" "$root"/README.md "$root"/docs "$root"/scripts/docs_tables.py
  mv "$tree$root"/* "$tree"
  accepts
  sed -i '/CFMMalloc/s/[0-9]\.[0-9]*/9.99/' "$tree/README.md"
  sed -i s/fill/Fill/ "$tree/docs/pictures/slowdown_over_pool.svg"
  rejects 'docs/pictures/slowdown_over_pool.svg: stale: make tables
README.md: stale: make tables'
  zcat "$results" | sed 's/median_ms": *1/median_ms": 3/g' | gzip > "$tree/new"
  mv "$tree/new" "$results"
  tables > /dev/null
  ! cmp -s "$tree/README.md" "$root/README.md" || fail 'changed results were not noticed'
  accepts
  report='{"schema": "heapwood.bench/1", "device": {"name": "x"}, "git": {"sha": "1", "dirty": true}}'
  tables add <(echo "$report") 2> /dev/null && fail 'results of uncommitted changes were added'
  tables add <(echo "${report/true/false}") | grep -q '/x-1-bench.json.gz$' || fail 'wrong name'
}

catch_requirements() {
  local hash=--hash=sha256:0f
  file requirements.txt '# comment' 'a==1.0 \' "    $hash \\" "    $hash" "b-c==2 $hash" ''
  file scripts/good.sh '# pip install by hand' 'venv/bin/pip install --quiet \' '  --require-hashes -r x'
  accepts
  file requirements.txt "a==1 $hash" 'b==2' "c>=3 $hash" 'd'
  file scripts/bad.sh '' '"$venv/bin/pip" install a'
  rejects "requirements.txt:2: not one version: b==2
requirements.txt:3: not one version: c>=3 $hash
requirements.txt:4: not one version: d
scripts/bad.sh:2: pip without --require-hashes: \"\$venv/bin/pip\" install a"
}

catch_testing() {
  file docs/testing.md '`fuzz` `model` `faults` `ply` `page`'
  file tests/fuzz/fuzz_ply.cpp
  file tests/fuzz/corpora/ply/1
  file tests/model/page_model.cpp
  file tests/faults/commands.py
  accepts
  mkdir "$tree/tests/new"
  file tests/fuzz/fuzz_obj.cpp
  file tests/model/queue_model.cpp
  rejects 'docs/testing.md: no word about tests/new
docs/testing.md: no word about tests/fuzz/fuzz_obj.cpp
tests/fuzz/fuzz_obj.cpp: no corpus in tests/fuzz/corpora/obj
docs/testing.md: no word about tests/model/queue_model.cpp'
}

"catch_$name"
