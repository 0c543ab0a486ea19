// SPDX-License-Identifier: MIT
// Shared by the fuzzers of mesh files: each input gives a valid mesh or Error{Exit::scene} with a
// one-line text; otherwise the process aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scenes/mesh.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {

template <class Parse>
int fuzz(Parse parse) {
  try {
    check(parse(), "the result");
  } catch (const Error& error) {
    const std::string_view text = error.what();
    const bool fine = error.exit() == Exit::scene && text.starts_with("file: ") &&
                      text.size() < 1000 && text.find_first_of("\r\n") == std::string_view::npos;
    if (!fine) std::abort();
  }
  return 0;
}

}  // namespace heapwood::scenes
