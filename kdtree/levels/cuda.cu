// SPDX-License-Identifier: MIT
#include "kdtree/levels/driver.hpp"
#include "simt/cuda.hpp"

namespace heapwood::kdtree {

LevelRun build_levels_cuda(const LevelJob& job, LevelTree& tree) {
  return build_levels(simt::Cuda(job.mesh.device()), job, tree);
}

}  // namespace heapwood::kdtree
