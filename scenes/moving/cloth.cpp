// SPDX-License-Identifier: MIT
// The moving scene `cloth`: a square cloth falls onto a ball and slides to the floor. A grid of
// points with constraints between neighbours is simulated in small steps (Macklin et al. 2019,
// "Small Steps in Physics Simulation"), in a fixed order; the mesh is a smooth surface through the
// points. The cloth does not collide with itself. The positions of all frames are computed once.
#include <algorithm>
#include <cmath>

#include "scenes/moving/sources.hpp"
#include "scenes/random.hpp"
#include "scenes/shapes.hpp"

namespace heapwood::scenes {
namespace {

constexpr float side = 3.6f, height = 2.75f;
constexpr float ball_radius = 1;
constexpr Vec3 ball_centre{0, ball_radius, 0};
constexpr float gap = 0.025f;  // between the cloth and a surface on which it lies

class FallingCloth {
 public:
  explicit FallingCloth(const Request& request)
      : request_(request),
        size_(static_cast<unsigned>(
            std::clamp(std::sqrt(static_cast<double>(request.triangles)) / 4, 12.0, 64.0))) {
    hang();
    simulate();
  }
  Mesh mesh(unsigned frame) const;

 private:
  std::size_t index(unsigned x, unsigned y) const { return std::size_t{y} * size_ + x; }
  void hang();
  void simulate();
  // Moves two points towards their distance at rest; `stiffness`: the share of the error corrected.
  void hold(std::size_t a, std::size_t b, float rest, float stiffness);
  void hold_all();
  void lie_on(std::size_t i, Vec3 before);
  Vec3 surface(const Vec3* points, float u, float v) const;

