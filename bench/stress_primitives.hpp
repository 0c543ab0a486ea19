// SPDX-License-Identifier: MIT
// heapwood stress semaphore, rcu: synchronization primitives without an allocator
// (workloads/stress_primitives.hpp).
#pragma once

#include <string>

#include "bench/results/table.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

bool is_primitive_test(const std::string& test);
// Medians of `runs` at each number of threads, after a warm-up. Throws if a run lost operations.
Table stress_primitives(const std::string& test, const simt::DeviceInfo& device, int runs,
                        double seconds);

}  // namespace heapwood::bench
