// SPDX-License-Identifier: MIT
#include "bench/program/file_lock.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "simt/error.hpp"

namespace heapwood::bench {

// The lock is a name in Linux's abstract socket namespace: it leaves no file, and the kernel
// releases it however the process ends. The name is made of the folder and the file's name in it,
// because writing replaces the file's inode.
FileLock::FileLock(const std::string& path) {
  const std::filesystem::path file(path);
  struct stat folder {};
  if (::stat(file.has_parent_path() ? file.parent_path().c_str() : ".", &folder) != 0) return;
  const std::string key =
      fmt::format("{}:{}:{}", folder.st_dev, folder.st_ino, file.filename().string());
  const std::string name = fmt::format("heapwood:{:016x}", std::hash<std::string>()(key));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  socket_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (socket_ && ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0 &&
      errno == EADDRINUSE) {
    throw Error(Exit::failed,
                fmt::format("{}: another heapwood is writing it; wait for it to end or choose "
                            "another file",
                            path));
  }
}

}  // namespace heapwood::bench
