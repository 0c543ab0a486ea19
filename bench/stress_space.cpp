// SPDX-License-Identifier: MIT
#include "bench/results/samples.hpp"
#include "bench/stress.hpp"

namespace heapwood::bench {

StressSpaceFigures space_figures(const StressRow& row) {
  std::vector<double> utilization, blocks, first, last, iterations, iteration_ms, last_ms;
  for (const std::vector<workloads::StressStep>& steps : row.steps) {
    if (steps.empty()) continue;
    const auto in_use = static_cast<double>(steps.back().blocks);
    blocks.push_back(in_use);
    if (row.capacity_bytes && !workloads::has_lifetimes(row.settings.test))
      utilization.push_back(in_use * static_cast<double>(row.point.payload) /
                            static_cast<double>(row.capacity_bytes));
    first.push_back(static_cast<double>(steps.front().address_bytes));
    last.push_back(static_cast<double>(steps.back().address_bytes));
    std::vector<double> served;
    for (const workloads::StressStep& step : steps) {
      if (step.refused == 0) served.push_back(step.ms);
    }
    iterations.push_back(static_cast<double>(served.size()));
    if (served.empty()) continue;
    last_ms.push_back(served.back());
    iteration_ms.push_back(*median(served));
  }
  return {median(utilization), median(blocks),       median(first),  median(last),
          median(iterations),  median(iteration_ms), median(last_ms)};
}

std::optional<double> held_over_live(const StressRow& row) {
  if (!workloads::has_lifetimes(row.settings.test) || !row.peak || row.peak->live_bytes == 0)
    return std::nullopt;
  const alloc::Fragmentation& f = row.peak->fragmentation;
  return static_cast<double>(row.point.pool_bytes - f.free_bytes - f.metadata_bytes) /
         static_cast<double>(row.peak->live_bytes);
}

}  // namespace heapwood::bench
