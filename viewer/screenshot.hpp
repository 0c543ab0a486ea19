// SPDX-License-Identifier: MIT
// Pictures into files. Without the panel they are rendered anew at their own size and number of samples, beside the
// window; with it the window's content is drawn at that size (viewer.cpp).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "render/renderer.hpp"
#include "viewer/built_scene.hpp"

namespace heapwood::viewer {

class Screenshots {
 public:
  ~Screenshots();
  // False while one is being made.
  bool start(std::shared_ptr<const BuiltScene> scene, const render::RenderJob& job, const std::string& path);
  bool running() const { return running_; }
  double share() const { return share_; }
  // Nothing is written.
  void cancel() { cancelled_ = true; }
  // "picture.png, 1920x1080" of one that was finished since the last call, or what went wrong with it.
  struct Finished {
    enum class How { fine, cancelled, failed };
    How how = How::failed;
    std::string text;
  };
  std::optional<Finished> take();

  // A picture of the whole window that is to be drawn: the size it is drawn at, and samples that must be there first.
  struct Panel {
    std::string path;
    int width = 0, height = 0;
    unsigned samples = 0;
  };
  std::optional<Panel> panel;

 private:
  void make(const BuiltScene& scene, const render::RenderJob& job, const std::string& path);

  std::atomic<bool> running_{false}, done_{false}, cancelled_{false};
  std::atomic<double> share_{0};
  Finished finished_;
  std::thread thread_;  // last: it uses all of the above
};

// "atrium-001.png": the first number that there is no file of yet, in the current folder.
std::string free_name(const std::string& scene);

}  // namespace heapwood::viewer
