// SPDX-License-Identifier: MIT
#include "viewer/sweep_plot.hpp"

#include <algorithm>
#include <limits>

namespace heapwood::viewer {

namespace {

bool is_timed(const bench::Result& result) {
  return result.status == bench::Status::ok && result.median_ms() && *result.median_ms() > 0;
}

// The time that all slowdowns refer to.
std::optional<double> reference(const std::vector<bench::Result>& results) {
  std::optional<double> atomic, any;
  for (const bench::Result& result : results) {
    if (!is_timed(result)) continue;
    const double ms = *result.median_ms();
    any = std::min(any.value_or(ms), ms);
    if (result.allocator == "atomic") atomic = std::min(atomic.value_or(ms), ms);
  }
  return atomic ? atomic : any;
}

std::vector<SweepPlot::Pool> pools_of(const std::vector<bench::Result>& results) {
  std::vector<SweepPlot::Pool> pools;
  for (const bench::Result& result : results) {
    const std::string& text = result.settings.pool.text;
    auto found = std::find_if(pools.begin(), pools.end(),
                              [&](const SweepPlot::Pool& pool) { return pool.text == text; });
    if (found == pools.end()) found = pools.insert(found, {text, {}});
    if (result.pool_bytes) found->bytes = std::max(found->bytes.value_or(0), *result.pool_bytes);
  }
  std::stable_sort(pools.begin(), pools.end(), [](const auto& a, const auto& b) {
    constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    return a.bytes.value_or(last) < b.bytes.value_or(last);
  });
  return pools;
}

}  // namespace

SweepPlot sweep_plot(const std::vector<bench::Result>& results, bool milliseconds) {
  SweepPlot plot;
  plot.pools = pools_of(results);
  const std::optional<double> over = milliseconds ? 1.0 : reference(results);
  for (const bench::Result& result : results) {
    auto line = std::find_if(plot.lines.begin(), plot.lines.end(),
                             [&](const auto& one) { return one.allocator == result.allocator; });
    if (line == plot.lines.end()) {
      line = plot.lines.insert(line, {result.allocator, result.label, result.lower_bound, {}});
      line->points.resize(plot.pools.size());
    }
    const auto pool = std::find_if(plot.pools.begin(), plot.pools.end(), [&](const auto& one) {
      return one.text == result.settings.pool.text;
    });
    SweepPlot::Point& point =
        line->points[static_cast<std::size_t>(std::distance(plot.pools.begin(), pool))];
    point.result = &result;
    plot.any_without_tree = plot.any_without_tree || result.status != bench::Status::ok;
    if (!is_timed(result) || !over) continue;
    point.value = *result.median_ms() / *over;
    point.lower_quartile = *bench::quantile(result.runs_ms, 0.25) / *over;
    point.upper_quartile = *bench::quantile(result.runs_ms, 0.75) / *over;
    plot.low = plot.low > 0 ? std::min(plot.low, *point.lower_quartile) : *point.lower_quartile;
    plot.high = std::max(plot.high, *point.upper_quartile);
  }
  return plot;
}

}  // namespace heapwood::viewer
