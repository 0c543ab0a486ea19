// SPDX-License-Identifier: MIT
// Prefix sums in device memory: on CPU threads here, on a GPU in prefix_sum.cuh.
#pragma once

#include <cstdint>
#include <utility>

#include "simt/clock.hpp"
#include "simt/cpu.hpp"

namespace heapwood::workloads {

struct CpuScan {
  // Replaces each value by the sum of those before it. Returns milliseconds.
  static double exclusive_sum(const simt::Cpu&, std::uint64_t* values, std::uint64_t count) {
    return simt::measure_ms([&] {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < count; ++i) sum += std::exchange(values[i], sum);
    });
  }
};

}  // namespace heapwood::workloads
