// SPDX-License-Identifier: MIT
// The Compare tab: a table with the slowdown of every allocator on the scene shown.

#include <chrono>
#include <random>

#include "bench/results/row_tables.hpp"
#include "bench/row_bench.hpp"
#include "viewer/comparison.hpp"
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

using Clock = std::chrono::steady_clock;

// The reason of a result that has no build so far.
constexpr const char* waiting_reason = "waiting for its first build";

bool is_timed(const bench::Result& result) {
  return result.status == bench::Status::ok && result.median_ms() && *result.median_ms() > 0;
}

bench::Result waiting_result(const bench::BenchJob& job,
                             const registry::RegisteredAllocator& entry) {
  bench::Result result;
  result.source = result.scene = job.scenes.front();
  result.set_allocator(*entry.traits);
  result.settings = job.settings;
  const char* never = bench::cannot_build(entry);
  result.reason = never ? never : waiting_reason;
  return result;
}

// The results so far: those that have begun, and blank ones.
std::vector<bench::Result> results_so_far(const bench::BenchJob& job,
                                          const std::vector<const bench::Result*>& begun) {
  std::vector<bench::Result> results;
  std::vector<bench::Result*> scene;
  results.reserve(job.allocators.size());
  for (const registry::RegisteredAllocator* entry : job.allocators) {
    const auto found = std::ranges::find_if(
        begun, [&](const bench::Result* one) { return one->allocator == entry->traits->id; });
    results.push_back(found == begun.end() ? waiting_result(job, *entry) : **found);
    scene.push_back(&results.back());
  }
  bench::compute_slowdowns(scene);
  return results;
}

}  // namespace

bool is_waiting(const bench::Result& result) {
  return result.reason == waiting_reason ||
         (result.status == bench::Status::ok && result.runs_ms.empty());
}

bench::BenchResult compare_builds(const bench::BenchJob& in_order, const ComparisonHooks& hooks) {
  bench::BenchJob job = in_order;
  std::mt19937 random(std::random_device{}());
  std::shuffle(job.allocators.begin(), job.allocators.end(), random);
  Clock::time_point published{};
  std::vector<const bench::Result*> begun;  // valid until run_bench returns
  bench::BenchEvents events;
  events.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
    hooks.progress(done, total, what);
    const Clock::time_point now = Clock::now();
    if (begun.empty() || now - published < std::chrono::milliseconds(50)) return;
    published = now;
    hooks.partial(results_so_far(in_order, begun));
  };
  events.tree_built = [&](bench::PreparedScene& scene, bench::Result& result) {
    begun.push_back(&result);
    hooks.tree_built(scene, result);
  };
  bench::BenchResult bench = bench::run_bench(job, events);
  const auto place = [&](const bench::Result& result) {
    return std::ranges::find_if(in_order.allocators, [&](const auto* entry) {
      return entry->traits->id == result.allocator;
    });
  };
  std::ranges::stable_sort(bench.results,
                           [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return bench;
}

double spread_of(const std::vector<double>& ms) {
  const std::optional<double> median = bench::median(ms);
  if (!median || *median <= 0) return 0;
  return (*bench::quantile(ms, 0.75) - *bench::quantile(ms, 0.25)) / *median;
}

std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results, bool running) {
  const bench::Result* const best =
      bench::find_fastest(bench::pointers_to(results), [](const bench::Result& r) {
        return is_timed(r) ? &r.runs_ms : nullptr;
      }).row;
  std::vector<CompareRow> rows;
  for (const bench::Result& r : results) {
    CompareRow row;
    row.result = &r;
    row.allocator = r.marked_label();
    row.waiting = running && is_waiting(r);
    if (is_timed(r)) {
      row.ms = bench::figure_text(*r.median_ms());
      if (r.slowdown) row.slowdown = bench::ratio_text(*r.slowdown) + "x";
      const double spread = spread_of(r.runs_ms);
      row.noisy = !running && spread > max_spread;
      row.best = !running && &r == best && !row.noisy;
      row.spread = fmt::format("{:.1f}%", 100 * spread);
      row.key_ms = *r.median_ms();
    } else {
      row.ms = r.wrong_tree                            ? "wrong tree"
               : row.waiting                           ? "waiting"
               : r.reason == bench::interrupted_reason ? "cancelled"
                                                       : bench::name(r.status);
    }
    if (r.requests && r.requests->address_high_water_bytes)
      row.address = bench::bytes_text(r.requests->address_high_water_bytes);
    if (r.at_end && r.at_end->measured) row.tables = bench::bytes_text(r.at_end->metadata_bytes);
    if (r.kernel)
      row.registers =
          fmt::format("{}, {}", r.kernel->registers, bench::bytes_text(r.kernel->local_bytes));
    rows.push_back(row);
  }
  return rows;
}

double chart_end(std::vector<double> ms) {
  if (ms.empty()) return 0;
  std::ranges::sort(ms);
  const double limit = 3 * *bench::quantile(ms, 0.75);
  return 1.1 * *std::prev(std::ranges::upper_bound(ms, limit));
}

