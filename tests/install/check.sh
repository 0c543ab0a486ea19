#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the headers into a folder and uses them as another project would:
#   tests/install/check.sh SOURCE BUILD WORK COMPILER [nvcc]
#   1. the headers are under include/heapwood/ only, define no macro without the project's prefix
#      and no name outside its namespace;
#      Those that heap.hpp needs are C++17, the others C++20: in an older mode the compiler names
#      the option first and reports nothing else;
#   2. examples/ against that copy, found by find_package, with C++17 and C++20;
#   3. another project that contains this one by add_subdirectory gets heapwood::heapwood, no other
#      target but heapwood_collect_headers, and no option; two sources of it that include all
#      headers link.
# With `nvcc` the examples are compiled for a GPU instead and not run.
set -euo pipefail
source=$1 build=$2 work=$3 compiler=$4 mode=${5:-cpu}
rm -rf "$work"
mkdir -p "$work"
prefix=$work/prefix
fail() { echo "error: $*" >&2; exit 1; }

cmake --install "$build" --component development --prefix "$prefix" > "$work/install.log"
[ "$(ls "$prefix/include")" = heapwood ] || fail "files outside include/heapwood/"
if grep -rnE '#include "(simt|alloc|heapwood)/' "$prefix"/include/heapwood/{alloc,simt}; then
  fail "these includes need a search path of their own"
fi

# Macros that a program gets from our headers and not from those of libcu++ and the C++ library.
# malloc.hpp exists for its macros.
(cd "$prefix/include" && printf '#include <%s>\n' heapwood/*.hpp) | grep -v /malloc.hpp \
  > "$work/all.cpp"
grep -rhE '^ *# *include <' "$prefix/include/heapwood" | grep -vE 'cuda_runtime|heapwood' |
  sort -u > "$work/others.cpp"
macros() {
  "$compiler" -std=c++20 -I "$prefix/include" -dM -E "$1" |
    awk '{ sub(/\(.*/, "", $2); print $2 }' | sort -u
}
leaked=$(comm -23 <(macros "$work/all.cpp") <(macros "$work/others.cpp") |
         grep -v '^HEAPWOOD_' || true)
[ -z "$leaked" ] || fail "macros without the project's prefix: $leaked"

# refuses HEADER MODE NEEDED: the message and the missing file that ends the compilation.
refuses() {
  echo "#include <heapwood/$1.hpp>" > "$work/old.cpp"
  "$compiler" "-std=$2" -I "$prefix/include" -fsyntax-only "$work/old.cpp" > "$work/old.log" 2>&1 &&
    fail "$1.hpp compiles with -std=$2: say so in docs/library.md"
  grep -m1 'error' "$work/old.log" | grep -q "compile with -std=$3" ||
    fail "$1.hpp with -std=$2: $(grep -m1 error "$work/old.log")"
  (( $(grep -cE '(error|fatal error):' "$work/old.log") <= 2 )) ||
    fail "$1.hpp with -std=$2: more than one message: $(cat "$work/old.log")"
}
for header in malloc operator_new parallel; do
  echo "#include <heapwood/$header.hpp>" > "$work/old.cpp"
  "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -fsyntax-only \
    "$work/old.cpp" || fail "$header.hpp with -std=c++17"
  refuses $header c++14 c++17
done
for header in checked_heap recording_heap \
              $(cd "$source/alloc/allocators" && basename -s .hpp -- *.hpp); do
  [ -e "$prefix/include/heapwood/$header.hpp" ] || header=alloc/allocators/$header
  [ $header = alloc/allocators/heapwood ] || refuses $header c++17 c++20
done

# examples/ by itself, out of the source tree.
cp -r "$source/examples" "$work"
options=(-DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler")
[ "$mode" = cpu ] || options+=(-DUSE_CUDA=ON)
for standard in 17 20; do
  standards=(-DCMAKE_CXX_STANDARD=$standard "-DCMAKE_CUDA_FLAGS=-std=c++$standard")
  # Optimized once, because compiling takes longer.
  [ $standard = 20 ] || standards+=(-DCMAKE_CXX_FLAGS_RELEASE=-O0)
  cmake -S "$work/examples" -B "$work/built$standard" "${options[@]}" "${standards[@]}" \
    > "$work/configure.log" 2>&1
  cmake --build "$work/built$standard" --parallel "${JOBS:-2}" > "$work/build.log" 2>&1 ||
    { cat "$work/build.log"; fail "the examples do not compile with C++$standard"; }
  if [ "$mode" = cpu ]; then
    ctest --test-dir "$work/built$standard" --output-on-failure --timeout 60
  fi
done

# A project that contains this one.
mkdir "$work/parent"
cat > "$work/parent/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
add_subdirectory($source heapwood)
# Two sources that include everything link.
add_executable(parent one.cpp two.cpp)
target_link_libraries(parent PRIVATE heapwood::heapwood)
target_compile_features(parent PRIVATE cxx_std_20)  # of the headers for C++20
get_property(options TARGET heapwood_user_headers PROPERTY INTERFACE_COMPILE_OPTIONS)
get_property(definitions TARGET heapwood_user_headers PROPERTY INTERFACE_COMPILE_DEFINITIONS)
get_property(targets DIRECTORY $source PROPERTY BUILDSYSTEM_TARGETS)
message(STATUS "targets: \${targets}; "
               "options: \${options}\${definitions}\${CMAKE_CXX_FLAGS_RELEASE}")
END
cp "$work/all.cpp" "$work/parent/one.cpp"
cp "$work/all.cpp" "$work/parent/two.cpp"
cat >> "$work/parent/one.cpp" << 'END'
int main() {
  heapwood::heap heap(1 << 20);
  return heap.handle().malloc(100) != nullptr && heap.report_leaks(nullptr) > 0 ? 0 : 1;
}
END
cmake -S "$work/parent" -B "$work/parent/build" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS_RELEASE=-O0 > "$work/parent.log"
only='-- targets: heapwood_collect_headers;heapwood_user_headers; options: -O0'
grep -qF -- "$only" "$work/parent.log" ||
  fail "add_subdirectory defines more than the library: $(grep targets: "$work/parent.log")"
cmake --build "$work/parent/build" > "$work/parent.log" 2>&1 ||
  { cat "$work/parent.log"; fail "a project that contains this one does not compile"; }
"$work/parent/build/parent" > "$work/parent.log"
echo "installed copy: headers, examples and a project that contains the library work"
