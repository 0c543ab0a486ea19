// SPDX-License-Identifier: MIT
// Random graphs (R-MAT, uniform, of points, cliques and roads) and batches of updates.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::workloads::graph {

namespace {

// Draws four levels of R-MAT together, which is one of 256 outcomes, by Walker's alias method in
// integers: the upper 8 of 32 random bits choose a column, the lower 24 choose between the column's
// own outcome and the one that fills up the column. The probabilities are exact to 2^-32.
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
    // The weights add up to 256 columns; each heavy outcome fills up the column of a light one.
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

  // Returns 4 bits of the source and 4 of the destination, without a branch to mispredict.
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

// A bijection of numbers of `scale` bits: odd factors and xor with a right shift are invertible.
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

namespace {

constexpr std::uint64_t side = std::uint64_t{1} << 31;  // side of the square, in units

struct Point {
  std::uint32_t x = 0, y = 0;
};

Point point(std::uint64_t bits) {
  return {static_cast<std::uint32_t>(bits >> 33), static_cast<std::uint32_t>(bits >> 1) >> 1};
}

std::uint64_t squared_distance(Point a, Point b) {
  const std::int64_t x = static_cast<std::int64_t>(a.x) - b.x;
  const std::int64_t y = static_cast<std::int64_t>(a.y) - b.y;
  return static_cast<std::uint64_t>(x * x + y * y);
}

// 0.55^2 ln(n) in units of 2^-32, where ln(n) = log2(n) ln(2). The result is below 2^35.
std::uint64_t scaled_log(std::uint64_t n) {
  constexpr std::uint64_t factor = 900'553'898;  // 0.3025 ln(2) 2^32
  return log2_fixed(n) * factor >> 24;
}

// Points sorted into square cells no smaller than the radius, so that the neighbours of a point lie
// in its cell and the eight around it. There are no more cells than points.
class Cells {
 public:
  Cells(std::uint64_t points, std::uint64_t radius, const Draws& draws)
      : width_(std::max(radius, side / square_root(points))), per_row_(side / width_) {
    // A counting sort in one array. First start_[c + 2] counts the points of cell c; after the
    // prefix sum start_[c + 1] is the position of the next point of c. When all points are stored,
    // that is the end of c, and start_[c] is its beginning.
    start_.assign(per_row_ * per_row_ + 2, 0);
    for (std::uint64_t i = 0; i < points; ++i) ++start_[cell(point(draws.bits(i))) + 2];
    for (std::size_t c = 2; c < start_.size(); ++c) start_[c] += start_[c - 1];
    points_.resize(points);
    for (std::uint64_t i = 0; i < points; ++i) {
      const Point p = point(draws.bits(i));
      points_[start_[cell(p) + 1]++] = p;
    }
  }

  std::uint64_t per_row() const { return per_row_; }
  Point at(std::uint32_t vertex) const { return points_[vertex]; }
  std::uint32_t begin(std::uint64_t x, std::uint64_t y) const { return start_[y * per_row_ + x]; }
  std::uint32_t end(std::uint64_t x, std::uint64_t y) const { return begin(x + 1, y); }

 private:
  std::uint64_t cell(Point p) const {
    const std::uint64_t x = std::min(p.x / width_, per_row_ - 1);
    return std::min(p.y / width_, per_row_ - 1) * per_row_ + x;
  }

