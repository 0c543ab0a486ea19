// SPDX-License-Identifier: MIT
#include <span>

#include "scenes/cache.hpp"
#include "tests/fuzz/fuzz_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood::scenes;
  return fuzz([&] { return parse_cache(std::as_bytes(std::span(data, size)), "file"); });
}
