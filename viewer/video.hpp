// SPDX-License-Identifier: MIT
// A video of the window: ten seconds as MP4, written by ffmpeg, which gets the frames through a
// pipe. It has 30 frames per second: where none was drawn in time, the one before is repeated.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "viewer/gl.hpp"

namespace heapwood::viewer {

class Video {
 public:
  static constexpr unsigned rate = 30, seconds = 10;

  // Starts ffmpeg, which does not replace an existing file. All frames have this size.
  Video(std::string path, unsigned width, unsigned height);
  ~Video();  // waits until ffmpeg has completed the file

  // Whether a frame is due at this time, in seconds. None is due after the tenth second or end().
  bool wants_frame(double now) const;
  // Adds the frame that is shown at this time; its rows start at the bottom. Does not wait for
  // ffmpeg: a frame is left out while many wait to be encoded, and so repeats the one before.
  void add(std::vector<gl::Rgba8> pixels, double now);
  void end();
  bool has_ended() const { return has_ended_; }  // whether ffmpeg has ended
  // To be called then: says what was written, and how many frames are repeated. Throws
  // Error{Exit::failed}, which says what to install if ffmpeg is missing.
  std::string result() const;

 private:
  struct Frame {
    unsigned repeats = 0;  // of the frame before, which precede this one
    std::vector<gl::Rgba8> pixels;
  };
  static constexpr std::size_t max_waiting = 16;
  unsigned due(double now) const;  // number of frames until this time
  void work();

  const std::string path_;
  double begin_ = 0;  // time of the first frame
  unsigned frames_ = 0, repeated_ = 0;
  std::FILE* const pipe_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> waiting_;
  bool is_complete_ = false;
  std::atomic<bool> has_ended_{false};
  int status_ = 0;      // of ffmpeg
  std::thread thread_;  // declared last because it uses everything above
};

}  // namespace heapwood::viewer
