// SPDX-License-Identifier: MIT
// Constructs the CompiledAllocator of an allocator on GPUs for a program that only replays: its
// other functions are nullptr. Included by the generated .cu files and by instance.hpp.
#pragma once

#include "registry/registry.hpp"
#include "workloads/program_trace/replay_run.hpp"

namespace heapwood::registry {

template <class Allocator>
constexpr CompiledAllocator make_replayed() {
  CompiledAllocator compiled{.traits = &Allocator::traits, .settings = settings_of<Allocator>()};
  if constexpr (!builds_only) {
    compiled.replay = [](const workloads::ReplayJob& job) {
      return workloads::replay_program<Allocator>(simt::Cuda(job.device), job);
    };
  }
  return compiled;
}

}  // namespace heapwood::registry
