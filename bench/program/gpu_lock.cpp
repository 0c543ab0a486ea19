// SPDX-License-Identifier: MIT
#include "bench/program/gpu_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "bench/program/messages.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

namespace {

// Read-only suffices for a lock, so that every user can lock a file that another user created.
// O_CREAT only for a new file: with fs.protected_regular the kernel refuses it for another user's
// file in a sticky world-writable folder such as /tmp.
Descriptor open_lock_file(const std::string& path) {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), flags));
  if (!file && errno == ENOENT) {
    file = Descriptor(::open(path.c_str(), flags | O_CREAT | O_EXCL, 0644));
    if (file)
      ::fchmod(file.get(), 0644);  // whatever the umask
    else
      file = Descriptor(::open(path.c_str(), flags));  // another process was faster
  }
  return file;
}

}  // namespace

std::string GpuLock::default_folder() {
  std::error_code ignored;
  return std::filesystem::temp_directory_path(ignored).string();
}

GpuLock::GpuLock(const std::string& gpu, const std::string& id, bool waits,
                 const std::string& folder) {
  const std::string path = fmt::format("{}/heapwood-gpu-{}.lock", folder, id);
  Descriptor file = open_lock_file(path);
  if (!file) return;
  bool is_told = false;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return;  // a file system without locks
    if (!waits)
      throw Error(Exit::device,
                  fmt::format("{}: another heapwood is measuring on this GPU; wait for it to end, "
                              "give --wait-for-gpu or choose another --device",
                              gpu));
    if (!is_told) note(fmt::format("{}: waiting for another heapwood to end", gpu));
    is_told = true;
    if (simt::interrupted())
      throw Error(Exit::failed, fmt::format("{}: interrupted while waiting for the GPU", gpu));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  file_ = std::move(file);
}

}  // namespace heapwood::bench
