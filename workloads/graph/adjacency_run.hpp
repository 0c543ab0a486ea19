// SPDX-License-Identifier: MIT
// AdjacencyHeap for allocator A on a Device. Included by registry/instance.hpp and by tests that
// provide their own devices.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "simt/launch.hpp"
#include "workloads/graph/adjacency_kernels.hpp"

namespace heapwood::workloads::graph {

template <class A, class Device>
class AdjacencyRun final : public AdjacencyHeap {
 public:
  AdjacencyRun(const Device& device, const HeapJob& job) : device_(device), job_(job) {}

  const alloc::AllocatorTraits& traits() const override { return alloc::traits_on<A>(device_); }

  double reset() override {
    release_.reset();
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    allocator_ = A::create(job_.pool, job_.options, device_);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    release_.emplace(job_.pool, device_);
    return ms;
  }

  double allocate(const AllocateArguments& arguments) override {
    if constexpr (requires { allocator_.blocks_per_run(std::size_t{}); }) {
      if (arguments.order != nullptr) return allocate_runs(arguments);
    }
    graph_detail::AllocateKernel<A> kernel{};
    kernel.allocator = allocator_;
    kernel.arguments = arguments;
    constexpr std::uint32_t width = Device::Warp::width;
    const std::uint32_t items =
        arguments.order != nullptr ? arguments.ranges.listed : arguments.count;
    return launch(kernel, (items + width - 1) / width);
  }

  double update(const UpdateArguments& arguments) override {
    graph_detail::UpdateKernel<A> kernel{};
    kernel.allocator = allocator_;
    kernel.arguments = arguments;
    return launch(kernel, arguments.deleted.words != nullptr
                              ? arguments.vertex_count
                              : arguments.inserts.groups + arguments.deletes.groups);
  }

  std::vector<alloc::Region> regions() const override {
    if (!traits().in_pool) return {};
    return alloc::regions_of(allocator_, job_.device);
  }

 private:
  double allocate_runs(const AllocateArguments& arguments) {
    graph_detail::RunKernel<A> kernel{};
    kernel.allocator = allocator_;
    kernel.arguments = arguments;
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
