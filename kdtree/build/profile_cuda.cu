// SPDX-License-Identifier: MIT
#include "kdtree/build/profile_driver.hpp"
#include "simt/cuda.hpp"

namespace heapwood::kdtree {

BuildProfile build_profiled_cuda(const ProfileJob& job) {
  return build_profiled_on(simt::Cuda(job.workspace.device()), job);
}

BuildRun build_no_cost_cuda(const ProfileJob& job) {
  return build_no_cost_on(simt::Cuda(job.workspace.device()), job);
}

}  // namespace heapwood::kdtree
