// SPDX-License-Identifier: MIT
// Ear clipping of a polygon in the plane. An ear is a convex corner whose triangle with its two
// neighbours lies inside the polygon. A polygon without self-intersections has an ear, and clipping
// it leaves such a polygon with one corner less. Whether a triangle lies inside depends on the
// corners that are not convex, which are kept in a tree of boxes. A corner that is not an ear
// cannot become one until a neighbour is clipped, so each corner is tested about three times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "geometry/triangle.hpp"
#include "scenes/orientation.hpp"
#include "scenes/point_tree.hpp"

namespace heapwood::scenes {

class EarClipper {
 public:
  static constexpr std::uint64_t steps_per_corner = 512;

  // The outline, counter-clockwise; set by the caller before clip().
  std::vector<Point2> points;

  // Appends points.size() - 2 triangles.
  void clip(std::vector<Triangle>& triangles);

  bool met_no_ear() const { return met_no_ear_; }  // the outline intersects itself
  bool gave_up() const { return gave_up_; }        // the step limit was reached

 private:
  // Strict: the new edge touches no other corner, and the triangle has a positive area, except at
  // spikes and repeated corners. Lax: the triangle must not lie outside the polygon.
  enum class Rule { strict, lax };

  void start();
  bool is_ear(std::uint32_t corner, Rule rule);
  bool blocks(std::uint32_t other, std::uint32_t corner, Rule rule) const;
  std::uint32_t choose_without_queue();
  void cut(std::uint32_t corner, std::vector<Triangle>& triangles);
  void update(std::uint32_t corner);
  void queue_all();
  void fan(std::vector<Triangle>& triangles) const;
  int turn(std::uint32_t corner) const;

  struct Queued {
    std::uint32_t corner, version;
  };

  std::vector<std::uint32_t> next_, previous_;
  std::vector<std::uint32_t> versions_;  // changes with a corner's neighbours; `clipped` at the end
  std::vector<Queued> queue_;
  std::size_t queue_begin_ = 0;
  PointTree blockers_;
  std::uint32_t any_ = 0, left_ = 0;
  std::uint64_t steps_ = 0, step_limit_ = 0;
  bool met_no_ear_ = false, gave_up_ = false;
};

// Whether two edges of the outline cross each other at a point inside both. Looks at a bounded
// number of pairs of edges: in outlines of thousands of corners a crossing may be missed.
bool has_crossing(std::span<const Point2> outline);

}  // namespace heapwood::scenes
