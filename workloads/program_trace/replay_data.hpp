// SPDX-License-Identifier: MIT
// A replay plan in device memory, with the memory that a replay writes.
#pragma once

#include <cstdint>

#include "simt/memory.hpp"
#include "workloads/program_trace/replay_plan.hpp"

namespace heapwood::workloads {

// Values of ReplayData::blocks that are not addresses.
struct ReplayBlock {
  static constexpr std::uint64_t unserved = 0;  // not requested yet
  static constexpr std::uint64_t refused = 1;   // frees of it do nothing
  static constexpr std::uint64_t freed = 2;     // only with ReplayKernel::marks_frees
  static constexpr bool is_address(std::uint64_t value) { return value > freed; }
};

// For one replay at a time.
struct ReplayData {
  ReplayData(const simt::DeviceId& device, const ReplayPlan& plan);
  // Before each replay.
  void reset(const ReplayPlan& plan);

  simt::Buffer<std::uint64_t> bytes;
  simt::Buffer<std::uint32_t> requests;
  simt::Buffer<ReplayGroup> groups;
  simt::Buffer<std::uint32_t> warp_begins;
  simt::Buffer<std::uint32_t> progress;     // by warp: groups executed
  simt::Buffer<std::uint32_t> step_warps;   // that have not ended the step
  simt::Buffer<std::uint32_t> steps_ended;  // by launch
  simt::Buffer<std::uint64_t> blocks;       // by request: its address, or a ReplayBlock
  simt::Buffer<std::uint64_t> damaged;      // one number
};

}  // namespace heapwood::workloads
