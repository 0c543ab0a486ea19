// SPDX-License-Identifier: MIT
// AdjacencyHeap for allocator A on a Device, and its kernels. Each kernel contains one call of
// malloc and at most one of free, so that an allocator is compiled in only once; insertion,
// deletion and their mixture are run-time cases of one kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "simt/clock.hpp"
#include "simt/launch.hpp"
#include "simt/warp.hpp"
#include "workloads/graph/adjacency_heap.hpp"

namespace heapwood::workloads::graph {

namespace graph_detail {

// Requests one block per vertex; each lane handles one vertex.
template <class A>
struct AllocateKernel : KernelShape {
  A allocator;
  AllocateArguments arguments;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    std::uint64_t i = std::uint64_t{warp.worker()} * Warp::width + warp.lane();
    if (i >= (arguments.order != nullptr ? arguments.ranges.listed : arguments.count)) return;
    if (arguments.order != nullptr) {
      if (arguments.order[i] == ClassOrder::no_vertex) return;
      i = arguments.order[i];
    }
    A a = allocator;
    Vertex vertex{0, 0, nullptr};
    const auto degree = static_cast<std::uint32_t>(arguments.offsets[i + 1] - arguments.offsets[i]);
    if (degree > 0) {
      const std::uint32_t k = class_of(degree);
      vertex.adjacency = static_cast<std::uint32_t*>(a.allocate(warp, block_bytes(k)));
      if (vertex.adjacency != nullptr) {
        vertex.degree = degree;
        vertex.state = k;
      } else {
        add_refusal(warp, arguments.totals, degree);
      }
    }
    arguments.vertices[i] = vertex;
  }
};

// Gives the vertices of a list their blocks from runs of blocks, one run per warp. Frees the blocks
// of a run that are not needed.
template <class A>
struct RunKernel : KernelShape {
  A allocator;
  AllocateArguments arguments;
  // Number of the first run of each class; the last entry is the number of runs.
  std::uint32_t first_runs[ClassOrder::classes + 1];

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint32_t run = warp.worker();
    if (run >= first_runs[ClassOrder::classes]) return;
    std::uint32_t k = 0;
    HEAPWOOD_ROLLED
    while (run >= first_runs[k + 1]) ++k;
    A a = allocator;
    void* blocks = nullptr;
    if (warp.lane() == 0) blocks = a.allocate_run(warp, block_bytes(k));
    blocks = warp.shfl(blocks, 0);
    warp.sync();  // orders the lanes' accesses before another lane frees a block
    const std::uint32_t n = a.blocks_per_run(block_bytes(k)), count = arguments.ranges.counts[k],
                        begin = (run - first_runs[k]) * n;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = warp.lane(); i < n; i += Warp::width) {
      auto* block = static_cast<std::byte*>(blocks) + (blocks != nullptr ? i * block_bytes(k) : 0);
      if (begin + i >= count) {
        if (blocks != nullptr) a.deallocate(warp, block);
        continue;
      }
      const std::uint32_t v = arguments.order[arguments.ranges.begins[k] + begin + i];
      const auto degree =
          static_cast<std::uint32_t>(arguments.offsets[v + 1] - arguments.offsets[v]);
      if (blocks == nullptr) {
        add_refusal(warp, arguments.totals, degree);
      } else {
        arguments.vertices[v] = {degree, k, reinterpret_cast<std::uint32_t*>(block)};
      }
    }
  }
};

