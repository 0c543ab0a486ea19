// SPDX-License-Identifier: MIT
#include "kdtree/build/profile_driver.hpp"
#include "simt/cpu.hpp"

namespace heapwood::kdtree {

BuildProfile build_profiled_cpu(const ProfileJob& job) {
  return build_profiled_on(simt::Cpu(job.workspace.device()), job);
}

BuildRun build_no_cost_cpu(const ProfileJob& job) {
  return build_no_cost_on(simt::Cpu(job.workspace.device()), job);
}

}  // namespace heapwood::kdtree
