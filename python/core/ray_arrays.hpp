// SPDX-License-Identifier: MIT
// The arrays of a ray query as kernels use them: the caller's rays and the results, in the memory
// of one device. Coordinates are the caller's; rays are moved to the mesh's origin when they are
// read.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "geometry/triangle.hpp"
#include "geometry/vec.hpp"
#include "kdtree/traverse/intersect.hpp"
#include "simt/arithmetic.hpp"
#include "simt/config.hpp"

namespace heapwood::python {

// Rows of numbers, float or double. Row i begins at number i * stride, so stride 0 repeats one row.
struct Rows {
  const void* data = nullptr;
  std::size_t stride = 0;
  bool is_double = false;

  HEAPWOOD_INLINE double at(std::size_t i, unsigned column = 0) const {
    const std::size_t k = i * stride + column;
    return is_double ? static_cast<const double*>(data)[k]
                     : static_cast<double>(static_cast<const float*>(data)[k]);
  }
  // The first three columns.
  HEAPWOOD_INLINE Vec3d point(std::size_t i) const { return {at(i, 0), at(i, 1), at(i, 2)}; }
  std::size_t number_bytes() const { return is_double ? sizeof(double) : sizeof(float); }
  // The rows beginning with row `first`.
  Rows from(std::size_t first) const { return from_column(first * stride); }
  Rows from_column(std::size_t first) const {
    if (data == nullptr) return {};
    return {static_cast<const std::byte*>(data) + first * number_bytes(), stride, is_double};
  }
};

// Rows of three indices.
struct IndexRows {
  enum class Type : std::uint8_t { int32, int64, uint32, uint64 };
  const void* data = nullptr;
  Type type = Type::int32;

  // An index; a negative one becomes a number above 2^63.
  HEAPWOOD_INLINE std::uint64_t at(std::size_t i, unsigned column) const {
    const std::size_t k = 3 * i + column;
    switch (type) {
      case Type::int32:
        return static_cast<std::uint64_t>(std::int64_t{static_cast<const std::int32_t*>(data)[k]});
      case Type::uint32:
        return static_cast<const std::uint32_t*>(data)[k];
      default:
        return static_cast<const std::uint64_t*>(data)[k];
    }
  }
};

// Where meshes that move are: 13 numbers per mesh, the first of its vertices and a matrix of three
// rows and four columns. Without numbers all vertices stay.
struct Poses {
  const double* numbers = nullptr;
  std::uint32_t count = 0;
  static constexpr std::size_t each = 13;

  HEAPWOOD_INLINE Vec3d placed(std::size_t vertex, Vec3d v) const {
    if (count == 0) return v;
    std::uint32_t mesh = 0, end = count;  // the vertex is in a mesh of [mesh, end)
    while (end - mesh > 1) {
      const std::uint32_t middle = mesh + (end - mesh) / 2;
      (numbers[each * middle] <= static_cast<double>(vertex) ? mesh : end) = middle;
    }
    const double* const m = numbers + each * mesh + 1;
    return {m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3],
            m[4] * v.x + m[5] * v.y + m[6] * v.z + m[7],
            m[8] * v.x + m[9] * v.y + m[10] * v.z + m[11]};
  }
};

// One end of the rays' intervals: a number per ray, or one number for all.
struct RayEnd {
  Rows each;  // if it has no data, `all` applies
  float all = 0;

  HEAPWOOD_INLINE float at(std::size_t i) const {
    return each.data != nullptr ? static_cast<float>(each.at(i)) : all;
  }
};

// A whole number of 32 bits per ray, or one number for all.
struct RayNumber {
  Rows each;  // of such numbers; if it has no data, `all` applies
  std::uint32_t all = 0;

  HEAPWOOD_INLINE std::uint32_t at(std::size_t i) const {
    return each.data != nullptr ? static_cast<const std::uint32_t*>(each.data)[i] : all;
  }
};

// Which triangles rays hit.
struct RayFilter {
  RayNumber scene;          // in which a ray is traced
  RayNumber mask{{}, ~0u};  // a triangle is hit if its mask has a bit of the ray's
  int side = 0;  // 1: the side from which corners are counter-clockwise; -1: the other; 0: both

