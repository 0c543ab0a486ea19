// SPDX-License-Identifier: MIT
#include "bench/program/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "simt/error.hpp"

namespace heapwood::bench {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  const char* advice = error == ENOENT   ? "create its folder"
                       : error == ENOSPC ? "free some space"
                                         : "choose another file";
  throw Error(Exit::failed,
              fmt::format("{}: cannot write: {}; {}", path, std::strerror(error), advice));
}

bool same_file(const struct stat& a, const struct stat& b) {
  return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The file is also standard output: the same descriptor is used, so that one text follows the
// other.
int open_in_place(const std::string& path) {
  struct stat file {
  }, printed{};
  if (::stat(path.c_str(), &file) == 0 && ::fstat(STDOUT_FILENO, &printed) == 0 &&
      same_file(file, printed)) {
    std::fflush(stdout);
    return ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  }
  return ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
}

int open_for_writing(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

}  // namespace

OutputFile::OutputFile(std::string path, const std::vector<std::string>& others)
    : path_(std::move(path)) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) cannot_write(path_, EISDIR);
  if (exists && ::access(path_.c_str(), W_OK) != 0) cannot_write(path_, errno);
  for (const std::string& other : others) {
    struct stat used {};
    if (other == path_ || (exists && ::stat(other.c_str(), &used) == 0 && same_file(status, used)))
      throw Error(Exit::usage,
                  fmt::format("{}: already used in this command; choose another file", path_));
  }
  // A pipe, a device or a link (/dev/stdout) is written in place: renaming would replace it.
  struct stat link {};
  const bool in_place = ::lstat(path_.c_str(), &link) == 0 && !S_ISREG(link.st_mode);
  temporary_ = in_place ? path_ : fmt::format("{}.{}.tmp", path_, ::getpid());
  if (in_place) return;
  const int file = open_for_writing(temporary_);
  if (file < 0) cannot_write(path_, errno);
  ::close(file);
}

OutputFile::~OutputFile() {
  if (temporary_ != path_) ::unlink(temporary_.c_str());
}

void OutputFile::write(const std::string& content) {
  const int file = temporary_ == path_ ? open_in_place(path_) : open_for_writing(temporary_);
  if (file < 0) cannot_write(path_, errno);
  int error = 0;
  for (std::size_t done = 0; done < content.size() && !error;) {
    const ssize_t written = ::write(file, content.data() + done, content.size() - done);
    if (written >= 0)
      done += static_cast<std::size_t>(written);
    else if (errno != EINTR)
      error = errno;
  }
  // Network file systems may report a full disk only here.
  if (::close(file) != 0 && !error) error = errno;
  if (!error && temporary_ != path_ && std::rename(temporary_.c_str(), path_.c_str()) != 0)
    error = errno;
  if (error) cannot_write(path_, error);
}

}  // namespace heapwood::bench
