// SPDX-License-Identifier: MIT
// Runs the per-level builder: host code, a template over the device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host_alloc/host_allocator.hpp"
#include "kdtree/levels/builder.hpp"
#include "kdtree/levels/kernels.hpp"
#include "simt/clock.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree {

// Device memory from a host-managed allocator, with statistics of a build's requests.
class LevelMemory {
 public:
  struct Account {
    std::uint64_t allocations = 0;
    std::uint64_t requested_bytes = 0;  // sum over all allocations
    std::uint64_t live_bytes = 0, peak_bytes = 0;
    double ms = 0;  // time spent in the allocator
  };

  LevelMemory(const simt::DeviceId& device, host_alloc::HostAllocator& allocator)
      : device_(device), allocator_(allocator) {}
  LevelMemory(LevelMemory&&) = delete;

  const simt::DeviceId& device() const { return device_; }
  const Account& account() const { return account_; }
  void begin_account() {
    account_ = {.live_bytes = account_.live_bytes, .peak_bytes = account_.live_bytes};
  }

  void* allocate(std::size_t bytes, const char* what) {
    void* block = nullptr;
    account_.ms += simt::measure_ms([&] { block = allocator_.allocate(bytes); });
    if (block == nullptr) {
      throw Error(Exit::failed, "per-level builder: cannot allocate " + std::to_string(bytes) +
                                    " bytes of " + what + " (" +
                                    std::to_string(account_.live_bytes >> 20) +
                                    " MiB in use by this build); use --refs ids, another host "
                                    "allocator or a smaller scene");
    }
    account_.allocations += 1;
    account_.requested_bytes += bytes;
    account_.live_bytes += bytes;
    account_.peak_bytes = std::max(account_.peak_bytes, account_.live_bytes);
    return block;
  }
  void release(void* block, std::size_t bytes) noexcept {
    account_.ms += simt::measure_ms([&] { allocator_.deallocate(block); });
    account_.live_bytes -= bytes;
  }

 private:
  simt::DeviceId device_;
  host_alloc::HostAllocator& allocator_;
  Account account_;
};

// An owned array of trivially copyable T in that memory. An empty one makes no request. If a
// request is refused, `what` names the array in the message.
template <class T>
class LevelArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  LevelArray() = default;
  LevelArray(LevelMemory& memory, std::size_t size, const char* what)
      : data_(size ? static_cast<T*>(memory.allocate(size * sizeof(T), what)) : nullptr,
              {&memory, size}) {}

  T* data() const { return data_.get(); }
  std::size_t size() const { return data_ ? data_.get_deleter().size : 0; }
  std::size_t bytes() const { return size() * sizeof(T); }
  void fill(int byte) {
    if (data_) simt::device_fill(device(), data(), byte, bytes());
  }
  std::vector<T> download() const {
    std::vector<T> host(size());
    if (data_) simt::device_download(device(), host.data(), data(), bytes());
    return host;
  }

 private:
  struct Release {
    LevelMemory* memory = nullptr;
    std::size_t size = 0;
    void operator()(T* data) const { memory->release(data, size * sizeof(T)); }
  };
  const simt::DeviceId& device() const { return data_.get_deleter().memory->device(); }

  std::unique_ptr<T, Release> data_;
};

// The finished tree on the device.
struct LevelTree {
  Box bounds;
  LevelArray<Node> nodes;
  LevelArray<std::uint32_t> refs;
};

// Copies the tree to the host.
Tree download(const LevelTree& built);

struct LevelJob {
  const DeviceMesh& mesh;
  RefKind refs;
  LevelMemory& memory;
  const BuildOptions& options;
};

// build_levels() on a GPU; defined only if simt::has_cuda.
LevelRun build_levels_cuda(const LevelJob& job, LevelTree& tree);

