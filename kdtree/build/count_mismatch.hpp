// SPDX-License-Identifier: MIT
// The message of a partition that moved other numbers of refs than the choice of the split counted.
#pragma once

#include <cstdint>
#include <string>

#include "kdtree/build/partition.hpp"

namespace heapwood::kdtree {

// The error of a kernel that stopped with count_mismatch. `operand`: as of fail_partition().
inline std::string count_mismatch_message(const std::uint64_t (&operand)[3]) {
  const auto text = [](SidePair sides) {
    return std::to_string(sides.left) + " and " + std::to_string(sides.right);
  };
  return "internal error: partitioning " + std::to_string(operand[0]) + " refs moved " +
         text(SidePair::of(operand[2])) + " to the children, but the split was chosen for " +
         text(SidePair::of(operand[1])) + "; please report the scene";
}

}  // namespace heapwood::kdtree
