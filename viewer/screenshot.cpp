// SPDX-License-Identifier: MIT
#include "viewer/screenshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/program/output_file.hpp"
#include "viewer/priority.hpp"

namespace heapwood::viewer {

Screenshots::~Screenshots() {
  cancel();  // its result is not needed
  if (thread_.joinable()) thread_.join();
}

bool Screenshots::start(std::shared_ptr<const BuiltScene> scene, const render::RenderJob& job,
                        const std::string& path) {
  if (running_) return false;
  if (thread_.joinable()) thread_.join();
  running_ = true;
  cancelled_ = false;
  share_ = 0;
  path_ = path;
  thread_ = std::thread([this, scene = std::move(scene), job, path] {
    lower_priority(nice_picture);
    try {
      make(*scene, job, path);
    } catch (const std::exception& error) {
      finished_ = {Finished::How::failed, error.what()};
    }
    done_ = true;  // publishes finished_ (sequentially consistent)
  });
  return true;
}

// Like render::render, in launches of a tenth of a second that can be cancelled in between.
void Screenshots::make(const BuiltScene& scene, const render::RenderJob& job,
                       const std::string& path) {
  using Clock = std::chrono::steady_clock;
  for (;;) {
    try {
      render::Progressive picture(*scene.traced, job);
      unsigned step = 1;
      while (picture.samples() < job.spp) {
        for (unsigned row = 0, count = 0; row < picture.tile_rows(); row += count) {
          if (cancelled_) {
            finished_ = {Finished::How::cancelled, path + ": cancelled, nothing was written"};
            return;
          }
          const auto start = Clock::now();
          count = std::min(step, picture.tile_rows() - row);
          picture.add_rows(row, count, job.seconds);
          const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
          if (seconds > 0.2) step = std::max(1u, step / 2);
          if (seconds < 0.05 && step < picture.tile_rows()) step *= 2;
        }
        picture.end_pass();
        share_ = static_cast<double>(picture.samples()) / job.spp;
      }
      bench::OutputFile(path).write(render::to_png(picture.image()));
      finished_ = {Finished::How::fine, fmt::format("Saved {}, {}x{}, {} samples per pixel", path,
                                                    job.width, job.height, job.spp)};
      return;
    } catch (const simt::Stopped& stopped) {
      if (stopped.reason() != simt::Stopped::Reason::interrupted) throw;
      // A build was cancelled, which stops every launch: start again once the flag is cleared.
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  }
}

std::optional<Screenshots::Finished> Screenshots::take() {
  if (!done_.exchange(false)) return std::nullopt;
  running_ = false;
  return finished_;
}

std::string free_name(const std::string& scene, const std::string& extension) {
  std::string stem = scene;
  for (char& c : stem) {
    if (c == ':' || c == '/' || c == '\\') c = '-';
  }
  for (unsigned i = 1;; ++i) {
    std::string name = fmt::format("{}-{:03}{}", stem, i, extension);
    std::error_code ignored;
    if (!std::filesystem::exists(name, ignored)) return name;
  }
}

std::string copy_png(const std::string& png) {
  const char* wayland = std::getenv("WAYLAND_DISPLAY");
  const bool is_wayland = wayland && *wayland;
  const std::string program = is_wayland ? "wl-copy" : "xclip";
  // Checked first, to say what is missing.
  if (std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) != 0)
    return is_wayland ? "install wl-clipboard to copy pictures" : "install xclip to copy pictures";
  const char* command = is_wayland ? "wl-copy --type image/png"
                                   : "xclip -selection clipboard -t image/png > /dev/null 2>&1";
  std::FILE* pipe = popen(command, "w");
  if (!pipe) return program + " does not start";
  const bool written = std::fwrite(png.data(), 1, png.size(), pipe) == png.size();
  return pclose(pipe) == 0 && written ? "" : program + " has failed";
}

}  // namespace heapwood::viewer