// The arrays of one level, which are released once the next level's have been allocated and filled.
// The level's parts of the tree are kept until the end.
struct Level {
  LevelArray<LevelNode> nodes;
  LevelArray<SharedNode> large;
  LevelArray<LevelChunk> chunks;
  LevelArray<std::byte> refs;

  Level() = default;
  Level(LevelMemory& memory, std::uint64_t large_count, std::uint64_t small_count,
        std::uint64_t chunk_count, std::uint64_t ref_count, std::size_t ref_size)
      : nodes(memory, large_count + small_count, "nodes"),
        large(memory, large_count, "large nodes' sums"),
        chunks(memory, chunk_count, "chunks"),
        refs(memory, ref_count * ref_size, "refs") {}

  LevelView view(const LevelArray<Node>& out, std::uint64_t first_node) const {
    return {.nodes = nodes.data(),
            .count = static_cast<std::uint32_t>(nodes.size()),
            .large_count = static_cast<std::uint32_t>(large.size()),
            .large = large.data(),
            .chunks = chunks.data(),
            .chunk_count = static_cast<std::uint32_t>(chunks.size()),
            .refs = refs.data(),
            .out = out.data(),
            .first_node = static_cast<std::uint32_t>(first_node)};
  }
};

// An array of the tree in parts, one per level.
template <class T>
class LevelParts {
 public:
  std::uint64_t size() const { return size_; }
  const LevelArray<T>& add(LevelArray<T> part) {
    size_ += part.size();
    parts_.push_back(std::move(part));
    return parts_.back();
  }
  template <class Stream>
  LevelArray<T> join(LevelMemory& memory, Stream& stream, const char* what) const {
    LevelArray<T> whole(memory, size_, what);
    LevelGather<T> kernel{.pieces = {}, .count = size_, .to = whole.data()};
    std::uint64_t end = 0;
    unsigned pieces = 0;
    for (const LevelArray<T>& part : parts_) {
      if (part.size() == 0) continue;
      kernel.pieces[pieces++] = {part.data(), end, end + part.size()};
      end += part.size();
    }
    if (size_ != 0) stream.launch(kernel, (size_ + kernel.piece - 1) / kernel.piece);
    return whole;
  }

 private:
  std::vector<LevelArray<T>> parts_;
  std::uint64_t size_ = 0;
};

// Throws if the tree is too large: a link holds 30 bits of a pair or 32 of a ref, and prefix sums
// over a block of nodes hold 32 bits of refs.
inline void check_totals(const LevelTotals& totals, std::uint64_t nodes, std::uint64_t leaf_refs) {
  if (totals[LevelTotals::refs] >> 31 == 0 && nodes >> 31 == 0 && leaf_refs >> 32 == 0) return;
  throw Error(Exit::failed,
              "per-level builder: the tree has more nodes or refs than links can address (2^31); "
              "use a smaller scene");
}

