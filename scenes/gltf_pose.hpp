// SPDX-License-Identifier: MIT
// The transforms of a glTF file's nodes, at rest and at a time of an animation.
#pragma once

#include <vector>

#include "scenes/gltf_accessors.hpp"

namespace heapwood::scenes::gltf {

// Maps p to x p.x + y p.y + z p.z + origin.
struct Affine {
  Vec3d x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1}, origin;

  Vec3d turned(Vec3d p) const {
    return {x.x * p.x + y.x * p.y + z.x * p.z, x.y * p.x + y.y * p.y + z.y * p.z,
            x.z * p.x + y.z * p.y + z.z * p.z};
  }
  Vec3d operator()(Vec3d p) const { return turned(p) + origin; }
  // Negative if the transform mirrors.
  double determinant() const {
    return x.x * (y.y * z.z - y.z * z.y) + x.y * (y.z * z.x - y.x * z.z) +
           x.z * (y.x * z.y - y.y * z.x);
  }
};
Affine operator*(const Affine& outer, const Affine& inner);
// The transform of a matrix given by columns; its last row is assumed to be 0 0 0 1.
template <class T>
Affine affine_of(const T* columns) {
  const auto column = [&](unsigned i) {
    return Vec3d{columns[4 * i], columns[4 * i + 1], columns[4 * i + 2]};
  };
  return {column(0), column(1), column(2), column(3)};
}

struct Pose {
  std::vector<Affine> globals;              // by node
  std::vector<std::vector<float>> weights;  // of morph targets, by node; empty: those of the mesh
};

// An animation whose data is in memory.
class Clip {
 public:
  // Throws Error{Exit::scene} if values are missing.
  Clip(const AnimationInfo& info, Accessors& accessors);
  // Whether the file had times out of range or decreasing, each replaced by the one before it.
  bool has_moved_times() const { return has_moved_times_; }

  double duration() const { return duration_; }
  // Changes the nodes of a pose at rest to the pose at this time.
  void apply(double seconds, std::vector<Node>& nodes) const;

 private:
  struct Track {
    Channel channel;
    std::vector<float> times, values;
    std::size_t width = 0;  // values per key
  };
  void sample(const Track& track, float seconds, std::vector<double>& value) const;

  std::vector<Track> tracks_;
  double duration_ = 0;
  bool has_moved_times_ = false;
};

// `clip` may be nullptr: the pose at rest.
Pose pose_at(const Document& document, const Clip* clip, double seconds);

}  // namespace heapwood::scenes::gltf