std::string compare_verdict(const std::vector<CompareRow>& rows) {
  const auto best = std::ranges::find_if(rows, &CompareRow::best);
  if (best == rows.end())
    return "No allocator that frees is clearly the fastest: the times overlap.";
  const CompareRow* next = nullptr;
  for (const CompareRow& row : rows) {
    if (!row.best && !row.result->lower_bound && (!next || row.key_ms < next->key_ms)) next = &row;
  }
  std::string text = fmt::format("{} is the fastest that frees: {} ms", best->allocator, best->ms);
  if (next && std::isfinite(next->key_ms))
    text += fmt::format("; next is {}, {:.2f} times as long", next->allocator,
                        next->key_ms / best->key_ms);
  return text + ".";
}

std::string compare_warning(const std::vector<CompareRow>& rows) {
  for (const CompareRow& row : rows) {
    if (row.noisy && rows.front().result->slowdown_over == row.result->allocator)
      return fmt::format(
          "The times of {}, which all are divided by, vary by {}: close other programs, or compare "
          "again with more runs.",
          row.result->label, row.spread);
  }
  return "";
}

namespace {

void sort(std::vector<CompareRow>& rows) {
  const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (!specs || specs->SpecsCount == 0) return;
  const int column = specs->Specs[0].ColumnIndex;
  const bool down = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  std::ranges::stable_sort(rows, [&](const CompareRow& one, const CompareRow& other) {
    const CompareRow &a = down ? other : one, &b = down ? one : other;
    if (column == 0) return a.allocator < b.allocator;
    return a.key_ms < b.key_ms;  // times order like slowdowns, because the divisor is the same
  });
}

// Draws the median, and the middle half of the times as a bar.
// A bar that ends beyond the axis is cut, with a break.
void draw_bar(const CompareRow& row, double end) {
  const float width = ImGui::GetContentRegionAvail().x, height = ImGui::GetFontSize() * 0.5f;
  ImVec2 corner = ImGui::GetCursorScreenPos();
  corner.y += (ImGui::GetTextLineHeight() - height) / 2;
  ImGui::Dummy({width, ImGui::GetTextLineHeight()});
  if (row.result->status != bench::Status::ok || !std::isfinite(row.key_ms) || end <= 0) return;
  const auto x = [&](double ms) {
    return corner.x + width * static_cast<float>(std::min(ms / end, 1.0));
  };
  ui::fill(corner, {std::max(x(row.key_ms), corner.x + 2), corner.y + height},
           row.best ? ImGui::GetColorU32(colour::accent) : IM_COL32(120, 150, 170, 255), 3);
  if (row.key_ms > end) {
    const float cut = corner.x + width * 0.9f, slant = height * 0.5f;
    for (const float at : {cut, cut + height})
      ui::line({at - slant, corner.y + height + 2}, {at + slant, corner.y - 2},
               ImGui::GetColorU32(colour::panel), 3);
    return;
  }
  const std::vector<double>& ms = row.result->runs_ms;
  ui::fill({x(*bench::quantile(ms, 0.25)), corner.y - 2},
           {x(*bench::quantile(ms, 0.75)) + 1, corner.y + height + 2}, ui::tint(70), 2);
}

// Draws an allocator's name. A click chooses it as A, with Shift as B.
void draw_allocator(State& state, const CompareRow& row, const ImVec4& shade) {
  const registry::RegisteredAllocator* entry = registry::find(row.result->allocator);
  const bool a = entry == state.choice.allocator, b = entry == state.choice.other;
  ImGui::PushStyleColor(ImGuiCol_Text, shade);
  if (ImGui::Selectable(row.allocator.c_str(), a || b, ImGuiSelectableFlags_SpanAllColumns) &&
      entry && !why_not_buildable(state, *entry))
    (ImGui::GetIO().KeyShift ? state.choice.other : state.choice.allocator) = entry;
  ImGui::PopStyleColor();
  state.places.note("row " + row.result->allocator);
  for (const auto& [chosen, side] : {std::pair{a, 0u}, std::pair{b, 1u}}) {
    if (!chosen) continue;
    ImGui::SameLine(0, ImGui::GetFontSize() * 0.5f);
    ui::text(side == 0 ? "A" : "B", ui::shade_of(side));
  }
  std::string text = row.result->reason + (row.result->reason.empty() ? "" : "\n");
  if (entry) text += fmt::format("{}. {}\n", entry->traits->paper, entry->traits->note);
  ui::hint(text + "Click: allocator A. Shift-click: B.");
}

constexpr const char* explanation =
    "* cannot free: a lower bound, never marked fastest. Green: the fastest that frees, if its "
    "quartiles overlap no other's and its spread is at most 25%.";
constexpr struct {
  const char* name;
  ImGuiTableColumnFlags flags;
  float width;
  const char* hint;
} columns[] = {
    {"allocator", ImGuiTableColumnFlags_None, 2.5f, "* cannot free: a lower bound"},
    {"time", ImGuiTableColumnFlags_NoSort, 5.0f,
     "Bar: median. Light part: the middle half. Bars of outliers are cut, with a break."},
    {"ms", ImGuiTableColumnFlags_DefaultSort, 1.3f, "Median time of a build"},
    {"/ Atomic", ImGuiTableColumnFlags_None, 1.4f,
     "Time / AtomicMalloc's time. AtomicMalloc only increments a counter and never frees."},
    {"spread", ImGuiTableColumnFlags_NoSort, 1.4f,
     "Interquartile range / median: above 25% the time is too noisy to rank"},
    {"address", ImGuiTableColumnFlags_NoSort, 1.6f,
     "Highest address reached in the pool, from its base, in an instrumented build"},
    {"tables", ImGuiTableColumnFlags_NoSort, 1.5f, "The allocator's tables in the pool"},
    {"registers", ImGuiTableColumnFlags_NoSort, 1.7f,
     "Of the build kernel, and its stack per thread"}};

void draw_row(State& state, const CompareRow& row, double end, bool with_registers) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (row.best) ImGui::PushFont(fonts().bold);
  const ImVec4 shade = row.waiting                               ? colour::dim
                       : row.best                                ? colour::accent
                       : row.result->status == bench::Status::ok ? colour::text
                                                                 : colour::warning;
  draw_allocator(state, row, shade);
  ImGui::TableNextColumn();
  draw_bar(row, end);
  for (const std::string* text :
       {&row.ms, &row.slowdown, &row.spread, &row.address, &row.tables, &row.registers}) {
    if (text == &row.registers && !with_registers) break;
    ImGui::TableNextColumn();
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                         std::max(0.0f, ImGui::GetContentRegionAvail().x - ui::width_of(*text)));
    const bool noisy = text == &row.spread && row.noisy;
    ui::text(*text, noisy ? colour::warning : shade);
    if (noisy)
      ui::hint(
          "Too noisy to rank: the times of the middle half of the runs differ by more "
          "than a quarter of the median.");
    ui::hint(row.result->reason);
  }
  if (row.best) ImGui::PopFont();
}

