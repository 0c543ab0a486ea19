// SPDX-License-Identifier: MIT
#include "workloads/graph/device_steps.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "simt/launch.hpp"
#include "workloads/graph/device_steps_run.hpp"
#include "workloads/prefix_sum.hpp"

namespace heapwood::workloads::graph {

namespace {

// Sorts parts on all threads, then merges adjacent parts.
struct CpuSorter : CpuScan {
  static double sort(const simt::Cpu& cpu, EdgeKey*& keys, EdgeKey*& spare, std::uint64_t count,
                     unsigned /*bits*/) {
    const auto start = simt::HostClock::now();
    const std::uint64_t min_part = 1 << 14;
    const std::uint64_t threads = std::clamp<std::uint64_t>(count / min_part, 1, cpu.threads());
    const auto begin_of = [&](std::uint64_t part) {
      return std::min(count, part * ((count + threads - 1) / threads));
    };
    in_parallel(threads, [&](std::uint64_t part) {
      std::sort(keys + begin_of(part), keys + begin_of(part + 1));
    });
    for (std::uint64_t width = 1; width < threads; width *= 2) {
      in_parallel((threads + 2 * width - 1) / (2 * width), [&](std::uint64_t pair) {
        const std::uint64_t first = 2 * width * pair;
        EdgeKey* const begin = keys + begin_of(first);
        EdgeKey* const middle = keys + begin_of(std::min(threads, first + width));
        EdgeKey* const end = keys + begin_of(std::min(threads, first + 2 * width));
        std::merge(begin, middle, middle, end, spare + (begin - keys));
      });
      std::swap(keys, spare);
    }
    return 1e3 * simt::seconds_since(start);
  }

 private:
  template <class F>
  static void in_parallel(std::uint64_t parts, F f) {
    std::vector<std::jthread> pool;
    for (std::uint64_t part = 1; part < parts; ++part) pool.emplace_back([&, part] { f(part); });
    f(0);
  }
};

}  // namespace

std::unique_ptr<DeviceSteps> device_steps(const simt::DeviceId& device, double seconds) {
  if (device.kind == simt::DeviceKind::cpu) {
    return std::make_unique<steps_detail::StepsOn<simt::Cpu, CpuSorter>>(simt::Cpu(device),
                                                                         seconds);
  }
  if constexpr (simt::has_cuda) return steps_cuda::device_steps(device, seconds);
  simt::throw_without_cuda("graph");
}

}  // namespace heapwood::workloads::graph
