// SPDX-License-Identifier: MIT
#include "scenes/ear_clipping.hpp"

#include <algorithm>
#include <limits>

#include "scenes/file.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::uint32_t clipped = std::numeric_limits<std::uint32_t>::max();

// Whether collinear points a and c lie on the same side of b, or one of them equals b.
bool is_spike(Point2 a, Point2 b, Point2 c) {
  return (a.x - b.x) * (c.x - b.x) + (a.y - b.y) * (c.y - b.y) >= 0;
}

}  // namespace

int EarClipper::turn(std::uint32_t corner) const {
  return orientation(points[previous_[corner]], points[corner], points[next_[corner]]);
}

void EarClipper::start() {
  left_ = static_cast<std::uint32_t>(points.size());
  any_ = 0;
  steps_ = 0;
  step_limit_ = steps_per_corner * left_;
  met_no_ear_ = gave_up_ = false;
  next_.resize(left_);
  previous_.resize(left_);
  versions_.assign(left_, 0);
  for (std::uint32_t i = 0; i < left_; ++i) {
    next_[i] = i + 1 == left_ ? 0 : i + 1;
    previous_[i] = i == 0 ? left_ - 1 : i - 1;
  }
  std::vector<std::uint32_t> blockers;
  for (std::uint32_t i = 0; i < left_; ++i) {
    if (turn(i) <= 0) blockers.push_back(i);
  }
  blockers_.build(points, std::move(blockers));
}

void EarClipper::queue_all() {
  queue_.clear();
  queue_begin_ = 0;
  std::uint32_t corner = any_;
  for (std::uint32_t i = 0; i < left_; ++i, corner = next_[corner])
    queue_.push_back({corner, versions_[corner]});
}

// Whether the corner `other` lies in the corner's triangle, which is then not an ear. Touching the
// triangle's border is allowed unless an edge goes from there into the triangle, because bridges to
// holes run along borders.
bool EarClipper::blocks(std::uint32_t other, std::uint32_t corner, Rule rule) const {
  check_interruption();
  const std::uint32_t before = previous_[corner], after = next_[corner];
  if (other == before || other == corner || other == after) return false;
  const Point2 triangle[4] = {points[before], points[corner], points[after], points[before]};
  int sides[3];
  for (unsigned i = 0; i < 3; ++i) {
    sides[i] = orientation(triangle[i], triangle[i + 1], points[other]);
    if (sides[i] < 0) return false;
  }
  if (rule == Rule::strict && sides[0] > 0 && sides[1] > 0) return true;
  for (const std::uint32_t neighbour : {next_[other], previous_[other]}) {
    bool enters = true;
    for (unsigned i = 0; i < 3 && enters; ++i) {
      enters = sides[i] > 0 || orientation(triangle[i], triangle[i + 1], points[neighbour]) > 0;
    }
    if (enters) return true;
  }
  return false;
}

bool EarClipper::is_ear(std::uint32_t corner, Rule rule) {
  ++steps_;
  const Point2 triangle[3] = {points[previous_[corner]], points[corner], points[next_[corner]]};
  const int side = orientation(triangle[0], triangle[1], triangle[2]);
  if (side < 0) return false;
  if (side == 0) return rule == Rule::lax || is_spike(triangle[0], triangle[1], triangle[2]);
  return !blockers_.any_in(triangle, steps_,
                           [&](std::uint32_t other) { return blocks(other, corner, rule); });
}

void EarClipper::update(std::uint32_t corner) {
  if (blockers_.contains(corner) && turn(corner) > 0) blockers_.remove(corner);
  queue_.push_back({corner, ++versions_[corner]});
}

void EarClipper::cut(std::uint32_t corner, std::vector<Triangle>& triangles) {
  const std::uint32_t before = previous_[corner], after = next_[corner];
  triangles.push_back({{before, corner, after}});
  next_[before] = after;
  previous_[after] = before;
  versions_[corner] = clipped;
  blockers_.remove(corner);
  any_ = after;
  --left_;
  update(before);
  update(after);
}

// Chooses a corner when no strict ear is left: a lax ear or, in an outline that intersects itself,
// the first convex corner.
std::uint32_t EarClipper::choose_without_queue() {
  std::uint32_t corner = any_, convex = any_;
  bool has_convex = false;
  for (std::uint32_t i = 0; i < left_ && steps_ < step_limit_; ++i, corner = next_[corner]) {
    check_interruption();
    if (is_ear(corner, Rule::lax)) return corner;
    if (has_convex || turn(corner) <= 0) continue;
    convex = corner;
    has_convex = true;
  }
  met_no_ear_ = true;
  return convex;
}

void EarClipper::fan(std::vector<Triangle>& triangles) const {
  for (std::uint32_t corner = next_[any_]; next_[corner] != any_; corner = next_[corner]) {
    triangles.push_back({{any_, corner, next_[corner]}});
  }
}

void EarClipper::clip(std::vector<Triangle>& triangles) {
  start();
  queue_all();
  bool cut_since_all_queued = false;
  while (left_ > 3) {
    check_interruption();
    if (steps_ >= step_limit_) {
      gave_up_ = true;
      break;
    }
    if (queue_begin_ == queue_.size()) {
      // A corner that made a triangle fail the strict rule may have been clipped meanwhile: retries
      // all before relaxing the rule.
      if (!cut_since_all_queued) {
        const std::uint32_t corner = choose_without_queue();
        if (steps_ < step_limit_) cut(corner, triangles);
      }
      queue_all();
      cut_since_all_queued = false;
      continue;
    }
    // First in, first out: neighbours of a clipped corner are tested last, which avoids fans of
    // slivers.
    const Queued queued = queue_[queue_begin_++];
    if (versions_[queued.corner] != queued.version || !is_ear(queued.corner, Rule::strict))
      continue;
    cut(queued.corner, triangles);
    cut_since_all_queued = true;
  }
  fan(triangles);
}

bool has_crossing(std::span<const Point2> outline) {
  struct Edge {
    double lo, hi;  // in x
    std::size_t corner;
  };
  const std::size_t n = outline.size();
  const auto end_of = [&](std::size_t corner) { return outline[corner + 1 == n ? 0 : corner + 1]; };
  std::vector<Edge> edges(n);
  for (std::size_t i = 0; i < n; ++i) {
    edges[i] = {std::min(outline[i].x, end_of(i).x), std::max(outline[i].x, end_of(i).x), i};
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.lo < b.lo; });
  std::size_t pairs = 256 * n;
  for (std::size_t i = 0; i < n; ++i) {
    check_interruption();
    const Point2 a = outline[edges[i].corner], b = end_of(edges[i].corner);
    const auto [y_lo, y_hi] = std::minmax(a.y, b.y);
    for (std::size_t j = i + 1; j < n && edges[j].lo <= edges[i].hi; ++j) {
      if (--pairs == 0) return false;
      const Point2 c = outline[edges[j].corner], d = end_of(edges[j].corner);
      if (std::max(c.y, d.y) < y_lo || std::min(c.y, d.y) > y_hi) continue;
      if (orientation(a, b, c) * orientation(a, b, d) < 0 &&
          orientation(c, d, a) * orientation(c, d, b) < 0)
        return true;
    }
  }
  return false;
}

}  // namespace heapwood::scenes
