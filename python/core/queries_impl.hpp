// SPDX-License-Identifier: MIT
// The functions of Queries for one launcher. Included by queries_cpu.cpp and queries_cuda.cu.
#pragma once

#include "python/core/point_kernels.hpp"
#include "python/core/queries.hpp"
#include "render/backend_impl.hpp"

namespace heapwood::python {

void sort_keys(std::uint64_t* keys, std::size_t count);  // in queries_cuda.cu, on the GPU

template <class Launcher>
struct QueriesOf {
  using Warp = typename Launcher::Warp;
  static constexpr bool serial = Warp::width == 1;

  // Launches without a time limit: the caller's rays may take any time.
  template <class Kernel>
  static void launch(const simt::DeviceId& device, const Kernel& kernel, std::size_t rays) {
    const simt::LaunchLimits limits{.seconds = 1e9, .what = "tracing rays"};
    const Launcher launcher(device);
    if constexpr (serial) {
      // With fewer rays per thread, starting the threads would take longer.
      constexpr std::size_t min_rays_per_thread = 512;
      const std::size_t wanted = rays / min_rays_per_thread + 1;
      launcher.launch(kernel,
                      static_cast<unsigned>(std::min<std::size_t>(
                          wanted, launcher.template resident_warps<Kernel>())),
                      limits);
    } else {
      launcher.launch_independent(
          kernel, static_cast<unsigned>((rays + Warp::width - 1) / Warp::width), limits);
    }
  }

  static QueryRays query_rays(const RayJob& job) {
    return {job.rays, job.count, pairs_of(job.rays)};
  }

  static AllHits all_hits(const render::SceneData& scene, const RayJob& job) {
    return {render::view<kdtree::WatertightIntersection>(scene).tree,
            query_rays(job),
            {job.scene_length, job.unique}};
  }

  static void fill_normals(const simt::DeviceId& device, const render::SceneData& scene,
                           kdtree::Row* normals) {
    Launcher(device).for_each(scene.triangle_count,
                              FillNormals{scene.vertices, scene.triangles, normals});
  }

  // Calls f<Intersection, Any>() for the test of a scene's records.
  template <class F>
  static void with_test(bool watertight, bool any, F f) {
    using Fast = std::conditional_t<serial, kdtree::FastIntersection, render::ScratchIntersection>;
    const auto with = [&]<class Intersection> {
      any ? f.template operator()<Intersection, true>()
          : f.template operator()<Intersection, false>();
    };
    watertight ? with.template operator()<kdtree::WatertightIntersection>()
               : with.template operator()<Fast>();
  }

  // Whether a search for any hit should begin with far children: in a room nearly every endless ray
  // hits a wall at its far end. The trial takes 0.1 ms, a tenth of what 2^22 rays take.
  static bool begins_far(const simt::DeviceId& device, const render::SceneData& scene,
                         const RayJob& job, std::uint64_t* word) {
    const RayEnd& end = job.rays.t_max;
    if (scene.watertight || job.count < 1 << 22 || end.each.data != nullptr || end.all < HUGE_VALF)
      return false;
    std::uint32_t leaves[2];
    simt::device_fill(device, word, 0, sizeof leaves);
    auto* const sums = reinterpret_cast<std::uint32_t*>(word);
    const auto tree = render::view<kdtree::FastIntersection>(scene).tree;
    Launcher(device).for_each(2 * OrderTrial::rays, OrderTrial{tree, query_rays(job), sums});
    simt::device_download(device, leaves, word, sizeof leaves);
    return 4 * std::uint64_t{leaves[1]} < 3 * std::uint64_t{leaves[0]};
  }

  static void trace(const simt::DeviceId& device, const render::SceneData& scene, const RayJob& job,
                    const HitArrays& out, [[maybe_unused]] std::uint64_t* word) {
    if constexpr (!serial) {
      if (out.any != nullptr && begins_far(device, scene, job, word)) {
        using Fast = render::ScratchIntersection;
        return launch(
            device,
            CastKernel<Fast, true, true>{render::view<Fast>(scene).tree, query_rays(job), out},
            job.count);
      }
    }
    with_test(scene.watertight, out.any != nullptr, [&]<class Intersection, bool Any> {
      using Kernel =
          std::conditional_t<serial, PacketKernel<Intersection>, CastKernel<Intersection, Any>>;
      const Kernel kernel{render::view<Intersection>(scene).tree, query_rays(job), out};
      launch(device, kernel, job.count);
    });
  }

  static simt::Memory scene_table(const simt::DeviceId& device,
                                  std::span<const SceneChoice> scenes) {
    simt::Memory memory;
    with_test(scenes.front().data.watertight, false, [&]<class Intersection, bool> {
      std::vector<FilteredScene<Intersection>> table;
      for (const auto& [data, mesh_origin, normals, masks] : scenes)
        table.push_back({render::view<Intersection>(data).tree, mesh_origin, normals, masks});
      memory = simt::Memory(device, table.size() * sizeof table.front());
      simt::device_upload(device, memory.data(), table.data(), memory.bytes());
    });
    return memory;
  }

