// SPDX-License-Identifier: MIT
#include "kdtree/build/profile.hpp"
#include "simt/error.hpp"

namespace heapwood::kdtree {

namespace {

[[noreturn]] void absent() {
  throw Error(Exit::device,
              "the profile was not compiled for CUDA; rebuild with CUDA or use --device cpu");
}

}  // namespace

BuildProfile build_profiled_cuda(const ProfileJob&) { absent(); }
BuildRun build_no_cost_cuda(const ProfileJob&) { absent(); }

}  // namespace heapwood::kdtree
