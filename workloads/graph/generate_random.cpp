// SPDX-License-Identifier: MIT
// Edges drawn one by one: graphs (R-MAT and uniform) and batches of updates.
#include <algorithm>
#include <array>
#include <vector>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::workloads::graph {
namespace {

// Draws four levels of R-MAT at once, one of 256 outcomes, by Walker's alias method in integers:
// the upper 8 of 32 random bits choose a column, the lower 24 the column's own outcome or the other
// one that fills it. The probabilities are exact to 2^-32.
class FourLevels {
 public:
  FourLevels() {
    std::array<std::uint64_t, 256> weights;
    std::vector<unsigned> light, heavy;
    for (unsigned outcome = 0; outcome < 256; ++outcome) {
      std::uint64_t weight = 256;
      for (unsigned level = 0; level < 4; ++level) {
        constexpr std::uint64_t percent[] = {57, 19, 19, 5};
        weight *= percent[(outcome >> (4 + level) & 1) * 2 + (outcome >> level & 1)];
      }
      weights[outcome] = weight;
      (weight < column ? light : heavy).push_back(outcome);
    }
    // The weights sum to 256 columns; a heavy outcome fills the column of a light one.
    while (!light.empty()) {
      const unsigned own = light.back(), other = heavy.back();
      light.pop_back();
      columns_[own] = {static_cast<std::uint32_t>((weights[own] << 24) / column),
                       static_cast<std::uint8_t>(other)};
      weights[other] -= column - weights[own];
      if (weights[other] < column) {
        heavy.pop_back();
        light.push_back(other);
      }
    }
    for (const unsigned full : heavy) columns_[full] = {1u << 24, static_cast<std::uint8_t>(full)};
  }

  // The upper 4 bits are the source's, the lower 4 the destination's. Without a branch, which would
  // often be mispredicted.
  unsigned draw(std::uint32_t bits) const {
    const unsigned own = bits >> 24;
    const unsigned takes_other = (bits & 0xffffff) >= columns_[own].threshold;
    return own ^ ((own ^ columns_[own].other) & (0 - takes_other));
  }

 private:
  static constexpr std::uint64_t column = 100'000'000;
  struct Column {
    std::uint32_t threshold = 0;
    std::uint8_t other = 0;
  };
  std::array<Column, 256> columns_;
};

// A bijection of the numbers of `scale` bits: odd factors and shifts to the right can be undone.
std::uint32_t permute(std::uint32_t vertex, unsigned scale) {
  const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << scale) - 1);
  const unsigned half = (scale + 1) / 2;
  for (const std::uint32_t factor : {0x9e3779b1u, 0x85ebca77u, 0xc2b2ae3du}) {
    vertex = vertex * factor & mask;
    vertex ^= vertex >> half;
  }
  return vertex;
}

Edge draw_rmat_edge(const FourLevels& levels, const Draws& draws, std::uint64_t i, unsigned scale) {
  std::uint32_t source = 0, destination = 0;
  std::uint64_t bits = 0;
  for (unsigned done = 0; done < scale; done += 4) {
    bits = done % 8 == 0 ? draws.bits(i * 4 + done / 8) : bits << 32;
    const unsigned outcome = levels.draw(static_cast<std::uint32_t>(bits >> 32));
    const unsigned used = std::min(4u, scale - done);  // the last levels may be fewer than four
    source = source << used | outcome >> (8 - used);
    destination = destination << used | (outcome & 15) >> (4 - used);
  }
  return {permute(source, scale), permute(destination, scale)};
}

}  // namespace

GraphInput generate_rmat(const GraphRequest& request) {
  const auto scale = static_cast<unsigned>(request.size);
  const std::uint64_t vertices = std::uint64_t{1} << scale;
  const FourLevels levels;
  const Draws draws(request.seed);
  return build_graph(vertices, true, [&](auto&& visit) {
    for (std::uint64_t i = 0; i < vertices * request.parameter; ++i)
      visit(draw_rmat_edge(levels, draws, i, scale));
  });
}

GraphInput generate_uniform(const GraphRequest& request) {
  const auto vertices = static_cast<std::uint32_t>(request.size);
  const std::uint64_t count = request.size * request.parameter / 2;
  const Draws draws(request.seed);
  return build_graph(vertices, true, [&](auto&& visit) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = draws.bits(i);
      visit(Edge{below(bits, vertices), below(bits << 32, vertices)});
    }
  });
}

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
