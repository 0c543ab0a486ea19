// SPDX-License-Identifier: MIT
// The slowdown table: every allocator on the scene shown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "bench/program/version.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "viewer/compare_rows.hpp"
#include "viewer/comparison.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

double spread_of(const std::vector<double>& ms) {
  const std::optional<double> median = bench::median(ms);
  if (!median || *median <= 0) return 0;
  return (*bench::quantile(ms, 0.75) - *bench::quantile(ms, 0.25)) / *median;
}

std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results, bool running) {
  std::vector<const bench::Result*> candidates;
  std::vector<const std::vector<double>*> times;
  for (const bench::Result& r : results) {
    if (r.status != bench::Status::ok || r.lower_bound || !r.median_ms()) continue;
    candidates.push_back(&r);
    times.push_back(&r.runs_ms);
  }
  const std::optional<std::size_t> best = bench::clearly_fastest(times);
  std::vector<CompareRow> rows;
  for (const bench::Result& r : results) {
    CompareRow row;
    row.result = &r;
    row.allocator = r.label + (r.lower_bound ? " *" : "");
    row.best = !running && best && &r == candidates[*best];
    row.waiting = running && is_waiting(r);
    if (r.status == bench::Status::ok && r.median_ms()) {
      row.ms = bench::figure_text(*r.median_ms());
      row.slowdown = r.slowdown ? bench::ratio_text(*r.slowdown) + "x" : bench::missing;
      const double spread = spread_of(r.runs_ms);
      row.noisy = !running && spread > max_spread;
      row.best = row.best && !row.noisy;
      row.spread = fmt::format("{:.1f}%", 100 * spread);
      row.key_ms = *r.median_ms();
    } else {
      row.ms = r.wrong_tree ? "wrong tree" : row.waiting ? "waiting" : bench::name(r.status);
      row.slowdown = row.spread = bench::missing;
      row.key_ms = std::numeric_limits<double>::infinity();
    }
    row.external = r.at_end ? bench::figure_text(r.at_end->external) : bench::missing;
    if (r.kernel)
      row.registers =
          fmt::format("{}, {}", r.kernel->registers, bench::bytes_text(r.kernel->local_bytes));
    row.key_external = r.at_end ? r.at_end->external : std::numeric_limits<double>::infinity();
    rows.push_back(row);
  }
  return rows;
}

namespace {

void sort(std::vector<CompareRow>& rows) {
  const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (!specs || specs->SpecsCount == 0) return;
  const int column = specs->Specs[0].ColumnIndex;
  const bool down = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  const auto before = [&](const CompareRow& a, const CompareRow& b) {
    if (column == 0) return a.allocator < b.allocator;
    if (column == 5) return a.key_external < b.key_external;
    return a.key_ms < b.key_ms;  // slowdowns order like times: the divisor is the same
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const CompareRow& a, const CompareRow& b) {
    return down ? before(b, a) : before(a, b);
  });
}

// The median, and the middle half of the times.
void draw_bar(const CompareRow& row, double slowest) {
  const float width = ImGui::GetContentRegionAvail().x, height = ImGui::GetFontSize() * 0.5f;
  ImVec2 at = ImGui::GetCursorScreenPos();
  at.y += (ImGui::GetTextLineHeight() - height) / 2;
  ImGui::Dummy({width, ImGui::GetTextLineHeight()});
  if (row.result->status != bench::Status::ok || !std::isfinite(row.key_ms) || slowest <= 0) return;
  const auto x = [&](double ms) { return at.x + width * static_cast<float>(ms / slowest); };
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const ImU32 shade = row.best ? ImGui::GetColorU32(colour::accent) : IM_COL32(120, 150, 170, 255);
  draw.AddRectFilled(at, {std::max(x(row.key_ms), at.x + 2), at.y + height}, shade, 3);
  draw.AddRectFilled({x(*bench::quantile(row.result->runs_ms, 0.25)), at.y - 2},
                     {x(*bench::quantile(row.result->runs_ms, 0.75)) + 1, at.y + height + 2},
                     IM_COL32(255, 255, 255, 70), 2);
}

