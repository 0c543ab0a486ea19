// SPDX-License-Identifier: MIT
// nvcc also compiles device functions for the host. A call there has no device thread to run on and
// ends the program.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace heapwood::detail {

[[noreturn]] inline void called_on_host(const char* function) {
  std::fprintf(stderr, "heapwood: %s of a GPU's heap was called on the host\n", function);
  std::abort();
}

}  // namespace heapwood::detail
