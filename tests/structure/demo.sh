#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/demo.sh renders every scene to a file of its own, with a stand-in for heapwood; its closing
# lines say what the table's marks and notes say.
#   tests/structure/demo.sh ROOT
set -euo pipefail
export LC_ALL=C
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/scripts" "$tree/build/cpu/bin"
cp "$1/scripts/demo.sh" "$tree/scripts/"
cat > "$tree/scripts/common.sh" << 'END'
choose_preset() { PRESET=cpu GPU=; }
build() { :; }
verbose() { false; }
stage_with_progress() { "${@:2}"; }
END
cat > "$tree/build/cpu/bin/heapwood" << 'END'
#!/usr/bin/env bash
# Writes the scene's name to the file of --json or -o.
for (( i = 1; i < $#; ++i )); do
  next=$(( i + 1 ))
  case ${!i} in --json | -o) echo "$2" > "${!next}" ;; esac
done
END
printf '#!/bin/sh\n' | tee "$tree/scripts/setup.sh" > "$tree/scripts/demo_summary.sh"
chmod +x "$tree"/scripts/*.sh "$tree/build/cpu/bin/heapwood"

SCENES="atrium:50k atrium:100k a/model.obj b/model.ply atrium:1m" "$tree/scripts/demo.sh" > /dev/null
found=$(cd "$tree/out" && grep --with-filename '' -- *.png)
expected='atrium-2.png:atrium:100k
atrium-3.png:atrium:1m
atrium.png:atrium:50k
model-2.png:b/model.ply
model.png:a/model.obj'
[[ $found == "$expected" ]] || { printf 'expected\n%s\ngot\n%s\n' "$expected" "$found" >&2; exit 1; }

cat > "$tree/bench.txt" << 'END'
Build times of k-d trees by allocator

scene              atrium  statue:1k  pipes
───────────────────────────────────────────
triangles             50K         1K     2K

build time [ms]
AtomicMalloc *         12         13     14

slowdown (build time / AtomicMalloc's)
Heapwood             0.69       1.01   1.10
Heapwood pages       0.75     0.70 ◂   1.20
Halloc               0.80       2.00   1.30
CudaMalloc    skipped [1]  skipped [1]  skipped [1]

◂ fastest allocator that frees: its quartiles overlap no other's
no clear winner in atrium, pipes: quartiles
  overlap
* lower bound: cannot free, never named the fastest
Heapwood serves builds through a context per warp, all others through malloc and
  free
[1] CudaMalloc: has no GPU

Memory: fragmentation
Heapwood   ◂
END
expected="scene              atrium  statue:1k  pipes
build time [ms]
AtomicMalloc *         12         13     14
slowdown (build time / AtomicMalloc's)
Heapwood             0.69       1.01   1.10
Heapwood pages       0.75     0.70 ◂   1.20
Halloc               0.80       2.00   1.30
◂ fastest allocator that frees: its quartiles overlap no other's; no clear winner in atrium, pipes: \
quartiles overlap; * lower bound: cannot free, never named the fastest; Heapwood serves builds \
through a context per warp, all others through malloc and free

Fastest allocator that frees (◂): Heapwood pages in 1 scene.
No clear winner in atrium, pipes: quartiles overlap.
CPU threads: these times say nothing about a GPU."
expected=${expected//\\$'\n'/}
found=$("$1/scripts/demo_summary.sh" "$tree/bench.txt" cpu)
[[ $found == "$expected" ]] || { printf 'expected\n%s\ngot\n%s\n' "$expected" "$found" >&2; exit 1; }
