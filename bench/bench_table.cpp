// SPDX-License-Identifier: MIT
#include "bench/results/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/results/json_report.hpp"
#include "bench/results/row_tables.hpp"

namespace heapwood::bench {

namespace {

// The names of the scenes; files of one name are distinguished by their paths.
std::vector<std::string> titles_of(const RowGrid<Result>& grid) {
  std::vector<std::string> names, titles;
  for (const Result* scene : grid.columns) names.push_back(scene->scene);
  for (std::size_t s = 0; s < names.size(); ++s) {
    const bool is_unique = std::ranges::count(names, names[s]) == 1;
    titles.push_back(is_unique ? names[s] : grid.columns[s]->source);
  }
  return titles;
}

// The result from which a scene's properties are taken: preferably a complete one of AtomicMalloc.
template <class Has>
const Result* witness(const RowGrid<Result>& grid, std::size_t s, Has has) {
  const Result* found = nullptr;
  for (const auto& row : grid.cells) {
    const Result* result = row[s];
    if (!result || !has(*result)) continue;
    const auto rank = [](const Result& r) {
      return (r.status == Status::ok ? 2 : 0) + (r.allocator == "atomic" ? 1 : 0);
    };
    if (!found || rank(*result) > rank(*found)) found = result;
  }
  return found;
}

template <class Has, class Text>
void add_property(Table& table, const RowGrid<Result>& grid, const char* label, Has has,
                  Text text) {
  std::vector<Cell> cells{label};
  for (std::size_t s = 0; s < grid.columns.size(); ++s) {
    const Result* result = witness(grid, s, has);
    cells.emplace_back(result ? text(*result) : missing);
  }
  table.add(std::move(cells));
}

void add_properties(Table& table, const RowGrid<Result>& grid) {
  const auto has_tree = [](const Result& r) { return r.tree.has_value(); };
  const auto has_requests = [](const Result& r) {
    return r.requests && r.requests->allocations > 0;
  };
  add_property(table, grid, "triangles", has_tree,
               [](const Result& r) { return compact_text(r.triangles); });
  add_property(table, grid, "refs per triangle", has_tree,
               [](const Result& r) { return figure_text(r.refs_per_triangle()); });
  add_property(table, grid, "SAH cost", has_tree,
               [](const Result& r) { return figure_text(r.tree->sah_cost); });
  add_property(table, grid, "allocations", has_requests,
               [](const Result& r) { return compact_text(r.requests->allocations); });
  add_property(table, grid, "mean size [B]", has_requests,
               [](const Result& r) { return figure_text(r.requests->mean_bytes); });
  add_property(table, grid, "sigma of sizes [B]", has_requests,
               [](const Result& r) { return figure_text(r.requests->sigma_bytes); });
  add_property(
      table, grid, "pool [MiB]", [](const Result& r) { return r.pool_bytes.has_value(); },
      [](const Result& r) { return mib_text(*r.pool_bytes); });
}

// A note about scenes without a clearly fastest allocator; "" if there are none.
std::string overlap_note(const std::vector<std::string>& titles,
                         const std::vector<Fastest<Result>>& fastest) {
  std::string scenes;
  std::size_t unclear = 0, compared = 0;
  for (std::size_t s = 0; s < fastest.size(); ++s) {
    compared += fastest[s].compared > 1;
    if (fastest[s].row != nullptr || fastest[s].compared < 2) continue;
    scenes += (unclear++ ? ", " : "") + titles[s];
  }
  if (unclear == 0) return "";
  return fmt::format("no clear winner{}: quartiles overlap",
                     unclear == compared ? "" : " in " + scenes);
}

// If AtomicMalloc was not timed, there is no slowdown, and the cell shows the time.
std::string slowdown_cell(const Result& result, const std::string& scene, Footnotes& footnotes) {
  if (!result.slowdown) return figure_text(result.median_ms()) + (result.median_ms() ? " ms" : "");
  if (result.slowdown_over == result.allocator && result.allocator != "atomic") {
    return fmt::format(
        "{} ms {}", figure_text(*result.median_ms()),
        footnotes.mark(
            scene,
            fmt::format("AtomicMalloc was not timed; slowdowns are over {}, whose time is shown",
                        result.label)));
  }
  return footnotes.marked(ratio_text(*result.slowdown), result);
}

std::string cell_text(const Result* result, const std::string& scene, Footnotes& footnotes) {
  if (!result) return missing;
  if (result->status != Status::ok)
    return footnotes.marked(result->wrong_tree ? "WRONG TREE" : name(result->status), *result);
  if (result->allocator == "atomic")
    return footnotes.marked(figure_text(result->median_ms()), *result);
  return slowdown_cell(*result, scene, footnotes);
}

}  // namespace

Table slowdown_table(const std::vector<Result>& results) {
  const RowGrid<Result> grid = grid_of_results(results);
  Footnotes footnotes;
  Table table;
  if (grid.columns.empty()) return table;
  const std::vector<std::string> titles = titles_of(grid);
  table.title = "Build times of k-d trees by allocator";
  table.columns.push_back({"scene", true});
  for (const std::string& title : titles) table.columns.push_back({title});
  add_properties(table, grid);

  std::vector<Fastest<Result>> fastest;
  for (std::size_t s = 0; s < titles.size(); ++s) fastest.push_back(grid.fastest(s));

  bool any_best = false;
  // First the times of AtomicMalloc, then the slowdowns of the others.
  for (const bool is_atomic : {true, false}) {
    bool has_heading = false;
    for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
      const Result& named = *grid.allocators[a];
      if ((named.allocator == "atomic") != is_atomic) continue;
      if (!has_heading)
        table.add_heading(is_atomic ? "build time [ms]" : "slowdown (build time / AtomicMalloc's)");
      has_heading = true;
      std::vector<Cell> cells{named.marked_label()};
      for (std::size_t s = 0; s < titles.size(); ++s) {
        const Result* const result = grid.cells[a][s];
        cells.emplace_back(cell_text(result, titles[s], footnotes),
                           result && result == fastest[s].row);
        any_best |= cells.back().best;
      }
      table.add(std::move(cells));
    }
  }
  explain_marks(table, any_best, results);
  if (const std::string note = overlap_note(titles, fastest); !note.empty())
    table.notes.push_back(note);
  if (std::ranges::any_of(grid.allocators,
                          [](const Result* named) { return named->allocator == "heapwood"; }))
    table.notes.push_back(
        "Heapwood serves builds through a context per warp, all others (heapwood-general too) "
        "through malloc and free");
  footnotes.append_to(table.notes);
  return table;
}