// A click chooses the allocator as A, with Shift as B.
void draw_name(State& state, const CompareRow& row, const ImVec4& shade) {
  ImGui::PushStyleColor(ImGuiCol_Text, shade);
  const registry::RegisteredAllocator* entry = registry::find(row.result->allocator);
  const bool a = entry == state.choice.allocator, b = entry == state.choice.other;
  if (ImGui::Selectable(row.allocator.c_str(), a || b, ImGuiSelectableFlags_SpanAllColumns)) {
    if (entry && !why_not_buildable(state, *entry))
      (ImGui::GetIO().KeyShift ? state.choice.other : state.choice.allocator) = entry;
  }
  ImGui::PopStyleColor();
  state.places.note("row " + row.result->allocator);
  for (const auto& [chosen, letter, tint] :
       {std::tuple{a, "A", colour::accent}, std::tuple{b, "B", colour::second}}) {
    if (!chosen) continue;
    ImGui::SameLine(0, ImGui::GetFontSize() * 0.5f);
    ImGui::TextColored(tint, "%s", letter);
  }
  std::string text = row.result->reason + (row.result->reason.empty() ? "" : "\n");
  if (entry) text += fmt::format("{}. {}\n", entry->traits->paper, entry->traits->note);
  ui::hint((text + "Click: allocator A. Shift-click: B.").c_str());
}

constexpr const char* explanation =
    "* cannot free: a lower bound, never marked fastest. Green: the fastest that frees, if its "
    "quartiles overlap no other's and its spread is at most 25%.";
constexpr const char* columns_text =
    "slower: time / AtomicMalloc's time. spread: interquartile range / median. time: median and "
    "middle half. ext. frag: 1 - largest free region / all free bytes after the build.";

constexpr struct Column {
  const char* name;
  ImGuiTableColumnFlags flags;
  float width;
  const char* hint;
} columns[] = {
    {"allocator", ImGuiTableColumnFlags_None, 2.5f, "* cannot free: a lower bound"},
    {"time", ImGuiTableColumnFlags_NoSort, 2.0f, "Bar: median. Light part: the middle half"},
    {"ms", ImGuiTableColumnFlags_DefaultSort, 1.3f, "Median time of a build"},
    {"slower", ImGuiTableColumnFlags_None, 1.4f,
     "Time / AtomicMalloc's time. AtomicMalloc only increments a counter and never frees."},
    {"spread", ImGuiTableColumnFlags_NoSort, 1.4f,
     "Interquartile range / median: above 25% the time is too noisy to rank"},
    {"ext. frag", ImGuiTableColumnFlags_None, 1.5f,
     "External fragmentation after the build: 1 - largest free region / all free bytes"},
    {"registers", ImGuiTableColumnFlags_NoSort, 1.7f,
     "Of the build kernel, and its stack per thread"}};

void draw_compare_table(State& state);

void draw_row(State& state, const CompareRow& row, double slowest, bool with_registers) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (row.best) ImGui::PushFont(fonts().bold);
  const ImVec4 shade = row.waiting                               ? colour::dim
                       : row.best                                ? colour::accent
                       : row.result->status == bench::Status::ok ? colour::text
                                                                 : colour::warning;
  draw_name(state, row, shade);
  ImGui::TableNextColumn();
  draw_bar(row, slowest);
  for (const std::string* text :
       {&row.ms, &row.slowdown, &row.spread, &row.external, &row.registers}) {
    if (text == &row.registers && !with_registers) break;
    ImGui::TableNextColumn();
    const float width = ImGui::CalcTextSize(text->c_str()).x;
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                         std::max(0.0f, ImGui::GetContentRegionAvail().x - width));
    const bool noisy = text == &row.spread && row.noisy;
    ImGui::TextColored(noisy ? colour::warning : shade, "%s", text->c_str());
    if (noisy)
      ui::hint(
          "Too noisy to rank: the times of the middle half of the runs differ by more "
          "than a quarter of the median.");
    if (!row.result->reason.empty()) ui::hint(row.result->reason.c_str());
  }
  if (row.best) ImGui::PopFont();
}

}  // namespace

