// SPDX-License-Identifier: MIT
// Judges closest hits by brute force in double precision.
//
// Criterion: for each triangle the test computes in double where the ray meets its plane (Meeting),
// and bounds the error of a traversal in float there: e = 16 * 2^-24 * (distance from the ray's
// origin to the triangle's farthest corner) / cosine in distance, and e / (min height) in weights.
// A hit is certain if its weights and its distance are inside their intervals by more than the
// error, and possible if they are outside by less. The fast test works in absolute coordinates,
// whose rounding is added (fast_precision). The watertight test interpolates the distance between
// the corners: its error in distance is that of a weight times the longest edge, if that is larger.
// Then
//
//   - a ray with a certain hit reports a hit, no farther than the certain one plus both errors;
//   - the reported hit is possible, and its distance and weights are correct within the errors.
//
// Ties (duplicates, coplanar triangles, shared edges) may be decided either way: only the distance
// is compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/render/double_reference.hpp"

namespace heapwood::render {

// The error bounds of a traversal.
struct Precision {
  double reach = 0;  // extra length whose rounding counts; 0 for tests relative to the triangle
  bool interpolates = false;  // interpolates distances between the corners
};

// A Meeting and its error bounds.
struct Bounded {
  Meeting meeting;
  double distance_error, weight_error;

  Bounded(const Meeting& m, const kdtree::Ray& ray, const Precision& precision) : meeting(m) {
    const double error = 0x1p-20 * (m.ray_length + precision.reach) / m.cosine;
    weight_error = error / m.min_height;
    distance_error =
        (precision.interpolates ? std::max(error, weight_error * m.longest_edge) : error) /
        length(in_double(ray.direction));
  }
  bool certain(const kdtree::Ray& ray) const {
    return meeting.min_weight() > weight_error && meeting.t > ray.tmin + distance_error &&
           meeting.t < ray.tmax - distance_error;
  }
  bool possible(const kdtree::Ray& ray) const {
    return meeting.min_weight() > -weight_error && meeting.t > ray.tmin - distance_error &&
           meeting.t < ray.tmax + distance_error;
  }
};

struct Sums {
  std::size_t rays = 0, certain = 0, hits = 0;
};

// Returns a description of the first hit that violates the criterion, or an empty string.
inline std::string judge(const std::string& name, const kdtree::MeshView& mesh,
                         const std::vector<kdtree::Ray>& rays, const std::vector<kdtree::Hit>& hits,
                         const Precision& precision, Sums& sums) {
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const kdtree::Ray& ray = rays[i];
    const kdtree::Hit& hit = hits[i];
    double latest = HUGE_VAL;
    std::optional<Bounded> own;
    for (std::uint32_t k = 0; k < mesh.triangles.size(); ++k) {
      const auto meeting = meet(ray, kdtree::corners(mesh, k));
      if (!meeting) continue;
      const Bounded bounded(*meeting, ray, precision);
      if (bounded.certain(ray)) latest = std::min(latest, meeting->t + bounded.distance_error);
      if (k == hit.triangle) own = bounded;
    }
    const std::string where = name + ", ray " + std::to_string(i) + ": ";
    ++sums.rays;
    sums.certain += latest < HUGE_VAL;
    sums.hits += hit.found();
    if (!hit.found()) {
      if (latest < HUGE_VAL) return where + "missed a hit at " + std::to_string(latest);
      continue;
    }
    if (!own) {
      // Rounding decides about a triangle parallel to the ray.
      if (has_area(kdtree::corners(mesh, hit.triangle))) continue;
      return where + "hit a triangle without area";
    }
    if (!own->possible(ray))
      return where + "hit a triangle that it misses by " +
             std::to_string(-own->meeting.min_weight());
    if (!(std::fabs(hit.t - own->meeting.t) <= own->distance_error)) {
      return where + "distance " + std::to_string(hit.t) + " is " + std::to_string(own->meeting.t);
    }
    if (!(hit.t <= latest + own->distance_error)) {
      return where + "hit at " + std::to_string(hit.t) + " behind one at " + std::to_string(latest);
    }
    if (!(std::max(std::fabs(hit.u - own->meeting.u), std::fabs(hit.v - own->meeting.v)) <=
          own->weight_error)) {
      return where + "weights differ by more than " + std::to_string(own->weight_error);
    }
  }
  return "";
}

}  // namespace heapwood::render
