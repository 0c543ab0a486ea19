// SPDX-License-Identifier: MIT
// A scene on a device, ready to be built by any allocator: the mesh here and there, the workspace, the pool.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/options.hpp"
#include "kdtree/level_builder.hpp"
#include "kdtree/quality.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::app {

// What the pool that `auto` begins with depends on.
struct PoolNeeds {
  bool frees = true;                     // all allocators to come do
  std::size_t cache_bytes_per_warp = 0;  // the most that one of them keeps (AllocatorTraits)
};
PoolNeeds pool_needs(const std::vector<const engine::Entry*>& allocators);

class PreparedScene {
 public:
  // Loads (Error{Exit::scene}), drops triangles of zero area unless they are to be kept, uploads. With the per-level builder
  // alone there is neither workspace nor pool.
  PreparedScene(const std::string& source, const simt::DeviceInfo& device, const BuildSettings& settings,
                const PoolNeeds& needs);

  const std::string& source() const { return source_; }
  const std::string& name() const { return name_; }
  const scenes::Mesh& mesh() const { return mesh_; }
  kdtree::MeshView view() const { return {mesh_.vertices, mesh_.triangles}; }
  std::size_t triangles() const { return mesh_.triangles.size(); }
  std::size_t degenerate() const { return degenerate_; }
  std::size_t pool_bytes() const { return workspace_ ? workspace_->pool().bytes : 0; }
  kdtree::Workspace& workspace() { return *workspace_; }

  // One build with this scene's settings; throws what the engine throws.
  kdtree::BuildRun build(const engine::Entry& entry);
  kdtree::InstrumentedRun build_instrumented(const engine::Entry& entry);
  // `live`: who watches it, and may hold it up: such a build has no time limit.
  kdtree::RecordedRun build_recorded(const engine::Entry& entry, std::size_t capacity,
                                     alloc::LiveRecording* live = nullptr);
  // With the settings' host allocator; what the last one took is given back first.
  kdtree::LevelRun build_per_level();
  alloc::HostStatistics host_statistics() const { return host_->statistics(); }  // after a per-level build

  kdtree::Tree tree() const;  // of the last build, whichever builder's
  kdtree::TreeStats tree_stats() const { return kdtree::measure(tree(), settings_.costs); }

  // Builds; if the pool is `auto`, enlarges it and tries again until the build completes. Incomplete: the pool was
  // given, or the largest one that the device's memory allows was not enough. The time limit is for all tries together.
  kdtree::BuildRun build_growing(const engine::Entry& entry);
  // Only a pool that is `auto`; false: it stays as it is.
  bool enlarge_pool();
  // Replaces an automatic pool's size (a resumed benchmark goes on with the size it had).
  void set_pool(std::size_t bytes);

 private:
  kdtree::BuildOptions build_options() const;
  kdtree::BuildRun build(const engine::Entry& entry, const kdtree::BuildOptions& options);
  std::size_t pool_limit() const;

  std::string source_, name_;
  simt::DeviceInfo device_;
  BuildSettings settings_;
  scenes::Mesh mesh_;
  std::size_t degenerate_ = 0;
  bool frees_ = true;
  std::unique_ptr<kdtree::DeviceMesh> device_mesh_;
  std::unique_ptr<kdtree::Workspace> workspace_;
  std::unique_ptr<alloc::HostAllocator> host_;
  std::unique_ptr<kdtree::LevelBuilder> levels_;
  bool per_level_last_ = false;
};

// `atrium:1m` for a procedural scene, the file's stem for a path.
std::string scene_label(const std::string& source, const scenes::Mesh& mesh);

}  // namespace heapwood::app
