// SPDX-License-Identifier: MIT
// A mesh, its tree and its triangle records in the memory of a device, for queries with the
// caller's rays and for new vertices. It is hw.Scene without Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "kdtree/check/quality.hpp"
#include "python/core/ray_arrays.hpp"
#include "registry/registry.hpp"
#include "render/renderer.hpp"
#include "scenes/mesh.hpp"
#include "simt/memory.hpp"

namespace heapwood::python {

struct RayJob;
struct KeptHits;
struct SceneChoice;
class TracedMesh;

// Copies of the caller's arrays in device memory, a batch of rays at a time, for arrays that are
// not there already. The memory is kept for the next query.
class Staging {
 public:
  explicit Staging(const simt::DeviceId& device) : device_(device) {}

  // Uploads the job's arrays of rays, and replaces them by the copies.
  void upload(RayJob& job);
  // Allocates arrays of so many rows for those that `wanted` has. download() copies them there.
  template <class Arrays>
  Arrays results(Arrays wanted, std::size_t rows) {
    wanted.for_each([&]<class T>(T*& array, int number, std::size_t columns) {
      array = static_cast<T*>(memory(results_[number], rows * columns * sizeof(T)));
    });
    return wanted;
  }
  template <class Arrays>
  void download(Arrays to, std::size_t rows) const {
    to.for_each([&](auto* array, int number, std::size_t columns) {
      simt::device_download(device_, array, results_[number].data(),
                            rows * columns * sizeof(*array));
    });
  }

  std::uint32_t* counts(std::size_t count) {
    return static_cast<std::uint32_t*>(memory(counts_, count * sizeof(std::uint32_t)));
  }
  std::uint64_t* word() {
    return static_cast<std::uint64_t*>(memory(word_, sizeof(std::uint64_t)));
  }
  std::int64_t* splits(const std::int64_t* from, std::size_t count);
  // Copies of vertices and of numbers of Poses.
  const void* copy(const void* from, std::size_t bytes);
  Poses poses(const std::vector<double>& numbers);

  // Bytes per ray that upload() needs, without a filter.
  static std::size_t ray_bytes(const RayArrays& rays);

 private:
  void* memory(simt::Memory& memory, std::size_t bytes) const;
  Rows rows(simt::Memory& memory, const Rows& from, std::size_t count, std::size_t columns) const;

  simt::DeviceId device_;
  simt::Memory rows_[6], results_[6], counts_, splits_, word_;
};

// Staging memory of queries that run at the same time.
class StagingPool {
 public:
  class Lease {
   public:
    Lease(StagingPool& pool, const simt::DeviceId& device);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Staging& operator*() const { return *staging_; }

   private:
    StagingPool& pool_;
    std::unique_ptr<Staging> staging_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Staging>> unused_;
};

// An array of the caller with three numbers per row.
struct MeshArray {
  const void* data = nullptr;
  std::size_t rows = 0;
  std::string type;  // vertices: "float32", "float64"; triangles: "int32", ..., "uint64"
  bool on_gpu = false;
};

struct MeshOptions {
  simt::DeviceInfo device;
  bool watertight = false;
  const registry::RegisteredAllocator* allocator = nullptr;  // used by builds
  kdtree::SahCosts costs;
  // Max bytes of copies of the caller's arrays, per query.
  std::size_t batch_bytes = std::size_t{256} << 20;
  bool keeps_workspace = true;  // of a GPU's builder, from the first update on
};

// A query; of points if `rays` has no directions. Rays and results are all in the host's memory, or
// all in that of the mesh's GPU.
struct RayQuery {
  RayArrays rays;
  std::size_t count = 0;
  bool on_gpu = false;
  std::function<void()> between_batches;  // may throw, which ends the query
  RayFilter filter = {};                  // of trace()
};

struct MeshStats {
  kdtree::TreeStats tree;
  bool incomplete = false;  // memory was exhausted: some leaves are larger
  std::size_t tree_bytes = 0, record_bytes = 0, mesh_bytes = 0;
  std::size_t builder_bytes = 0;  // memory kept for the next update()
  double build_ms = 0;            // time of the last build's kernel
};

struct Camera {
  Vec3d eye, target;  // in the caller's coordinates
};

// Meshes on one device, with the same intersection test, whose rays are traced in one launch.
class TracedBatch {
 public:
  explicit TracedBatch(std::vector<std::shared_ptr<const TracedMesh>> meshes);
  // Finds closest hits or, if out.any is wanted, only whether there are hits, each ray in the mesh
  // whose number the filter gives it. Throws an Error that names the first ray without a mesh.
  void trace(const RayQuery& query, const HitArrays& out) const;