template <RefKind kind, class Device>
LevelRun build_levels_of(const Device& device, const LevelJob& job, LevelTree& tree) {
  LevelMemory& memory = job.memory;
  const auto n = static_cast<std::uint32_t>(job.mesh.triangles.size());
  tree = {};
  if (n == 0) return {};
  memory.begin_account();
  LevelParts<Node> nodes;
  LevelParts<std::uint32_t> leaf_refs;
  LevelArray<PackedCorners> corners;
  LevelArray<LevelSums> sums;
  Level parent, level, next;
  LevelTree built;
  LevelRun run;
  // The stream is declared after the arrays: if an exception is thrown, it waits for the kernels
  // that use the arrays before these are released.
  auto stream = device.stream({.seconds = job.options.seconds, .what = "per-level builder"});
  corners = {memory, n, "corner copies"};
  sums = {memory, 1, "sums of the levels"};
  sums.fill(0);

  // Find the scene's bounds and make the root, the only node of the first level.
  const auto pieces = [&](std::uint32_t piece) { return (n + piece - 1) / piece; };
  stream.launch(LevelBounds{.vertices = job.mesh.vertices.data(),
                            .triangles = job.mesh.triangles.data(),
                            .count = n,
                            .are_boxes = job.refs == RefKind::boxes,
                            .corners = corners.data(),
                            .scene = &sums.data()->scene},
                pieces(LevelBounds::piece));
  const Box bounds = stream.read(&sums.data()->scene).tight_box();
  level = Level(memory, n > shared_limit ? 1 : 0, n > shared_limit ? 0 : 1, chunks_of(n), n,
                RefArray<kind>::bytes);
  LevelView view = level.view(nodes.add({memory, 2, "nodes of the tree"}), 0);
  const NodeTask root{RefArray<kind>::in_block(level.refs.data(), n),
                      n,
                      0,
                      bounds,
                      NodePath(scale_of(bounds)),
                      root_allowance(n)};
  stream.launch(LevelFill<kind>{.level = view, .root = root, .corners = corners.data()},
                pieces(LevelFill<kind>::piece));

  for (;;) {
    // Choose the splits of a level and find what its children need.
    if (view.chunk_count != 0) {
      stream.launch(LevelBin<kind>{.level = view, .corners = corners.data()}, view.chunk_count);
    }
    stream.launch(
        LevelChoose<kind>{.level = view, .corners = corners.data(), .costs = job.options.costs},
        view.count);
    LevelTotals* const needs = sums.data()->totals + run.levels++;
    stream.launch(LevelPlacement{.level = view,
                                 .totals = needs,
                                 .first_pair = static_cast<std::uint32_t>(nodes.size() / 2),
                                 .first_leaf_ref = static_cast<std::uint32_t>(leaf_refs.size())},
                  (view.count + LevelPlacement::block - 1) / LevelPlacement::block);
    const LevelTotals total = stream.read(needs);
    parent = {};  // can be released: the kernels that moved its refs have ended
    const std::uint64_t first_node = nodes.size();
    check_totals(total, first_node + 2 * total[LevelTotals::pairs],
                 leaf_refs.size() + total[LevelTotals::leaf_refs]);
    // Allocate the next level and move the refs there, or to the tree's leaves.
    next = Level(memory, total[LevelTotals::large], total[LevelTotals::small],
                 total[LevelTotals::chunks], total[LevelTotals::refs], RefArray<kind>::bytes);
    const LevelView next_view = next.view(
        nodes.add({memory, 2 * total[LevelTotals::pairs], "nodes of the tree"}), first_node);
    std::uint32_t* const level_refs =
        leaf_refs.add({memory, total[LevelTotals::leaf_refs], "refs of the tree"}).data();
    stream.launch(
        LevelMove<kind>{
            .level = view, .next = next_view, .corners = corners.data(), .leaf_refs = level_refs},
        std::size_t{view.chunk_count} + view.count);
    parent = std::move(level);
    level = std::move(next);
    view = next_view;
    if (view.count == 0) break;
  }
  built.bounds = bounds;
  built.nodes = nodes.join(memory, stream, "nodes of the tree");
  built.refs = leaf_refs.join(memory, stream, "refs of the tree");
  stream.finish();
  // All memory but the tree is released before the clock stops, as in the single-kernel builder.
  level = {};
  parent = {};
  nodes = {};
  leaf_refs = {};
  corners = {};
  sums = {};
  run.ms = stream.finish();
  run.launches = stream.launches();
  const LevelMemory::Account& account = memory.account();
  run.allocation_ms = account.ms;
  run.allocations = account.allocations;
  run.requested_bytes = account.requested_bytes;
  run.peak_bytes = account.peak_bytes;
  run.tree_bytes = built.nodes.bytes() + built.refs.bytes();
  tree = std::move(built);
  return run;
}

template <class Device>
LevelRun build_levels(const Device& device, const LevelJob& job, LevelTree& tree) {
  return with_ref_kind(job.refs,
                       [&]<RefKind kind>() { return build_levels_of<kind>(device, job, tree); });
}

}  // namespace heapwood::kdtree
