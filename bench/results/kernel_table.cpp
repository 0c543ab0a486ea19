// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/result_grid.hpp"

namespace heapwood::bench {

Table kernel_table(const std::vector<Result>& results) {
  std::vector<Result> with_kernel;
  for (const Result& result : results) {
    if (result.kernel) with_kernel.push_back(result);
  }
  const ResultGrid grid = grid_of_scenes(with_kernel);
  Table table;
  if (grid.columns.empty()) return table;
  table.title = "Build kernels: registers and resident warps";
  table.columns = columns_of("<; registers; stack [B]; warps");
  for (const Result* scene : grid.columns)
    table.columns.push_back({scene->scene, false, false, "build time [ms]"});
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    const registry::KernelUse& kernel = *grid.allocators[a]->kernel;
    std::vector<Cell> cells{grid.allocators[a]->marked_label(), std::to_string(kernel.registers),
                            std::to_string(kernel.local_bytes),
                            std::to_string(kernel.warps_per_multiprocessor)};
    for (const Result* result : grid.at[a]) {
      cells.emplace_back(result && result->status == Status::ok ? figure_text(result->median_ms())
                                                                : missing);
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
