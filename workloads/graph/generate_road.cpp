// SPDX-License-Identifier: MIT
#include <bit>
#include <vector>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::workloads::graph {
namespace {

// A street leads from the junction that owns it to one with a larger number.
enum Direction : unsigned { east, south_west, south, south_east };

// Junctions in rows of `width`; the last row may be incomplete. 15% of the vertices are junctions
// and have 2.8 streets on average, so that a street has 4 vertices between its ends on average:
// the mean degree is 2.12.
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

  // A junction is followed by the inner vertices of the streets that it owns.
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
  // Each junction but the first is linked to the one in the west or in the north: a spanning tree.
  // A quarter of the other links of the grid and 7.5% of the diagonals are added.
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
  // a pair of streets exchanges some, so that each has at least one.
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
  GraphInput input;
  input.graph = rows.finish();
  input.triangles = 0;  // a cycle has at least three streets, each of at least two edges
  return input;
}

}  // namespace heapwood::workloads::graph
