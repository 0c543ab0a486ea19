// SPDX-License-Identifier: MIT
// Numbered PNG files, and a video file that ffmpeg encodes, of the pictures of an animation.
#pragma once

#include <memory>
#include <string>

#include "bench/program/output_file.hpp"
#include "render/image.hpp"

namespace heapwood::bench {

// The path of a picture by a pattern whose file name contains one run of #, which stands for the
// number: `out/frame_###.png`. Throws Error{Exit::usage} for another pattern.
std::string picture_path(const std::string& pattern, unsigned number);

// The path of ffmpeg by the environment's PATH; "" if there is none.
std::string find_ffmpeg();

// An MP4 or WebM file, by the extension. The pictures are passed to ffmpeg as they come; after
// Ctrl-C finish() writes a video of those so far.
class VideoFile {
 public:
  // Throws Error{Exit::usage} for another extension, and Error{Exit::failed} without ffmpeg or if
  // the file cannot be written.
  VideoFile(const std::string& path, unsigned width, unsigned height, double frames_per_second);
  ~VideoFile();
  VideoFile(const VideoFile&) = delete;
  VideoFile& operator=(const VideoFile&) = delete;

  // Throw Error{Exit::failed} if ffmpeg fails.
  void add(const render::Image& picture);
  void finish();

 private:
  struct Encoder;  // the process and the folder of its output

  OutputFile file_;
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace heapwood::bench
