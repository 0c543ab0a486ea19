// SPDX-License-Identifier: MIT
// The ray tracer beside the window: a thread that makes the picture of the latest view, coarse at first and finer while
// nothing changes, in short launches so that a new view never waits long. A GPU develops its film straight into OpenGL's
// memory where it can (shared_pixels.hpp), else the film is copied through the host.
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
#include "viewer/shared_pixels.hpp"

namespace heapwood::viewer {

struct View {
  std::shared_ptr<const BuiltScene> scene;
  render::Camera camera;
  render::Lighting lighting;
  render::Mode mode = render::Mode::shaded;
  unsigned width = 0, height = 0;
  unsigned spp = 64;  // then the picture rests

  bool operator==(const View& other) const;
};

struct PictureStatus {
  unsigned samples = 0;  // a pixel of the picture that is shown; 0: a coarse one
  unsigned spp = 0;      // that there will be
  unsigned coarse = 0;   // it is this many times coarser than the window, 1 = as fine
  double pass_ms = 0;    // of the last pass at full size
  double camera_rays_per_second = 0;
  render::Range range;  // of the colours, in modes that show numbers
  double largest = 0;   // number in the picture
  bool done = false;    // all samples
  std::string error;    // why there is none
  bool shared = false;  // with OpenGL; else ...
  std::string copied_because;
};

class Picture {
 public:
  explicit Picture(Interop interop = {});
  ~Picture();

  // The view to make a picture of; equal to the last one: goes on with that.
  void show(const View& view);
  // While builds are timed: coarse pictures only, and only when the view changes.
  void hold(bool held);
  // Uploads what has changed since the last call, and returns whether anything has.
  bool upload(gl::Texture& texture);
  PictureStatus status() const;

 private:
  void work();
  bool outdated(std::uint64_t version) const;
  void make(const View& view, std::uint64_t version);
  bool make_coarse(const View& view, std::uint64_t version, unsigned factor);
  // `coarse_before`: a coarse picture has chosen exposure and range, so that the first pass can be shown as it comes.
  void refine(const View& view, std::uint64_t version, bool coarse_before);
  // Shows rows of tiles of a picture as large as the window.
  void show_rows(const View& view, std::uint64_t version, const render::Progressive& picture, unsigned first,
                 unsigned count, unsigned samples);
  bool write_shared(const View& view, std::uint64_t version, const render::Progressive& picture, unsigned first,
                    unsigned count, unsigned samples);
  void publish(unsigned first_row, const std::vector<gl::Rgba8>& rows);
  // With the mutex held:
  void decide_sharing();
  void copy_from_now_on(const std::string& reason);
  bool fits(const SharedPixels* pixels) const {
    return pixels && pixels->width() == width_ && pixels->height() == height_;
  }
  void wait_while_held(std::uint64_t version);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  View wanted_;
  std::uint64_t version_ = 0;  // of wanted_
  bool held_ = false, stop_ = false;

  // What is shown, and its rows [dirty_first_, dirty_last_) that have not been uploaded.
  unsigned width_ = 0, height_ = 0, dirty_first_ = 0, dirty_last_ = 0;
  std::vector<gl::Rgba8> pixels_;
  PictureStatus status_;

  // Pixels that the device writes itself. They are the worker's while it writes, else the window's thread may show them,
  // or replace them by others of another size.
  enum class Turn : std::uint8_t { free, writing, written };
  std::unique_ptr<SharedPixels> shared_;
  Turn turn_ = Turn::free;
  unsigned written_first_ = 0, written_last_ = 0;  // rows
  std::string decided_for_, copied_because_;       // the device's key; why it does not share

  const Interop interop_;

  // The worker's own.
  double seconds_a_pixel_ = 1e-6;  // of a coarse pass, as measured
  render::Development development_;
  render::Range range_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace heapwood::viewer
