// SPDX-License-Identifier: MIT
#include "render/auto_camera.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "geometry/vec3d.hpp"

namespace heapwood::render {
namespace {

// The sample has at least this many triangles, if the mesh has them, and less than twice as many.
constexpr std::size_t min_sample = 30000;

// Computed in double, so that squares of lengths of 1e-20 and 1e20 stay in range.
double triangle_area(const Corners& t) {
  const auto [x, y, z] = cross(to_double(t.b) - to_double(t.a), to_double(t.c) - to_double(t.a));
  return std::hypot(x, y, z) / 2;
}

// The box of the centres of a sample of the triangles, without those that have the outer tenth of
// the sample's area at each end of each axis. Empty if the sample has no area.
Box core_of(const kdtree::MeshView& mesh) {
  const std::size_t step = std::max<std::size_t>(1, mesh.triangles.size() / min_sample);
  Box core;
  for (unsigned axis = 0; axis < 3; ++axis) {
    std::vector<std::pair<float, double>> centres;  // with areas
    double all = 0, below = 0;
    for (std::size_t i = 0; i < mesh.triangles.size(); i += step) {
      const Corners t = kdtree::corners(mesh, static_cast<std::uint32_t>(i));
      centres.emplace_back(bounds(t).centre()[axis], triangle_area(t));
      all += centres.back().second;
    }
    std::sort(centres.begin(), centres.end());
    for (const auto& [centre, area] : centres) {
      if (below <= outlier_area * all) core.lo[axis] = centre;
      if (below < (1 - outlier_area) * all) core.hi[axis] = centre;
      below += area;
    }
  }
  return core;
}

}  // namespace

Box main_part(const kdtree::MeshView& mesh, const Box& all) {
  Box part = core_of(mesh);
  if (part.empty()) return all;
  // Replaces the box by that of all triangles near it, until the box stays the same.
  for (Box last; part != last;) {
    last = std::exchange(part, Box{});
    const Vec3d extent = to_double(last.hi) - to_double(last.lo);
    const auto gap = static_cast<float>(outlier_gap * std::hypot(extent.x, extent.y, extent.z));
    const Box limit{last.lo - Vec3{gap, gap, gap}, last.hi + Vec3{gap, gap, gap}};
    for (std::uint32_t i = 0; i < mesh.triangles.size(); ++i) {
      const Box box = bounds(kdtree::corners(mesh, i));
      if (!intersect(box, limit).empty()) part.grow(box);
    }
  }
  return part;
}

}  // namespace heapwood::render