 private:
  std::vector<std::shared_ptr<const TracedMesh>> meshes_;
  std::vector<const TracedMesh*> locked_;  // each mesh once, in the order of locks
  mutable std::mutex mutex_;               // of what follows: the table of the last query
  mutable std::shared_ptr<const simt::Memory> table_;
  mutable std::uint64_t updates_ = 0;  // of all meshes
  mutable bool has_normals_ = false;
};

// Any thread may call any function. Queries run at the same time; update() waits for them.
// Functions throw an Error with Exit::scene if vertices and triangles are not a mesh.
class TracedMesh {
 public:
  // With poses, the numbers of Poses, the vertices are those of several meshes before they are
  // placed; update() is the same. masks: one per triangle, or none.
  TracedMesh(const MeshArray& vertices, const MeshArray& triangles, const MeshOptions& options,
             const std::vector<double>& poses = {}, const std::vector<std::uint32_t>& masks = {});

  const simt::DeviceInfo& device() const { return options_.device; }
  // These numbers never change.
  std::size_t vertices() const { return vertices_; }
  std::size_t triangles() const { return mesh_->triangles.size(); }

  // Replaces all vertices and builds a new tree. After an error in the vertices the mesh is as
  // before; after any other error queries throw until an update succeeds.
  void update(const MeshArray& vertices, const std::vector<double>& poses = {});

  // Finds closest hits or, if out.any is wanted, only whether there are hits. `out` has `count`
  // rows for each result that is wanted.
  void trace(const RayQuery& query, HitArrays out) const;
  // Finds the `closest` points of the mesh to points, and which points are `inside` it: there,
  // out.any is set and out.t is negated.
  void query_points(const RayQuery& query, HitArrays out, bool closest, bool inside) const;
  // With `unique`, hits of a ray at one distance count once; the first of them is listed.
  void count(const RayQuery& query, bool unique, std::uint32_t* counts) const;
  // `allocate` gets the splits, one more than there are rays, and returns the arrays to be filled.
  void list(const RayQuery& query, bool unique,
            const std::function<ListArrays(const std::vector<std::int64_t>&)>& allocate) const;

  scenes::Mesh download() const;
  bool watertight() const { return options_.watertight; }  // the test of trace()
  MeshStats stats() const;
  struct Bounds {
    Vec3d lo, hi;
  };
  Bounds bounds() const;  // in the caller's coordinates
  // With a camera, `job.camera` has its angle and up axis; without one only the axis, the rest is
  // chosen.
  render::Image render(render::RenderJob job, const std::optional<Camera>& camera) const;

 private:
  friend TracedBatch;

  void load(const MeshArray& vertices, const MeshArray& triangles,
            const std::vector<double>& numbers);
  void build();
  void fill_records();
  void require_tree() const;
  kdtree::Tree download_tree() const;
  render::SceneData data(bool watertight) const;
  render::SceneData corner_data() const;
  SceneChoice choice(bool normals) const;
  const kdtree::Row* unit_normals(const render::SceneData& scene) const;
  std::size_t first_pool() const;
  bool enlarge_pool();
  void run(const RayQuery& query, const HitArrays& out,
           const std::function<void(const RayJob&, const HitArrays&)>& launch) const;
  template <class F>
  void for_batches(const RayQuery& query, std::size_t result_bytes, Staging& staging, F f) const;
  void count_batches(const RayQuery& query, bool unique, const render::SceneData& scene,
                     Staging& staging, std::uint32_t* counts, bool on_host,
                     std::vector<KeptHits>* kept = nullptr) const;

  MeshOptions options_;
  std::size_t vertices_ = 0;
  Vec3d origin_;                     // the mesh's origin, to which vertices are relative
  mutable std::shared_mutex mutex_;  // update() locks it exclusively
  std::uint64_t updates_ = 0;
  std::unique_ptr<kdtree::DeviceMesh> mesh_;
  simt::Buffer<Vec3> next_vertices_;
  simt::Buffer<std::uint32_t> masks_;  // of the triangles; empty: all bits
  bool hides_triangles_ = false;       // a mask is 0
  // This mesh, which it does not own; for queries with a filter.
  TracedBatch filtered_{{std::shared_ptr<const TracedMesh>(std::shared_ptr<void>(), this)}};
  std::unique_ptr<kdtree::Workspace> workspace_;
  kdtree::TreeArrays ordered_;  // on a GPU until the first update
  kdtree::DeviceTree tree_;
  bool has_tree_ = false, has_moved_ = false, incomplete_ = false;
  double build_ms_ = 0;
  simt::Memory records_;  // records for the test that trace() uses
  mutable std::mutex lazy_mutex_;
  mutable simt::Memory corner_records_;  // for count() and list(), if records_ are of another test
  mutable bool has_corner_records_ = false;
  mutable simt::Buffer<kdtree::Row> normals_;  // of the triangles
  mutable bool has_normals_ = false;
  mutable std::optional<kdtree::TreeStats> stats_;
  mutable StagingPool staging_;
};

}  // namespace heapwood::python
