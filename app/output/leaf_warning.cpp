// SPDX-License-Identifier: MIT
#include "app/output/leaf_warning.hpp"

#include <fmt/format.h>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

void warn_of_large_leaf(const std::string& scene, std::uint32_t largest_leaf) {
  if (largest_leaf <= 1000) return;
  bench::warning(fmt::format(
      "{}: the largest leaf has {} refs: no split plane lowers its cost, or the tree has "
      "reached its limit of refs; rays that reach it are slow",
      scene, bench::count_text(largest_leaf)));
}

}  // namespace heapwood::app
