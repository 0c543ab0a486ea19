// SPDX-License-Identifier: MIT
// The moving scene `spheres`: a rotating cloud of spheres falls into a bowl. The simulation is
// position-based (Müller et al. 2007, "Position Based Dynamics"): spheres move freely for a short
// step and are then pushed apart, in a fixed order. The positions of all frames are computed once.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "scenes/exact_math.hpp"
#include "scenes/moving/sources.hpp"
#include "scenes/random.hpp"
#include "scenes/shapes.hpp"

namespace heapwood::scenes {
namespace {

// The bowl is a part of a sphere, up to this angle from its bottom.
constexpr float bowl = 3, rim_angle = 1.195f, rim = 1.9f, thickness = 0.12f;
constexpr float floor_height = -thickness;
constexpr Vec3 bowl_centre{0, bowl, 0};

// The spheres near a point, by a grid whose cells are as wide as the largest sphere. Cells are
// hashed to slots, which may also hold spheres of other cells: callers test distances.
class Neighbours {
 public:
  Neighbours(std::size_t count, float width) : inverse_(1 / width), slot_(count), order_(count) {
    std::size_t slots = 64;
    while (slots < 2 * count) slots *= 2;
    start_.resize(slots + 1);
  }
  void sort(const std::vector<Vec3>& points) {
    std::ranges::fill(start_, 0u);
    for (std::size_t i = 0; i < points.size(); ++i) {
      slot_[i] = slot(cell(points[i].x), cell(points[i].y), cell(points[i].z));
      ++start_[slot_[i] + 1];
    }
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
    for (std::size_t i = 0; i < points.size(); ++i)
      order_[next[slot_[i]]++] = static_cast<std::uint32_t>(i);
  }
  template <class F>
  void for_each(Vec3 p, F f) const {
    const std::int32_t x = cell(p.x), y = cell(p.y), z = cell(p.z);
    for (std::int32_t k = z - 1; k <= z + 1; ++k) {
      for (std::int32_t j = y - 1; j <= y + 1; ++j) {
        for (std::int32_t i = x - 1; i <= x + 1; ++i) {
          const std::uint32_t s = slot(i, j, k);
          for (std::uint32_t index = start_[s]; index < start_[s + 1]; ++index) f(order_[index]);
        }
      }
    }
  }

 private:
  std::int32_t cell(float x) const { return static_cast<std::int32_t>(std::floor(x * inverse_)); }
  std::uint32_t slot(std::int32_t x, std::int32_t y, std::int32_t z) const {
    const std::uint32_t mixed = static_cast<std::uint32_t>(x) * 73856093u ^
                                static_cast<std::uint32_t>(y) * 19349663u ^
                                static_cast<std::uint32_t>(z) * 83492791u;
    return mixed & static_cast<std::uint32_t>(start_.size() - 2);
  }

  float inverse_;
  std::vector<std::uint32_t> slot_, order_, start_;
};

class FallingSpheres {
 public:
  explicit FallingSpheres(const Request& request) : request_(request) {
    const auto count = static_cast<std::size_t>(
        std::clamp(static_cast<double>(request.triangles) / 320, 30.0, 2500.0));
    place(count);
    simulate();
  }
  Mesh mesh(unsigned frame) const;

 private:
  void place(std::size_t count);
  void simulate();
  void push_apart(Neighbours& near);

