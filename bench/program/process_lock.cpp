// SPDX-License-Identifier: MIT
#include "bench/program/process_lock.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "bench/program/messages.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

ProcessLock::ProcessLock(const std::string& name) {
  const std::string text = fmt::format("heapwood:{:016x}", std::hash<std::string>()(name));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(text.begin(), text.end(), address.sun_path + 1);
  socket_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  is_held_ = !socket_ || ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), bytes) == 0 ||
             errno != EADDRINUSE;
}

// The name is made of the folder and the file's name in it, because writing replaces the file's
// inode.
ProcessLock lock_file(const std::string& path) {
  const std::filesystem::path file(path);
  struct stat folder {};
  ::stat(file.has_parent_path() ? file.parent_path().c_str() : ".", &folder);
  ProcessLock lock(fmt::format("{}:{}:{}", folder.st_dev, folder.st_ino, file.filename().string()));
  if (!lock.is_held())
    throw Error(Exit::failed,
                fmt::format("{}: another heapwood is writing it; wait for it to end or choose "
                            "another file",
                            path));
  return lock;
}

ProcessLock lock_gpu(const std::string& gpu, const std::string& id, bool waits) {
  for (bool is_told = false;; is_told = true) {
    ProcessLock lock("gpu:" + id);
    if (lock.is_held()) return lock;
    if (!waits)
      throw Error(Exit::device,
                  fmt::format("{}: another heapwood is measuring on this GPU; wait for it to end, "
                              "give --wait-for-gpu or choose another --device",
                              gpu));
    if (!is_told) note(fmt::format("{}: waiting for another heapwood to end", gpu));
    if (simt::interrupted())
      throw Error(Exit::failed, fmt::format("{}: interrupted while waiting for the GPU", gpu));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace heapwood::bench
