// SPDX-License-Identifier: MIT
// The background ray tracer: a thread renders the latest view, first coarse and then finer while
// nothing changes, in short launches so that a new view waits only briefly.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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
  // Time of one sample per pixel, by the last pass at any resolution; 0: unknown.
  double trace_ms = 0;
  double camera_rays_per_second = 0;
  render::Range range;  // numbers that the colours represent, in modes that show numbers
  double largest = 0;   // largest value in the picture
  bool done = false;    // whether it has all samples
  std::string error;    // reason why there is no picture
};

class Picture {
 public:
  Picture() : thread_([this] { work(); }) {}
  ~Picture();

  // Sets the view to render; a view equal to the last one continues its picture.
  void show(const View& view);
  // Used while builds are timed: if `held`, renders coarse pictures only, and only when the view
  // changes. `wait`: waits at most 100 ms until the current launch has ended and cannot slow the
  // builds.
  void hold(bool held, bool wait = false);
  // Uploads the latest picture unless that was done. A coarse one has fewer pixels than the view.
  void upload(gl::Texture& texture);
  PictureStatus status() const;

 private:
  void work();
  template <class Change>
  void change(const Change& change);  // holds the mutex and notifies
  bool outdated(std::uint64_t version) const;
  void wait_while_held(std::uint64_t version);
  void make(const View& view, std::uint64_t version);
  // Adds a sample per pixel to a picture of 1/factor of the resolution; false if the view has
  // changed.
  bool trace(render::Progressive& picture, double pixels, unsigned factor, std::uint64_t version);
  void publish(const render::Film& film, const View& view, unsigned factor);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  View wanted_;
  std::uint64_t version_ = 0;  // of wanted_
  bool held_ = false, stop_ = false;
  bool tracing_ = false;  // whether a launch runs
  unsigned width_ = 0, height_ = 0;
  std::vector<gl::Rgba8> pixels_;  // empty once they are uploaded
  PictureStatus status_;

  double seconds_per_pixel_ = 1e-6;  // measured in the last pass; used by the worker thread only

  std::thread thread_;  // declared last because it uses everything above
};

}  // namespace heapwood::viewer
