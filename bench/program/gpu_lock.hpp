// SPDX-License-Identifier: MIT
// One measuring process per GPU: two at the same time would measure each other.
#pragma once

#include <string>

#include "bench/program/descriptor.hpp"

namespace heapwood::bench {

// A lock on a file in the folder of temporary files. The kernel releases it however the process
// ends; the empty file stays.
class GpuLock {
 public:
  // `gpu` is the GPU's name in messages, `id` what identifies it in the file's name. If another
  // process has the lock: waits for it, if `waits`, until simt::interrupted(); else throws
  // Error{Exit::device}. No lock, if there can be no such file.
  GpuLock(const std::string& gpu, const std::string& id, bool waits,
          const std::string& folder = default_folder());

  bool is_held() const { return static_cast<bool>(file_); }
  static std::string default_folder();

 private:
  Descriptor file_;
};

}  // namespace heapwood::bench