  std::uint64_t width_, per_row_;
  std::vector<std::uint32_t> start_;
  std::vector<Point> points_;
};

}  // namespace

GraphInput generate_rgg(const GraphRequest& request) {
  const std::uint64_t n = request.size;
  const std::uint64_t scaled = scaled_log(n);
  // Computes 2^62 * scaled / 2^32 / n, which is below 2^62, without a product of more than 64 bits.
  const std::uint64_t squared_radius = (scaled << 29) / n << 1;
  const Cells cells(n, square_root(squared_radius) + 1, Draws(request.seed));

  // The mean degree is pi * 0.3025 ln(n), less at the borders. Reserves 5% more.
  RowWriter rows(n, n * (scaled * 33 / 10 >> 20) / 4096 + n);
  const std::uint64_t last = cells.per_row() - 1;
  for (std::uint64_t y = 0; y <= last; ++y) {
    const std::uint64_t top = y - (y > 0), bottom = y + (y < last);
    for (std::uint64_t x = 0; x <= last; ++x) {
      const std::uint64_t left = x - (x > 0), right = x + (x < last);
      for (std::uint32_t p = cells.begin(x, y); p < cells.end(x, y); ++p) {
        const Point from = cells.at(p);
        // Adjacent cells of a row have consecutive points, so destinations are in order.
        for (std::uint64_t row = top; row <= bottom; ++row) {
          const std::uint32_t end = cells.end(right, row);
          for (std::uint32_t q = cells.begin(left, row); q < end; ++q) {
            if (q != p && squared_distance(from, cells.at(q)) <= squared_radius) rows.add(q);
          }
        }
        rows.end_row();
      }
    }
  }
  return rows.finish();
}

namespace {

// Clique i consists of the vertex `anchor` of an earlier clique and of new vertices: from `first`
// up to the next clique's `first`. The anchor of the first clique is vertex 0.
struct Clique {
  std::uint32_t first = 0, anchor = 0;
};

// The number of new vertices of a clique, 3.4 on average: 1 + a geometrically distributed number.
// The mean degree of a union of such cliques is twice 3.4.
std::uint64_t draw_new_vertices(const Draws& draws, std::uint64_t clique) {
  // Probability of one more, of 256: 1 - 1 / 3.4.
  constexpr std::uint64_t continues = 12 * 256 / 17;
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
      // Repeating an earlier clique's anchor makes a few vertices the anchors of many cliques.
      constexpr std::uint64_t repeats = 115;  // probability, of 256
      const std::uint64_t bits = draws.bits(i * 16);
      clique.anchor = (draws.bits(i * 16 + 1) & 0xff) < repeats
                          ? cliques[below(bits, static_cast<std::uint32_t>(i))].anchor
                          : below(bits, static_cast<std::uint32_t>(first));
    }
    cliques.push_back(clique);
  }
  cliques.push_back({static_cast<std::uint32_t>(n), 0});  // marks the end of the last clique
  return cliques;
}

}  // namespace

GraphInput generate_cliques(const GraphRequest& request) {
  const std::uint64_t n = request.size;
  const std::vector<Clique> cliques = draw_cliques(n, Draws(request.seed));
  const std::size_t count = cliques.size() - 1;

  // The cliques anchored at vertex v are anchored[start[v]] to anchored[start[v + 1] - 1].
  std::vector<std::uint32_t> start(n + 2, 0), anchored(count);
  for (std::size_t i = 0; i < count; ++i) ++start[cliques[i].anchor + 2];
  for (std::size_t v = 2; v < start.size(); ++v) start[v] += start[v - 1];
  for (std::size_t i = 0; i < count; ++i)
    anchored[start[cliques[i].anchor + 1]++] = static_cast<std::uint32_t>(i);

  // Cliques form a tree: two share at most one vertex, and no three form a cycle.
  std::uint64_t edges = 0, triangles = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t size = cliques[i + 1].first - cliques[i].first + 1;
    edges += size * (size - 1);
    triangles += size * (size - 1) * (size - 2) / 6;
  }
  RowWriter rows(n, edges);
  const auto add_new_vertices = [&](std::size_t clique, std::uint32_t except) {
    for (std::uint32_t u = cliques[clique].first; u < cliques[clique + 1].first; ++u) {
      if (u != except) rows.add(u);
    }
  };
  std::size_t own = 0;  // the clique in which v is a new vertex
  for (std::uint32_t v = 0; v < n; ++v) {
    if (v > 0) {
      if (v >= cliques[own + 1].first) ++own;
      rows.add(cliques[own].anchor);
      add_new_vertices(own, v);
    }
    for (std::uint32_t i = start[v]; i < start[v + 1]; ++i) add_new_vertices(anchored[i], v);
    rows.end_row();
  }
  return rows.finish(triangles);
}

namespace {

// Directions of a street from the junction that stores it to one with a larger number.
enum Direction : unsigned { east, south_west, south, south_east };

// A road network: junctions in rows of `width` (the last one may be shorter), linked by streets.
// 15% of the vertices are junctions, with 2.8 streets each; the other vertices are on streets, 4 on
// each. These are averages, which give a mean degree of 2.12.
class Streets {
 public:
  explicit Streets(const GraphRequest& request)
      : draws_(request.seed),
        junctions_(request.size * 3 / 20),
        width_(square_root(junctions_)),
        inner_(request.size - junctions_) {
    kept_.resize(junctions_);
    first_street_.reserve(junctions_ + 1);
    for (std::uint64_t junction = 0; junction < junctions_; ++junction) {
      first_street_.push_back(static_cast<std::uint32_t>(count_));
      kept_[junction] = choose_streets(junction);
      count_ += static_cast<std::uint64_t>(std::popcount(kept_[junction]));
    }
    first_street_.push_back(static_cast<std::uint32_t>(count_));
    shortest_ = inner_ / count_;
  }

  std::uint64_t junctions() const { return junctions_; }
  std::uint64_t width() const { return width_; }
  std::uint64_t edges() const { return count_ + inner_; }

