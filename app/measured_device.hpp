// SPDX-License-Identifier: MIT
// The device of a command that takes times: options, lock and record.
#pragma once

#include "bench/program/options.hpp"

namespace heapwood::app {

// --device, --threads and --wait-for-gpu.
void add_measured_device_options(bench::CommandOptions& command, bench::DeviceOptions& options);

// choose_device(); then no other process may measure on this GPU as long as this one runs, unless
// the environment has HEAPWOOD_SHARE_GPU, and the reports contain the GPU's state
// (bench/results/device_record.hpp).
simt::DeviceInfo choose_measured_device(const bench::DeviceOptions& options);

}  // namespace heapwood::app
