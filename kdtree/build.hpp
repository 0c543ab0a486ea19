// SPDX-License-Identifier: MIT
// The single-kernel builder as its callers see it: what a build is told, what it needs, what it tells.
// The kernel itself, a template over the allocator, is in build_kernel.hpp; engine/ instantiates it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "alloc/live_recording.hpp"
#include "alloc/statistics.hpp"
#include "kdtree/device_mesh.hpp"
#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

// What a node's array holds for each of its triangles (builder design, docs/architecture.md "Refs").
enum class RefKind : std::uint8_t {
  clipped,  // 32 bytes: id and the bounds of the triangle's part inside the node
  ids,      // 4 bytes: the papers' triangle ids; the exact clip is repeated at every visit
  boxes,    // 4 bytes: ids; bounds are the triangle's box cut by the node's: faster, worse trees
};
inline constexpr RefKind all_ref_kinds[] = {RefKind::clipped, RefKind::ids, RefKind::boxes};
const char* name(RefKind kind);
std::size_t ref_bytes(RefKind kind);

struct BuildOptions {
  SahCosts costs;
  unsigned warps = 0;   // 0 = as many as are resident at once
  double seconds = 60;  // time limit of a build, all its launches and restarts with larger arrays included
  std::optional<std::chrono::steady_clock::time_point> started;  // when the limit begins, if not with the call
  std::uint64_t fail_at = 0;  // instrumented builds only: allocation number fail_at and all later ones fail; 0 = none
  alloc::LiveRecording* live = nullptr;  // recorded builds on the CPU only: who watches; outlives the build
};

// One build.
struct BuildRun {
  double ms = 0;            // the kernel: from triangles in device memory to the finished tree, all arrays freed
  double reset_ms = 0;      // laying out the pool and clearing the queue before it, not in ms
  bool incomplete = false;  // the pool was exhausted: some leaves would have been split
  std::uint64_t failed_splits = 0;  // how many
  std::uint64_t failed_bytes = 0;   // size of the first request that failed
  unsigned warps = 0;               // that the launch had
};

// A build with an instrumented allocator (slower, untimed): what it asked for and what it left.
struct InstrumentedRun {
  BuildRun run;
  alloc::RequestStats requests;
  alloc::Fragmentation at_end;  // after the build: everything is freed if the allocator can
};

// The same build with every request, free and node written down (alloc/adaptors/recorded.hpp).
struct RecordedRun {
  InstrumentedRun instrumented;
  std::vector<alloc::RecordedEvent> events;
  std::uint64_t events_in_all = 0;     // more than were kept where the recording was cut off
  std::vector<alloc::Region> regions;  // the allocator's walk after the build
  bool truncated() const { return events_in_all > events.size(); }
};

// Sizes of the workspace's arrays, where a test wants them small; 0 = by the mesh. A full ring or no free shared node makes a
// build slower, not wrong; full output arrays are made larger.
struct WorkspaceLimits {
  std::size_t ring = 0;          // entries of the task queue: a power of two, at least four times the warps
  std::size_t shared_nodes = 0;  // at least 1
  std::size_t nodes = 0;
  std::size_t output = 0;
};

// Resident on a GPU, for each multiprocessor (BuildKernel).
inline constexpr unsigned warps_per_multiprocessor = 20;

// Everything that a build needs besides the allocator: pool, task queue, output arrays. Sized for one mesh; shared by all
// allocators and all runs. A build that overruns the output arrays grows them and starts again, within
// the same time limit.
class Workspace {
 public:
  // `mesh` must outlive the workspace.
  Workspace(const DeviceMesh& mesh, RefKind refs, std::size_t pool_bytes, const WorkspaceLimits& limits = {});
  ~Workspace();
  Workspace(Workspace&&) noexcept;

  const DeviceMesh& mesh() const;
  RefKind refs() const;
  const simt::DeviceId& device() const;
  alloc::Pool pool() const;
  // For what a build's warps allocate from: the pool beyond what `--pool auto` begins with is room for them.
  alloc::AllocatorOptions allocator_options() const;
  // Bytes for `--pool auto` to begin with, for allocators that free or for one that never does, and the paper's "N times the root node's size" (4 bytes a triangle).
  static std::size_t suggested_pool(std::size_t triangles, RefKind refs, bool frees);
  static std::size_t pool_of_root_multiples(std::size_t triangles, double multiple);
  void resize_pool(std::size_t bytes);
  // Device memory beside the pool.
  std::size_t overhead_bytes() const;
  // The tree of the last build, copied to the host.
  Tree download() const;

  struct Parts;  // for the kernel's driver (build_driver.hpp)
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace heapwood::kdtree
