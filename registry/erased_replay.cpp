// SPDX-License-Identifier: MIT
// Replays on CPU threads that call an allocator through function pointers.
#include "registry/erased.hpp"
#include "workloads/program_trace/replay_run.hpp"

namespace heapwood::registry::erased {

workloads::ReplayResult replay(const CpuFunctions& functions, const workloads::ReplayJob& job) {
  return workloads::replay_program<alloc::Erased<simt::Cpu>>(
      alloc::ErasedDevice<simt::Cpu>{simt::Cpu(job.device), functions}, job);
}

}  // namespace heapwood::registry::erased
