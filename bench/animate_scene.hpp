// SPDX-License-Identifier: MIT
// One frame of a moving scene at a time: the mesh on host and device, the workspace and the pool.
// prepare() makes the next frame and all memory for it; upload() and build(), which are timed,
// allocate nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/prepared_scene.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "simt/pinned.hpp"

namespace heapwood::bench {

class AnimateScene {
 public:
  // Throws as scenes::open_moving() does.
  AnimateScene(const std::string& source, const simt::DeviceInfo& device,
               const BuildSettings& settings, const PoolNeeds& needs);

  unsigned frames() const { return scene_->frames(); }
  // Any frame; prepare() is not affected.
  scenes::Mesh mesh_of(unsigned frame) const { return scene_->mesh(frame); }
  const simt::DeviceInfo& device() const { return device_; }
  // Of the last prepare().
  const scenes::Mesh& mesh() const { return mesh_; }
  const kdtree::DeviceMesh& device_mesh() const { return *device_mesh_; }
  kdtree::MeshView view() const { return {mesh_.vertices, mesh_.triangles}; }
  kdtree::Workspace& workspace() { return *workspace_; }
  std::size_t pool_bytes() const { return workspace_->pool().bytes; }

  // Makes the mesh of a frame and copies it to page-locked memory.
  void prepare(unsigned frame);
  // Copies to the device the vertices that differ from the frame prepared before, from the first to
  // the last, and the triangles only if they differ.
  void upload();
  // Passes on what the compiled allocator throws.
  kdtree::BuildRun build(const registry::RegisteredAllocator& entry,
                         kdtree::KeptAllocator* kept = nullptr);
  // The size of the pool with these settings, for the mesh of the last prepare().
  std::size_t suggested_pool() const;
  // Makes an automatic pool half as large again; false: the pool is fixed, memory is exhausted, or
  // the pool has eight times the suggested size.
  bool enlarge_pool();

 private:
  void find_changes(const scenes::Mesh& next);
  void provide_memory();

  simt::DeviceInfo device_;
  BuildSettings settings_;
  PoolNeeds needs_;
  std::unique_ptr<scenes::MovingScene> scene_;
  scenes::Mesh mesh_;
  simt::PinnedArray<Vec3> vertices_;
  simt::PinnedArray<Triangle> triangles_;
  std::size_t first_moved_ = 0, end_moved_ = 0;
  bool other_triangles_ = true, is_uploaded_ = false;
  std::unique_ptr<kdtree::DeviceMesh> device_mesh_;
  std::unique_ptr<kdtree::Workspace> workspace_;
};

}  // namespace heapwood::bench
