// SPDX-License-Identifier: MIT
// Instantiates the GPU code that needs none of the registry's allocators.
#include "kdtree/build/profile_run.hpp"
#include "simt/cuda.hpp"

namespace heapwood::kdtree {

BuildRun build_no_cost_cuda(Workspace& workspace, const BuildOptions& options) {
  return build_no_cost(simt::Cuda(workspace.device()), workspace, options);
}

}  // namespace heapwood::kdtree