  bool is_open() const { return mask.each.data == nullptr && mask.all == ~0u && side == 0; }
  RayFilter from(std::size_t first) const {
    return {{scene.each.from(first), scene.all}, {mask.each.from(first), mask.all}, side};
  }
};

// A ray as it is traced.
struct QueryRay {
  kdtree::Ray ray;
  double moved = 0;  // how far its start was moved along it

  // The distance of a hit from the caller's start.
  HEAPWOOD_INLINE float distance(float t) const {
    return moved == 0 ? t : static_cast<float>(t + moved);
  }
};

struct RayArrays {
  Rows origins, directions;
  RayEnd t_min, t_max;
  Vec3d mesh_origin;
  Box bounds;            // of the mesh, relative to its origin
  float max_origin = 0;  // rays with larger coordinates are moved

  HEAPWOOD_INLINE void set_mesh(Vec3d origin, const Box& box) {
    mesh_origin = origin;
    bounds = box;
    max_origin = kdtree::max_origin * kdtree::reach_of(box);
  }
  // An origin relative to the mesh's.
  HEAPWOOD_INLINE Vec3d origin(std::size_t i) const { return origins.point(i) - mesh_origin; }
  HEAPWOOD_INLINE kdtree::Ray ray(std::size_t i) const {
    return checked(
        i, to_float(origin(i)),
        {static_cast<float>(directions.at(i, 0)), static_cast<float>(directions.at(i, 1)),
         static_cast<float>(directions.at(i, 2))});
  }
  // Ray i with these coordinates. A ray that is not finite in single precision, has no direction or
  // has an empty interval becomes one without hits. A t_min below 0 counts as 0.
  HEAPWOOD_INLINE kdtree::Ray checked(std::size_t i, Vec3 origin, Vec3 direction) const {
    constexpr float max_float = std::numeric_limits<float>::max();
    kdtree::Ray ray{origin, t_min.at(i), direction, t_max.at(i)};
    if (ray.tmin < 0) ray.tmin = 0;
    if (ray.tmax > max_float) ray.tmax = max_float;
    const Vec3 o = ray.origin, d = ray.direction;
    // NaN if a coordinate is infinite or NaN.
    const float length = std::fabs(d.x) + std::fabs(d.y) + std::fabs(d.z);
    const float sum = (o.x + o.y + o.z + length) * 0.0f;
    const bool valid = sum == 0 && length > 0 && ray.tmin < ray.tmax;
    if (!valid) ray = {{0, 0, 0}, 0, {0, 0, 1}, -1};
    return ray;
  }
  // Ray i, from ray(i): moved in double precision if it starts far away.
  HEAPWOOD_INLINE QueryRay moved(std::size_t i, const kdtree::Ray& ray) const {
    const Vec3 o = ray.origin;
    if (!(std::fabs(o.x) > max_origin || std::fabs(o.y) > max_origin ||
          std::fabs(o.z) > max_origin)) {
      return {ray};
    }
    const kdtree::MovedRay to =
        kdtree::moved_to_box(bounds, origin(i), directions.point(i), ray.tmin, ray.tmax);
    return {to.ray, to.distance};
  }
  // Whether the rays are one array with six numbers per row.
  bool is_packed() const {
    return origins.stride == 6 && directions.stride == 6 &&
           directions.is_double == origins.is_double &&
           directions.data == origins.from_column(3).data;
  }
  RayArrays from(std::size_t first) const {
    RayArrays rest = *this;
    rest.origins = origins.from(first);
    rest.directions = directions.from(first);
    rest.t_min.each = t_min.each.from(first);
    rest.t_max.each = t_max.each.from(first);
    return rest;
  }
};

// Two of the six floats of a packed ray, aligned to eight bytes, so that a ray takes three loads
// instead of six. Used only if single precision represents the mesh's origin, which is then
// subtracted in single precision with the same result.
struct alignas(8) FloatPair {
  float x = 0, y = 0;
};
inline const FloatPair* pairs_of(const RayArrays& rays) {
  if (to_double(to_float(rays.mesh_origin)) != rays.mesh_origin) return nullptr;
  const void* const data = rays.origins.data;
  const bool has_pairs = rays.is_packed() && !rays.origins.is_double &&
                         reinterpret_cast<std::uintptr_t>(data) % alignof(FloatPair) == 0;
  return has_pairs ? static_cast<const FloatPair*>(data) : nullptr;
}

