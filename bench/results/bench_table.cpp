// SPDX-License-Identifier: MIT
#include "bench/results/bench_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/footnotes.hpp"
#include "bench/results/format.hpp"
#include "bench/results/samples.hpp"

namespace heapwood::bench {

namespace {

// The tables of allocators cover the single-kernel builder only.
std::vector<Result> of_single_kernel(const std::vector<Result>& results) {
  std::vector<Result> single;
  for (const Result& result : results) {
    if (!result.per_level()) single.push_back(result);
  }
  return single;
}

// Scenes in columns, allocators in rows.
struct Grid {
  std::vector<std::string> sources;
  std::vector<std::string> titles;             // of the sources
  std::vector<const Result*> allocators;       // first result of each: id, label, traits
  std::vector<std::vector<const Result*>> at;  // [allocator][source], nullptr if absent

  explicit Grid(const std::vector<Result>& results) {
    for (const Result& result : results) {
      if (std::find(sources.begin(), sources.end(), result.source) == sources.end()) {
        sources.push_back(result.source);
        titles.push_back(result.scene);
      }
      const auto same = [&](const Result* other) { return other->allocator == result.allocator; };
      if (std::none_of(allocators.begin(), allocators.end(), same)) allocators.push_back(&result);
    }
    // Files of the same name are distinguished by their paths.
    const std::vector<std::string> names = titles;
    for (std::size_t s = 0; s < names.size(); ++s) {
      if (std::count(names.begin(), names.end(), names[s]) > 1) titles[s] = sources[s];
    }
    at.assign(allocators.size(), std::vector<const Result*>(sources.size(), nullptr));
    for (const Result& result : results) {
      const auto row = std::find_if(allocators.begin(), allocators.end(), [&](const Result* other) {
        return other->allocator == result.allocator;
      });
      const auto column = std::find(sources.begin(), sources.end(), result.source);
      at[static_cast<std::size_t>(row - allocators.begin())]
        [static_cast<std::size_t>(column - sources.begin())] = &result;
    }
  }

  std::string row_label(std::size_t a) const {
    return allocators[a]->label + std::string(allocators[a]->lower_bound ? " *" : "");
  }

  // The result that provides a scene's properties: preferably complete and AtomicMalloc's.
  template <class Has>
  const Result* witness(std::size_t s, Has has) const {
    const Result* found = nullptr;
    for (const auto& row : at) {
      const Result* result = row[s];
      if (!result || !has(*result)) continue;
      const auto rank = [](const Result& r) {
        return (r.status == Status::ok ? 2 : 0) + (r.allocator == "atomic" ? 1 : 0);
      };
      if (!found || rank(*result) > rank(*found)) found = result;
    }
    return found;
  }
};

template <class Has, class Text>
void add_property(Table& table, const Grid& grid, const char* label, Has has, Text text) {
  std::vector<Cell> cells{label};
  for (std::size_t s = 0; s < grid.sources.size(); ++s) {
    const Result* result = grid.witness(s, has);
    cells.emplace_back(result ? text(*result) : missing);
  }
  table.add(std::move(cells));
}

void add_properties(Table& table, const Grid& grid) {
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

std::string status_cell(const Result& result, Footnotes& footnotes) {
  if (result.wrong_tree) return "WRONG TREE " + footnotes.mark(result.label, result.reason);
  return std::string(name(result.status)) + " " + footnotes.mark(result.label, result.reason);
}

// The clearly fastest allocator that frees, if there is one, and the number of those compared.
struct Fastest {
  const Result* result = nullptr;
  std::size_t candidates = 0;
  bool is_unclear() const { return result == nullptr && candidates > 1; }
};

Fastest fastest_of(const Grid& grid, std::size_t s) {
  std::vector<const Result*> candidates;
  std::vector<const std::vector<double>*> times;
  for (const auto& row : grid.at) {
    const Result* result = row[s];
    if (!result || result->status != Status::ok || result->lower_bound || !result->median_ms())
      continue;
    candidates.push_back(result);
    times.push_back(&result->runs_ms);
  }
  const std::optional<std::size_t> found = clearly_fastest(times);
  return {found ? candidates[*found] : nullptr, candidates.size()};
}

// "" if there is a clearly fastest allocator in every scene.
std::string overlap_note(const Grid& grid, const std::vector<Fastest>& fastest) {
  std::string scenes;
  std::size_t unclear = 0, compared = 0;
  for (std::size_t s = 0; s < fastest.size(); ++s) {
    compared += fastest[s].candidates > 1;
    if (!fastest[s].is_unclear()) continue;
    scenes += (unclear++ ? ", " : "") + grid.titles[s];
  }
  if (unclear == 0) return "";
  return fmt::format("no clear winner{}: quartiles overlap",
                     unclear == compared ? "" : " in " + scenes);
}

// Without a time of AtomicMalloc the row of the reference shows its time.
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
  std::string text = ratio_text(*result.slowdown);
  if (!result.reason.empty()) text += " " + footnotes.mark(result.label, result.reason);
  return text;
}

}  // namespace

Table slowdown_table(const std::vector<Result>& all) {
  const std::vector<Result> results = of_single_kernel(all);
  const Grid grid(results);
  Footnotes footnotes;
  Table table;
  if (results.empty()) return table;
  table.title = "Build times of k-d trees by allocator";
  table.columns.push_back({"scene", true});
  for (const std::string& title : grid.titles) table.columns.push_back({title});
  add_properties(table, grid);

  std::vector<Fastest> fastest;
  for (std::size_t s = 0; s < grid.sources.size(); ++s) fastest.push_back(fastest_of(grid, s));

  const auto has_calls = [](const Result* result) { return result && result->calls; };
  const bool registers = std::any_of(grid.at.begin(), grid.at.end(), [&](const auto& row) {
    return std::any_of(row.begin(), row.end(), has_calls);
  });
  const auto add_registers = [&](std::vector<Cell>& cells, std::size_t a) {
    if (!registers) return;
    const auto witness = std::find_if(grid.at[a].begin(), grid.at[a].end(), has_calls);
    cells.emplace_back(witness == grid.at[a].end() ? missing : registers_text(*(*witness)->calls));
  };
  if (registers) {
    table.columns.push_back({"registers"});
    table.notes.push_back("registers per thread of kernels with one malloc / one free / both");
  }

  bool any_bound = false, any_best = false, atomic = false;
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    if (grid.allocators[a]->allocator != "atomic") continue;
    atomic = true;
    table.add_heading("build time [ms]");
    std::vector<Cell> cells{grid.row_label(a)};
    for (const Result* result : grid.at[a]) {
      if (!result)
        cells.emplace_back(missing);
      else if (result->status != Status::ok)
        cells.emplace_back(status_cell(*result, footnotes));
      else
        cells.emplace_back(
            figure_text(result->median_ms()) +
            (result->reason.empty() ? "" : " " + footnotes.mark(result->label, result->reason)));
    }
    add_registers(cells, a);
    table.add(std::move(cells));
    any_bound |= grid.allocators[a]->lower_bound;
  }
  if (grid.allocators.size() > (atomic ? 1u : 0u))
    table.add_heading("slowdown (build time / AtomicMalloc's)");
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    if (grid.allocators[a]->allocator == "atomic") continue;
    any_bound |= grid.allocators[a]->lower_bound;
    std::vector<Cell> cells{grid.row_label(a)};
    for (std::size_t s = 0; s < grid.sources.size(); ++s) {
      const Result* result = grid.at[a][s];
      if (!result)
        cells.emplace_back(missing);
      else if (result->status != Status::ok)
        cells.emplace_back(status_cell(*result, footnotes));
      else
        cells.emplace_back(slowdown_cell(*result, grid.titles[s], footnotes),
                           result == fastest[s].result);
      any_best |= cells.back().best;
    }
    add_registers(cells, a);
    table.add(std::move(cells));
  }
  if (any_best)
    table.notes.push_back("◂ fastest allocator that frees: its quartiles overlap no other's");
  if (const std::string note = overlap_note(grid, fastest); !note.empty())
    table.notes.push_back(note);
  if (any_bound) table.notes.push_back("* lower bound: cannot free, never named the fastest");
  if (std::any_of(grid.allocators.begin(), grid.allocators.end(),
                  [](const Result* named) { return named->allocator == "heapwood"; }))
    table.notes.push_back(
        "Heapwood serves builds through a context per warp, all others (heapwood-general too) "
        "through malloc and free");
  footnotes.append_to(table.notes);
  return table;
}