Table fragmentation_table(const std::vector<Result>& results) {
  const RowGrid<Result> grid = grid_of_results(results);
  Table table;
  const auto internal = [](const Result& r) { return r.at_end && r.at_end->internal; };
  const bool any_internal = std::ranges::any_of(results, internal);
  if (std::ranges::none_of(results, [](const Result& r) { return r.at_end.has_value(); }))
    return table;
  table.title = "Memory: fragmentation of the pool after the build, peaks of the build";
  table.columns.push_back({"", true});
  for (const std::string& title : titles_of(grid)) {
    for (const char* figure :
         {"internal", "external", "peak bytes in use", "address", "metadata"}) {
      if (any_internal || figure != std::string("internal"))
        table.columns.push_back({figure, false, false, title});
    }
  }
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    std::vector<Cell> cells{grid.allocators[a]->marked_label()};
    for (const Result* result : grid.cells[a]) {
      const bool end = result && result->at_end;
      if (any_internal) cells.emplace_back(end ? figure_text(result->at_end->internal) : missing);
      append(cells, end ? figure_text(result->at_end->external) : missing,
             result && result->requests ? bytes_text(result->requests->high_water_bytes) : missing);
      const bool address = result && result->requests && result->requests->address_high_water_bytes;
      append(cells, address ? bytes_text(result->requests->address_high_water_bytes) : missing,
             end ? bytes_text(result->at_end->metadata_bytes) : missing);
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      std::string("external: 1 - largest free region / all free memory") +
      (any_internal ? "; internal: mean of (size - requested) / size over regions still in use"
                    : ""));
  table.notes.push_back(
      "peak bytes in use: as requested; address: end of the highest block ever handed out. Their "
      "difference is an upper bound of the waste at the peak: a pool cannot be inspected while a "
      "kernel runs");
  return table;
}

