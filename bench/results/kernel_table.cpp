// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

Table kernel_table(const std::vector<Result>& results) {
  std::vector<const Result*> allocators;  // the first result of each that has a kernel
  std::vector<std::string> sources;
  Table table;
  const auto add_once = [](auto& list, const auto& value, auto same) {
    if (std::none_of(list.begin(), list.end(), same)) list.push_back(value);
  };
  table.columns = {{"", true}, {"registers"}, {"stack [B]"}, {"warps"}};
  for (const Result& result : results) {
    if (result.per_level() || !result.kernel) continue;
    add_once(allocators, &result,
             [&](const Result* other) { return other->allocator == result.allocator; });
    add_once(sources, result.source, [&](const std::string& s) { return s == result.source; });
    if (sources.size() + 4 > table.columns.size())
      table.columns.push_back({result.scene, false, false, "build time [ms]"});
  }
  if (allocators.empty()) return {};
  table.title = "Build kernels: registers and resident warps";
  for (const Result* named : allocators) {
    const registry::KernelUse& kernel = *named->kernel;
    std::vector<Cell> cells{named->label + (named->lower_bound ? " *" : ""),
                            std::to_string(kernel.registers), std::to_string(kernel.local_bytes),
                            std::to_string(kernel.warps_per_multiprocessor)};
    for (const std::string& source : sources) {
      const auto found = std::find_if(results.begin(), results.end(), [&](const Result& one) {
        return one.allocator == named->allocator && one.source == source && !one.per_level() &&
               one.status == Status::ok && one.median_ms();
      });
      cells.emplace_back(found == results.end() ? missing : figure_text(found->median_ms()));
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "registers and stack per thread (spilled registers and arrays); warps per multiprocessor");
  table.notes.push_back(
      kdtree::limits_registers
          ? fmt::format("registers are limited so that {} warps fit; build with "
                        "-DHEAPWOOD_UNCAPPED=ON to lift the limit",
                        kdtree::warps_per_multiprocessor)
          : "uncapped: registers are not limited, the number of warps follows from them");
  return table;
}

}  // namespace heapwood::bench
