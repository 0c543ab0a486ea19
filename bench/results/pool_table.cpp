// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/results/bench_table.hpp"
#include "bench/results/footnotes.hpp"
#include "bench/results/format.hpp"
#include "bench/results/result_grid.hpp"

namespace heapwood::bench {

namespace {

// The time that a scene's slowdowns refer to in every pool: the shortest median of AtomicMalloc,
// or, if it was not timed, of any allocator. Nothing if no build completed.
std::map<std::string, double> references(const std::vector<Result>& results) {
  std::map<std::string, double> atomic, any;
  for (const Result& result : results) {
    const std::optional<double> ms = result.median_ms();
    if (result.per_level() || result.status != Status::ok || !ms || *ms <= 0) continue;
    const auto keep_min = [&](std::map<std::string, double>& best) {
      const auto [at, added] = best.emplace(result.source, *ms);
      if (!added) at->second = std::min(at->second, *ms);
    };
    keep_min(any);
    if (result.allocator == "atomic") keep_min(atomic);
  }
  atomic.merge(any);
  return atomic;
}

}  // namespace

Table pool_table(const std::vector<Result>& results) {
  const ResultGrid grid(results, [](const Result& a, const Result& b) {
    return a.source == b.source && a.settings.pool.text == b.settings.pool.text;
  });
  const bool several =
      std::any_of(grid.columns.begin(), grid.columns.end(), [&](const Result* one) {
        return one->source == grid.columns.front()->source && one != grid.columns.front();
      });
  Table table;
  if (!several) return table;
  table.title = "Slowdown over the size of the pool";
  table.columns.push_back({"--pool", true});
  std::vector<Cell> sizes{"pool [MiB]"}, over_live{"pool / peak bytes in use"};
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::uint64_t pool_bytes = 0, live_bytes = 0;
    for (const auto& row : grid.at) {
      if (!row[c]) continue;
      pool_bytes = std::max(pool_bytes, row[c]->pool_bytes.value_or(0));
      live_bytes = std::max(live_bytes, row[c]->high_water_bytes().value_or(0));
    }
    table.columns.push_back(
        {grid.columns[c]->settings.pool.text, false, false, grid.columns[c]->scene});
    sizes.emplace_back(pool_bytes ? mib_text(pool_bytes) : missing);
    over_live.emplace_back(pool_bytes && live_bytes ? figure_text(static_cast<double>(pool_bytes) /
                                                                  static_cast<double>(live_bytes))
                                                    : missing);
  }
  table.add(std::move(sizes));
  table.add(std::move(over_live));
  table.add_heading("slowdown");
  const std::map<std::string, double> reference = references(results);
  Footnotes footnotes;
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    std::vector<Cell> cells{grid.allocators[a]->marked_label()};
    for (const Result* result : grid.at[a]) {
      const auto over = result ? reference.find(result->source) : reference.end();
      if (over == reference.end()) {
        cells.emplace_back(missing);
      } else if (result->status != Status::ok) {
        cells.emplace_back(footnotes.marked(name(result->status), *result));
      } else {
        cells.emplace_back(result->median_ms() ? ratio_text(*result->median_ms() / over->second)
                                               : missing);
      }
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "slowdown: over AtomicMalloc's shortest build of the scene in any of these pools (without "
      "it, over the shortest of all)");
  table.notes.push_back("* lower bound: cannot free");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::bench
