// SPDX-License-Identifier: MIT
// A scene prepared for builds: the mesh on host and device, the workspace, the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/build_settings.hpp"
#include "bench/program/command_options.hpp"
#include "kdtree/check/quality.hpp"
#include "render/camera.hpp"
#include "render/scene.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::bench {

class CommandFiles;

// The properties of the allocators on which the initial size of an automatic pool depends.
struct PoolNeeds {
  bool frees = true;                     // whether all allocators free
  std::size_t cache_bytes_per_warp = 0;  // max over all allocators (AllocatorTraits)
};
PoolNeeds pool_needs(const Allocators& allocators);
// The size of the pool with these settings; for an automatic pool its initial size.
std::size_t initial_pool(const BuildSettings& settings, std::size_t triangles,
                         const simt::DeviceInfo& device, const PoolNeeds& needs);

class PreparedScene {
 public:
  // Loads the scene (may throw Error{Exit::scene}), drops zero-area triangles unless the settings
  // keep them, and uploads it. Materials are only needed for pictures.
  PreparedScene(const std::string& source, const simt::DeviceInfo& device,
                const BuildSettings& settings, const PoolNeeds& needs,
                scenes::Content content = scenes::Content::geometry);

  const std::string& source() const { return source_; }
  const std::string& name() const { return name_; }
  const scenes::Mesh& mesh() const { return mesh_; }
  kdtree::MeshView view() const { return {mesh_.vertices, mesh_.triangles}; }
  std::size_t triangles() const { return mesh_.triangles.size(); }
  std::size_t degenerate() const { return degenerate_; }
  std::size_t pool_bytes() const { return workspace_->pool().bytes; }
  kdtree::Workspace& workspace() { return *workspace_; }

  kdtree::BuildOptions build_options() const;  // costs and time limit of the scene's builds
  // Prepares the workspace for this allocator and its settings; returns its compiled functions.
  const registry::CompiledAllocator& prepare(const Allocator& entry);
  // Builds once with this scene's settings. Throws what the compiled allocator throws.
  kdtree::BuildRun build(const Allocator& entry);
  kdtree::InstrumentedRun build_instrumented(const Allocator& entry);
  kdtree::RecordedRun build_recorded(const Allocator& entry, std::size_t capacity);

  kdtree::Tree tree() const { return workspace_->download(); }  // of the last build
  kdtree::TreeStats tree_stats() const { return kdtree::measure(tree(), settings_.costs); }

  // Sizes a pool given as live:N: N times the max bytes in use at once in a build with this
  // allocator. Without this call the first build sizes it. No effect on other pools. Throws
  // Error{Exit::failed} if no build completes.
  void size_live_pool(const Allocator& entry);
  // Determines live_bytes() for a pool given as live:N, in builds that enlarge it as needed;
  // set_live_bytes() then sizes it. Throws Error{Exit::failed} if no build completes.
  void measure_live_bytes(const Allocator& entry);
  // Whether the pool has the size that the settings ask for.
  bool has_sized_pool() const { return !needs_sizing_; }
  // The max bytes in use at once, if known.
  std::optional<std::uint64_t> live_bytes() const { return live_bytes_; }
  void set_live_bytes(std::uint64_t bytes);
  // Builds and, if the pool is automatic, enlarges it until the build completes. The result is
  // incomplete if the pool has a fixed size or the largest possible one is too small. All these
  // builds share one time limit.
  kdtree::BuildRun build_growing(const Allocator& entry);
  // Enlarges an automatic pool. Returns false if the pool is fixed or at its limit.
  bool enlarge_pool();
  // Sets the pool's size. A resumed benchmark continues with the earlier size.
  void set_pool(std::size_t bytes);
  // Later builds use a pool of this kind, of its initial size.
  void change_pool(const PoolSize& pool);

 private:
  kdtree::BuildRun build(const Allocator& entry, const kdtree::BuildOptions& options);
  std::size_t pool_limit() const;
  bool enlarge_to_limit();

  std::string source_, name_;
  simt::DeviceInfo device_;
  BuildSettings settings_;
  scenes::Mesh mesh_;
  std::size_t degenerate_ = 0;
  PoolNeeds needs_;
  std::optional<std::uint64_t> live_bytes_;  // of a pool given as live:N
  bool needs_sizing_ = false;                // a pool given as live:N has no size yet
  std::unique_ptr<kdtree::DeviceMesh> device_mesh_;
  std::unique_ptr<kdtree::Workspace> workspace_;
};

// The scene's name in tables: `atrium:1m` for a procedural scene, the file's stem for a path.
std::string scene_label(const std::string& source, const scenes::Mesh& mesh);

// Chooses the camera of a scene: that of --camera, or else of a file next to the scene, or else of
// the scene itself, or else an automatic one.

struct CameraOptions {
  std::string camera, up;  // as on the command line; "": not given
};

void add_camera_options(CommandOptions& command, CameraOptions& options);
// Throws Error{Exit::usage} if an option cannot be parsed. Called before anything is built.
void check_camera(const CameraOptions& options);

// Parses a camera as render, trace and the viewer print it: the seven numbers of --camera, then the
// up axis if it is not y (`z` or `--up z`). A leading `--camera` or `camera` is skipped; '#' starts
// a comment. Throws Error{Exit::usage}, also if a second line has more than a comment.
render::Camera parse_camera_line(const std::string& text, const Vec3d& origin);

// Warns of a scene whose extent is not between 1e-18 and 1e18, outside of which rays cannot be
// traced reliably, and throws Error{Exit::scene} from 1e37. Builds are not limited.
void check_extent(const std::string& source, const scenes::Mesh& mesh);

// Chooses the camera; calls check_extent(). Throws Error{Exit::scene} if the file at
// scenes::camera_path() does not contain a camera line. Warns if the camera sees nothing of the
// scene. Printing the camera and parsing the text gives the same bits.
render::Camera choose_camera(const CameraOptions& options, const std::string& source,
                             const scenes::Mesh& mesh, const render::Scene& scene, double aspect);

// Adds a scene file, its camera file and all files that it names, even if the command does not read
// them. Has no effect for the name of a procedural scene.
void reads_scene(CommandFiles& files, const std::string& name_or_path);

}  // namespace heapwood::bench
