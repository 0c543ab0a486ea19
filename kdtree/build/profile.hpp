// SPDX-License-Identifier: MIT
// Time profile of the single-kernel builder: how long its warps are in each phase (probe.hpp), by
// level of the tree and over time, and how long they wait for work. Also builds the tree with the
// no-cost allocator: the difference is what another allocator costs in total. Kernels with a probe
// are compiled for clipped refs only.
#pragma once

#include <vector>

#include "kdtree/build/probe.hpp"

namespace heapwood::kdtree {

struct BuildProfile {
  BuildRun run;  // slower than a build without the probe
  std::vector<WarpTimes> warps;
  TimeSums sums;
  std::uint64_t bucket_ns = 0;  // width of a bucket of sums.by_time

  std::uint64_t lifetime_ns() const;  // sum over all warps
  std::uint64_t wall_ns() const;      // from the first start of a warp to the last end
  std::uint64_t phase_ns(Phase phase) const;
  std::uint64_t phase_visits(Phase phase) const;
};

const char* name(Phase phase);

// Builds with PrivateBump (alloc/private_bump.hpp) and without a probe, in a pool of its own that
// holds the whole build; the constructor finds its size by building. `mesh` must outlive it.
class NoCostBuilder {
 public:
  NoCostBuilder(const DeviceMesh& mesh, const BuildOptions& options);
  BuildRun build();

 private:
  BuildOptions options_;
  Workspace workspace_;
};

// NoCostBuilder's build on a GPU; defined only if simt::has_cuda.
BuildRun build_no_cost_cuda(Workspace& workspace, const BuildOptions& options);

}  // namespace heapwood::kdtree
