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
  bool clay = false;  // without the scene's colours
  unsigned width = 0, height = 0;
  unsigned spp = 64;  // samples per pixel; then the picture is complete

  bool operator==(const View&) const = default;
};

struct PictureStatus {
  unsigned samples = 0;  // per pixel of the picture shown; 0: a coarse picture
  unsigned spp = 0;      // of the complete picture
  unsigned coarse = 0;   // window pixels per coarse pixel and axis; 1: full resolution
  double pass_ms = 0;    // of the last pass at full resolution
  double trace_ms = 0;   // of one sample per pixel, by the last pass at any resolution; 0: unknown
  double camera_rays_per_second = 0;
  render::Range range;  // of the colours, in modes that show numbers
  double largest = 0;   // value in the picture
  bool done = false;    // all samples
  std::string error;    // why there is no picture
};

class Picture {
 public:
  Picture() : thread_([this] { work(); }) {}
  ~Picture();

  // Sets the view to render; a view equal to the last one continues its picture.
  void show(const View& view);
  // While builds are timed: renders coarse pictures only, and only when the view changes.
  // `wait`: for at most 100 ms, until the current launch has ended and cannot slow the builds.
  void hold(bool held, bool wait = false);
  // Uploads the latest picture if it has not been. A coarse one has fewer pixels than the view.
  void upload(gl::Texture& texture);
  PictureStatus status() const;

 private:
  void work();
  template <class Change>
  void change(const Change& change);  // with the mutex held; notifies
  bool outdated(std::uint64_t version) const;
  void wait_while_held(std::uint64_t version);
  void make(const View& view, std::uint64_t version);
  // Adds a sample per pixel to a picture of 1/factor of the view's resolution; returns false if the
  // view has changed.
  bool trace(render::Progressive& picture, double pixels, unsigned factor, std::uint64_t version);
  void publish(const render::Film& film, const View& view, unsigned factor);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  View wanted_;
  std::uint64_t version_ = 0;  // of wanted_
  bool held_ = false, stop_ = false;
  bool tracing_ = false;  // a launch runs
  unsigned width_ = 0, height_ = 0;
  std::vector<gl::Rgba8> pixels_;  // empty: uploaded
  PictureStatus status_;

  double seconds_per_pixel_ = 1e-6;  // measured in the last pass; used by the worker only

  std::thread thread_;  // last: uses everything above
};

}  // namespace heapwood::viewer
