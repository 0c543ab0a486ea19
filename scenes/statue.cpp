// SPDX-License-Identifier: MIT
// The scene `statue`: a monolithic head, as if scanned: a closed, slightly curved surface of small
// even triangles. The shape is a blend of rounded solids. A box around its upright axis is divided
// into cells, whose corners are moved to where a ray from the axis meets the outermost surface.
#include <algorithm>
#include <cmath>
#include <memory>

#include "scenes/exact_math.hpp"
#include "scenes/families.hpp"
#include "scenes/ornaments.hpp"
#include "scenes/random.hpp"

namespace heapwood::scenes {
namespace {

constexpr float reach = 2.4f;  // max distance of the surface from the axis
constexpr float axis_low = 0.3f, axis_high = 3.25f;
constexpr float box_height = 3;  // half of the box's height; half of its width and depth is 1

float blend(float a, float b, float k) {  // smooth minimum
  const float h = std::max(k - std::fabs(a - b), 0.0f) / k;
  return std::min(a, b) - h * h * k * 0.25f;
}
float carve(float a, float b, float k) { return -blend(-a, b, k); }

float ellipsoid(Vec3 p, Vec3 radii) {
  const Vec3 q = {p.x / radii.x, p.y / radii.y, p.z / radii.z};
  const Vec3 g = {q.x / radii.x, q.y / radii.y, q.z / radii.z};
  const float a = length(q), b = length(g);
  return b > 0 ? a * (a - 1) / b : -std::min({radii.x, radii.y, radii.z});
}
float capsule(Vec3 p, Vec3 a, Vec3 b, float ra, float rb) {
  const Vec3 d = b - a;
  const float t = std::clamp(dot(p - a, d) / dot(d, d), 0.0f, 1.0f);
  return length(p - a - d * t) - (ra + (rb - ra) * t);
}
float rounded_box(Vec3 p, Vec3 half, float round) {
  const Vec3 q = {std::fabs(p.x) - half.x + round, std::fabs(p.y) - half.y + round,
                  std::fabs(p.z) - half.z + round};
  return length(max(q, {0, 0, 0})) + std::min(std::max({q.x, q.y, q.z}), 0.0f) - round;
}

// Distance to the body, which looks along +z; negative inside. A lower bound almost everywhere.
float body(Vec3 p) {
  const Vec3 m = {std::fabs(p.x), p.y, p.z};  // symmetric in x
  const float taper = 1 + 0.1f * (p.y - 2.2f);
  float d = rounded_box({p.x * taper, p.y - 2.3f, p.z + 0.12f * (p.y - 2.2f)},
                        {0.58f, 1.15f, 0.56f}, 0.3f);
  d = blend(d, ellipsoid(p - Vec3{0, 0.35f, -0.1f}, {1.08f, 0.98f, 0.7f}), 0.3f);
  d = blend(d, capsule(m, {0.98f, 0.85f, -0.05f}, {0.92f, 0.1f, 0.22f}, 0.2f, 0.17f),
            0.14f);                                                                          // arm
  d = blend(d, capsule(m, {0.9f, 0.12f, 0.3f}, {0.25f, 0.05f, 0.62f}, 0.13f, 0.1f), 0.1f);   // hand
  d = blend(d, capsule(m, {0.0f, 2.93f, 0.5f}, {0.45f, 2.86f, 0.4f}, 0.17f, 0.14f), 0.12f);  // brow
  d = carve(d, ellipsoid(m - Vec3{0.28f, 2.6f, 0.62f}, {0.21f, 0.13f, 0.2f}), 0.1f);   // eye socket
  d = blend(d, ellipsoid(m - Vec3{0.3f, 2.3f, 0.36f}, {0.2f, 0.3f, 0.16f}), 0.15f);    // cheek
  d = blend(d, capsule(p, {0, 2.86f, 0.52f}, {0, 2.08f, 0.74f}, 0.1f, 0.17f), 0.09f);  // nose
  // Wing of the nose.
  d = blend(d, ellipsoid(m - Vec3{0.15f, 2.04f, 0.64f}, {0.12f, 0.1f, 0.13f}), 0.06f);
  d = blend(d, capsule(m, {0, 1.78f, 0.67f}, {0.27f, 1.74f, 0.6f}, 0.085f, 0.06f), 0.06f);  // lips
  d = blend(d, capsule(m, {0, 1.58f, 0.68f}, {0.22f, 1.6f, 0.61f}, 0.085f, 0.06f), 0.06f);
  d = blend(d, capsule(m, {0, 1.32f, 0.6f}, {0.3f, 1.36f, 0.42f}, 0.19f, 0.17f), 0.14f);  // chin
  d = blend(d, capsule(m, {0.6f, 2.75f, -0.08f}, {0.62f, 1.85f, 0.0f}, 0.1f, 0.12f), 0.06f);  // ear
  d = carve(d, capsule(m, {0.74f, 2.6f, -0.04f}, {0.74f, 2.05f, 0.0f}, 0.035f, 0.045f), 0.05f);
  d = blend(d, rounded_box(p - Vec3{0, 3.55f, -0.14f}, {0.56f, 0.2f, 0.56f}, 0.18f),
            0.05f);  // topknot
  return carve(d, p.y, 0.08f);
}

struct Ray {
  Vec3 from, direction;
};

// The ray from the axis through a point of the box: horizontal in the middle, fanned at both ends.
Ray ray_of(Vec3 q) {
  const float segment = box_height - 1, y = std::clamp(q.y, -segment, segment);
  const float t = 0.5f + 0.5f * y / segment;
  return {{0, axis_low + (axis_high - axis_low) * t, -0.12f * t}, normalize({q.x, q.y - y, q.z})};
}

// Marches inwards from `start` to the surface and returns the distance from the axis.
float meet(const Ray& ray, float start) {
  float t = start, last_t = 0, last_d = 0;
  for (unsigned i = 0; i < 32; ++i) {
    const float d = body(ray.from + ray.direction * t);
    if (std::fabs(d) < 2e-5f) break;
    // Steps by the distance while that is large; near the surface uses the secant method, which
    // also returns from inside.
    const float slope =
        i > 0 && d < 0.1f ? std::clamp((last_d - d) / (last_t - t), 0.4f, 1.5f) : 1.25f;
    last_t = t;
    last_d = d;
    t = std::max(t - d / slope, 0.05f);
    if (t == last_t) break;
  }
  return t;
}

// One face of the box. point() maps [-1, 1] x [-1, 1] to it, in even steps of the angle.
struct Face {
  Vec3 normal, u, v;
  bool upright;

