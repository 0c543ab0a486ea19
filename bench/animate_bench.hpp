// SPDX-License-Identifier: MIT
// Measures a moving scene whose tree is rebuilt in every frame, with every allocator, for `heapwood
// animate`. Prints nothing. docs/rays.md describes the measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/statistics.hpp"
#include "bench/earlier_results.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/row_bench.hpp"
#include "render/film.hpp"
#include "render/image.hpp"
#include "render/renderer.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "simt/device.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

struct AnimateSettings {
  BuildSettings build;  // its `runs` is not used; zero-area triangles are kept
  unsigned frames = 30;
  bool keep_pool = false;  // the pool is not reset between frames
  bool primary = false;    // traces only camera rays
  bool shaded = true;      // renders with a camera ray and a shadow ray per pixel
  bool watertight = false;
  ImageSize size{1280, 720};
  CameraOptions camera;
};

// The state in which a frame left the pool, with all blocks freed.
struct PoolAfterFrame {
  unsigned frame = 0;
  alloc::Fragmentation state;
};

// The results of one allocator, with samples per frame: a row of tables, one of `results` in JSON.
struct AnimateRow : MeasuredRow {
  std::string source, digest, scene;  // scenes::moving_digest(), scenes::moving_label()
  unsigned scene_frames = 0;
  std::uint64_t min_triangles = 0, max_triangles = 0;  // min and max over the frames
  std::string camera;                                  // as `--camera` reads it
  AnimateSettings settings;

  bool wrong_tree = false;
  std::uint64_t pool_bytes = 0;
  // Times of the build's kernel, and of the initialization of pool and queue before it.
  std::vector<double> build_ms, reset_ms;
  std::vector<double> upload_ms, records_ms, primary_ms, shaded_ms;
  std::vector<double> frame_ms;       // time from the first byte of the upload to the last pixel
  std::vector<std::uint64_t> hashes;  // hash of each frame's tree; 0 for an incomplete one
  unsigned incomplete_frames = 0;
  std::uint64_t refused_bytes = 0;    // size of the first refused request
  std::vector<PoolAfterFrame> pools;  // with keep_pool: the pool after some of the frames

  std::optional<double> frames_per_second() const {
    const std::optional<double> ms = median(frame_ms);
    return ms && *ms > 0 ? std::optional(1e3 / *ms) : std::nullopt;
  }
};

// The lists of samples with their names in tables and JSON, where empty ones are absent.
struct AnimateSamples {
  const char* key;
  std::vector<double> AnimateRow::*ms;
};
inline constexpr AnimateSamples animate_samples[] = {
    {"upload", &AnimateRow::upload_ms},   {"reset", &AnimateRow::reset_ms},
    {"build", &AnimateRow::build_ms},     {"records", &AnimateRow::records_ms},
    {"primary", &AnimateRow::primary_ms}, {"shaded", &AnimateRow::shaded_ms},
    {"frame", &AnimateRow::frame_ms}};

struct AnimateJob {
  std::string scene;
  Allocators allocators;
  // Allocators for which an automatic pool is sized initially; empty: those measured.
  Allocators sized_for{};
  AnimateSettings settings;
  simt::DeviceInfo device;
  unsigned picture_spp = 0;      // samples per pixel of the pictures; 0: no pictures
  std::vector<AnimateRow> kept;  // rows of an earlier run, reused instead of measured
};

struct AnimateEvents {
  OnStep on_step;  // a step is a frame with one allocator
  // Receives a picture of each frame, rendered outside of what is timed.
  std::function<void(unsigned, const render::Image&)> picture;
};

struct AnimateResult {
  std::vector<AnimateRow> rows;
  bool interrupted = false;
  // The error of a frame that could not be read, which ends the measurement.
  std::optional<Error> scene_error;
};

// Throws what scenes::open_moving() and events.picture throw. A failure of one allocator is not
// thrown: its row has a status and a reason.
AnimateResult run_animation(const AnimateJob& job, const AnimateEvents& events);

// Maps frame `number` of `measured` to a frame of the scene. If fewer are measured than the scene
// has, they are spread evenly; if more, the scene starts again.
unsigned scene_frame(unsigned number, unsigned measured, unsigned scene_frames);

