// SPDX-License-Identifier: MIT
// Keeps two processes of one machine from writing the same file or measuring on the same GPU.
#pragma once

#include <string>

#include "bench/program/descriptor.hpp"

namespace heapwood::bench {

// A name in Linux's abstract socket namespace: it leaves no file, and the kernel releases it
// however the process ends.
class ProcessLock {
 public:
  explicit ProcessLock(const std::string& name);

  // False if another process, or another object of this one, has it. True also where there are no
  // such sockets.
  bool is_held() const { return is_held_; }

 private:
  Descriptor socket_;
  bool is_held_ = true;
};

// Throws Error{Exit::failed} if another process writes the file, which need not exist.
ProcessLock lock_file(const std::string& path);

// `gpu` is the GPU's name in messages, `id` identifies it. If another process measures on it: waits
// for that, if `waits`, until simt::interrupted(); else throws Error{Exit::device}.
ProcessLock lock_gpu(const std::string& gpu, const std::string& id, bool waits);

}  // namespace heapwood::bench
