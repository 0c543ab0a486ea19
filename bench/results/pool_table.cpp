// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/results/bench_table.hpp"
#include "bench/results/footnotes.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

// A column: a scene in one size of the pool.
struct PoolColumn {
  std::string source, scene, pool;
  std::optional<std::uint64_t> pool_bytes, live_bytes;
};

std::optional<std::uint64_t> larger(std::optional<std::uint64_t> a,
                                    std::optional<std::uint64_t> b) {
  return a && b ? std::max(*a, *b) : a ? a : b;
}

// The time that a scene's slowdowns refer to in every pool: the shortest median of AtomicMalloc,
// or, if it was not timed, of any allocator. Nothing if no build completed.
std::map<std::string, double> references(const std::vector<const Result*>& results) {
  std::map<std::string, double> atomic, any;
  for (const Result* result : results) {
    const std::optional<double> ms = result->median_ms();
    if (result->status != Status::ok || !ms || *ms <= 0) continue;
    const auto keep_min = [&](std::map<std::string, double>& best) {
      const auto [at, added] = best.emplace(result->source, *ms);
      if (!added) at->second = std::min(at->second, *ms);
    };
    keep_min(any);
    if (result->allocator == "atomic") keep_min(atomic);
  }
  atomic.merge(any);
  return atomic;
}

}  // namespace

Table pool_table(const std::vector<Result>& all) {
  std::vector<const Result*> results;
  for (const Result& result : all) {
    if (!result.per_level()) results.push_back(&result);
  }
  std::vector<PoolColumn> columns;
  std::vector<const Result*> allocators;
  for (const Result* result : results) {
    auto column = std::find_if(columns.begin(), columns.end(), [&](const PoolColumn& one) {
      return one.source == result->source && one.pool == result->settings.pool.text;
    });
    if (column == columns.end()) {
      columns.push_back({result->source, result->scene, result->settings.pool.text, {}, {}});
      column = columns.end() - 1;
    }
    column->pool_bytes = larger(column->pool_bytes, result->pool_bytes);
    column->live_bytes = larger(column->live_bytes, result->high_water_bytes());
    if (std::none_of(allocators.begin(), allocators.end(),
                     [&](const Result* other) { return other->allocator == result->allocator; }))
      allocators.push_back(result);
  }
  const bool several = std::any_of(columns.begin(), columns.end(), [&](const PoolColumn& one) {
    return one.source == columns.front().source && one.pool != columns.front().pool;
  });
  Table table;
  if (!several) return table;
  table.title = "Slowdown over the size of the pool";
  table.columns.push_back({"--pool", true});
  std::vector<Cell> sizes{"pool [MiB]"}, over_live{"pool / peak bytes in use"};
  for (const PoolColumn& column : columns) {
    table.columns.push_back({column.pool, false, false, column.scene});
    sizes.emplace_back(column.pool_bytes ? mib_text(*column.pool_bytes) : missing);
    over_live.emplace_back(column.pool_bytes && column.live_bytes
                               ? figure_text(static_cast<double>(*column.pool_bytes) /
                                             static_cast<double>(*column.live_bytes))
                               : missing);
  }
  table.add(std::move(sizes));
  table.add(std::move(over_live));
  table.add_heading("slowdown");
  const std::map<std::string, double> reference = references(results);
  Footnotes footnotes;
  for (const Result* named : allocators) {
    std::vector<Cell> cells{named->label + (named->lower_bound ? " *" : "")};
    for (const PoolColumn& column : columns) {
      const auto found = std::find_if(results.begin(), results.end(), [&](const Result* one) {
        return one->allocator == named->allocator && one->source == column.source &&
               one->settings.pool.text == column.pool;
      });
      const auto over = reference.find(column.source);
      if (found == results.end() || over == reference.end()) {
        cells.emplace_back(missing);
      } else if ((*found)->status != Status::ok) {
        cells.emplace_back(std::string(name((*found)->status)) + " " +
                           footnotes.mark(named->label, (*found)->reason));
      } else {
        cells.emplace_back((*found)->median_ms() ? ratio_text(*(*found)->median_ms() / over->second)
                                                 : missing);
      }
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "slowdown: over AtomicMalloc's shortest build of the scene in any of these pools (without "
      "it, "
      "over the shortest of all)");
  table.notes.push_back("* lower bound: cannot free");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::bench
