// SPDX-License-Identifier: MIT
// One directed edge: of a file, of a generated graph, or of a batch of updates.
#pragma once

#include <cstdint>

namespace heapwood::workloads::graph {

struct Edge {
  std::uint32_t source = 0, destination = 0;
  bool operator==(const Edge&) const = default;
};

}  // namespace heapwood::workloads::graph
