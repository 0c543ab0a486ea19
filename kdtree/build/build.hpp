// SPDX-License-Identifier: MIT
// The interface of the single-kernel builder: its options, its workspace and its results. The
// kernel, a template over the allocator, is in kernel.hpp; registry/instance.hpp instantiates it.
#pragma once

#include <any>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "alloc/recording/recording.hpp"
#include "alloc/statistics.hpp"
#include "kdtree/device_mesh.hpp"
#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

// What a node's array holds per ref (docs/architecture.md, "Refs").
enum class RefKind : std::uint8_t {
  clipped,  // 32 bytes: id and the bounds of the triangle's part inside the node
  ids,      // 4 bytes: triangle ids as in the papers; every visit repeats the exact clip
  // 4 bytes: triangle ids. The bounds of a ref are its triangle's box cut by the node's box, which
  // makes builds faster and trees worse
  boxes,
};
inline constexpr RefKind all_ref_kinds[] = {RefKind::clipped, RefKind::ids, RefKind::boxes};
inline const char* name(RefKind kind) {
  constexpr const char* names[] = {"clipped", "ids", "boxes"};
  return names[static_cast<unsigned>(kind)];
}
std::size_t ref_bytes(RefKind kind);
// Calls f.template operator()<kind>(). For `boxes` the kind is `ids`: both use the same kernels,
// which read from PackedCorners which of the two a build uses.
template <class F>
auto with_ref_kind(RefKind kind, F f) {
  return kind == RefKind::clipped ? f.template operator()<RefKind::clipped>()
                                  : f.template operator()<RefKind::ids>();
}

// An allocator that is not reset between builds: each build starts with the fragmentation that the
// previous one left. The pool must keep its address. Device malloc, whose heap is outside the pool,
// is set up again for each build.
struct KeptAllocator {
  std::any handle;  // empty: the next build resets the pool. A build that throws makes it empty
  std::function<std::vector<alloc::Region>()> regions;  // walks the pool as the last build left it
};

struct BuildOptions {
  SahCosts costs;
  unsigned warps = 0;   // 0 = all that can be resident at once
  double seconds = 60;  // time limit of a build with all its launches and restarts
  // start of the time limit; default: the call
  std::optional<std::chrono::steady_clock::time_point> started{};
  // Instrumented builds only: allocation number fail_at and all later ones fail; 0 = none.
  std::uint64_t fail_at = 0;
  // Builds without instruments only: continues in this allocator's pool; must outlive the build.
  KeptAllocator* kept = nullptr;
};

// The result of one build.
struct BuildRun {
  // the kernel: from triangles in device memory to the finished tree with all arrays freed
  double ms = 0;
  double reset_ms = 0;              // initializing pool and queue before the kernel; not in ms
  bool incomplete = false;          // the pool was exhausted: some leaves would have been split
  std::uint64_t failed_splits = 0;  // number of such leaves
  std::uint64_t failed_bytes = 0;   // size of the first request that failed
  unsigned warps = 0;               // warps of the launch
};

// An untimed, slower build with an instrumented allocator: its requests, and the pool after it.
struct InstrumentedRun {
  BuildRun run;
  alloc::RequestStats requests;
  alloc::Fragmentation at_end;  // after the build, when nothing is live if the allocator can free
};

// An instrumented build with a record of every request and free (alloc/adaptors/recorded.hpp).
struct RecordedRun {
  InstrumentedRun instrumented;
  std::vector<alloc::RecordedEvent> events;
  std::uint64_t events_in_all = 0;     // more than events.size() if the recording is truncated
  std::vector<alloc::Region> regions;  // the allocator's walk after the build
  bool truncated() const { return events_in_all > events.size(); }
};

// Sizes of the workspace's arrays, for tests that need small ones; 0 = derived from the mesh. A
// full ring or a lack of shared nodes makes a build slower but not wrong; output arrays that are
// full are enlarged.
struct WorkspaceLimits {
  // Entries of the task queue: a power of two, at least four times the warps.
  std::size_t ring = 0;
  std::size_t shared_nodes = 0;  // at least 1
  std::size_t nodes = 0;
  std::size_t output = 0;
};

// Resident warps per multiprocessor of a GPU: the compiler limits the registers of build kernels,
// so that as many are resident with every allocator (BuildKernel).
inline constexpr unsigned warps_per_multiprocessor = 20;

// The device memory of builds besides the allocator's own state: pool, task queue and output
// arrays. It is sized for one mesh and shared by all allocators and runs. A build that overruns the
// output arrays enlarges them and restarts within the same time limit. The mesh may change between
// builds, up to the number of triangles that it had when the workspace was created.
class Workspace {
 public:
  // `mesh` must outlive the workspace.
  Workspace(const DeviceMesh& mesh, RefKind refs, std::size_t pool_bytes,
            const WorkspaceLimits& limits = {});
  ~Workspace();
  Workspace(Workspace&&) noexcept;

  const DeviceMesh& mesh() const;
  RefKind refs() const;
  const simt::DeviceId& device() const;
  alloc::Pool pool() const;
  // Options with which a build creates its allocator. The part of the pool beyond the size that
  // `--pool auto` tries first is spare memory, for caches of warps.
  alloc::AllocatorOptions allocator_options() const;
  // The settings of single allocators (pages, chunks, queues).
  void set_allocator_options(const alloc::AllocatorOptions& options);
  // The size that `--pool auto` tries first, for allocators that free or that never do.
  static std::size_t suggested_pool(std::size_t triangles, RefKind refs, bool frees);
  // The paper's "N times the root node's size" (4 bytes per triangle).
  static std::size_t pool_of_root_multiples(std::size_t triangles, double multiple);
  // The part of `bytes`, spare memory in addition to suggested_pool(), that is worth having: it
  // makes the pool 15 to 16 times as large as the peak bytes in use on most scenes. More memory
  // hardly makes builds faster.
  static std::size_t useful_cache(std::size_t triangles, RefKind refs, std::size_t bytes);
  void resize_pool(std::size_t bytes);
  // Bytes of device memory besides the pool.
  std::size_t overhead_bytes() const;
  // Exchanges the pool for another one on this device, for allocators that keep theirs.
  void swap_pool(simt::Memory& other);
  // The tree of the last build, copied to the host.
  Tree download() const;
  // The tree of the last build in device memory; valid until the next build.
  DeviceTree device_tree() const;

  struct Parts;  // for the kernel's driver (driver.hpp)
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace heapwood::kdtree
