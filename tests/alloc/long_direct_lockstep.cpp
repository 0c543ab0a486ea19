// SPDX-License-Identifier: MIT
#include "tests/alloc/direct_targets.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::alloc::test {

void append_lockstep(std::vector<Target>& list) {
  append_all<simt::Lockstep<4>>(list, "_lockstep", {});
}

}  // namespace heapwood::alloc::test
