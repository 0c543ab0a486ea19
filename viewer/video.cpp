// SPDX-License-Identifier: MIT
#include "viewer/video.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "simt/error.hpp"

namespace heapwood::viewer {

namespace {

// -n: ffmpeg replaces no file. Players need an even width and height.
std::string command(const std::string& path, unsigned width, unsigned height) {
  return fmt::format(
      "exec ffmpeg -loglevel error -n -f rawvideo -pixel_format rgba -video_size {}x{} -framerate "
      "{} -i pipe:0 -vf 'vflip,crop=trunc(iw/2)*2:trunc(ih/2)*2' -pix_fmt yuv420p 'file:{}'",
      width, height, Video::rate, std::regex_replace(path, std::regex("'"), R"('\'')"));
}

}  // namespace

Video::Video(std::string path, unsigned width, unsigned height)
    : path_(std::move(path)), pipe_(popen(command(path_, width, height).c_str(), "we")) {
  if (!pipe_) throw Error(Exit::failed, path_ + ": cannot start ffmpeg");
  thread_ = std::thread([this] { work(); });
}

Video::~Video() {
  end();
  thread_.join();
}

unsigned Video::due(double now) const {
  return std::min(rate * seconds, static_cast<unsigned>(std::lround((now - begin_) * rate)) + 1);
}

bool Video::wants_frame(double now) const {
  const std::lock_guard lock(mutex_);
  return !is_complete_ && (frames_ == 0 || due(now) > frames_);
}

void Video::add(std::vector<gl::Rgba8> pixels, double now) {
  if (frames_ == 0) begin_ = now;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() == max_waiting) return;
  const unsigned repeats = due(now) - frames_ - 1;
  waiting_.push_back({repeats, std::move(pixels)});
  repeated_ += repeats;
  frames_ += repeats + 1;
  is_complete_ = frames_ == rate * seconds;
  changed_.notify_all();
}

void Video::end() {
  const std::lock_guard lock(mutex_);
  is_complete_ = true;
  changed_.notify_all();
}

void Video::work() {
  Frame last;
  const auto write = [&] {
    const std::size_t pixels = last.pixels.size();
    return std::fwrite(last.pixels.data(), sizeof(gl::Rgba8), pixels, pipe_) == pixels;
  };
  std::unique_lock lock(mutex_);
  // Writing fails if ffmpeg is missing or has ended.
  for (bool writes = true; writes;) {
    changed_.wait(lock, [this] { return is_complete_ || !waiting_.empty(); });
    if (waiting_.empty()) break;
    Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    for (unsigned i = 0; writes && i < frame.repeats; ++i) writes = write();
    last = std::move(frame);
    writes = writes && write();
    lock.lock();
  }
  is_complete_ = true;
  lock.unlock();
  status_ = pclose(pipe_);
  has_ended_ = true;
}

std::string Video::result() const {
  constexpr int not_found = 127;  // of the shell
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == not_found)
    throw Error(Exit::failed, "ffmpeg, which writes videos, is missing: apt-get install ffmpeg");
  if (status_ != 0)
    throw Error(Exit::failed, path_ + ": ffmpeg failed, and the terminal has its message");
  const std::string repeats =
      repeated_ ? fmt::format(
                      "; {} of its {} frames repeat the one before: the window was drawn "
                      "more slowly",
                      repeated_, frames_)
                : "";
  return fmt::format("Saved {}, {:.1f} s{}", path_, frames_ / (1.0 * rate), repeats);
}

}  // namespace heapwood::viewer