  Request request_;
  unsigned size_;  // number of points along each side
  std::vector<Vec3> at_, velocity_;
  std::vector<Vec3> path_;  // positions of all frames, frame by frame
};

void FallingCloth::hang() {
  Random random(request_.seed);
  // The cloth starts turned and not centred above the ball, so that its folds differ.
  const Frame frame = place({0.12f, height, -0.07f}, 1, 0.3f);
  for (unsigned y = 0; y < size_; ++y) {
    for (unsigned x = 0; x < size_; ++x) {
      const auto along = [&](unsigned i) {
        return side * (static_cast<float>(i) / static_cast<float>(size_ - 1) - 0.5f);
      };
      at_.push_back(frame({along(x), random.uniform(0, 0.01f), along(y)}));
    }
  }
  velocity_.resize(at_.size());
}

void FallingCloth::hold(std::size_t a, std::size_t b, float rest, float stiffness) {
  const Vec3 d = at_[b] - at_[a];
  const float distance = length(d);
  if (distance < 1e-6f) return;
  const Vec3 move = d * (0.5f * stiffness * (distance - rest) / distance);
  at_[a] = at_[a] + move;
  at_[b] = at_[b] - move;
}

void FallingCloth::hold_all() {
  const float cell = side / static_cast<float>(size_ - 1), diagonal = cell * 1.41421356f;
  for (unsigned y = 0; y < size_; ++y) {
    for (unsigned x = 0; x < size_; ++x) {
      const std::size_t i = index(x, y);
      const bool has_x = x + 1 < size_, has_y = y + 1 < size_;
      if (has_x) hold(i, i + 1, cell, 1);
      if (has_y) hold(i, i + size_, cell, 1);
      if (has_x && has_y) {
        hold(i, i + size_ + 1, diagonal, 0.3f);
        hold(i + 1, i + size_, diagonal, 0.3f);
      }
      // Constraints between second neighbours resist sharp bends.
      if (x + 2 < size_) hold(i, i + 2, 2 * cell, 0.2f);
      if (y + 2 < size_) hold(i, i + 2 * size_, 2 * cell, 0.2f);
    }
  }
}

// Keeps a point above the ball and the floor, where friction holds it back.
void FallingCloth::lie_on(std::size_t i, Vec3 before) {
  Vec3& p = at_[i];
  const Vec3 d = p - ball_centre;
  const float distance = length(d), min_distance = ball_radius + gap;
  if (distance < min_distance && distance > 1e-6f) {
    p = ball_centre + d * (min_distance / distance);
    p = lerp(p, before + d * (dot(p - before, d) / (distance * distance)), 0.12f);
  }
  if (p.y < gap) p = {lerp(p, before, 0.5f).x, gap, lerp(p, before, 0.5f).z};
}

void FallingCloth::simulate() {
  constexpr unsigned steps_per_frame = 12;
  constexpr float step = 1.0f / static_cast<float>(steps_per_frame * frames_per_second);
  constexpr float gravity = 7, drag = 0.6f;
  std::vector<Vec3> before;
  for (unsigned frame = 0; frame < procedural_frames; ++frame) {
    path_.insert(path_.end(), at_.begin(), at_.end());
    for (unsigned k = 0; k < steps_per_frame; ++k) {
      before = at_;
      for (std::size_t i = 0; i < at_.size(); ++i) {
        velocity_[i].y -= gravity * step;
        at_[i] = at_[i] + velocity_[i] * step;
      }
      hold_all();
      for (std::size_t i = 0; i < at_.size(); ++i) {
        lie_on(i, before[i]);
        velocity_[i] = (at_[i] - before[i]) * ((1 - drag * step) / step);
      }
    }
  }
}

// A point of the surface, by Catmull-Rom splines through the points.
Vec3 FallingCloth::surface(const Vec3* points, float u, float v) const {
  const float last = static_cast<float>(size_ - 1);
  const auto weights = [](float t, float(&w)[4]) {
    w[0] = 0.5f * t * (t * (2 - t) - 1);
    w[1] = 0.5f * (t * t * (3 * t - 5) + 2);
    w[2] = 0.5f * t * (t * (4 - 3 * t) + 1);
    w[3] = 0.5f * t * t * (t - 1);
  };
  const float x = u * last, y = v * last;
  const unsigned i = std::min(static_cast<unsigned>(x), size_ - 2),
                 j = std::min(static_cast<unsigned>(y), size_ - 2);
  float wx[4], wy[4];
  weights(x - static_cast<float>(i), wx);
  weights(y - static_cast<float>(j), wy);
  const auto clamped = [&](unsigned k) { return k == 0 ? 0 : std::min(k - 1, size_ - 1); };
  Vec3 sum;
  for (unsigned b = 0; b < 4; ++b) {
    Vec3 row;
    for (unsigned a = 0; a < 4; ++a)
      row = row + points[index(clamped(i + a), clamped(j + b))] * wx[a];
    sum = sum + row * wy[b];
  }
  // The curve between two points on the ball or the floor may pass below them.
  sum.y = std::max(sum.y, 0.5f * gap);
  const Vec3 d = sum - ball_centre;
  const float distance = length(d), min_distance = ball_radius + 0.5f * gap;
  return distance < min_distance && distance > 1e-6f ? ball_centre + d * (min_distance / distance)
                                                     : sum;
}

Mesh FallingCloth::mesh(unsigned frame) const {
  Model model;
  const Vec3* const points = path_.data() + std::size_t{frame} * at_.size();
  model.add({.point = [=, this](float u, float v) { return surface(points, u, v); },
             .cells_u = 100,
             .cells_v = 100,
             .min_u = 8,
             .min_v = 8});
  ball(model, place(ball_centre), ball_radius, 40, 12);
  disc(model, place({0, 0, 0}), 14, 0, 72);
  Mesh mesh = model.tessellate(request_.triangles, request_.threads);
  mesh.camera = CameraHint{{-2.2f, 3.2f, 5.9f}, {0, 1.05f, 0}, 38};
  return mesh;
}

}  // namespace

FrameMaker make_cloth(const Request& request) {
  return [scene = FallingCloth(request)](unsigned frame) { return scene.mesh(frame); };
}

}  // namespace heapwood::scenes
