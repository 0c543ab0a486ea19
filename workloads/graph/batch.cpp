// SPDX-License-Identifier: MIT
#include "workloads/graph/batch.hpp"

#include <algorithm>

#include "workloads/graph/seeded.hpp"

namespace heapwood::workloads::graph {

std::vector<Edge> make_batch(std::uint32_t vertices, std::uint64_t edges, UpdatePattern pattern,
                             std::uint64_t seed) {
  std::vector<Edge> batch;
  if (vertices < 2) return batch;
  batch.reserve(edges);
  const Draws draws(seed);
  std::uint32_t first = 0, range = vertices;
  if (pattern == UpdatePattern::pressure) {
    range = std::min(vertices, pressure_range);
    first = below(draws.bits(0), vertices - range + 1);
  }
  for (std::uint64_t i = 0; i < edges; ++i) {
    const std::uint32_t source = first + below(draws.bits(1 + 2 * i), range);
    const std::uint32_t other = below(draws.bits(2 + 2 * i), vertices - 1);
    batch.push_back({source, other + (other >= source)});
  }
  return batch;
}

}  // namespace heapwood::workloads::graph
