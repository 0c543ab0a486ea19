// SPDX-License-Identifier: MIT
// The kernels of ray queries behind function pointers. queries_cpu.cpp and queries_cuda.cu
// instantiate the same templates (queries_impl.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/core/ray_arrays.hpp"
#include "render/backend.hpp"

namespace heapwood::python {

// A launch of a kernel. All pointers are to memory of the device; `order`, if any, holds the
// indices of the rays in the order in which they are traced.
struct RayJob {
  RayArrays rays;
  const std::uint32_t* order = nullptr;
  std::size_t count = 0;
};

struct MovedRays;
struct SortMemory;

struct Queries {
  void (*sort)(const simt::DeviceId&, const RayArrays&, const Box& bounds, std::size_t count,
               std::uint32_t* order, SortMemory&);
  // These three are for GPUs: rays moved into such an order, results from the hits of moved rays,
  // and the normals that results are read from.
  void (*move_rays)(const simt::DeviceId&, const RayArrays&, const Box& bounds, std::size_t count,
                    const MovedRays&, SortMemory&);
  void (*put_hits)(const simt::DeviceId&, const MovedRays&, std::size_t count, const HitArrays&);
  void (*fill_normals)(const simt::DeviceId&, const render::SceneData&, kdtree::Row* normals);
  void (*cast)(const simt::DeviceId&, const render::SceneData&, const RayJob&, const HitArrays&);
  void (*find_any)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
                   const HitArrays&);
  // These need watertight records.
  void (*count)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
                std::uint32_t* counts);
  void (*list)(const simt::DeviceId&, const render::SceneData&, const RayJob&,
               const std::int64_t* splits, std::uint32_t first_ray, const ListArrays&);
  // Returns the index of the first vertex that is not finite, or `count`; `word` is for its use.
  std::size_t (*load_vertices)(const simt::DeviceId&, const Rows&, const Vec3d& mesh_origin,
                               Vec3* to, std::size_t count, std::uint64_t* word);
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