  static std::size_t trace_filtered(const simt::DeviceId& device, const simt::Memory& scenes,
                                    bool watertight, const RayJob& job, const HitArrays& out,
                                    std::uint64_t* word) {
    std::uint64_t first_invalid = job.count;
    const bool may_be_invalid = job.filter.scene.each.data != nullptr;
    if (may_be_invalid) simt::device_upload(device, word, &first_invalid, sizeof first_invalid);
    with_test(watertight, out.any != nullptr, [&]<class Intersection, bool Any> {
      using Scene = FilteredScene<Intersection>;
      const auto count = static_cast<std::uint32_t>(scenes.bytes() / sizeof(Scene));
      if (!may_be_invalid && job.filter.scene.all >= count) return void(first_invalid = 0);
      const auto* const table = reinterpret_cast<const Scene*>(scenes.data());
      launch(
          device,
          FilterKernel<Intersection, Any>{table, count, job.rays, job.count, job.filter, word, out},
          job.count);
    });
    if (may_be_invalid) simt::device_download(device, &first_invalid, word, sizeof first_invalid);
    return first_invalid;
  }

  static void closest(const simt::DeviceId& device, const render::SceneData& scene,
                      const RayJob& job, const HitArrays& out) {
    const kdtree::PointTree tree{scene.nodes, scene.refs, scene.vertices, scene.triangles,
                                 scene.bounds};
    if constexpr (!serial) {
      // With fewer points, those of a warp are too far apart to search together.
      const std::size_t min_sorted = std::max(1u << 18, scene.triangle_count / 2),
                        max_part = 1 << PointKeys::index_bits;
      for (std::size_t n, first = 0; job.count >= min_sorted; first += n) {
        if ((n = std::min(max_part, job.count - first)) == 0) return;
        const simt::Buffer<std::uint64_t> keys(device, n);
        const ClosestPacketKernel kernel{{tree, job.rays.from(first), n, out.from(first)},
                                         keys.data()};
        Launcher(device).for_each(n, PointKeys{kernel.in, keys.data()});
        sort_keys(keys.data(), n);
        launch(device, kernel, n);
      }
    }
    launch(device, ClosestKernel{tree, job.rays, job.count, out}, job.count);
  }

  static void inside(const simt::DeviceId& device, const render::SceneData& scene,
                     const RayJob& job, const HitArrays& out) {
    launch(device, InsideKernel{all_hits(scene, job), out}, job.count);
  }

  static void count(const simt::DeviceId& device, const render::SceneData& scene, const RayJob& job,
                    std::uint32_t* counts) {
    const AllHits all = all_hits(scene, job);
    if constexpr (serial) {
      if (job.kept != nullptr)
        job.kept->resize(Launcher(device).template resident_warps<PacketHitsKernel>());
      launch(device, PacketHitsKernel{all, counts, job.kept}, job.count);
    } else {
      launch(device, CountKernel{all, counts}, job.count);
    }
  }

  static void list(const simt::DeviceId& device, const render::SceneData& scene, const RayJob& job,
                   const std::int64_t* splits, std::uint32_t first_ray, const ListArrays& out) {
    const AllHits all = all_hits(scene, job);
    if constexpr (serial) {
      launch(device, ListKeptKernel{all, *job.kept, splits, first_ray, out}, job.count);
    } else {
      launch(device, ListKernel{all, splits, first_ray, out}, job.count);
    }
  }

  static std::optional<MeshBounds> load_triangles(const simt::DeviceId& device,
                                                  const IndexRows& from, const Rows& vertices,
                                                  const Poses& poses, std::size_t vertex_count,
                                                  Triangle* to, std::size_t count) {
    const std::vector<MeshCheck> none(MeshCheck::count);
    const simt::Buffer<MeshCheck> checks(device, none);
    const std::size_t threads = serial ? count : std::min(count, std::size_t{1} << 16);
    Launcher(device).for_each(threads, LoadTriangles{from, vertices, poses, vertex_count, to, count,
                                                     threads, checks.data()});
    MeshCheck all;
    for (const MeshCheck& check : checks.download()) all.add(check);
    if (all.invalid != 0) return {};
    return MeshBounds{{all.lo(0), all.lo(1), all.lo(2)}, {all.hi(0), all.hi(1), all.hi(2)}};
  }

  static std::size_t load_vertices(const simt::DeviceId& device, const Rows& from,
                                   const Poses& poses, const Vec3d& mesh_origin, Vec3* to,
                                   std::size_t count, std::uint64_t* word) {
    std::uint64_t first_invalid = count;
    simt::device_upload(device, word, &first_invalid, sizeof first_invalid);
    Launcher(device).for_each(count, LoadVertices{from, poses, mesh_origin, to, word});
    simt::device_download(device, &first_invalid, word, sizeof first_invalid);
    return first_invalid;
  }

  static constexpr Queries table{&fill_normals,   &trace,        &scene_table, &trace_filtered,
                                 &closest,        &inside,       &count,       &list,
                                 &load_triangles, &load_vertices};
};

}  // namespace heapwood::python
