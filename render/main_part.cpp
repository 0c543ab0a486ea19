// SPDX-License-Identifier: MIT
#include "render/main_part.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "geometry/vec3d.hpp"

namespace heapwood::render {
namespace {

constexpr std::size_t slices = 1024, sample = 30000;

// In double: squares of lengths of 1e-20 and 1e20 stay in range.
double area(const Corners& t) {
  const auto [ux, uy, uz] = to_double(t.b) - to_double(t.a);
  const auto [vx, vy, vz] = to_double(t.c) - to_double(t.a);
  return std::hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx) / 2;
}

bool contains(const Box& box, const Box& part) {
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (part.lo[axis] < box.lo[axis] || part.hi[axis] > box.hi[axis]) return false;
  }
  return true;
}

// Slices of the box along one axis: the area of the triangles that begin in each, and whether any
// triangle covers it.
class Slices {
 public:
  Slices(float lo, float hi) : lo_(lo), scale_(slices / (double{hi} - lo)) {}

  void add(float from, float to, double triangle_area) {
    const std::size_t first = slice(from), last = slice(to);
    areas_[first] += triangle_area;
    ++begin_[first];
    ++end_[last + 1];
  }
  // The widest run of slices that no triangle covers, if it has at least a quarter of the slices.
  struct Gap {
    float middle;
    double width, area_below, area_above;
  };
  std::optional<Gap> widest_gap() const {
    std::size_t best_from = 0, best_to = 0, from = 0;
    std::int64_t covering = 0;
    for (std::size_t i = 0; i < slices; ++i) {
      covering += begin_[i] - end_[i];
      if (covering > 0) from = i + 1;
      if (i + 1 - from > best_to - best_from) {
        best_from = from;
        best_to = i + 1;
      }
    }
    if (best_to - best_from < slices / 4) return std::nullopt;
    Gap gap{};
    gap.middle = static_cast<float>(lo_ + static_cast<double>(best_from + best_to) / 2 / scale_);
    gap.width = static_cast<double>(best_to - best_from) / scale_;
    for (std::size_t i = 0; i < slices; ++i)
      (i < best_from ? gap.area_below : gap.area_above) += areas_[i];
    return gap;
  }

 private:
  std::size_t slice(float at) const {
    return static_cast<std::size_t>(std::clamp((at - lo_) * scale_, 0.0, slices - 1.0));
  }

  double lo_, scale_;
  std::array<double, slices> areas_{};
  std::array<std::int64_t, slices + 1> begin_{}, end_{};
};

// Calls f(box, corners) for every step-th triangle that lies in the box.
template <class F>
void each_inside(const kdtree::MeshView& mesh, const Box& limit, std::size_t step, F f) {
  for (std::size_t i = 0; i < mesh.triangles.size(); i += step) {
    const Corners t = kdtree::corners(mesh, static_cast<std::uint32_t>(i));
    const Box box = bounds(t);
    if (contains(limit, box)) f(box, t);
  }
}

using Gaps = std::array<std::optional<Slices::Gap>, 3>;

Gaps widest_gaps(const kdtree::MeshView& mesh, const Box& box, std::size_t step) {
  std::array<std::optional<Slices>, 3> along;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (box.hi[axis] > box.lo[axis]) along[axis].emplace(box.lo[axis], box.hi[axis]);
  }
  each_inside(mesh, box, step, [&](const Box& one, const Corners& t) {
    const double its_area = area(t);
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (along[axis]) along[axis]->add(one.lo[axis], one.hi[axis], its_area);
    }
  });
  Gaps gaps;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (along[axis]) gaps[axis] = along[axis]->widest_gap();
  }
  return gaps;
}

bool any(const Gaps& gaps) {
  return std::any_of(gaps.begin(), gaps.end(), [](const auto& gap) { return gap.has_value(); });
}

// The bounds of the triangles on the side of the gap with more area, if the other side is an
// outlier.
std::optional<Box> without_outlier(const kdtree::MeshView& mesh, const Box& box, unsigned axis,
                                   const Slices::Gap& gap) {
  const double lost = std::min(gap.area_above, gap.area_below);
  if (!(lost <= outlier_area * (gap.area_above + gap.area_below))) return std::nullopt;
  Box side = box;
  if (gap.area_above > gap.area_below) {
    side.lo = set(side.lo, axis, gap.middle);
  } else {
    side.hi = set(side.hi, axis, gap.middle);
  }
  Box rest;
  each_inside(mesh, side, 1, [&](const Box& one, const Corners&) { rest.grow(one); });
  if (rest.empty() || !(gap.width > outlier_gap * length(rest.extent()))) return std::nullopt;
  return rest;
}

}  // namespace

Box main_part(const kdtree::MeshView& mesh, const Box& all) {
  if (all.empty()) return all;
  Box box = all;
  const std::size_t step = std::max<std::size_t>(1, mesh.triangles.size() / sample);
  // Each iteration removes the outliers beyond one gap.
  for (int turn = 0; turn < 16; ++turn) {
    if (!any(widest_gaps(mesh, box, step))) return box;  // more triangles only make gaps narrower
    const Gaps gaps = widest_gaps(mesh, box, 1);
    std::optional<Box> rest;
    for (unsigned axis = 0; axis < 3 && !rest; ++axis) {
      if (gaps[axis]) rest = without_outlier(mesh, box, axis, *gaps[axis]);
    }
    if (!rest) return box;
    box = *rest;
  }
  return box;
}

}  // namespace heapwood::render
