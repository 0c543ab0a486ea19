// SPDX-License-Identifier: MIT
#include "bench/animate_video.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "bench/program/input_file.hpp"
#include "bench/program/options.hpp"
#include "scenes/file.hpp"
#include "simt/error.hpp"

extern char** environ;

namespace heapwood::bench {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> codec_options(const std::string& extension) {
  if (extension == ".mp4")
    return {"-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart"};
  if (extension == ".webm")
    return {"-c:v", "libvpx-vp9", "-crf", "30", "-b:v", "0", "-pix_fmt", "yuv420p"};
  return {};
}

std::string checked(const std::string& path) {
  if (codec_options(scenes::extension_of(path)).empty())
    throw Error(Exit::usage,
                fmt::format("--video '{}': expected a file name ending in .mp4 or .webm", path));
  if (find_ffmpeg().empty()) {
    throw Error(Exit::failed,
                "--video: there is no ffmpeg on the PATH; install it, or write pictures with -o "
                "frame_###.png");
  }
  return path;
}

}  // namespace

std::string picture_path(const std::string& pattern, unsigned number) {
  if (scenes::extension_of(pattern) != ".png") {
    throw Error(Exit::usage,
                fmt::format("-o '{}': the pictures of frames are .png files: name them as in "
                            "frame_###.png",
                            pattern));
  }
  const std::size_t start = pattern.rfind('/') == std::string::npos ? 0 : pattern.rfind('/') + 1;
  const std::size_t first = pattern.find('#', start);
  const std::size_t last = std::min(pattern.find_first_not_of('#', first), pattern.size());
  if (first == std::string::npos || pattern.find('#', last) != std::string::npos) {
    throw Error(Exit::usage,
                fmt::format("-o '{}': expected a name with one run of #, which stands for the "
                            "number of the frame, as in frame_###.png",
                            pattern));
  }
  return fmt::format("{}{:0{}}{}", pattern.substr(0, first), number, last - first,
                     pattern.substr(last));
}

std::string find_ffmpeg() {
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "", ':')) {
    const std::string file = (folder.empty() ? "." : folder) + "/ffmpeg";
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

struct VideoFile::Encoder {
  fs::path folder;
  std::string output;
  ::pid_t process = -1;
  int input = -1;  // a pipe to the process

  Encoder(const std::string& extension, unsigned width, unsigned height, double rate) {
    std::string pattern = (fs::temp_directory_path() / "heapwood-video-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("cannot make a temporary folder", errno);
    folder = pattern;
    output = (folder / ("video" + extension)).string();
    start(extension, width, height, rate);
  }
  ~Encoder() {
    close_input();
    wait();
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  [[noreturn]] static void fail(const std::string& what, int error) {
    throw Error(Exit::failed, "--video: " + what + ": " + std::strerror(error));
  }
  void start(const std::string& extension, unsigned width, unsigned height, double rate) {
    // yuv420p needs even sides.
    std::vector<std::string> words{find_ffmpeg(),
                                   "-loglevel",
                                   "error",
                                   "-f",
                                   "rawvideo",
                                   "-pix_fmt",
                                   "rgb24",
                                   "-s",
                                   fmt::format("{}x{}", width, height),
                                   "-r",
                                   fmt::format("{:g}", rate),
                                   "-i",
                                   "-",
                                   "-an",
                                   "-vf",
                                   "pad=ceil(iw/2)*2:ceil(ih/2)*2"};
    for (const std::string& word : codec_options(extension)) words.push_back(word);
    words.push_back("-y");
    words.push_back(output);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("cannot start ffmpeg", errno);
    ::posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    // Standard output is for results.
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    // In a group of its own: Ctrl-C signals the group of this process, and ffmpeg has to complete
    // the video of the frames so far.
    ::posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error =
        ::posix_spawn(&process, words[0].c_str(), &actions, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[0]);
    input = ends[1];
    if (error != 0) {
      process = -1;
      fail("cannot start ffmpeg", error);
    }
  }
  void close_input() {
    if (input >= 0) ::close(input);
    input = -1;
  }
  // The exit status; -1 if the process ended by a signal.
  int wait() {
    if (process < 0) return 0;
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    process = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

VideoFile::VideoFile(const std::string& path, unsigned width, unsigned height,
                     double frames_per_second)
    : file_(checked(path)),
      encoder_(std::make_unique<Encoder>(scenes::extension_of(path), width, height,
                                         frames_per_second)) {}

VideoFile::~VideoFile() = default;

void VideoFile::add(const render::Image& picture) {
  const char* at = reinterpret_cast<const char*>(picture.pixels.data());
  std::size_t left = picture.pixels.size() * sizeof(render::Rgb8);
  while (left > 0) {
    const ::ssize_t put = ::write(encoder_->input, at, left);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) Encoder::fail("ffmpeg ended early", errno);
    at += put;
    left -= static_cast<std::size_t>(put);
  }
}

void VideoFile::finish() {
  encoder_->close_input();
  if (const int status = encoder_->wait(); status != 0)
    throw Error(Exit::failed, fmt::format("--video: ffmpeg failed with exit code {}", status));
  // Not scenes::read_file(), which throws after Ctrl-C.
  const std::optional<std::string> video = read_text(encoder_->output, Exit::failed);
  if (!video) throw Error(Exit::failed, "--video: ffmpeg wrote no file");
  file_.write(*video);
}

}  // namespace heapwood::bench
