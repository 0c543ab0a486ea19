// SPDX-License-Identifier: MIT
// The Compare tab: the slowdown table of every allocator on the scene shown, and the plot of
// slowdown or time over the size of the pool.
#include <tuple>
#include <utility>

#include "bench/program/version.hpp"
#include "bench/results/bench_table.hpp"
#include "viewer/comparison.hpp"
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

void sort(std::vector<CompareRow>& rows) {
  const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (!specs || specs->SpecsCount == 0) return;
  const int column = specs->Specs[0].ColumnIndex;
  const bool down = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  std::stable_sort(rows.begin(), rows.end(), [&](const CompareRow& one, const CompareRow& other) {
    const CompareRow &a = down ? other : one, &b = down ? one : other;
    if (column == 0) return a.allocator < b.allocator;
    if (column == 5) return a.key_external < b.key_external;
    return a.key_ms < b.key_ms;  // slowdowns order like times: the divisor is the same
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
  ui::fill(at, {std::max(x(row.key_ms), at.x + 2), at.y + height},
           row.best ? ImGui::GetColorU32(colour::accent) : IM_COL32(120, 150, 170, 255), 3);
  const std::vector<double>& ms = row.result->runs_ms;
  ui::fill({x(*bench::quantile(ms, 0.25)), at.y - 2},
           {x(*bench::quantile(ms, 0.75)) + 1, at.y + height + 2}, ui::white(70), 2);
}

// A click chooses the allocator as A, with Shift as B.
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
constexpr const char* columns_text =
    "slower: time / AtomicMalloc's time. spread: interquartile range / median. time: median and "
    "middle half. ext. frag: 1 - largest free region / all free bytes after the build.";

constexpr struct {
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

void draw_row(State& state, const CompareRow& row, double slowest, bool with_registers) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (row.best) ImGui::PushFont(fonts().bold);
  const ImVec4 shade = row.waiting                               ? colour::dim
                       : row.best                                ? colour::accent
                       : row.result->status == bench::Status::ok ? colour::text
                                                                 : colour::warning;
  draw_allocator(state, row, shade);
  ImGui::TableNextColumn();
  draw_bar(row, slowest);
  for (const std::string* text :
       {&row.ms, &row.slowdown, &row.spread, &row.external, &row.registers}) {
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

void draw_table(State& state) {
  std::vector<CompareRow> rows =
      compare_rows(state.compared, is_running(state, JobSpec::Kind::compare));
  const bool with_registers = std::any_of(
      rows.begin(), rows.end(), [](const CompareRow& row) { return !row.registers.empty(); });
  const int count = with_registers ? 7 : 6;
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
  double slowest = 0;
  for (const CompareRow& row : rows) {
    if (row.result->status == bench::Status::ok && row.result->median_ms())
      slowest = std::max(slowest, *bench::quantile(row.result->runs_ms, 0.75));
  }
  for (const CompareRow& row : rows) draw_row(state, row, slowest, with_registers);
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
  if (ui::button(state, "Copy markdown", false, !running))
    ImGui::SetClipboardText(bench::to_markdown(bench::slowdown_table(state.compared)).c_str());
  ImGui::SameLine();
  if (ui::button(state, "Save PNG", false, !running)) {
    const float em = ImGui::GetFontSize();
    state.shots.panel = {
        free_name(state.compared.front().scene + "-compared"), static_cast<int>(em * 58),
        static_cast<int>(em * (11 + 1.45f * static_cast<float>(state.compared.size()))), 0, true};
  }
  ui::hint("Saves this table as a picture");
  ui::cpu_notice(state);
  ui::dim_text(explanation);
  draw_table(state);
}

void draw_summary(State& state, const Area& area) {
  if (ui::begin_area("summary", area,
                     ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                         ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoInputs) &&
      !state.compared.empty()) {
    const bench::Result& first = state.compared.front();
    ui::styled_text(fonts().large,
                    fmt::format("{}: time to build a k-d tree, by allocator", first.scene));
    ui::dim_text(fmt::format("{} triangles, {} refs, pool {}, median of {} runs; {} ({}); {}",
                             bench::count_text(first.triangles), kdtree::name(first.settings.refs),
                             first.settings.pool.text, first.settings.runs,
                             state.choice.device.name, state.choice.device.key,
                             bench::version_line()));
    ui::cpu_notice(state);
    draw_table(state);
    ui::dim_text(std::string(explanation) + " " + columns_text);
  }
  ImGui::End();
}

namespace {

// A and B as elsewhere, AtomicMalloc grey, the others apart from each other.
ImVec4 line_colour(const State& state, const SweepPlot::Line& line, std::size_t index) {
  const auto is = [&](const registry::RegisteredAllocator* entry) {
    return entry && line.allocator == entry->traits->id;
  };
  if (is(state.choice.allocator)) return colour::accent;
  if (is(state.choice.other)) return colour::second;
  if (line.allocator == "atomic") return ImColor(150, 156, 162);
  const float hue = 0.618034f * static_cast<float>(index);
  return ImColor::HSV(hue - std::floor(hue), 0.45f, 0.85f);
}

std::string value_text(double value, bool milliseconds) {
  return milliseconds ? bench::figure_text(value) + " ms" : bench::ratio_text(value);
}

// Where the sweep is drawn, and its scales: pools at equal distances, values logarithmic.
struct SweepFrame {
  const SweepPlot& plot;
  bool milliseconds;
  ImVec2 at, size;
  double low, high;

  float x(std::size_t pool) const {
    return at.x +
           size.x * (static_cast<float>(pool) + 0.5f) / static_cast<float>(plot.pools.size());
  }
  float y(double value) const {
    const double share = std::log(value / low) / std::log(high / low);
    return at.y + size.y * static_cast<float>(1 - share);
  }
  // Values that are easy to read, as far as their labels fit.
  void draw_scale() const {
    const float em = ImGui::GetFontSize();
    float last = at.y + size.y + 2 * em;
    for (double power = 1e-3; power < 1e9; power *= 10) {
      for (const double digit : {1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0}) {
        const double value = power * digit;
        if (value < low || value > high || last - y(value) < 1.4f * em) continue;
        last = y(value);
        ui::line({at.x, last}, {at.x + size.x, last}, ui::white(20));
        const std::string label = fmt::format("{:.3g}{}", value, milliseconds ? " ms" : "x");
        ui::text_at({at.x - em * 0.5f - ui::width_of(label), last - em / 2}, label,
                    ImGui::GetColorU32(ImGuiCol_TextDisabled));
      }
    }
  }
  void draw_pools() const {
    const float em = ImGui::GetFontSize(), top = at.y + size.y + em * 0.3f;
    for (std::size_t i = 0; i < plot.pools.size(); ++i) {
      const SweepPlot::Pool& pool = plot.pools[i];
      const std::string bytes = pool.bytes ? bench::size_text(*pool.bytes) : "";
      ui::text_at({x(i) - ui::width_of(pool.text) / 2, top}, pool.text);
      ui::text_at({x(i) - ui::width_of(bytes) / 2, top + em * 1.2f}, bytes,
                  ImGui::GetColorU32(ImGuiCol_TextDisabled));
    }
  }
  // Crosses of several allocators are next to each other, about the pool's place.
  ImVec2 place_of(std::size_t line, std::size_t pool) const {
    if (const auto& value = plot.lines[line].points[pool].value) return {x(pool), y(*value)};
    float before = 0, all = 0;
    for (std::size_t other = 0; other < plot.lines.size(); ++other) {
      const bool cross = !plot.lines[other].points[pool].value;
      before += cross && other < line ? 1.0f : 0.0f;
      all += cross ? 1.0f : 0.0f;
    }
    const float em = ImGui::GetFontSize(), offset = em * 0.8f * (before - (all - 1) / 2);
    const float max_offset = size.x * 0.45f / static_cast<float>(plot.pools.size());
    return {x(pool) + std::clamp(offset, -max_offset, max_offset), at.y - em * 0.8f};
  }
  std::string tell(std::size_t line, std::size_t pool) const {
    const SweepPlot::Point& point = plot.lines[line].points[pool];
    std::string text = fmt::format("{}, pool {}", plot.lines[line].label, plot.pools[pool].text);
    if (plot.pools[pool].bytes) text += ": " + bench::bytes_text(*plot.pools[pool].bytes);
    if (point.value)
      return text + fmt::format("\n{}, middle half {} to {}",
                                value_text(*point.value, milliseconds),
                                value_text(*point.lower_quartile, milliseconds),
                                value_text(*point.upper_quartile, milliseconds));
    return text + fmt::format("\n{}: {}", bench::name(point.result->status), point.result->reason);
  }
};

bool is_drawn(const SweepPlot::Point& point) {
  return point.result && (point.value || !is_waiting(*point.result));
}

// Dots with quartiles, joined; a cross above the plot for a pool without a complete tree.
void draw_lines(const State& state, const SweepFrame& frame) {
  const SweepPlot& plot = frame.plot;
  const float em = ImGui::GetFontSize(), dot = em * 0.22f;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  std::size_t nearest = 0, nearest_pool = 0;
  float distance = 1.5f * em;
  bool over = false;
  for (std::size_t l = 0; ImGui::IsItemHovered() && l < plot.lines.size(); ++l) {
    for (std::size_t p = 0; p < plot.pools.size(); ++p) {
      const ImVec2 place = frame.place_of(l, p);
      const float to_mouse = std::hypot(place.x - mouse.x, place.y - mouse.y);
      if (!is_drawn(plot.lines[l].points[p]) || to_mouse >= distance) continue;
      over = true;
      nearest = l;
      nearest_pool = p;
      distance = to_mouse;
    }
  }
  for (std::size_t l = 0; l < plot.lines.size(); ++l) {
    const SweepPlot::Line& line = plot.lines[l];
    const ImU32 shade = ImGui::GetColorU32(line_colour(state, line, l));
    const float thick = over && nearest == l ? 3.0f : 1.6f;
    for (std::size_t p = 0; p < plot.pools.size(); ++p) {
      const SweepPlot::Point& point = line.points[p];
      if (!is_drawn(point)) continue;
      const ImVec2 here = frame.place_of(l, p);
      if (!point.value) {
        ui::line({here.x - dot, here.y - dot}, {here.x + dot, here.y + dot}, shade, 2);
        ui::line({here.x - dot, here.y + dot}, {here.x + dot, here.y - dot}, shade, 2);
        continue;
      }
      ui::line({here.x, frame.y(*point.lower_quartile)}, {here.x, frame.y(*point.upper_quartile)},
               shade, thick);
      ImGui::GetWindowDrawList()->AddCircleFilled(here, dot, shade);
      if (p > 0 && line.points[p - 1].value) ui::line(frame.place_of(l, p - 1), here, shade, thick);
    }
  }
  if (over) ImGui::SetTooltip("%s", frame.tell(nearest, nearest_pool).c_str());
}

void draw_plot(State& state) {
  const SweepPlot plot = sweep_plot(state.swept, state.sweep_times);
  const float em = ImGui::GetFontSize(), left = em * 4.2f, above = em * 1.6f, below = em * 2.8f;
  const ui::Plot area(state, "sweep plot", {ImGui::GetContentRegionAvail().x, em * 15});
  // Equal values need a scale, too.
  const double low = plot.low > 0 ? plot.low / 1.1 : 0.9;
  const SweepFrame frame{plot,
                         state.sweep_times,
                         {area.at.x + left, area.at.y + above},
                         {std::max(area.size.x - left, 1.0f), area.size.y - above - below},
                         low,
                         std::max(plot.high * 1.1, low * 1.2)};
  ui::fill(frame.at, {frame.at.x + frame.size.x, frame.at.y + frame.size.y}, ui::white(7), 4);
  frame.draw_pools();
  if (plot.any_without_tree)
    ui::text_at({area.at.x, area.at.y + em * 0.3f}, "no tree",
                ImGui::GetColorU32(ImGuiCol_TextDisabled));
  frame.draw_scale();
  draw_lines(state, frame);
  for (std::size_t l = 0; l < plot.lines.size(); ++l) {
    const std::string name = plot.lines[l].label + (plot.lines[l].lower_bound ? " *" : "");
    if (l > 0) ui::flow(ui::width_of(name));
    ui::text(name, line_colour(state, plot.lines[l], l));
    state.places.texts["sweep lines"] += name + "; ";
  }
}

}  // namespace

void draw_sweep_section(State& state) {
  if (!ui::section("Pool sweep")) return;
  Choice& choice = state.choice;
  ui::field("pools");
  ImGui::SetNextItemWidth(-ImGui::GetFontSize() * 5.5f);
  const bool entered =
      ImGui::InputText("##pools", &choice.sweep_text, ImGuiInputTextFlags_EnterReturnsTrue);
  state.places.note("pools");
  ui::hint(
      "Sizes as for 'heapwood bench --pool': live:4 is four times the peak bytes in use, "
      "20x twenty times the root node's array, 64M a size, fast enough for every allocator.");
  ImGui::SameLine();
  const bool pressed = build_button(state, "Sweep", true, ui::share_of_line(1),
                                    "Builds this scene in each of these pools");
  if (entered || pressed) start_sweep(state);
  ui::wrapped_text(state.places.texts["sweep problem"] = choice.sweep_problem, colour::error);
  ui::checkbox(state, "all allocators", choice.sweep_all, "Otherwise A, B and AtomicMalloc");
  if (state.swept.empty())
    return ui::dim_text(
        "'Sweep' builds this scene in each of these pools and shows how much a small pool slows "
        "each allocator down.");
  ImGui::SameLine();
  ui::checkbox(state, "times", state.sweep_times, "Milliseconds instead of slowdowns");
  ImGui::SameLine();
  if (ui::button(state, "Copy sweep", false, !is_running(state, JobSpec::Kind::sweep)))
    ImGui::SetClipboardText(bench::to_markdown(bench::pool_table(state.swept)).c_str());
  ui::hint("Copies the figures as a Markdown table");
  ui::cpu_notice(state);
  draw_plot(state);
  ui::dim_text(
      "Slowdown: over AtomicMalloc's shortest build in any of these pools. Dots: medians; lines "
      "through them: the middle half. x: no complete tree in this pool. * cannot free.");
  // The table above may be longer than the panel.
  if (std::exchange(state.scroll_to_sweep, false)) ImGui::SetScrollHereY(1);
}

}  // namespace heapwood::viewer
