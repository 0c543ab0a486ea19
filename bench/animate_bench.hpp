// SPDX-License-Identifier: MIT
// Measures a moving scene whose tree is rebuilt in every frame, with every allocator, for
// `heapwood animate`; prints nothing. docs/rays.md says what is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "alloc/statistics.hpp"
#include "bench/earlier_results.hpp"
#include "bench/row_bench.hpp"
#include "bench/scene_camera.hpp"
#include "render/image.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

struct AnimateSettings {
  BuildSettings build;  // without runs; zero-area triangles are kept
  unsigned frames = 30;
  bool keep_pool = false;  // the pool is not reset between frames
  bool primary = false;    // traces camera rays alone
  bool shaded = true;      // renders: a camera ray and a shadow ray per pixel
  bool watertight = false;
  ImageSize size{1280, 720};
  CameraOptions camera;
};

// The pool as a frame left it, with all blocks freed.
struct PoolAfterFrame {
  unsigned frame = 0;
  alloc::Fragmentation state;
};

// One allocator: a row of the tables, an element of `results` in JSON. Samples are per frame.
struct AnimateRow : MeasuredRow {
  std::string source, digest, scene;  // scenes::moving_digest(), scenes::moving_label()
  unsigned scene_frames = 0;
  std::uint64_t min_triangles = 0, max_triangles = 0;  // over the frames
  std::string camera;                                  // as `--camera` reads it
  AnimateSettings settings;

  bool wrong_tree = false;
  std::uint64_t pool_bytes = 0;
  // The kernel of the build, and the initialization of the pool and the queue before it.
  std::vector<double> build_ms, reset_ms;
  std::vector<double> upload_ms, records_ms, primary_ms, shaded_ms;
  std::vector<double> frame_ms;       // from the first byte of the upload to the last pixel
  std::vector<std::uint64_t> hashes;  // of the trees; 0 for an incomplete one
  unsigned incomplete_frames = 0;
  std::uint64_t refused_bytes = 0;    // the first refused request
  std::vector<PoolAfterFrame> pools;  // with keep_pool: of some frames

  std::optional<double> frames_per_second() const {
    const std::optional<double> ms = median(frame_ms);
    return ms && *ms > 0 ? std::optional(1e3 / *ms) : std::nullopt;
  }
};

struct AnimateJob {
  std::string scene;
  std::vector<const registry::RegisteredAllocator*> allocators;
  // The initial automatic pool suits all of these; empty: those measured.
  std::vector<const registry::RegisteredAllocator*> sized_for{};
  AnimateSettings settings;
  simt::DeviceInfo device;
  unsigned picture_spp = 0;      // samples per pixel of the pictures; 0: no pictures
  std::vector<AnimateRow> kept;  // earlier rows: reused instead of measured
};

struct AnimateEvents {
  OnStep on_step;  // a step is a frame with one allocator
  // The picture of a frame, once per frame; outside of what is timed.
  std::function<void(unsigned, const render::Image&)> picture;
};

struct AnimateResult {
  std::vector<AnimateRow> rows;
  bool interrupted = false;
  std::optional<Error> scene_error;  // a frame that could not be read; it ends the measurement
};

// A failure of one allocator is not thrown: its row has a status and a reason. Passes on what
// scenes::open_moving() throws, and what events.picture does.
AnimateResult run_animation(const AnimateJob& job, const AnimateEvents& events);

// The scene's frame that is measured as number `number` of `measured`: spread evenly over the scene
// if there are fewer than it has; with more it starts again.
unsigned scene_frame(unsigned number, unsigned measured, unsigned scene_frames);

// A row of this job before it is measured, without an allocator.
AnimateRow animate_row_head(const AnimateJob& job);

inline constexpr const char* animate_schema = "heapwood.animate/1";
// All but the settings can be read back.
void describe(JsonFields& fields, AnimateRow& row);
Json to_json(const AnimateSettings& settings);
// For --resume: complete rows of the same scene and settings.
Earlier<AnimateRow> read_animations(const std::string& path, const simt::DeviceInfo& device,
                                    const AnimateRow& head);

}  // namespace heapwood::bench