Table fragmentation_table(const std::vector<Result>& all) {
  const std::vector<Result> results = of_single_kernel(all);
  const Grid grid(results);
  Table table;
  const auto internal = [](const Result& r) { return r.at_end && r.at_end->internal; };
  const bool any_internal = std::any_of(results.begin(), results.end(), internal);
  if (std::none_of(results.begin(), results.end(),
                   [](const Result& r) { return r.at_end.has_value(); }))
    return table;
  table.title = "Memory: fragmentation of the pool after the build, peaks of the build";
  table.columns.push_back({"", true});
  for (const std::string& title : grid.titles) {
    if (any_internal) table.columns.push_back({"internal", false, false, title});
    table.columns.push_back({"external", false, false, title});
    table.columns.push_back({"peak bytes in use", false, false, title});
    table.columns.push_back({"address", false, false, title});
    table.columns.push_back({"metadata", false, false, title});
  }
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    std::vector<Cell> cells{grid.row_label(a)};
    for (const Result* result : grid.at[a]) {
      const bool end = result && result->at_end;
      if (any_internal) cells.emplace_back(end ? figure_text(result->at_end->internal) : missing);
      cells.emplace_back(end ? figure_text(result->at_end->external) : missing);
      cells.emplace_back(result && result->requests ? bytes_text(result->requests->high_water_bytes)
                                                    : missing);
      const bool address = result && result->requests && result->requests->address_high_water_bytes;
      cells.emplace_back(address ? bytes_text(result->requests->address_high_water_bytes)
                                 : missing);
      cells.emplace_back(end ? bytes_text(result->at_end->metadata_bytes) : missing);
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      std::string("external: 1 - largest free region / all free memory") +
      (any_internal ? "; internal: mean of (size - requested) / size over regions still in use"
                    : ""));
  table.notes.push_back(
      "peak bytes in use: as requested; address: end of the highest block ever handed out. Their "
      "difference is an upper bound of the waste at the peak: no pool can be walked while its "
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
  if (settings.multiprocessors)
    method += fmt::format("; warps of {} multiprocessor{} (--sms)", settings.multiprocessors,
                          settings.multiprocessors == 1 ? "" : "s");
  if (timed) method += fmt::format("; quartiles at most {:.1f}% of the median apart", 100 * spread);
  return method;
}

}  // namespace heapwood::bench
