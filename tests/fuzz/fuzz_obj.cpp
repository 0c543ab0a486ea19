// SPDX-License-Identifier: MIT
// A mesh file gives a valid mesh, or is rejected with one line.
#include "scenes/mesh_files.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  return fuzz::run(
      [&] { scenes::check(scenes::parse_obj(fuzz::text_of(data, size), "file"), "the result"); });
}