void draw_table(State& state, std::vector<CompareRow> rows) {
  const bool with_registers =
      std::ranges::any_of(rows, [](const CompareRow& row) { return !row.registers.empty(); });
  const int count = with_registers ? 8 : 7;
  if (!ImGui::BeginTable("slowdowns", count,
                         ImGuiTableFlags_Sortable | ImGuiTableFlags_RowBg |
                             ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_SizingStretchProp))
    return;
  for (int i = 0; i < count; ++i)
    ImGui::TableSetupColumn(columns[i].name, columns[i].flags, columns[i].width);
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (int i = 0; i < count; ++i) {
    ImGui::TableSetColumnIndex(i);
    ImGui::TableHeader(columns[i].name);
    state.places.note(fmt::format("column {}", columns[i].name));
    ui::hint(columns[i].hint);
  }
  sort(rows);
  std::vector<double> times;
  for (const CompareRow& row : rows) {
    if (row.result->status == bench::Status::ok && row.result->median_ms())
      times.push_back(*bench::quantile(row.result->runs_ms, 0.75));
  }
  const double end = chart_end(times);
  for (const CompareRow& row : rows) draw_row(state, row, end, with_registers);
  ImGui::EndTable();
}

}  // namespace

void draw_compare_section(State& state) {
  if (!ui::section("Compare")) return;
  const bool running = is_running(state, JobSpec::Kind::compare);
  if (state.compared.empty())
    return ui::dim_text(running
                            ? "Loading the scene and finding the pool size."
                            : "'Compare all' builds this scene with every allocator, in random "
                              "order, and shows how much slower each is than AtomicMalloc, which "
                              "only increments a counter.");
  if (running) {
    const auto timed = std::ranges::count_if(
        state.compared, [](const auto& result) { return !result.runs_ms.empty(); });
    ui::dim_text(
        fmt::format("Comparing, in random order: {} of {} allocators have a time. Each "
                    "bar becomes final with the last of {} runs.",
                    timed, state.compared.size(), state.compared.front().settings.runs));
  }
  // The button is above the table, which may be longer than the panel.
  if (ui::button(state, "Copy CSV", false, !running))
    ImGui::SetClipboardText(bench::to_csv(bench::flat_table(state.compared)).c_str());
  ImGui::SameLine();
  if (ui::button(state, "Copy markdown", false, !running))
    ImGui::SetClipboardText(bench::to_markdown(bench::slowdown_table(state.compared)).c_str());
  std::vector<CompareRow> rows = compare_rows(state.compared, running);
  if (!running) {
    ui::styled_text(fonts().bold, state.places.texts["verdict"] = compare_verdict(rows));
    ui::wrapped_text(compare_warning(rows), colour::warning);
  }
  for (const bench::Result& result : state.compared) {
    if (!result.pool_bytes || !result.requests) continue;
    ui::dim_text(state.places.texts["memory"] =
                     fmt::format("Pool of {} for each; at most {} requested at once.",
                                 bench::bytes_text(*result.pool_bytes),
                                 bench::bytes_text(result.requests->high_water_bytes)));
    break;
  }
  ui::cpu_notice(state);
  ui::dim_text(explanation);
  draw_table(state, std::move(rows));
}

}  // namespace heapwood::viewer
