// SPDX-License-Identifier: MIT
#include "kdtree/levels/driver.hpp"

namespace heapwood::kdtree {

LevelRun build_levels_cuda(const LevelJob&, LevelTree&) {
  throw Error(
      Exit::device,
      "the per-level builder was not compiled for CUDA; rebuild with CUDA or use --device cpu");
}

}  // namespace heapwood::kdtree