void draw_compare_section(State& state) {
  if (!ui::section("Compare")) return;
  const bool running = is_running(state, JobSpec::Kind::compare);
  if (state.compared.empty()) {
    ui::dim_text(running ? "Loading the scene and finding the pool size."
                         : "'Compare all' builds this scene with every allocator, in random order, "
                           "and shows how much slower each is than AtomicMalloc, which only "
                           "increments a counter.");
    return;
  }
  if (running) {
    const auto timed = std::count_if(state.compared.begin(), state.compared.end(),
                                     [](const auto& result) { return !result.runs_ms.empty(); });
    ui::dim_text(
        fmt::format("Comparing, in random order: {} of {} allocators have a time. Each "
                    "bar becomes final with the last of {} runs.",
                    timed, state.compared.size(), state.compared.front().settings.runs));
  }
  // Above the table, because it may be longer than the panel.
  if (ui::button(state, "Copy CSV", false, !running))
    ImGui::SetClipboardText(bench::to_csv(bench::flat_table(state.compared)).c_str());
  ImGui::SameLine();
  if (ui::button(state, "Copy markdown", false, !running)) {
    ImGui::SetClipboardText(bench::to_markdown(bench::slowdown_table(state.compared)).c_str());
  }
  ImGui::SameLine();
  if (ui::button(state, "Save PNG", false, !running)) save_summary(state, "");
  ui::hint("Saves this table as a picture");
  ui::cpu_notice(state);
  ui::dim_text(explanation);
  draw_compare_table(state);
}

namespace {

void draw_compare_table(State& state) {
  constexpr ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_RowBg |
                                    ImGuiTableFlags_BordersInnerH |
                                    ImGuiTableFlags_SizingStretchProp;
  std::vector<CompareRow> rows =
      compare_rows(state.compared, is_running(state, JobSpec::Kind::compare));
  const bool with_registers = std::any_of(
      rows.begin(), rows.end(), [](const CompareRow& row) { return !row.registers.empty(); });
  if (ImGui::BeginTable("slowdowns", with_registers ? 7 : 6, flags)) {
    const int count = with_registers ? 7 : 6;
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
    double slowest = 0;
    for (const CompareRow& row : rows) {
      if (row.result->status == bench::Status::ok && row.result->median_ms())
        slowest = std::max(slowest, *bench::quantile(row.result->runs_ms, 0.75));
    }
    for (const CompareRow& row : rows) draw_row(state, row, slowest, with_registers);
    ImGui::EndTable();
  }
}

}  // namespace

void draw_summary(State& state, const Area& area) {
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoInputs;
  if (ImGui::Begin("summary", nullptr, flags) && !state.compared.empty()) {
    const bench::Result& first = state.compared.front();
    ImGui::PushFont(fonts().large);
    ImGui::TextUnformatted(
        fmt::format("{}: time to build a k-d tree, by allocator", first.scene).c_str());
    ImGui::PopFont();
    ui::dim_text(fmt::format("{} triangles, {} refs, pool {}, median of {} runs; {} ({}); {}",
                             bench::count_text(first.triangles), kdtree::name(first.settings.refs),
                             first.settings.pool.text, first.settings.runs,
                             state.choice.device.name, state.choice.device.key,
                             bench::version_line()));
    ui::cpu_notice(state);
    draw_compare_table(state);
    ui::dim_text(std::string(explanation) + " " + columns_text);
  }
  ImGui::End();
}

void save_summary(State& state, const std::string& path) {
  if (state.compared.empty())
    return state.add_message(Message::Kind::warning,
                             "Nothing has been compared yet: press Compare all (C) first.");
  const float em = ImGui::GetFontSize();
  const auto rows = static_cast<float>(state.compared.size());
  Screenshots::Panel panel;
  panel.path = path.empty() ? free_name(state.compared.front().scene + "-compared") : path;
  panel.width = static_cast<int>(em * 58);
  panel.height = static_cast<int>(em * (11 + 1.45f * rows));
  panel.summary = true;
  state.shots.panel = panel;
}

}  // namespace heapwood::viewer
