// SPDX-License-Identifier: MIT
// Finds the points in a triangle of the plane: a binary tree of boxes over points split at medians.
// Points can be removed; branches without points are not searched.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "scenes/orientation.hpp"

namespace heapwood::scenes {

class PointTree {
 public:
  // `ids` are indices into `points`, which must outlive the tree.
  void build(std::span<const Point2> points, std::vector<std::uint32_t> ids) {
    points_ = points;
    ids_ = std::move(ids);
    std::size_t nodes = 1;
    for (std::size_t largest = ids_.size(); largest > leaf_points; largest = (largest + 1) / 2)
      nodes = 2 * nodes + 1;
    nodes_.resize(nodes);
    if (!ids_.empty()) build_below(0, 0, ids_.size());
    places_.assign(points.size(), nowhere);
    for (std::uint32_t i = 0; i < ids_.size(); ++i) places_[ids_[i]] = i;
  }

  bool contains(std::uint32_t id) const { return places_[id] != nowhere; }

  void remove(std::uint32_t id) {
    if (!contains(id)) return;
    std::size_t place = places_[id], node = 0, count = ids_.size();
    places_[id] = nowhere;
    --nodes_[node].present;
    while (count > leaf_points) {
      const bool second = place >= count / 2;
      node = 2 * node + (second ? 2 : 1);
      place -= second ? count / 2 : 0;
      count = second ? count - count / 2 : count / 2;
      --nodes_[node].present;
    }
  }

  // Calls visit(id) for all points in the counter-clockwise triangle, and for some near it, until
  // it returns true; returns whether it did. Adds the visited boxes and points to `steps`.
  template <class Visit>
  bool any_in(const Point2 (&triangle)[3], std::uint64_t& steps, Visit visit) const {
    if (ids_.empty()) return false;
    const auto [x_lo, x_hi] = std::minmax({triangle[0].x, triangle[1].x, triangle[2].x});
    const auto [y_lo, y_hi] = std::minmax({triangle[0].y, triangle[1].y, triangle[2].y});
    return any_below(0, 0, ids_.size(), {triangle, {x_lo, y_lo}, {x_hi, y_hi}}, steps, visit);
  }

 private:
  static constexpr std::size_t leaf_points = 8;
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  struct Node {
    Point2 lo, hi;
    std::size_t present = 0;
  };

  // Node i has children 2 i + 1 and 2 i + 2; its points are split in the middle.
  void build_below(std::size_t node, std::size_t first, std::size_t count) {
    Node box{points_[ids_[first]], points_[ids_[first]], count};
    for (std::size_t i = first + 1; i < first + count; ++i) {
      const Point2 p = points_[ids_[i]];
      box = {{std::min(box.lo.x, p.x), std::min(box.lo.y, p.y)},
             {std::max(box.hi.x, p.x), std::max(box.hi.y, p.y)},
             count};
    }
    nodes_[node] = box;
    if (count <= leaf_points) return;
    const bool by_y = box.hi.y - box.lo.y > box.hi.x - box.lo.x;
    const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(first);
    std::nth_element(begin, begin + static_cast<std::ptrdiff_t>(count / 2),
                     begin + static_cast<std::ptrdiff_t>(count),
                     [&](std::uint32_t a, std::uint32_t b) {
                       return by_y ? points_[a].y < points_[b].y : points_[a].x < points_[b].x;
                     });
    build_below(2 * node + 1, first, count / 2);
    build_below(2 * node + 2, first + count / 2, count - count / 2);
  }

  struct Query {
    const Point2 (&triangle)[3];
    Point2 lo, hi;  // its box
  };

  static bool is_disjoint(const Query& query, Point2 lo, Point2 hi) {
    return lo.x > query.hi.x || hi.x < query.lo.x || lo.y > query.hi.y || hi.y < query.lo.y;
  }

  // Whether the box is certainly outside one edge of the triangle.
  static bool is_outside(const Query& query, const Node& box) {
    for (unsigned i = 0; i < 3; ++i) {
      const Point2 a = query.triangle[i], b = query.triangle[i == 2 ? 0 : i + 1];
      const Point2 leftmost = {b.y < a.y ? box.hi.x : box.lo.x, b.x > a.x ? box.hi.y : box.lo.y};
      const double left = (b.x - a.x) * (leftmost.y - a.y),
                   right = (b.y - a.y) * (leftmost.x - a.x);
      if (right - left > 4e-16 * (std::abs(left) + std::abs(right))) return true;
    }
    return false;
  }

  template <class Visit>
  bool any_below(std::size_t node, std::size_t first, std::size_t count, const Query& query,
                 std::uint64_t& steps, Visit& visit) const {
    ++steps;
    const Node& box = nodes_[node];
    if (box.present == 0 || is_disjoint(query, box.lo, box.hi) || is_outside(query, box))
      return false;
    if (count > leaf_points) {
      return any_below(2 * node + 1, first, count / 2, query, steps, visit) ||
             any_below(2 * node + 2, first + count / 2, count - count / 2, query, steps, visit);
    }
    steps += count;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::uint32_t id = ids_[i];
      if (contains(id) && !is_disjoint(query, points_[id], points_[id]) && visit(id)) return true;
    }
    return false;
  }

  std::span<const Point2> points_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> places_;  // of each point in ids_
  std::vector<Node> nodes_;
};

}  // namespace heapwood::scenes