// A row of this job before it is measured, without an allocator.
AnimateRow animate_row_head(const AnimateJob& job);

inline constexpr const char* animate_schema = "heapwood.animate/1";
// Reads or writes a row; its settings are only written.
void describe(JsonFields& fields, AnimateRow& row);
Json to_json(const AnimateSettings& settings);
// For --resume: the complete rows in a file that are of this scene and these settings.
Earlier<AnimateRow> read_animations(const std::string& path, const simt::DeviceInfo& device,
                                    const AnimateRow& head);

// One frame of a moving scene at a time: the mesh on host and device, the workspace and the pool.
// prepare() makes the next frame and allocates all memory for it; upload() and build(), which are
// timed, allocate nothing.
class AnimateScene {
 public:
  // Throws what scenes::open_moving() throws.
  AnimateScene(const std::string& source, const simt::DeviceInfo& device,
               const BuildSettings& settings, const PoolNeeds& needs);

  unsigned frames() const { return scene_.frames; }
  // The mesh of any frame; does not affect prepare().
  scenes::Mesh mesh_of(unsigned frame) const { return scene_.mesh(frame); }
  const simt::DeviceInfo& device() const { return device_; }
  // The mesh that prepare() made last, on the host and on the device.
  const scenes::Mesh& mesh() const { return mesh_; }
  const kdtree::DeviceMesh& device_mesh() const { return *device_mesh_; }
  kdtree::MeshView view() const { return {mesh_.vertices, mesh_.triangles}; }
  kdtree::Workspace& workspace() { return *workspace_; }
  std::size_t pool_bytes() const { return workspace_->pool().bytes; }

  // Makes the mesh of a frame and copies it to page-locked memory.
  void prepare(unsigned frame);
  // Copies the changes since the previous frame to the device: the vertices from the first to the
  // last that differs, and all triangles if any differs.
  void upload();
  // Throws what the compiled allocator throws.
  kdtree::BuildRun build(const Allocator& entry, kdtree::KeptAllocator* kept = nullptr);
  // The size of the pool with these settings, for the mesh of the last prepare().
  std::size_t suggested_pool() const;
  // Makes an automatic pool half as large again. Returns false if the pool is fixed, memory is
  // exhausted, or the pool has eight times the suggested size.
  bool enlarge_pool();

 private:
  void find_changes(const scenes::Mesh& next);
  void provide_memory();

  simt::DeviceInfo device_;
  BuildSettings settings_;
  PoolNeeds needs_;
  scenes::MovingScene scene_;
  scenes::Mesh mesh_;
  simt::PinnedArray<Vec3> vertices_;
  simt::PinnedArray<Triangle> triangles_;
  std::size_t first_moved_ = 0, end_moved_ = 0;
  bool other_triangles_ = true, is_uploaded_ = false;
  std::unique_ptr<kdtree::DeviceMesh> device_mesh_;
  std::unique_ptr<kdtree::Workspace> workspace_;
};

// Traces the last build's tree in device memory, with one camera and one light for all frames.
class AnimateView {
 public:
  // Chooses camera and light for `scene`, which has been built. spp: samples per pixel of pictures.
  AnimateView(AnimateScene& scene, const AnimateJob& job);

  const render::Camera& camera() const { return camera_; }

  // Trace the tree of the last build. Times are milliseconds by the host's clock, to the end of the
  // work. fill_records() must be called first; it returns false if it had to allocate memory.
  bool fill_records(double& ms);
  double trace_primary();
  // Traces a camera ray and a shadow ray per pixel.
  double shade();
  // Renders a picture without noise and with soft shadows.
  render::Image picture(unsigned spp);

 private:
  AnimateScene& scene_;
  render::Scene traced_;
  double seconds_;  // time limit of a launch
  render::Camera camera_;
  render::Lighting lighting_;
  unsigned width_, height_;
  simt::Buffer<kdtree::Ray> rays_;
  simt::Buffer<kdtree::Hit> hits_;
  simt::Buffer<render::Pixel> film_;
  simt::Buffer<std::uint32_t> ticket_;
  // Exposure of the first picture, used for all so that they do not flicker.
  std::optional<double> exposure_;
};

}  // namespace heapwood::bench
