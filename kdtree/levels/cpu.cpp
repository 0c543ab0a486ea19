// SPDX-License-Identifier: MIT
#include "simt/cpu.hpp"
#include "kdtree/levels/driver.hpp"

namespace heapwood::kdtree {

LevelRun build_levels_cpu(const LevelJob& job, LevelTree& tree) {
  return build_levels(simt::Cpu(job.mesh.device()), job, tree);
}

}  // namespace heapwood::kdtree
