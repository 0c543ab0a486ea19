// SPDX-License-Identifier: MIT
// A target of the conformance suite: an allocator on a device. Each executable has its own list:
//   registry_targets.cpp  every registered allocator, on the device in HEAPWOOD_TEST_DEVICE
//                         (default cpu)
//   direct_*.cpp          every allocator on CPU threads and on simulated warps of 4 lanes,
//                         without the registry
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/alloc/exercise.hpp"

namespace heapwood::alloc::test {

using RunExercise = std::function<workloads::ExerciseResult(const workloads::ExerciseJob&)>;

// An allocator in kernels for the GPU.
struct Exercise {
  const AllocatorTraits* traits;
  workloads::ExerciseResult (*run)(const workloads::ExerciseJob&);
};

struct Target {
  std::string name;  // name of the test parameter: letters, digits, underscores
  const AllocatorTraits* traits = nullptr;
  RunExercise run;
  simt::DeviceId device;
  std::string unusable;      // why the target cannot run, or empty
  bool heap_beside = false;  // large requests go to a heap outside the pool

  bool frees() const { return traits->frees == Frees::individually; }
  // Whether the pool's size limits the memory handed out. It does not limit the GPU's own heap.
  bool bounded() const {
    return !heap_beside && (traits->in_pool || device.kind == simt::DeviceKind::cpu);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Target& target) {
  return out << target.name;
}

std::vector<Target> targets();

inline std::string identifier(std::string text) {
  for (char& c : text) {
    if (c == '-' || c == ':' || c == '+') c = '_';
  }
  return text;
}

}  // namespace heapwood::alloc::test
