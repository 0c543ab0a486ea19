// SPDX-License-Identifier: MIT
// What the conformance suite runs against: an allocator on a device. Each executable brings its own list:
//   registry_targets.cpp   every registered allocator, on the device that HEAPWOOD_TEST_DEVICE names (default cpu)
//   direct_*.cpp         every allocator on CPU threads and on simulated warps of 4 lanes, without the engine
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "workloads/exercise.hpp"

namespace heapwood::alloc::test {

struct Target {
  std::string name;  // of the test parameter: letters, digits, underscores
  const AllocatorTraits* traits = nullptr;
  workloads::ExerciseResult (*run)(const workloads::ExerciseJob&) = nullptr;
  simt::DeviceId device;
  std::string unusable;      // why nothing can be run, or empty
  bool heap_beside = false;  // there is a heap beside the pool

  bool frees() const { return traits->frees == Frees::individually; }
  // The pool's size bounds what is handed out: not so for the GPU's own heap.
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
