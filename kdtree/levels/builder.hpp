// SPDX-License-Identifier: MIT
// The interface of the per-level builder. It builds the same tree as the single-kernel builder, but
// in the way of earlier builders (RegEff section 6 compares with one): one kernel per phase and
// level, with the host in between. All memory comes from a host-managed allocator, level by level
// and exactly sized; there is no device allocator, no queue and no waiting warp.
//
// Limits: no tree is incomplete. If the allocator refuses a request, the build ends with an Error
// and has released all its memory.
#pragma once

#include <cstdint>
#include <memory>

#include "host_alloc/host_allocator.hpp"
#include "kdtree/build/build.hpp"

namespace heapwood::kdtree {

// The result of one build. Its memory is that of corner copies, levels and the tree.
struct LevelRun {
  double ms = 0;             // from triangles in device memory to the finished tree, on device
  double allocation_ms = 0;  // part of ms spent in the host allocator
  unsigned levels = 0;
  unsigned launches = 0;
  std::uint64_t allocations = 0;
  std::uint64_t requested_bytes = 0;  // sum over all allocations
  std::uint64_t peak_bytes = 0;       // high-water mark
  std::uint64_t tree_bytes = 0;       // size of the tree, which remains allocated
};

class LevelBuilder {
 public:
  // Mesh and allocator must outlive the builder. The allocator must be for the mesh's device.
  LevelBuilder(const DeviceMesh& mesh, RefKind refs, host_alloc::HostAllocator& allocator);
  ~LevelBuilder();
  LevelBuilder(LevelBuilder&&) noexcept;

  // Releases the last tree and builds. Of the options only `costs` and `seconds` are used;
  // `seconds` limits the whole build. Throws Error if memory runs out, and simt::Stopped.
  LevelRun build(const BuildOptions& options = {});
  // The tree of the last build, copied to the host.
  Tree download() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace heapwood::kdtree