  bool has(std::uint64_t junction, Direction d) const { return (kept_[junction] >> d & 1) != 0; }
  std::uint64_t index(std::uint64_t junction, Direction d) const {
    const unsigned before = kept_[junction] & ((1u << d) - 1);
    return first_street_[junction] + static_cast<std::uint64_t>(std::popcount(before));
  }

  // The vertex of a junction. It is followed by the inner vertices of the streets stored at it.
  std::uint64_t vertex(std::uint64_t junction) const {
    return junction + inner_before(first_street_[junction]);
  }
  std::uint64_t first_inner(std::uint64_t junction, std::uint64_t street) const {
    return junction + 1 + inner_before(street);
  }
  std::uint64_t last_inner(std::uint64_t junction, std::uint64_t street) const {
    return junction + inner_before(street + 1);
  }

 private:
  // Links each junction but the first to its western or northern neighbour, which gives a spanning
  // tree. Adds a quarter of the other links of the grid, and 7.5% of the diagonals.
  std::uint8_t choose_streets(std::uint64_t junction) const {
    const std::uint64_t x = junction % width_, bits = draws_.bits(2 * junction);
    const std::uint64_t next_row = junction + width_;
    const auto chance = [&](unsigned field, unsigned per_thousand) {
      return (bits >> 16 * field & 0xffff) * 1000 < per_thousand * 65536u;
    };
    unsigned kept = 0;
    if (x + 1 < width_ && junction + 1 < junctions_ &&
        (chance(0, 250) || !is_linked_to_north(junction + 1)))
      kept |= 1u << east;
    if (x > 0 && next_row - 1 < junctions_ && chance(1, 75)) kept |= 1u << south_west;
    if (next_row < junctions_ && (chance(2, 250) || is_linked_to_north(next_row)))
      kept |= 1u << south;
    if (x + 1 < width_ && next_row + 1 < junctions_ && chance(3, 75)) kept |= 1u << south_east;
    return static_cast<std::uint8_t>(kept);
  }

  bool is_linked_to_north(std::uint64_t junction) const {
    if (junction < width_) return false;
    return junction % width_ == 0 || draws_.bits(2 * junction + 1) % 2 == 0;
  }

  // The number of inner vertices of all streets before this one. They are distributed evenly; then
  // each pair of streets exchanges some at random, but each street keeps at least one.
  std::uint64_t inner_before(std::uint64_t street) const {
    const std::uint64_t even = street * inner_ / count_;
    if (street % 2 == 0 || street == count_) return even;
    const auto range = static_cast<std::uint32_t>(2 * shortest_ - 1);
    return even + below(draws_.bits(~street), range) + 1 - shortest_;
  }

  Draws draws_;
  std::uint64_t junctions_, width_, inner_;
  std::uint64_t count_ = 0, shortest_ = 0;
  std::vector<std::uint8_t> kept_;           // of each junction, a bit per direction
  std::vector<std::uint32_t> first_street_;  // of each junction
};

}  // namespace

GraphInput generate_road(const GraphRequest& request) {
  const Streets streets(request);
  const std::uint64_t width = streets.width();
  RowWriter rows(request.size, 2 * streets.edges());
  for (std::uint64_t junction = 0; junction < streets.junctions(); ++junction) {
    const std::uint64_t x = junction % width, vertex = streets.vertex(junction);
    const auto arrive = [&](std::uint64_t from, Direction d) {
      if (streets.has(from, d)) rows.add(streets.last_inner(from, streets.index(from, d)));
    };
    if (junction >= width) {
      if (x > 0) arrive(junction - width - 1, south_east);
      arrive(junction - width, south);
      if (x + 1 < width) arrive(junction - width + 1, south_west);
    }
    if (x > 0) arrive(junction - 1, east);
    const Direction directions[] = {east, south_west, south, south_east};
    const std::uint64_t targets[] = {junction + 1, junction + width - 1, junction + width,
                                     junction + width + 1};
    for (const Direction d : directions) {
      if (streets.has(junction, d))
        rows.add(streets.first_inner(junction, streets.index(junction, d)));
    }
    rows.end_row();

    for (const Direction d : directions) {
      if (!streets.has(junction, d)) continue;
      const std::uint64_t street = streets.index(junction, d);
      const std::uint64_t first = streets.first_inner(junction, street);
      const std::uint64_t last = streets.last_inner(junction, street);
      for (std::uint64_t v = first; v <= last; ++v) {
        rows.add(v == first ? vertex : v - 1);
        rows.add(v == last ? streets.vertex(targets[d]) : v + 1);
        rows.end_row();
      }
    }
  }
  // No triangles: a cycle has at least three streets, each of at least two edges.
  return rows.finish(0);
}

}  // namespace heapwood::workloads::graph
