// SPDX-License-Identifier: MIT
#include <string_view>

#include "scenes/obj.hpp"
#include "tests/fuzz/fuzz_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood::scenes;
  return fuzz([&] {
    return parse_obj(std::string_view(reinterpret_cast<const char*>(data), size), "file");
  });
}
