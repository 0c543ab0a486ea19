// SPDX-License-Identifier: MIT
// device_scope: with a host compiler, marks the calling thread as running device code until the end
// of the scope. operator_new.hpp checks the mark.
#pragma once

#include "heapwood/cxx20.hpp"  // first

#include "simt/config.hpp"

namespace heapwood {
inline namespace SIMT_TARGET {

class device_scope {
 public:
  device_scope() { ++depth(); }
  ~device_scope() { --depth(); }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;
  static bool is_active() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

}  // namespace SIMT_TARGET
}  // namespace heapwood
