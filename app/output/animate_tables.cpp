// SPDX-License-Identifier: MIT
#include "app/output/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/animate_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"

namespace heapwood::app {

namespace {

std::string triangles_text(const AnimateRow& row) {
  if (row.max_triangles == 0) return "";
  return row.min_triangles == row.max_triangles
             ? fmt::format(", {}", plural_text(row.max_triangles, "triangle"))
             : fmt::format(", {} to {} triangles", count_text(row.min_triangles),
                           count_text(row.max_triangles));
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return missing;
  return fmt::format("{:.1f}%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Table animate_time_table(const std::vector<AnimateRow>& rows) {
  Table table;
  if (rows.empty()) return table;
  const auto measured =
      std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.max_triangles > 0; });
  const AnimateRow& first = measured == rows.end() ? rows.front() : *measured;
  const AnimateSettings& settings = first.settings;
  table.title = fmt::format("{}: {} frames{}, {}x{}, pool {}: time [ms]", first.scene,
                            settings.frames, triangles_text(first), settings.size.width,
                            settings.size.height, settings.keep_pool ? "kept" : "reset");
  struct Part {
    const char* title;
    std::vector<double> AnimateRow::*ms;
  };
  std::vector<Part> parts{{"upload", &AnimateRow::upload_ms},
                          {"reset", &AnimateRow::reset_ms},
                          {"build", &AnimateRow::build_ms}};
  if (settings.shaded || settings.primary) parts.push_back({"records", &AnimateRow::records_ms});
  if (settings.primary) parts.push_back({"primary", &AnimateRow::primary_ms});
  if (settings.shaded) parts.push_back({"shaded", &AnimateRow::shaded_ms});
  std::string columns = "allocator<; ";
  for (const Part& part : parts) columns += part.title + std::string("; ");
  table.columns = columns_of(columns + "frame: median, p99; frames/s");
  const AnimateRow* const best =
      find_fastest(pointers_to(rows), [](const AnimateRow& row) { return &row.frame_ms; }).row;
  Footnotes footnotes;
  for (const AnimateRow& row : rows) {
    std::vector<Cell> cells{footnotes.marked(row.marked_label(), row)};
    if (row.frame_ms.empty()) {
      cells.emplace_back(name(row.status));
      while (cells.size() < table.columns.size()) cells.emplace_back(missing);
    } else {
      for (const Part& part : parts) cells.emplace_back(figure_text(median(row.*part.ms)));
      cells.emplace_back(figure_text(median(row.frame_ms)), &row == best);
      append(cells, figure_text(quantile(row.frame_ms, 0.99)),
             figure_text(row.frames_per_second()));
    }
    table.add(std::move(cells));
  }
  explain_marks(table, best != nullptr, rows);
  footnotes.append_to(table.notes);
  return table;
}

Table animate_pool_table(const std::vector<AnimateRow>& rows) {
  Table table;
  if (std::none_of(rows.begin(), rows.end(), [](const auto& row) { return !row.pools.empty(); }))
    return table;
  table.title = fmt::format("{}: the kept pool", rows.front().scene);
  table.columns = columns_of(
      "allocator<; pool; after the first frame: in use, free, largest hole, fragmented; after the "
      "last frame: in use, free, largest hole, fragmented");
  for (const AnimateRow& row : rows) {
    if (row.pools.empty()) continue;
    std::vector<Cell> cells{row.label, bytes_text(row.pool_bytes)};
    for (const PoolAfterFrame* pool : {&row.pools.front(), &row.pools.back()}) {
      const alloc::Fragmentation& state = pool->state;
      append(cells, bytes_text(state.used_bytes), percent(state.free_bytes, row.pool_bytes));
      // Adjacent free regions count as one, as in the column `fragmented`.
      const double hole = static_cast<double>(state.free_bytes) * (1 - state.external_merged);
      append(cells, percent(static_cast<std::uint64_t>(hole), row.pool_bytes),
             fmt::format("{:.1f}%", 100 * state.external_merged));
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "every block of the build has been freed; in use: blocks that the allocator holds; free, "
      "largest hole: shares of the pool, adjacent free regions are one hole; fragmented: 1 - "
      "largest hole / free");
  return table;
}

std::vector<std::string> animate_method_lines(const std::vector<AnimateRow>& rows) {
  if (rows.empty()) return {};
  const AnimateSettings& settings = rows.front().settings;
  std::vector<std::string> lines;
  std::string traced = "no rays";
  if (settings.primary) traced = "primary: a camera ray per pixel, from and to buffers";
  if (settings.shaded) {
    traced = std::string(settings.primary ? traced + ", not part of a frame; " : "") +
             "shaded: a camera ray and a shadow ray per pixel";
  }
  lines.push_back(fmt::format(
      "method: medians over frames; each frame is measured with all allocators in turn, after a "
      "warm-up; its mesh is made before; upload: vertices that moved, from page-locked memory; "
      "reset: pool, queue and launch; build: the kernel; records: triangles as rays read them; {}",
      traced));
  const auto has_hash = [](const AnimateRow& row) {
    return row.status == Status::ok && !row.hashes.empty();
  };
  const auto equal = std::count_if(rows.begin(), rows.end(), has_hash);
  if (equal > 1) {
    lines.push_back(
        fmt::format("trees: the same in every frame with all {} allocators (by hash)", equal));
  }
  for (const AnimateRow& row : rows) {
    if (row.camera.empty()) continue;
    lines.push_back("camera: " + row.camera);
    break;
  }
  return lines;
}

}  // namespace heapwood::app
