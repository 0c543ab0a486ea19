// SPDX-License-Identifier: MIT
#include "scenes/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

// Paths come from the command line and may hold anything; messages are one line.
std::string shown(const std::string& path) { return printable(path, path.size()); }

struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void unreadable(const std::string& path, const std::string& reason) {
  throw Error(Exit::scene, shown(path) + ": cannot be read: " + reason);
}

}  // namespace

FileBytes read_file(const std::string& path) {
  // Non-blocking: opening a pipe must not wait for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) unreadable(path, std::strerror(errno));
  struct stat status = {};
  if (::fstat(file.fd, &status) != 0) unreadable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) unreadable(path, "it is a directory");
  if (!S_ISREG(status.st_mode)) unreadable(path, "it is not a regular file");

  FileBytes result;
  const auto size = static_cast<std::size_t>(status.st_size);
  try {
    result.data = std::make_unique_for_overwrite<std::byte[]>(size);
  } catch (const std::bad_alloc&) {
    unreadable(path, "its " + std::to_string(size) + " bytes do not fit in memory");
  }
  while (result.size < size) {
    const ::ssize_t got = ::read(file.fd, result.data.get() + result.size, size - result.size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) unreadable(path, std::strerror(errno));
    if (got == 0) break;
    result.size += static_cast<std::size_t>(got);
  }
  return result;
}

void write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> parts) {
  const auto fail = [&] { throw Error(Exit::failed, shown(path) + ": cannot be written: " + std::strerror(errno)); };
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.fd < 0) fail();
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      const ::ssize_t put = ::write(file.fd, part.data(), part.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail();
      part = part.subspan(static_cast<std::size_t>(put));
    }
  }
  if (::close(std::exchange(file.fd, -1)) != 0) fail();
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result(text.substr(0, limit));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > limit) result += "...";
  return result;
}

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }
std::string extension_of(const std::string& path) { return lower(std::filesystem::path(path).extension().string()); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace heapwood::scenes
