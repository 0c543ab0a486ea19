// SPDX-License-Identifier: MIT
#include <span>

#include "scenes/mesh_files.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  return fuzz::run([&] {
    scenes::check(scenes::parse_ply(std::as_bytes(std::span(data, size)), "file"), "the result");
  });
}
