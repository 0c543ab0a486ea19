// SPDX-License-Identifier: MIT
// A scene on a device, ready to be built by any allocator: the mesh here and there, the workspace, the pool.
#pragma once

#include <memory>
#include <string>

#include "app/options.hpp"
#include "kdtree/build.hpp"
#include "kdtree/quality.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::app {

class PreparedScene {
 public:
  // Loads (Error{Exit::scene}), drops triangles of zero area unless they are to be kept, uploads. `frees`: whether the
  // allocators to come all free, for the pool that `auto` begins with.
  PreparedScene(const std::string& source, const simt::DeviceInfo& device, const BuildSettings& settings, bool frees);

  const std::string& source() const { return source_; }
  const std::string& name() const { return name_; }
  const scenes::Mesh& mesh() const { return mesh_; }
  kdtree::MeshView view() const { return {mesh_.vertices, mesh_.triangles}; }
  std::size_t triangles() const { return mesh_.triangles.size(); }
  std::size_t degenerate() const { return degenerate_; }
  std::size_t pool_bytes() const { return workspace_->pool().bytes; }
  kdtree::Workspace& workspace() { return *workspace_; }

  // One build with this scene's settings; throws what the engine throws.
  kdtree::BuildRun build(const engine::Entry& entry);
  kdtree::InstrumentedRun build_instrumented(const engine::Entry& entry);
  // `live`: who watches it, and may hold it up: such a build has no time limit.
  kdtree::RecordedRun build_recorded(const engine::Entry& entry, std::size_t capacity,
                                     alloc::LiveRecording* live = nullptr);
  kdtree::TreeStats tree_stats() const;  // of the last build

  // Builds; if the pool is `auto`, doubles it and tries again until the build completes. Incomplete: the pool was
  // given, or the largest one that the device's memory allows was not enough.
  kdtree::BuildRun build_growing(const engine::Entry& entry);
  // Replaces an automatic pool's size (a resumed benchmark goes on with the size it had).
  void set_pool(std::size_t bytes);

 private:
  kdtree::BuildOptions build_options() const;
  std::size_t pool_limit() const;

  std::string source_, name_;
  simt::DeviceInfo device_;
  BuildSettings settings_;
  scenes::Mesh mesh_;
  std::size_t degenerate_ = 0;
  std::unique_ptr<kdtree::DeviceMesh> device_mesh_;
  std::unique_ptr<kdtree::Workspace> workspace_;
};

// `atrium:1m` for a procedural scene, the file's stem for a path.
std::string scene_label(const std::string& source, const scenes::Mesh& mesh);

}  // namespace heapwood::app
