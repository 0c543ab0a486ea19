// SPDX-License-Identifier: MIT
// HEAPWOOD_HERE: the place of a call, for the messages of a checked heap. Other heaps ignore it.
// The text is part of the object, because the host cannot read a pointer to a string of the device.
#pragma once

#include "heapwood/cxx20.hpp"  // first

#include <cstddef>
#include <cstdint>

#include "simt/config.hpp"

namespace heapwood {

struct call_site {
  static constexpr std::size_t max_file = 28, max_function = 28;

  char file[max_file] = {};          // without folders; the end of a longer name
  char function[max_function] = {};  // the beginning of a longer name
  std::uint32_t line = 0;            // 0: not given

  SIMT_INLINE constexpr call_site() {}
  SIMT_FN consteval call_site(const char* path, const char* name, std::uint32_t line_number)
      : line(line_number) {
    std::size_t end = 0, begin = 0, length = 0;
    for (; path[end] != 0; ++end) {
      if (path[end] == '/') begin = end + 1;
    }
    if (end - begin > max_file - 1) begin = end - (max_file - 1);
    for (std::size_t i = begin; i < end; ++i) file[i - begin] = path[i];
    for (; name[length] != 0 && length < max_function - 1; ++length)
      function[length] = name[length];
  }
};

}  // namespace heapwood

#define HEAPWOOD_HERE (::heapwood::call_site(__FILE__, __func__, __LINE__))
