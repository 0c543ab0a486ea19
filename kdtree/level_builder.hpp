// SPDX-License-Identifier: MIT
// The per-level builder as its callers see it: the tree of the single-kernel builder, made as builders before it did (RegEff
// section 6 compares with one: a kernel a phase and level, the host in between). All memory comes from a host-managed
// allocator, level by level and exactly sized; there is no device allocator, no queue, and no warp that waits.
//
// Limits: nothing is left incomplete. Where the allocator refuses, the build ends with an Error, and has given all back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "alloc/host/host_allocator.hpp"
#include "kdtree/build.hpp"

namespace heapwood::kdtree {

// One build. Memory is that of this builder: corner copies, levels, and the tree.
struct LevelRun {
  double ms = 0;             // from triangles in device memory to the finished tree, on the device's clock
  double allocation_ms = 0;  // of it, in the host allocator
  unsigned levels = 0;
  unsigned launches = 0;
  std::uint64_t allocations = 0;
  std::uint64_t requested_bytes = 0;  // of all of them
  std::uint64_t peak_bytes = 0;       // most in use at once
  std::uint64_t tree_bytes = 0;       // what is left: the tree
};

class LevelBuilder {
 public:
  // Mesh and allocator must outlive the builder; the allocator is for the mesh's device.
  LevelBuilder(const DeviceMesh& mesh, RefKind refs, alloc::HostAllocator& allocator);
  ~LevelBuilder();
  LevelBuilder(LevelBuilder&&) noexcept;

  // Gives the last tree back and builds. Of the options, costs and seconds are heeded: the limit is for the whole build.
  // Throws Error where memory runs out, simt::Stopped.
  LevelRun build(const BuildOptions& options = {});
  // The tree of the last build, copied to the host.
  Tree download() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace heapwood::kdtree
