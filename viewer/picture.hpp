// SPDX-License-Identifier: MIT
// The background ray tracer: a thread renders the latest view, first coarse and then finer while
// nothing changes, in short launches so that a new view waits only briefly. A GPU develops its film
// directly into OpenGL's memory where possible (pixels.hpp), otherwise through the host.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "render/film.hpp"
#include "render/renderer.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"
#include "viewer/pixels.hpp"

namespace heapwood::viewer {

struct View {
  std::shared_ptr<const BuiltScene> scene;
  render::Camera camera;
  render::Lighting lighting;
  render::Mode mode = render::Mode::shaded;
  bool clay = false;  // without the scene's colours
  unsigned width = 0, height = 0;
  unsigned spp = 64;  // samples per pixel; then the picture is complete

  bool operator==(const View& other) const;
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
  bool shared = false;  // with OpenGL; otherwise copied, and why:
  std::string copied_because;
};

class Picture {
 public:
  explicit Picture(Interop interop = {});
  ~Picture();

  // Sets the view to render; a view equal to the last one continues its picture.
  void show(const View& view);
  // While builds are timed: renders coarse pictures only, and only when the view changes.
  // `wait`: for at most 100 ms, until the current launch has ended and cannot slow the builds.
  void hold(bool held, bool wait = false);
  // Uploads rows changed since the last call; returns whether there were any.
  bool upload(gl::Texture& texture);
  PictureStatus status() const;

 private:
  void work();
  template <class Change>
  void change(const Change& change);  // with the mutex held; notifies
  bool outdated(std::uint64_t version) const;
  // Sets exposure and range for a picture; returns its largest value in modes that show numbers.
  double measure(const render::Film& film, render::Mode mode);
  void make(const View& view, std::uint64_t version);
  bool make_coarse(const View& view, std::uint64_t version, unsigned factor);
  // `coarse_before`: a coarse picture has determined exposure and range, so that rows of the first
  // pass can be shown at once.
  void refine(const View& view, std::uint64_t version, bool coarse_before);
  // Shows rows of tiles of a picture at full resolution.
  void show_rows(const View& view, std::uint64_t version, const render::Progressive& picture,
                 unsigned first, unsigned count, unsigned samples);
  bool write_shared(const View& view, std::uint64_t version, const render::Progressive& picture,
                    unsigned first, unsigned count, unsigned samples);
  void publish(unsigned first_row, const std::vector<gl::Rgba8>& rows);
  // Called with the mutex held:
  void decide_sharing();
  void switch_to_copies(const std::string& reason);
  bool fits(const SharedPixels* pixels) const {
    return pixels && pixels->width() == width_ && pixels->height() == height_;
  }
  void wait_while_held(std::uint64_t version);
  void trace_rows(render::Progressive& picture, unsigned first, unsigned count);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  View wanted_;
  std::uint64_t version_ = 0;  // of wanted_
  bool held_ = false, stop_ = false;
  bool tracing_ = false;  // a launch runs

  // The picture shown; rows [dirty_first_, dirty_last_) have not been uploaded.
  unsigned width_ = 0, height_ = 0, dirty_first_ = 0, dirty_last_ = 0;
  std::vector<gl::Rgba8> pixels_;
  PictureStatus status_;

  // Pixels written by the device. The worker owns them while it writes; otherwise the window's
  // thread may show them or replace them when the size changes.
  enum class Turn : std::uint8_t { free, writing, written };
  std::unique_ptr<SharedPixels> shared_;
  Turn turn_ = Turn::free;
  unsigned written_first_ = 0, written_last_ = 0;  // rows
  std::string decided_for_, copied_because_;       // device key; why pixels are copied

  const Interop interop_;

  // Used by the worker only.
  double seconds_per_pixel_ = 1e-6;  // measured in the last pass
  render::Development development_;
  render::Range range_;

  std::thread thread_;  // last: uses everything above
};

}  // namespace heapwood::viewer