// The product of two edges, by the order of the corners. Computed in double precision, in which
// products of tiny and huge edges stay in range.
HEAPWOOD_INLINE Vec3d normal_of(const Vec3* vertices, const Triangle& triangle) {
  const Vec3d a = to_double(vertices[triangle.v[0]]), b = to_double(vertices[triangle.v[1]]) - a,
              c = to_double(vertices[triangle.v[2]]) - a;
  return {b.y * c.z - b.z * c.y, b.z * c.x - b.x * c.z, b.x * c.y - b.y * c.x};
}

// Points that are written, of floats or doubles.
struct PointRows {
  std::byte* data = nullptr;
  bool is_double = false;

  HEAPWOOD_INLINE void set(std::size_t i, Vec3d p) const {
    const Vec3 rounded = to_float(p);
    if (is_double)
      reinterpret_cast<Vec3d*>(data)[i] = p;
    else
      reinterpret_cast<Vec3*>(data)[i] = rounded;
  }
  std::size_t row_bytes() const { return is_double ? sizeof(Vec3d) : sizeof(Vec3); }
};

// Results per ray. An array that is nullptr is not computed.
struct HitArrays {
  float* t = nullptr;
  std::uint32_t* triangle = nullptr;
  float* uv = nullptr;                   // 2 numbers per ray
  float* normal = nullptr;               // 3 numbers per ray
  std::uint8_t* any = nullptr;           // whether there is a hit
  PointRows point;                       // of queries with points
  const kdtree::Row* normals = nullptr;  // of all triangles (FillNormals), to compute `normal`

  HEAPWOOD_INLINE void put(std::size_t i, const kdtree::Hit& hit) const {
    const bool found = hit.found();
    if (t != nullptr) t[i] = found ? hit.t : HUGE_VALF;
    if (triangle != nullptr) triangle[i] = hit.triangle;
    if (uv != nullptr) {
      const FloatPair pair{found ? hit.u : 0, found ? hit.v : 0};
      if (reinterpret_cast<std::uintptr_t>(uv) % alignof(FloatPair) == 0) {
        reinterpret_cast<FloatPair*>(uv)[i] = pair;  // both in one store
      } else {
        uv[2 * i] = pair.x;
        uv[2 * i + 1] = pair.y;
      }
    }
    if (normal != nullptr) {
      Vec3 n;
      if (found) {
        const kdtree::Row row = simt::load_constant(normals + hit.triangle);
        n = {row.x, row.y, row.z};
      }
      normal[3 * i] = n.x;
      normal[3 * i + 1] = n.y;
      normal[3 * i + 2] = n.z;
    }
    if (any != nullptr) any[i] = found ? 1 : 0;
  }
  // Calls f(array, number of its staging memory, numbers per ray) for each array that is wanted.
  template <class F>
  void for_each(F f) {
    if (t != nullptr) f(t, 0, 1);
    if (triangle != nullptr) f(triangle, 1, 1);
    if (uv != nullptr) f(uv, 2, 2);
    if (normal != nullptr) f(normal, 3, 3);
    if (any != nullptr) f(any, 4, 1);
    if (point.data != nullptr) f(point.data, 5, point.row_bytes());
  }
  HitArrays from(std::size_t first) const {
    HitArrays rest = *this;
    rest.for_each([&](auto*& array, int, std::size_t columns) { array += first * columns; });
    return rest;
  }
};

// All hits of all rays: those of ray i are entries [splits[i], splits[i + 1]), sorted by distance
// and, at the same distance, by triangle.
struct ListArrays {
  std::uint32_t* ray = nullptr;
  float* t = nullptr;
  std::uint32_t* triangle = nullptr;
  float* uv = nullptr;  // 2 numbers per entry

  template <class F>
  void for_each(F f) {
    f(t, 0, 1), f(triangle, 1, 1), f(uv, 2, 2), f(ray, 3, 1);
  }
  ListArrays from(std::size_t first) const {
    return {ray + first, t + first, triangle + first, uv + 2 * first};
  }
};

}  // namespace heapwood::python
