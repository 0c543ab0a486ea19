// SPDX-License-Identifier: MIT
// The background ray tracer: a thread renders the latest view, first coarse and then finer while
// nothing changes, in short launches so that a new view waits only briefly.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>

#include "render/renderer.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

struct View {
  std::shared_ptr<const BuiltScene> scene;
  render::Camera camera;
  render::Lighting lighting;
  render::Mode mode = render::Mode::shaded;
  bool clay = false;  // ignores the scene's colours
  unsigned width = 0, height = 0;
  unsigned spp = 64;  // samples per pixel of a complete picture

  bool operator==(const View&) const = default;
};

struct PictureStatus {
  unsigned samples = 0;  // samples per pixel of the picture shown; 0: a coarse picture
  unsigned spp = 0;      // samples per pixel of the complete picture
  unsigned coarse = 0;   // edge of a coarse pixel in window pixels; 1: full resolution
  double pass_ms = 0;    // time of the last pass at full resolution
  double camera_rays_per_second = 0;
  render::Range range;  // numbers that the colours represent, in modes that show numbers
  double largest = 0;   // largest value in the picture
  bool done = false;    // whether it has all samples
  std::string error;    // reason why there is no picture
};

// Takes pictures from a thread that makes them to the window. Neither waits for the other: of three
// page-locked buffers each has one, and the third is the latest picture.
class PixelExchange {
 public:
  // The buffer for the next picture, which publish() makes the latest.
  std::span<gl::Rgba8> begin(const simt::DeviceId& device, unsigned width, unsigned height);
  void publish();
  // Uploads the latest picture unless that was done.
  void upload(gl::Texture& texture);

 private:
  struct Buffer {
    explicit Buffer(const simt::DeviceId& device) : pixels(device) {}
    simt::PinnedArray<gl::Rgba8> pixels;
    unsigned width = 0, height = 0;
  };
  std::mutex mutex_;
  std::unique_ptr<Buffer> next_, latest_, uploaded_;
  bool is_fresh_ = false;
};

// The job that renders a view at 1/factor of its resolution.
render::RenderJob job_of(const View& view, unsigned factor);
// The finest of the factors 1, 2, 4, 8, 16 with which a sample per pixel is quick enough.
unsigned coarse_factor(double pixels, double seconds_per_pixel);

class Picture {
 public:
  Picture() : thread_([this] { work(); }) {}
  ~Picture();

  // Sets the view to render; a view equal to the last one continues its picture.
  void show(const View& view);
  // Used while builds are timed: if `held`, renders coarse pictures only, and only when the view
  // changes.
  void hold(bool held) {
    change([&] { held_ = held; });
  }
  // A coarse picture has fewer pixels than the view.
  void upload(gl::Texture& texture) { pixels_.upload(texture); }
  PictureStatus status() const;

 private:
  void work();
  template <class Change>
  void change(const Change& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }
  bool outdated(std::uint64_t version) const;
  void wait_while_held(std::uint64_t version);
  void make(const View& view, std::uint64_t version);
  // Adds a sample per pixel to a picture of 1/factor of the resolution; false if the view has
  // changed.
  bool trace(double pixels, unsigned factor, std::uint64_t version);
  void publish(const View& view, unsigned factor);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  View wanted_;
  std::uint64_t version_ = 0;  // of wanted_
  bool held_ = false, stop_ = false;
  PixelExchange pixels_;
  PictureStatus status_;

  // Used by the worker thread only.
  double seconds_per_pixel_ = 1e-6;  // measured in the last pass
  std::shared_ptr<const BuiltScene> traced_;
  std::optional<render::Progressive> picture_;  // of traced_

  std::thread thread_;  // declared last because it uses everything above
};

}  // namespace heapwood::viewer
