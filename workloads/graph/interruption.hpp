// SPDX-License-Identifier: MIT
// Ctrl-C while a graph is read or generated, which may take minutes.
#pragma once

#include <cstdint>

#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::workloads::graph {

// For loops over rows, edges or lines, of which `count` are done: looks once in 65,536 times.
inline void check_interruption(std::uint64_t count) {
  if ((count & 0xffff) != 0 || !simt::interrupted()) return;
  throw simt::Stopped(simt::Stopped::Reason::interrupted,
                      "graph: interrupted while it was read or generated");
}

}  // namespace heapwood::workloads::graph
