// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "app/output/stress_figures.hpp"
#include "app/output/stress_tables.hpp"

namespace heapwood::app {

namespace {

using workloads::StressTest;

const char* description(StressTest test) {
  switch (test) {
    case StressTest::utilization:
      return "utilization: each thread allocates until it is refused";
    case StressTest::range:
      return "range: one malloc per thread, then one free per thread, repeated";
    case StressTest::lifetimes:
      return "lifetimes: blocks of random sizes";
    case StressTest::soak:
      return "soak: blocks of random sizes and lifetimes, contents verified";
    default:
      return "churn: one malloc per thread, half of them freed, until a request is refused";
  }
}

std::string percent_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}%", 100 * *share) : bench::missing;
}
std::string optional_count(const std::optional<double>& count) {
  return count ? bench::count_text(static_cast<std::uint64_t>(*count)) : bench::missing;
}
std::string optional_bytes(const std::optional<double>& bytes) {
  return bytes ? bench::bytes_text(static_cast<std::uint64_t>(*bytes)) : bench::missing;
}

using Figure = std::string (*)(const bench::StressSpaceFigures&);

void add_utilization(StressFigures& figures, bench::Footnotes& footnotes) {
  const auto share = [&](const bench::StressRow& row) {
    return status_cell(row, percent_text(space_figures(row).utilization), footnotes);
  };
  figures.add({"bytes handed out / pool", "of the pool"}, share);
}

void add_range(StressFigures& figures, const StressGrid& grid, bench::Footnotes& footnotes) {
  std::vector<bench::Cell> min_bytes{"min possible"};
  for (const bench::StressPoint& point : grid.points)
    min_bytes.emplace_back(
        bench::bytes_text(std::uint64_t{point.requests} * alloc::padded(point.payload)));
  const auto first = [&](const bench::StressRow& row) {
    return status_cell(row, optional_bytes(space_figures(row).first_address_bytes), footnotes);
  };
  figures.add({"addresses of the first iteration", "first iteration", "addresses"}, first,
              min_bytes);
}

void add(StressFigures& figures, const FigureName& name, Figure figure) {
  figures.add(name, [figure](const bench::StressRow& row) -> bench::Cell {
    return figure(space_figures(row));
  });
}

}  // namespace

bench::Table stress_space_table(const std::vector<bench::StressRow>& rows) {
  bench::Table table;
  if (rows.empty()) return table;
  const StressTest test = rows.front().settings.test;
  const StressGrid grid(rows);
  StressFigures figures(grid);
  bench::Footnotes footnotes;
  table.title = description(test) + grid.constants();
  if (test == StressTest::lifetimes)
    table.title += fmt::format(", {} order", bench::name(rows.front().settings.order));
  if (test == StressTest::utilization) {
    add_utilization(figures, footnotes);
    add(figures, {"blocks", "blocks"},
        [](const bench::StressSpaceFigures& f) { return optional_count(f.blocks); });
    figures.add({"time [ms]", "time [ms]"}, [](const bench::StressRow& row) -> bench::Cell {
      return bench::figure_text(row.median_ms());
    });
    figures.add({"time of a refused call [us]", "a refused call [us]"},
                [](const bench::StressRow& row) -> bench::Cell {
                  const std::optional<double> ms = bench::median(row.refusal_ms);
                  return ms ? bench::figure_text(*ms * 1e3) : bench::missing;
                });
  } else if (workloads::has_lifetimes(test)) {
    figures.add({"held / live", "held / live"}, [&](const bench::StressRow& row) {
      return status_cell(row, bench::figure_text(held_over_live(row)), footnotes);
    });
    figures.add({"mallocs", "mallocs"}, [](const bench::StressRow& row) -> bench::Cell {
      return row.counts ? bench::count_text(row.counts->allocations) : bench::missing;
    });
    figures.add({"time of the kernels [ms]", "kernels [ms]"},
                [](const bench::StressRow& row) -> bench::Cell {
                  return bench::figure_text(row.median_ms());
                });
  } else if (test == StressTest::range) {
    add_range(figures, grid, footnotes);
    add(figures, {"addresses of all iterations", "all iterations", "addresses"},
        [](const bench::StressSpaceFigures& f) { return optional_bytes(f.address_bytes); });
    add(figures, {"time of an iteration [ms]", "iteration [ms]"},
        [](const bench::StressSpaceFigures& f) { return bench::figure_text(f.iteration_ms); });
  } else {
    const auto iterations = [&](const bench::StressRow& row) {
      return status_cell(row, optional_count(space_figures(row).iterations), footnotes);
    };
    figures.add({"iterations", "iterations"}, iterations);
    add(figures, {"bytes in use at the end / pool", "of the pool", "at the end"},
        [](const bench::StressSpaceFigures& f) { return percent_text(f.utilization); });
    add(figures, {"addresses at the end", "addresses", "at the end"},
        [](const bench::StressSpaceFigures& f) { return optional_bytes(f.address_bytes); });
    add(figures, {"time of an iteration [ms]", "median", "iteration [ms]"},
        [](const bench::StressSpaceFigures& f) { return bench::figure_text(f.iteration_ms); });
    add(figures, {"time of the last iteration [ms]", "last", "iteration [ms]"},
        [](const bench::StressSpaceFigures& f) { return bench::figure_text(f.last_ms); });
  }
  figures.write(table);
  if (test == StressTest::utilization) {
    table.notes.push_back(
        "of the pool: requested bytes of all blocks / size of the pool, including the allocator's "
        "tables");
    table.notes.push_back(
        "a refused call: latency seen by one thread while all threads call, without the launch");
  } else if (workloads::has_lifetimes(test)) {
    table.notes.push_back(
        "held: memory that is neither free nor in the allocator's tables, before the last frees; "
        "live: requested bytes "
        "of blocks in use");
  } else {
    table.notes.push_back(
        "addresses: from the lowest to the end of the highest block handed out so far");
  }
  if (std::any_of(rows.begin(), rows.end(),
                  [](const bench::StressRow& row) { return row.lower_bound; }))
    table.notes.push_back("* cannot free");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::app
