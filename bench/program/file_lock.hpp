// SPDX-License-Identifier: MIT
// Keeps two processes of one machine from writing the same file.
#pragma once

#include <string>

#include "bench/program/descriptor.hpp"

namespace heapwood::bench {

class FileLock {
 public:
  // Throws Error{Exit::failed} if another process, or another object of this one, has the file
  // locked. The file need not exist.
  explicit FileLock(const std::string& path);

 private:
  Descriptor socket_;
};

}  // namespace heapwood::bench
