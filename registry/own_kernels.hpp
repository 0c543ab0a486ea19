// SPDX-License-Identifier: MIT
// The CompiledAllocator of an allocator on CPU threads whose builds have kernels that contain it,
// so that they use its per-warp context. Everything else calls it through function pointers.
#pragma once

#include "kdtree/build/driver.hpp"
#include "kdtree/build/profile_run.hpp"
#include "registry/erased.hpp"

namespace heapwood::registry {

template <class A>
constexpr CompiledAllocator make_with_own_kernels() {
  CompiledAllocator compiled = make_erased<A>();
  compiled.build = [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
    return kdtree::build<A>(simt::Cpu(workspace.device()), workspace, options);
  };
  compiled.build_profiled = [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
    return kdtree::profile_of<A>(simt::Cpu(workspace.device()), workspace, options);
  };
  return compiled;
}

}  // namespace heapwood::registry