std::string method_line(const std::vector<Result>& results) {
  const BuildSettings& settings = results.front().settings;
  double spread = 0;
  std::size_t timed = 0;
  bool several = false;
  for (const Result& result : results) {
    several |= result.settings.pool.text != settings.pool.text;
    if (result.runs_ms.size() < 2 || *result.median_ms() <= 0) continue;
    ++timed;
    spread = std::max(spread, (*quantile(result.runs_ms, 0.75) - *quantile(result.runs_ms, 0.25)) /
                                  *result.median_ms());
  }
  std::string method =
      fmt::format("method: {} refs, median of {} run{} after a warm-up, allocators interleaved, {}",
                  kdtree::name(settings.refs), settings.runs, settings.runs == 1 ? "" : "s",
                  several ? "one size of the pool after the other" : "one pool size per scene");
  if (timed) method += fmt::format("; quartiles at most {:.1f}% of the median apart", 100 * spread);
  return method;
}

const char* const bench_columns =
    "scene triangles allocator label lower_bound builder refs=settings/refs status reason "
    "runs=runs_ms# median_ms q1_ms q3_ms reset_ms~ slowdown slowdown_over "
    "refs_per_triangle=tree/refs_per_triangle sah_cost=tree/sah_cost "
    "sah_cost_1_1=tree/sah_cost_1_1 nodes=tree/nodes leaves=tree/leaves depth=tree/depth "
    "hash=tree/hash allocations=allocations/count mean_bytes=allocations/mean_bytes "
    "sigma_bytes=allocations/sigma_bytes pool_bytes=memory/pool_bytes "
    "high_water_bytes=memory/high_water_bytes internal_fragmentation=memory/internal_fragmentation "
    "external_fragmentation=memory/external_fragmentation registers source";

Table flat_table(const std::vector<Result>& results) {
  Json json = Json::array();
  for (const Result& result : results) json.push_back(to_json(result));
  return table_of_json(json, bench_columns);
}

namespace {

// The time by which a scene's slowdowns in every pool are divided: the shortest median of
// AtomicMalloc or, if that was not timed, of any allocator. Nothing if no build completed.
std::map<std::string, double> references(const std::vector<Result>& results) {
  std::map<std::string, double> atomic, any;
  for (const Result& result : results) {
    const std::optional<double> ms = result.median_ms();
    if (result.status != Status::ok || !ms || *ms <= 0) continue;
    const auto keep_min = [&](std::map<std::string, double>& best) {
      const auto [entry, added] = best.emplace(result.source, *ms);
      if (!added) entry->second = std::min(entry->second, *ms);
    };
    keep_min(any);
    if (result.allocator == "atomic") keep_min(atomic);
  }
  atomic.merge(any);
  return atomic;
}

}  // namespace

Table pool_table(const std::vector<Result>& results) {
  const RowGrid<Result> grid = grid_of_results(results, true);
  const bool several = std::ranges::any_of(grid.columns, [&](const Result* one) {
    return one->source == grid.columns.front()->source && one != grid.columns.front();
  });
  Table table;
  if (!several) return table;
  table.title = "Slowdown over the size of the pool";
  table.columns.push_back({"--pool", true});
  std::vector<Cell> sizes{"pool [MiB]"}, over_live{"pool / peak bytes in use"};
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::uint64_t pool_bytes = 0, live_bytes = 0;
    for (const auto& row : grid.cells) {
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
    for (const Result* result : grid.cells[a]) {
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
