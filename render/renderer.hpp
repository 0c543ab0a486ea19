// SPDX-License-Identifier: MIT
// Renders pictures of a tree and its mesh on any device. A job gives the same picture for any
// number of threads; those of CPU and GPU differ by the rounding of rays, sine and cosine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "render/develop.hpp"
#include "render/environment.hpp"
#include "render/scene.hpp"

namespace heapwood::render {

struct RenderJob {
  Mode mode = Mode::shaded;
  unsigned width = 1280, height = 720;
  unsigned spp = 16;  // samples per pixel
  Camera camera{};
  bool watertight = false;
  bool clay = false;  // modes shaded and path ignore the scene's colours
  std::uint32_t seed = 1;
  std::optional<Lighting> lighting{};  // absent: choose_lighting() for the camera
  // Lights pictures of mode path instead of `lighting`. It must outlive the picture.
  const Environment* environment = nullptr;
  unsigned bounces = 5;  // max bounces in mode path
  double exposure = 0;   // 0: exposure_for() chooses
  double largest = 0;    // end of the colour ramp of heatmap and leaves; 0: depends on the picture
  bool legend = true;
  Tone tone = Tone::standard;
  double seconds = 3600;  // time limit, after which simt::Stopped is thrown
  std::function<void(unsigned done, unsigned spp)> progress{};  // called after every launch
};

inline constexpr unsigned max_side = 16384, max_spp = 1u << 16;

// A picture that is refined by adding samples.
class Progressive {
 public:
  // The scene must outlive the picture. Throws Error{Exit::usage} if size or samples are out of
  // range.
  Progressive(const Scene& scene, const RenderJob& job);
  // Begins another picture of the scene. Memory is allocated only if it is larger than all before.
  void restart(const RenderJob& job);

  // Adds `samples` samples per pixel in one launch, which may take `seconds`, the time that the job
  // has left. Returns the launch's milliseconds.
  double add(unsigned samples, double seconds);
  unsigned samples() const { return frame_.first_sample; }
  const RenderJob& job() const { return job_; }
  Film film() const;
  // Develops the film on its device, without a legend, and copies the colours to `to`.
  struct Developed {
    Range range;  // range and largest number, in modes that show numbers
    double largest, exposure;
  };
  Developed develop(std::span<Rgba8> to);

  // Add one sample per pixel in short launches: first add_rows() until all rows of tiles are
  // rendered, [first, first + count) at a time, then end_pass().
  unsigned tile_rows() const;
  double add_rows(unsigned first, unsigned count, double seconds);
  void end_pass() { ++frame_.first_sample; }

 private:
  void surround(const RenderJob& job);
  double launch(unsigned samples, unsigned first_row, unsigned rows,
                const simt::LaunchLimits& limits);

  const Scene* scene_;
  RenderJob job_;
  Frame frame_{};
  simt::Buffer<DeviceMaterial> clay_;  // for a scene without colours under an environment
  SceneData data_;
  simt::Buffer<Pixel> film_;
  simt::Buffer<std::uint32_t> ticket_, bins_;
  simt::Buffer<SrgbTable> table_;
  simt::Buffer<Rgba8> colours_;
};

// Renders job.spp samples per pixel. Ignores job.watertight, which the scene determines.
Film render_film(const RenderJob& job, const Scene& scene);
// Develops a film with the job's exposure.
Image develop(const RenderJob& job, const Film& film);
Image render(const RenderJob& job, const Scene& scene);

// The exposure for a film if RenderJob::exposure is 0.
double exposure_for(const Film& film, Mode mode);

const char* name(Mode mode);
// Throws Error{Exit::usage}, which names all modes.
Mode parse_mode(const std::string& name);

}  // namespace heapwood::render
