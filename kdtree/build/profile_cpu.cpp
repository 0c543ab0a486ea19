// SPDX-License-Identifier: MIT
#include "alloc/private_bump.hpp"
#include "kdtree/build/driver.hpp"
#include "kdtree/build/profile.hpp"
#include "simt/cpu.hpp"

namespace heapwood::kdtree {

BuildRun build_no_cost_cpu(Workspace& workspace, const BuildOptions& options) {
  const simt::Cpu device(workspace.device());
  return build_with<alloc::PrivateBump, RefKind::clipped>(device, workspace, options, [&] {
    return alloc::PrivateBump::create(workspace.pool(), workspace.allocator_options(), device);
  });
}

}  // namespace heapwood::kdtree
