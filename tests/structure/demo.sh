#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/demo.sh renders every scene to a file of its own, with a stand-in for heapwood.
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
printf '#!/bin/sh\n' > "$tree/scripts/setup.sh"
chmod +x "$tree"/scripts/*.sh "$tree/build/cpu/bin/heapwood"

SCENES="atrium:50k atrium:100k a/model.obj b/model.ply atrium:1m" "$tree/scripts/demo.sh" > /dev/null
found=$(cd "$tree/out" && grep --with-filename '' -- *.png)
expected='atrium-2.png:atrium:100k
atrium-3.png:atrium:1m
atrium.png:atrium:50k
model-2.png:b/model.ply
model.png:a/model.obj'
[[ $found == "$expected" ]] || { printf 'expected\n%s\ngot\n%s\n' "$expected" "$found" >&2; exit 1; }
