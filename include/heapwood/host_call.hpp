// SPDX-License-Identifier: MIT
// nvcc compiles device functions for the host too, where there are no threads of the device. There
// they end the program.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace heapwood::detail {

[[noreturn]] inline void called_on_host(const char* function) {
  std::fprintf(stderr, "heapwood: %s of a GPU's heap was called on the host\n", function);
  std::abort();
}

}  // namespace heapwood::detail
