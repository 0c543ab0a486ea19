// SPDX-License-Identifier: MIT
#include "alloc/allocators/circular_lists_published.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/direct_targets.hpp"
#include "tests/alloc/toy/allocators/toy.hpp"

namespace heapwood::alloc::test {

std::vector<Target> targets() {
  std::vector<Target> list;
  const simt::DeviceId device{.threads = 4};
  append_all<simt::Cpu>(list, "_threads", device);
  // CfmMallocPublished only here: it has no code for lanes that act together.
  append<simt::Cpu, CfmMallocPublished, Toy>(list, "_threads", device);
#ifndef HEAPWOOD_WITHOUT_LOCKSTEP  // tests/CMakeLists.txt
  append_lockstep(list);
#endif
  return list;
}

}  // namespace heapwood::alloc::test
