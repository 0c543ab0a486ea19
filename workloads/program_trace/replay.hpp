// SPDX-License-Identifier: MIT
// Replays a program trace with one allocator. A job is plain host data; the kernel that runs it is
// in replay_kernel.hpp, called through registry::CompiledAllocator::replay.
//
// A free waits until its block's request has been served, and does nothing if that was refused. No
// wait can last forever: the plan orders the events so that one that is not waiting always exists.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "workloads/program_trace/replay_data.hpp"
#include "workloads/program_trace/replay_inspection.hpp"

namespace heapwood::workloads {

struct ReplayJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  const ReplayPlan* plan = nullptr;
  ReplayData* data = nullptr;  // of the plan, on the device
  // False: everything but the calls of the allocator, for the time that the replay itself takes.
  bool calls = true;
  // Writes the first and the last word of each block, and checks them before it is freed.
  bool stamps = false;
  // Inspects the pool after each launch. Of the plan's trace.
  const alloc::ProgramTrace* inspected = nullptr;
  double seconds = 60;  // limit of all launches together
};

struct ReplayResult {
  double reset_ms = 0;  // create(), by the host's clock
  double ms = 0;        // all launches
  std::uint64_t refused = 0;
  std::uint64_t first_refused_bytes = 0;  // of the refused request with the lowest number
  std::uint64_t damaged = 0;              // blocks whose stamps were changed
  ReplayInspection inspection;
};

}  // namespace heapwood::workloads
