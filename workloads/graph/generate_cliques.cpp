// SPDX-License-Identifier: MIT
#include <vector>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::workloads::graph {
namespace {

// Clique i consists of vertex `anchor` of an earlier clique and of the new vertices from `first` to
// before the next clique's `first`. Vertex 0 is the anchor of the first one.
struct Clique {
  std::uint32_t first = 0, anchor = 0;
};

// New vertices of a clique: 1 + a geometric number, 3.4 on average. The mean degree of a union of
// such cliques is twice that.
std::uint64_t draw_new_vertices(const Draws& draws, std::uint64_t clique) {
  constexpr std::uint64_t continues = 12 * 256 / 17;  // of 256: 1 - 1 / 3.4
  constexpr std::uint64_t longest = 64;
  std::uint64_t count = 1;
  for (std::uint64_t bits = 0; count < longest; bits >>= 8, ++count) {
    if (count % 8 == 1) bits = draws.bits(clique * 16 + 2 + count / 8);
    if ((bits & 0xff) >= continues) break;
  }
  return count;
}

std::vector<Clique> draw_cliques(std::uint64_t n, const Draws& draws) {
  std::vector<Clique> cliques;
  cliques.reserve(n * 5 / 16);
  for (std::uint64_t first = 1; first < n; first += draw_new_vertices(draws, cliques.size())) {
    const std::uint64_t i = cliques.size();
    Clique clique{static_cast<std::uint32_t>(first), 0};
    if (i > 0) {
      // Repeating the choice of an earlier clique makes a few vertices the anchors of many cliques.
      constexpr std::uint64_t repeats = 115;  // of 256
      const std::uint64_t bits = draws.bits(i * 16);
      clique.anchor = (draws.bits(i * 16 + 1) & 0xff) < repeats
                          ? cliques[below(bits, static_cast<std::uint32_t>(i))].anchor
                          : below(bits, static_cast<std::uint32_t>(first));
    }
    cliques.push_back(clique);
  }
  cliques.push_back({static_cast<std::uint32_t>(n), 0});  // the end of the last one
  return cliques;
}

}  // namespace

GraphInput generate_cliques(const GraphRequest& request) {
  const std::uint64_t n = request.size;
  const std::vector<Clique> cliques = draw_cliques(n, Draws(request.seed));
  const std::size_t count = cliques.size() - 1;

  // The cliques anchored at vertex v: anchored[start[v]] to anchored[start[v + 1] - 1].
  std::vector<std::uint32_t> start(n + 2, 0), anchored(count);
  for (std::size_t i = 0; i < count; ++i) ++start[cliques[i].anchor + 2];
  for (std::size_t v = 2; v < start.size(); ++v) start[v] += start[v - 1];
  for (std::size_t i = 0; i < count; ++i)
    anchored[start[cliques[i].anchor + 1]++] = static_cast<std::uint32_t>(i);

  GraphInput input;
  std::uint64_t edges = 0, triangles = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t size = cliques[i + 1].first - cliques[i].first + 1;
    edges += size * (size - 1);
    triangles += size * (size - 1) * (size - 2) / 6;
  }
  // Cliques form a tree: two share at most one vertex, and no three form a cycle.
  input.triangles = triangles;

  RowWriter rows(n, edges);
  const auto add_new_vertices = [&](std::size_t clique, std::uint32_t except) {
    for (std::uint32_t u = cliques[clique].first; u < cliques[clique + 1].first; ++u) {
      if (u != except) rows.add(u);
    }
  };
  std::size_t own = 0;  // the clique in which v is new
  for (std::uint32_t v = 0; v < n; ++v) {
    if (v > 0) {
      if (v >= cliques[own + 1].first) ++own;
      rows.add(cliques[own].anchor);
      add_new_vertices(own, v);
    }
    for (std::uint32_t i = start[v]; i < start[v + 1]; ++i) add_new_vertices(anchored[i], v);
    rows.end_row();
  }
  input.graph = rows.finish();
  return input;
}

}  // namespace heapwood::workloads::graph
