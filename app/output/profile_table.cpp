// SPDX-License-Identifier: MIT
#include "app/output/profile_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/footnotes.hpp"
#include "bench/results/format.hpp"
#include "bench/results/samples.hpp"

namespace heapwood::app {

using kdtree::Phase;
using kdtree::phase_count;

namespace {

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string label_of(const bench::ProfiledBuild& built) {
  return built.label + (built.lower_bound ? " *" : "");
}

}  // namespace

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

bench::Table allocator_share_table(const std::vector<bench::ProfiledBuild>& all) {
  bench::Table table;
  if (all.empty()) return table;
  table.title = all.front().scene + ": share of malloc and free in the build";
  table.columns = {{"", true},       {"build [ms]"}, {"no-cost [ms]"}, {"saved [%]"},
                   {"allocate [%]"}, {"free [%]"},   {"wait [%]"}};
  bench::Footnotes footnotes;
  bool any_absent = false;
  for (const bench::ProfiledBuild& built : all) {
    std::vector<bench::Cell> cells{label_of(built)};
    if (built.status != bench::Status::ok) {
      cells.emplace_back(std::string(name(built.status)) + " " +
                         footnotes.mark(built.label, built.reason));
      cells.resize(table.columns.size());
      table.add(std::move(cells));
      continue;
    }
    const std::optional<double> saved = bench::share_of_build(built);
    cells.emplace_back(bench::figure_text(bench::median(built.runs_ms)));
    cells.emplace_back(bench::figure_text(bench::median(built.without_cost_ms)));
    cells.emplace_back(saved ? percent(*saved) : bench::missing);
    if (built.profile) {
      const kdtree::BuildProfile& profile = *built.profile;
      const auto all_ns = static_cast<double>(std::max<std::uint64_t>(1, profile.lifetime_ns()));
      cells.emplace_back(percent(bench::share_of_work(profile, Phase::allocate)));
      cells.emplace_back(percent(bench::share_of_work(profile, Phase::free)));
      cells.emplace_back(percent(static_cast<double>(profile.phase_ns(Phase::wait)) / all_ns));
    } else {
      any_absent = true;
      for (int i = 0; i < 3; ++i) cells.emplace_back(bench::missing);
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "saved: build time that the no-cost allocator would save (bump allocation per warp, never "
      "freed)");
  table.notes.push_back(
      "allocate, free: share of the time that warps work in a build with the probe; wait: share of "
      "all their time");
  if (any_absent)
    table.notes.push_back("no figure: no kernel with a probe; configure with -DHEAPWOOD_PROBES=ON");
  table.notes.push_back("* lower bound: cannot free");
  footnotes.append_to(table.notes);
  return table;
}

bench::Table level_table(const std::vector<bench::ProfiledBuild>& all) {
  // The last group has all deeper levels.
  constexpr unsigned levels_each = 4, groups = 7;
  bench::Table table;
  for (const bench::ProfiledBuild& built : all) {
    if (!built.profile) continue;
    std::vector<bench::Cell> cells{label_of(built)};
    for (unsigned group = 0; group < groups; ++group) {
      const unsigned first = group * levels_each,
                     end = group + 1 < groups ? first + levels_each : kdtree::profile_levels;
      cells.emplace_back(bench::figure_text(bench::allocation_us(*built.profile, first, end)));
    }
    table.add(std::move(cells));
  }
  if (table.rows.empty()) return table;
  table.title = all.front().scene + ": time of an allocation [us] by depth of the node";
  table.columns.push_back({"", true});
  for (unsigned group = 0; group + 1 < groups; ++group)
    table.columns.push_back(
        {fmt::format("{}-{}", group * levels_each, (group + 1) * levels_each - 1)});
  table.columns.push_back({fmt::format("{}-", (groups - 1) * levels_each)});
  table.notes.push_back("contention shows where few nodes are shared by all warps: near the root");
  return table;
}

}  // namespace heapwood::app
