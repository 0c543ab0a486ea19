// SPDX-License-Identifier: MIT
// Pictures of a tree and its mesh, on any device.
//
// The same job gives the same picture every time and for any number of threads; CPU and GPU differ by rounding of rays
// and of sine and cosine (tests/render/test_golden.cpp states the tolerance).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "render/film.hpp"
#include "render/scene.hpp"

namespace heapwood::render {

struct RenderJob {
  Mode mode = Mode::shaded;
  unsigned width = 1280, height = 720;
  unsigned spp = 16;  // samples a pixel
  Camera camera;
  bool watertight = false;
  std::uint32_t seed = 1;
  std::optional<Lighting> lighting;  // absent: choose_lighting() for the camera
  unsigned bounces = 5;              // path
  double exposure = 0;               // 0: from the picture's brightness
  double largest = 0;                // end of the colour ramp of heatmap and leaves; 0: from the picture
  bool legend = true;
  double seconds = 3600;                                      // time limit; simt::Stopped is thrown when it passes
  std::function<void(unsigned done, unsigned spp)> progress;  // after every pass
};

inline constexpr unsigned max_side = 16384, max_spp = 1u << 16;

// A picture that gets better while one watches.
class Progressive {
 public:
  // The scene must outlive it. Throws Error{Exit::usage} for sizes or numbers of samples out of range.
  Progressive(const Scene& scene, const RenderJob& job);

  // Adds up to `samples` samples a pixel in one launch, and returns its milliseconds.
  double add(unsigned samples, double seconds);
  unsigned samples() const { return frame_.first_sample; }
  Film film() const;
  Image image() const;

  // The same pass in short launches: one sample a pixel for rows [first, first + count) of tiles, then end_pass() once
  // all of them had theirs.
  unsigned tile_rows() const;
  double add_rows(unsigned first, unsigned count, double seconds);
  void end_pass() { ++frame_.first_sample; }
  // Sums of the pixels in these rows of tiles.
  std::vector<Pixel> rows(unsigned first, unsigned count) const;
  // Develops them into a picture in the device's own memory: `rgba` is its first pixel (DevelopPixels).
  void develop_rows(unsigned first, unsigned count, unsigned samples, const Development& how, const Range& range,
                    std::uint32_t* rgba) const;

 private:
  struct Pixels {
    std::size_t first, count;
  };
  Pixels pixels(unsigned first_row, unsigned rows) const;
  double launch(unsigned samples, unsigned first_row, unsigned rows, double seconds);

  const Scene* scene_;
  RenderJob job_;
  Frame frame_{};
  simt::Buffer<Pixel> film_;
  simt::Buffer<std::uint32_t> ticket_;
};

// Renders job.spp samples a pixel. The scene's own `watertight` counts, not the job's.
Image render(const RenderJob& job, const Scene& scene);
// Uploads and renders.
Image render(const RenderJob& job, const simt::DeviceId& device, const kdtree::Tree& tree,
             const kdtree::MeshView& mesh);

// Exposure that `render` gives a picture without one of its own.
double exposure_for(const Film& film, Mode mode);

const char* name(Mode mode);
// Throws Error{Exit::usage} naming all modes.
Mode parse_mode(const std::string& name);

}  // namespace heapwood::render