  Vec3 point(float a, float b) const {
    const auto even = [](float s) {
      return s <= -1 ? -1 : s >= 1 ? 1 : exact::tan(0.25f * pi * s);
    };
    const Vec3 p = normal + u * even(a) + (v.y != 0 ? v * b : v * even(b));
    return {p.x, p.y * box_height, p.z};
  }
};
constexpr Face faces[] = {
    {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, true},   {{1, 0, 0}, {0, 0, -1}, {0, 1, 0}, true},
    {{0, 0, -1}, {-1, 0, 0}, {0, 1, 0}, true}, {{-1, 0, 0}, {0, 0, 1}, {0, 1, 0}, true},
    {{0, 1, 0}, {1, 0, 0}, {0, 0, -1}, false}, {{0, -1, 0}, {1, 0, 0}, {0, 0, 1}, false},
};

// Distances on a coarse grid of a face, from which rays of the fine grid start nearby.
class Coarse {
 public:
  explicit Coarse(const Face& face) : width_(40), height_(face.upright ? 120 : 40) {
    for (unsigned j = 0; j <= height_; ++j) {
      for (unsigned i = 0; i <= width_; ++i) {
        const float a = 2 * static_cast<float>(i) / static_cast<float>(width_) - 1;
        const float b = 2 * static_cast<float>(j) / static_cast<float>(height_) - 1;
        distance_.push_back(meet(ray_of(face.point(a, b)), reach));
      }
    }
  }
  // The largest distance at the corners of the cell that contains (u, v).
  float start(float u, float v) const {
    const auto i = std::min(static_cast<unsigned>(u * static_cast<float>(width_)), width_ - 1);
    const auto j = std::min(static_cast<unsigned>(v * static_cast<float>(height_)), height_ - 1);
    const float* row = distance_.data() + j * (width_ + 1) + i;
    return std::max({row[0], row[1], row[width_ + 1], row[width_ + 2]});
  }

 private:
  unsigned width_, height_;
  std::vector<float> distance_;
};

Vec3 weathered(const Ray& ray, float distance, std::uint64_t seed) {
  const Vec3 p = ray.from + ray.direction * distance;
  const float rough = 0.014f * noise(p * 3.1f, seed, 5);
  const Vec3 askew = {p.x * 0.8f + p.y * 0.6f, p.y * 0.8f - p.x * 0.6f + p.z * 0.3f,
                      p.z - p.x * 0.4f};
  const float pit = std::max(0.0f, noise(askew * 7.7f, seed + 9) - 0.25f);
  return p + ray.direction * (rough - 0.07f * pit * pit);
}

void add_body(Model& model, std::uint64_t seed, std::uint64_t triangles) {
  // The number of cells across a face is fixed, so that faces share their border vertices. The rows
  // of the upright faces are adjusted to give the requested number of triangles.
  const auto across = static_cast<unsigned>(
      std::max(4L, std::lround(std::sqrt(static_cast<double>(triangles) / 28))));
  for (const Face& face : faces) {
    // For small meshes, a few thousand rays cost less than the coarse grid.
    const auto coarse = triangles < 50'000 ? nullptr : std::make_shared<const Coarse>(face);
    const auto point = [=](float u, float v) {
      const Ray ray = ray_of(face.point(2 * u - 1, 2 * v - 1));
      float start = coarse ? coarse->start(u, v) + 0.08f : reach;
      if (body(ray.from + ray.direction * start) < 0.02f) start = reach;
      return weathered(ray, meet(ray, start), seed);
    };
    const bool upright = face.upright;
    model.add({.point = point,
               .cells_v = upright ? 300.0f : 0.0f,
               .min_u = across,
               .min_v = upright ? 2 * across : across,
               .twins_v = 1'000'000});
  }
}

}  // namespace

Mesh make_statue(const Request& request) {
  Model model;
  model.paint({"tuff", {0.43f, 0.36f, 0.28f}});
  add_body(model, request.seed, request.triangles);
  model.paint({"granite", {0.20f, 0.19f, 0.19f}});
  const auto step = [&](float half, float low, float high) {
    box(model, place({0, 0, -0.05f}), {-half, low, -0.8f * half}, {half, high, 0.8f * half});
  };
  step(1.35f, -0.3f, -0.004f);
  step(1.5f, -0.42f, -0.3f);
  step(1.7f, -0.8f, -0.42f);
  model.paint({"grass", {0.20f, 0.25f, 0.10f}});
  disc(model, place({0, -0.8f, 0}), 14, 16, 8);
  Mesh mesh = model.tessellate(request.triangles, request.threads, request.content);
  drop_degenerate(mesh);
  mesh.camera = CameraHint{{-2.6f, 2.15f, 6.4f}, {0, 1.55f, 0}, 40};
  return mesh;
}

}  // namespace heapwood::scenes
