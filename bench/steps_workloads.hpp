// SPDX-License-Identifier: MIT
// The workloads of steps: strings of a data frame, lists of particles.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "alloc/adaptors/recorded.hpp"
#include "bench/steps_bench.hpp"

namespace heapwood::bench {

using RecordSteps = std::function<void(const workloads::StepsJob&, alloc::RecordedMemory&)>;

struct StepsTask {
  StepsWorkload workload;
  RecordSteps record;                // runs all steps with the allocator Heapwood
  std::vector<std::string> notes{};  // about the input
};

// Read or generate the input and compute the expected result. `input`: as on the command line; "":
// one that suits the device.
StepsTask strings_task(const std::string& input, const StepsSettings& settings,
                       const simt::DeviceId& device);
StepsTask particles_task(const std::string& input, const StepsSettings& settings,
                         const simt::DeviceId& device);

}  // namespace heapwood::bench
