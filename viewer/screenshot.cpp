// SPDX-License-Identifier: MIT
#include "viewer/screenshot.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "viewer/priority.hpp"

namespace heapwood::viewer {

Screenshots::~Screenshots() {
  if (!thread_.joinable()) return;
  if (running_) simt::interrupt();  // nobody waits for it any more
  thread_.join();
  simt::clear_interrupt();
}

bool Screenshots::start(std::shared_ptr<const BuiltScene> scene, const render::RenderJob& job,
                        const std::string& path) {
  if (running_) return false;
  if (thread_.joinable()) thread_.join();
  running_ = true;
  done_ = false;
  share_ = 0;
  thread_ = std::thread([this, scene = std::move(scene), job = render::RenderJob(job), path]() mutable {
    give_way(nice_picture);
    try {
      job.progress = [this](unsigned done, unsigned spp) { share_ = static_cast<double>(done) / spp; };
      render::write_png(render::render(job, *scene->traced), path);
      finished_ = {true, fmt::format("{}, {}x{}, {} samples a pixel", path, job.width, job.height, job.spp)};
    } catch (const std::exception& error) {
      finished_ = {false, error.what()};
    }
    done_ = true;  // publishes finished_ (sequentially consistent)
    running_ = false;
  });
  return true;
}

std::optional<Screenshots::Finished> Screenshots::take() {
  if (!done_.exchange(false)) return std::nullopt;
  return finished_;
}

std::string free_name(const std::string& scene) {
  std::string stem = scene;
  for (char& c : stem) {
    if (c == ':' || c == '/' || c == '\\') c = '-';
  }
  for (unsigned i = 1;; ++i) {
    const std::string name = fmt::format("{}-{:03}.png", stem, i);
    std::error_code ignored;
    if (i >= 999 || !std::filesystem::exists(name, ignored)) return name;
  }
}

}  // namespace heapwood::viewer
