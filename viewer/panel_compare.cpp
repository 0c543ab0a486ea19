// SPDX-License-Identifier: MIT
// The slowdown table: every allocator on the scene shown.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "viewer/compare_rows.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results) {
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
    row.best = best && &r == candidates[*best];
    if (r.status == bench::Status::ok && r.median_ms()) {
      row.ms = bench::figure_text(*r.median_ms());
      row.slowdown = r.slowdown ? bench::ratio_text(*r.slowdown) : bench::missing;
      row.spread = fmt::format(
          "{:.1f}%", 100 * (*bench::quantile(r.runs_ms, 0.75) - *bench::quantile(r.runs_ms, 0.25)) /
                         *r.median_ms());
      row.key_ms = *r.median_ms();
    } else {
      row.ms = r.wrong_tree ? "wrong tree" : bench::name(r.status);
      row.slowdown = row.spread = bench::missing;
      row.key_ms = std::numeric_limits<double>::infinity();
    }
    row.external = r.at_end ? bench::figure_text(r.at_end->external) : bench::missing;
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
    if (column == 4) return a.key_external < b.key_external;
    return a.key_ms < b.key_ms;  // slowdowns order like times: the divisor is the same
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const CompareRow& a, const CompareRow& b) {
    return down ? before(b, a) : before(a, b);
  });
}

void draw_row(const CompareRow& row) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (row.best) ImGui::PushFont(fonts().bold);
  const ImVec4 shade = row.best                                  ? colour::accent
                       : row.result->status == bench::Status::ok ? colour::text
                                                                 : colour::warning;
  ImGui::TextColored(shade, "%s", row.allocator.c_str());
  if (!row.result->reason.empty()) ui::hint(row.result->reason.c_str());
  for (const std::string* text : {&row.ms, &row.slowdown, &row.spread, &row.external}) {
    ImGui::TableNextColumn();
    const float width = ImGui::CalcTextSize(text->c_str()).x;
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                         std::max(0.0f, ImGui::GetContentRegionAvail().x - width));
    ImGui::TextColored(shade, "%s", text->c_str());
    if (!row.result->reason.empty()) ui::hint(row.result->reason.c_str());
  }
  if (row.best) ImGui::PopFont();
}

}  // namespace

void draw_compare_section(State& state) {
  if (!ui::section("Compare")) return;
  if (state.compared.empty()) {
    ui::dim_text(
        "'Compare all' builds this scene with every allocator in turn and shows how much slower "
        "each is than "
        "AtomicMalloc, which only increments a counter.");
    return;
  }
  // Above the table, because it may be longer than the panel.
  if (ui::button(state, "Copy CSV"))
    ImGui::SetClipboardText(bench::to_csv(bench::flat_table(state.compared)).c_str());
  ImGui::SameLine();
  if (ui::button(state, "Copy markdown")) {
    ImGui::SetClipboardText(bench::to_markdown(bench::slowdown_table(state.compared)).c_str());
  }
  constexpr ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_RowBg |
                                    ImGuiTableFlags_BordersInnerH |
                                    ImGuiTableFlags_SizingStretchProp;
  std::vector<CompareRow> rows = compare_rows(state.compared);
  if (ImGui::BeginTable("slowdowns", 5, flags)) {
    ImGui::TableSetupColumn("allocator", ImGuiTableColumnFlags_None, 2.5f);
    ImGui::TableSetupColumn("ms", ImGuiTableColumnFlags_DefaultSort, 1.3f);
    ImGui::TableSetupColumn("slower", ImGuiTableColumnFlags_None, 1.4f);
    ImGui::TableSetupColumn("spread", ImGuiTableColumnFlags_NoSort, 1.4f);
    ImGui::TableSetupColumn("ext. frag", ImGuiTableColumnFlags_None, 1.5f);
    ImGui::TableHeadersRow();
    sort(rows);
    for (const CompareRow& row : rows) draw_row(row);
    ImGui::EndTable();
  }
  ui::dim_text(
      "* lower bound: cannot free, never marked fastest. An allocator is marked fastest only if "
      "its "
      "quartiles overlap no other's. slower: time / AtomicMalloc's time. spread: interquartile "
      "range "
      "/ median. ext. frag: 1 - largest free region / all free bytes.");
}

}  // namespace heapwood::viewer
