// SPDX-License-Identifier: MIT
// The kernels of ray queries, behind function pointers. queries_cpu.cpp and queries_cuda.cu
// instantiate the same templates (queries_impl.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kdtree/traverse/simd_rays.hpp"
#include "python/core/ray_arrays.hpp"
#include "render/backend.hpp"
#include "simt/memory.hpp"

namespace heapwood::python {

// The hits of a batch of rays, one list per CPU thread. A ray's hits are adjacent and ordered by
// distance.
struct KeptHit {
  std::uint32_t ray;
  kdtree::FoundHit hit;
};
struct KeptHits : std::vector<std::vector<KeptHit>> {};

// The rays of a launch. All pointers are to device memory.
struct RayJob {
  RayArrays rays;
  std::size_t count = 0;
  RayFilter filter = {};   // used by trace_filtered
  float scene_length = 0;  // used by counts and lists
  bool unique = false;
  KeptHits* kept = nullptr;  // on CPU threads `count` fills it, and `list` reads it
};

// A scene for scene_table(). FilteredScene describes `normals` and `masks`.
struct SceneChoice {
  render::SceneData data;
  Vec3d mesh_origin;
  const kdtree::Row* normals;
  const std::uint32_t* masks;
};

struct MeshBounds {
  Vec3d lo, hi;
};

struct Queries {
  // Computes the unit normals of all triangles, from which results are read.
  void (*fill_normals)(const simt::DeviceId&, const render::SceneData&, kdtree::Row* normals);
  // Finds closest hits or, if out.any is wanted, only whether there are hits. `word` is memory on
  // the device.
  void (*trace)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
                const HitArrays& out, std::uint64_t* word);
  // Copies a table of scenes to the device, for trace_filtered(). All must have records of the same
  // intersection test.
  simt::Memory (*scene_table)(const simt::DeviceId&, std::span<const SceneChoice>);
  // Finds closest hits, or whether there are hits, each ray in its own scene and only on triangles
  // that RayJob::filter accepts. Returns the index of the first ray whose scene does not exist, or
  // the number of rays. `word`: device memory that this function uses.
  std::size_t (*trace_filtered)(const simt::DeviceId&, const simt::Memory& scenes, bool watertight,
                                const RayJob&, const HitArrays& out, std::uint64_t* word);
  // Finds closest points.
  void (*closest)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
                  const HitArrays& out);
  // The functions `inside`, `count` and `list` need watertight records. `inside` sets out.any for
  // points inside the mesh, and negates out.t there.
  void (*inside)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
                 const HitArrays& out);
  void (*count)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
                std::uint32_t* counts);
  void (*list)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
               const std::int64_t* splits, std::uint32_t first_ray, const ListArrays&);
  // Copies the triangles. Returns the bounds of the vertices to which they refer, placed by the
  // poses, or nothing if an index is out of range or such a vertex is not finite in single
  // precision.
  std::optional<MeshBounds> (*load_triangles)(const simt::DeviceId&, const IndexRows&,
                                              const Rows& vertices, const Poses&,
                                              std::size_t vertex_count, Triangle* to,
                                              std::size_t count);
  // Copies the vertices, placed by the poses. Returns the index of the first one that is not
  // finite, or `count`. `word` is memory for this function.
  std::size_t (*load_vertices)(const simt::DeviceId&, const Rows&, const Poses&,
                               const Vec3d& mesh_origin, Vec3* to, std::size_t count,
                               std::uint64_t* word);
};

const Queries& cpu_queries();
const Queries& cuda_queries();
inline const Queries& queries(const simt::DeviceId& device) {
  if constexpr (simt::has_cuda) {
    if (device.kind == simt::DeviceKind::cuda) return cuda_queries();
  }
  return cpu_queries();
}

}  // namespace heapwood::python