  Request request_;
  std::vector<float> radius_;
  std::vector<Vec3> at_, velocity_;
  std::vector<Vec3> path_;  // positions of all frames, frame by frame
};

void FallingSpheres::place(std::size_t count) {
  // All spheres together fill about two thirds of the bowl.
  const float size = exact::cbrt(9.0f / (4.2f * static_cast<float>(count)));
  const float spacing = 2.5f * size, reach = 1.75f;
  Random random(request_.seed);
  const auto across = static_cast<int>(reach / spacing);
  for (int layer = 0; at_.size() < count; ++layer) {
    for (int z = -across; z <= across && at_.size() < count; ++z) {
      for (int x = -across; x <= across && at_.size() < count; ++x) {
        const Vec3 jitter{random.uniform(-0.1f, 0.1f), random.uniform(-0.1f, 0.1f),
                          random.uniform(-0.1f, 0.1f)};
        const float radius = size * random.uniform(0.7f, 1.2f);
        const Vec3 p =
            (Vec3{static_cast<float>(x), static_cast<float>(layer), static_cast<float>(z)} +
             jitter) *
                spacing +
            Vec3{0, 2.3f, 0};
        if (p.x * p.x + p.z * p.z > reach * reach) continue;
        at_.push_back(p);
        radius_.push_back(radius);
        velocity_.push_back(Vec3{p.z, 0, -p.x} * 1.3f);
      }
    }
  }
}

void FallingSpheres::push_apart(Neighbours& near) {
  near.sort(at_);
  for (std::uint32_t i = 0; i < at_.size(); ++i) {
    near.for_each(at_[i], [&](std::uint32_t j) {
      if (j <= i) return;
      const Vec3 d = at_[j] - at_[i];
      const float touch = radius_[i] + radius_[j], square = dot(d, d);
      if (square >= touch * touch || square < 1e-12f) return;
      const float distance = std::sqrt(square);
      const Vec3 push = d * (0.5f * (touch - distance) / distance);
      at_[i] = at_[i] - push;
      at_[j] = at_[j] + push;
    });
    const Vec3 d = at_[i] - bowl_centre;
    const float distance = length(d), inside = bowl - radius_[i];
    // A sphere in the bowl stays inside the wall; one that has left the bowl falls to the floor.
    if (at_[i].y < rim && distance > inside && distance < bowl)
      at_[i] = bowl_centre + d * (inside / distance);
    at_[i].y = std::max(at_[i].y, floor_height + radius_[i]);
  }
}

void FallingSpheres::simulate() {
  constexpr unsigned steps_per_frame = 6;
  constexpr float step = 1.0f / static_cast<float>(steps_per_frame * frames_per_second);
  constexpr float gravity = 8;
  const float widest = 2 * *std::ranges::max_element(radius_);
  Neighbours near(at_.size(), widest);
  std::vector<Vec3> before;
  for (unsigned frame = 0; frame < procedural_frames; ++frame) {
    path_.insert(path_.end(), at_.begin(), at_.end());
    for (unsigned k = 0; k < steps_per_frame; ++k) {
      before = at_;
      for (std::size_t i = 0; i < at_.size(); ++i) {
        velocity_[i].y -= gravity * step;
        at_[i] = at_[i] + velocity_[i] * step;
      }
      push_apart(near);
      for (std::size_t i = 0; i < at_.size(); ++i)
        velocity_[i] = (at_[i] - before[i]) * (0.998f / step);
    }
  }
}

Mesh FallingSpheres::mesh(unsigned frame) const {
  Model model;
  const Vec3* const positions = path_.data() + std::size_t{frame} * at_.size();
  for (std::size_t i = 0; i < at_.size(); ++i)
    ball(model, heapwood::scenes::place(positions[i]), radius_[i], 18, 4);
  // The wall from the bottom to the rim, inside and outside.
  for (const float radius : {bowl, bowl + thickness}) {
    const auto at_wall = [=](float u, float v) {
      const float r = radius * exact::sin(rim_angle * v);
      return Vec3{r * exact::cos(2 * pi * u), bowl - radius * exact::cos(rim_angle * v),
                  -r * exact::sin(2 * pi * u)};
    };
    model.add({.point = at_wall,
               .cells_u = 90,
               .cells_v = 24,
               .min_u = 24,
               .min_v = 8,
               .closed = true,
               .twins_u = 1'000'000,
               .pole_first = true});
  }
  const auto at_rim = [=](float u, float v) {
    const float radius = bowl + thickness * v, r = radius * exact::sin(rim_angle);
    return Vec3{r * exact::cos(2 * pi * u), bowl - radius * exact::cos(rim_angle),
                -r * exact::sin(2 * pi * u)};
  };
  model.add({.point = at_rim, .cells_u = 90, .min_u = 24, .closed = true, .twins_u = 1'000'000});
  disc(model, heapwood::scenes::place({0, floor_height, 0}), 16, 0, 72);
  Mesh mesh = model.tessellate(request_.triangles, request_.threads);
  mesh.camera = CameraHint{{-2.6f, 6.0f, 9.8f}, {0, 1.7f, 0}, 40};
  return mesh;
}

}  // namespace

FrameMaker make_falling_spheres(const Request& request) {
  return [scene = FallingSpheres(request)](unsigned frame) { return scene.mesh(frame); };
}

}  // namespace heapwood::scenes
