// SPDX-License-Identifier: MIT
#include "app/output/profile_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"
#include "bench/results/samples.hpp"

namespace heapwood::app {

using kdtree::Phase;
using kdtree::phase_count;

bench::Table profile_table(const bench::ProfiledBuild& built) {
  const kdtree::BuildProfile& profile = *built.profile;
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, profile.lifetime_ns()));
  bench::Table table;
  table.title = fmt::format("{}, {}: time of {} warps by phase", built.scene, built.label,
                            bench::count_text(profile.run.warps));
  table.columns = {{"phase", true}, {"% of the time"}, {"visits"}, {"us each"}};
  for (unsigned i = 0; i < phase_count; ++i) {
    const auto phase = static_cast<Phase>(i);
    const std::uint64_t ns = profile.phase_ns(phase), visits = profile.phase_visits(phase);
    table.add(
        {kdtree::name(phase), fmt::format("{:.1f}", 100 * static_cast<double>(ns) / all),
         visits ? bench::count_text(visits) : bench::missing,
         visits ? bench::figure_text(1e-3 * static_cast<double>(ns) / static_cast<double>(visits))
                : bench::missing});
  }
  table.notes.push_back(fmt::format("time: {} ms with the probe, {} ms without (median of {})",
                                    bench::figure_text(profile.run.ms),
                                    bench::figure_text(bench::median(built.runs_ms)),
                                    built.runs_ms.size()));
  table.notes.push_back(fmt::format("allocator: {:.1f}% of the time spent working, not waiting",
                                    100 * bench::share_of_calls(profile)));
  if (const std::optional<double> share = bench::share_of_build(built)) {
    table.notes.push_back(
        fmt::format("no-cost allocator (bump allocation per warp, never freed): {} ms, {:.1f}% {}",
                    bench::figure_text(bench::median(built.without_cost_ms)),
                    100 * std::abs(*share), *share < 0 ? "more" : "less"));
  }
  return table;
}

}  // namespace heapwood::app