// Updates vertices. Each warp handles one group of edges or, if all blocks are freed, one vertex.
template <class A>
struct UpdateKernel : KernelShape {
  A allocator;
  UpdateArguments arguments;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint32_t item = warp.worker();
    Change change{};
    if (arguments.freed > 0) {
      if (item >= arguments.freed) return;
      change.vertex = &arguments.vertices[item];
      read(change, change.vertex->state);
      change.changed = change.degree;
    } else {
      if (item >= arguments.inserts.groups + arguments.deletes.groups) return;
      std::uint32_t index = 0;
      change.inserts = is_insertion(arguments.inserts, arguments.deletes, item, index);
      const EdgeBatch& batch = change.inserts ? arguments.inserts : arguments.deletes;
      const EdgeGroup group = group_at(warp, batch, batch.firsts[index]);
      change.outcome = batch.outcomes + index;
      change.vertex = &arguments.vertices[group.source()];
      std::uint32_t state = 0;
      if (arguments.locks) {
        if (!VertexLock(change.vertex->state).lock(warp, state)) return;
      } else {
        state = change.vertex->state;
      }
      read(change, state);
      plan_update(warp, change, group);
    }
    finish(warp, change);
  }

 private:
  // The update of one vertex, between reading and writing it.
  struct Change {
    Vertex* vertex;
    GroupOutcome* outcome;  // nullptr when blocks are freed
    std::uint32_t* adjacency;
    std::uint32_t capacity_class, degree;  // before the update
    std::uint32_t changed;                 // number of edges
    std::uint32_t new_degree;
    EdgeGroup group;  // edges to insert
    bool inserts;
  };

  static HEAPWOOD_INLINE void read(Change& change, std::uint32_t state) {
    change.degree = change.vertex->degree;
    change.adjacency = change.vertex->adjacency;
    change.capacity_class = state;
  }

  template <class Warp>
  HEAPWOOD_INLINE void plan_update(Warp& warp, Change& change, const EdgeGroup& group) const {
    if (change.inserts) {
      change.group = group;
      change.changed = count_new(warp, group, change.adjacency, change.degree);
      change.new_degree = change.degree + change.changed;
    } else {
      change.changed = remove_edges(warp, group, change.adjacency, change.degree);
      change.new_degree = change.degree - change.changed;
    }
  }

  // If the new degree needs another size class, moves the adjacency to a block of that class; then
  // publishes it. Deleted edges have been removed in place already: if the request for a smaller
  // block is refused, the remaining edges stay in the present block.
  template <class Warp>
  HEAPWOOD_INLINE void finish(Warp& warp, const Change& change) const {
    A a = allocator;
    // Decide whether the new degree needs another class.
    std::uint32_t k = change.capacity_class, flags = 0;
    bool moves = false;
    if (change.changed > 0 && change.new_degree > 0) {
      const std::uint32_t wanted = class_of(change.new_degree);
      moves = change.inserts ? change.adjacency == nullptr || wanted > k : wanted < k;
      if (moves) k = wanted;
    }
    // Request a block of that class and copy the entries.
    std::uint32_t* target = change.adjacency;
    if (moves) {
      warp.sync();  // orders other lanes' moves of entries before the copy
      void* block = nullptr;
      if (warp.lane() == 0) block = a.allocate(warp, block_bytes(k));
      block = warp.shfl(block, 0);
      if (block == nullptr) {
        flags = GroupOutcome::refused;
        k = change.capacity_class;
      } else {
        flags = GroupOutcome::moved;
        target = static_cast<std::uint32_t*>(block);
        copy_entries(warp, target, change.adjacency,
                     change.inserts ? change.degree : change.new_degree);
      }
    }
    // Append the new edges.
    const bool publishes =
        change.changed > 0 && !(change.inserts && flags == GroupOutcome::refused);
    if (publishes) {
      if (change.inserts) {
        warp.sync();  // the copy writes whole units and may overwrite the first new entries
        append_new(warp, change.group, target, change.degree);
      }
      if (change.new_degree == 0) target = nullptr;
    }
    warp.sync();  // orders all lanes' reads and writes before the release and the free
    if (warp.lane() != 0) return;
    // Publish the vertex, report the outcome and free the block that it left.
    if (publishes) {
      change.vertex->degree = change.new_degree;
      change.vertex->adjacency = target;
      if (target == nullptr) k = 0;
    }
    if (arguments.locks) {
      VertexLock(change.vertex->state).unlock(k);
    } else {
      change.vertex->state = k;
    }
    if (change.outcome != nullptr) *change.outcome = {change.changed, flags};
    if (target != change.adjacency && change.adjacency != nullptr)
      a.deallocate(warp, change.adjacency);
  }
};

}  // namespace graph_detail

template <class A, class Device>
class AdjacencyRun final : public AdjacencyHeap {
 public:
  AdjacencyRun(const Device& device, const HeapJob& job) : device_(device), job_(job) {}

  const alloc::AllocatorTraits& traits() const override { return alloc::traits_on<A>(device_); }

  double reset() override {
    release_.reset();
    const double ms =
        simt::measure_ms([&] { allocator_ = A::create(job_.pool, job_.options, device_); });
    release_.emplace(job_.pool, device_);
    return ms;
  }

  double allocate(const AllocateArguments& arguments) override {
    if constexpr (requires { allocator_.blocks_per_run(std::size_t{}); }) {
      if (arguments.order != nullptr) return allocate_runs(arguments);
    }
    constexpr std::uint32_t width = Device::Warp::width;
    const std::uint32_t items =
        arguments.order != nullptr ? arguments.ranges.listed : arguments.count;
    return launch(graph_detail::AllocateKernel<A>{{}, allocator_, arguments},
                  (items + width - 1) / width);
  }

  double update(const UpdateArguments& arguments) override {
    return launch(graph_detail::UpdateKernel<A>{{}, allocator_, arguments},
                  arguments.freed > 0 ? arguments.freed
                                      : arguments.inserts.groups + arguments.deletes.groups);
  }

  std::vector<alloc::Region> regions() const override {
    if (!traits().in_pool) return {};
    return alloc::regions_of(allocator_, job_.device);
  }

 private:
  double allocate_runs(const AllocateArguments& arguments) {
    graph_detail::RunKernel<A> kernel{{}, allocator_, arguments, {}};
    std::uint32_t runs = 0;
    for (std::uint32_t k = 0; k < ClassOrder::classes; ++k) {
      kernel.first_runs[k] = runs;
      if (arguments.ranges.counts[k] == 0) continue;
      const std::uint32_t blocks = allocator_.blocks_per_run(block_bytes(k));
      runs += (arguments.ranges.counts[k] + blocks - 1) / blocks;
    }
    kernel.first_runs[ClassOrder::classes] = runs;
    return launch(kernel, runs);
  }

  template <class Kernel>
  double launch(const Kernel& kernel, std::uint32_t warps) {
    if (warps == 0) return 0;
    return device_.launch_independent(kernel, warps,
                                      {.seconds = job_.seconds, .what = traits().id});
  }

  Device device_;
  HeapJob job_;
  A allocator_{};
  std::optional<alloc::ReleaseAtEnd<A, Device>> release_;
};

template <class A, class Device>
std::unique_ptr<AdjacencyHeap> adjacency_heap(const HeapJob& job) {
  return std::make_unique<AdjacencyRun<A, Device>>(Device(job.device), job);
}

}  // namespace heapwood::workloads::graph
