// SPDX-License-Identifier: MIT
// Screenshots. Without the panel a picture is rendered in the background at its own size and sample
// count; with the panel the window's content is drawn at that size (viewer.cpp).
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
  // Returns false until the outcome of the previous screenshot has been taken.
  bool start(std::shared_ptr<const BuiltScene> scene, const render::RenderJob& job,
             const std::string& path);
  bool running() const { return running_; }
  double share() const { return share_; }
  const std::string& path() const { return path_; }  // of the last one
  // Stops the screenshot; no file is written.
  void cancel() { cancelled_ = true; }
  // The screenshot finished since the last call: "Saved picture.png, 1920x1080, 64 samples per
  // pixel", or its error.
  struct Finished {
    enum class How { fine, cancelled, failed };
    How how = How::failed;
    std::string text;
  };
  std::optional<Finished> take();

  // A pending picture of the whole window: its size, and the samples to wait for.
  struct Panel {
    std::string path;
    int width = 0, height = 0;
    unsigned samples = 0;
    bool summary = false;  // the slowdown table instead of the window
  };
  std::optional<Panel> panel;

 private:
  void make(const BuiltScene& scene, const render::RenderJob& job, const std::string& path);

  bool running_ = false;  // until the outcome is taken
  std::atomic<bool> done_{false}, cancelled_{false};
  std::atomic<double> share_{0};
  Finished finished_;
  std::string path_;
  std::thread thread_;  // last: uses everything above
};

// "atrium-001.png": the first number without a file in the current folder.
std::string free_name(const std::string& scene, const std::string& extension = ".png");

// Returns why the PNG was not copied, or "".
std::string copy_png(const std::string& png);

}  // namespace heapwood::viewer
