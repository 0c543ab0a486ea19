// SPDX-License-Identifier: MIT
// Shared by kernels with one item per thread, whose warps do not wait for each other.
#pragma once

#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::workloads {

// `blocks`: the resident blocks per multiprocessor for which the kernel is compiled.
template <unsigned blocks>
struct ThreadKernel {
  struct Scratch {};
  static constexpr bool independent = true;
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = blocks;
};

// The number of this lane's thread in the launch.
template <class Warp>
HEAPWOOD_INLINE std::uint64_t thread_of(const Warp& warp) {
  return std::uint64_t{warp.worker()} * Warp::width + warp.lane();
}

// The number of warps for as many items.
template <class Device>
unsigned warps_for(std::uint64_t items) {
  constexpr unsigned width = Device::Warp::width;
  return static_cast<unsigned>((items + width - 1) / width);
}

// The time limit of a launch that frees blocks of a heap outside the pool. Such a heap is not
// reset, so blocks that were not freed would be missing in later runs.
inline constexpr double max_free_seconds = 60;

}  // namespace heapwood::workloads
