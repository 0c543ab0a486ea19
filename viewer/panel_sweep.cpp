// SPDX-License-Identifier: MIT
// Slowdown or time over the size of the pool, for the chosen allocators.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "viewer/comparison.hpp"
#include "viewer/panels.hpp"
#include "viewer/sweep_plot.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

// A and B as elsewhere, AtomicMalloc grey, the others apart from each other.
ImU32 line_colour(const State& state, const SweepPlot::Line& line, std::size_t index) {
  const auto is = [&](const registry::RegisteredAllocator* entry) {
    return entry && line.allocator == entry->traits->id;
  };
  if (is(state.choice.allocator)) return ImGui::GetColorU32(colour::accent);
  if (is(state.choice.other)) return ImGui::GetColorU32(colour::second);
  if (line.allocator == "atomic") return IM_COL32(150, 156, 162, 255);
  float r = 0, g = 0, b = 0;
  const float hue = 0.618034f * static_cast<float>(index);
  ImGui::ColorConvertHSVtoRGB(hue - std::floor(hue), 0.45f, 0.85f, r, g, b);
  return ImGui::GetColorU32({r, g, b, 1});
}

// Where the plot is, and its scales: pools at equal distances, values logarithmic.
struct Frame {
  ImVec2 at, size;
  std::size_t pools;
  double low, high;
  float x(std::size_t pool) const {
    return at.x + size.x * (static_cast<float>(pool) + 0.5f) / static_cast<float>(pools);
  }
  float y(double value) const {
    const double share = std::log(value / low) / std::log(high / low);
    return at.y + size.y * static_cast<float>(1 - share);
  }
};

std::string value_text(double value, bool milliseconds) {
  return milliseconds ? bench::figure_text(value) + " ms" : bench::ratio_text(value);
}

// Values that are easy to read, as far as their labels fit.
void draw_scale(const Frame& frame, bool milliseconds) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float em = ImGui::GetFontSize();
  float last = frame.at.y + frame.size.y + 2 * em;
  for (double power = 1e-3; power < 1e9; power *= 10) {
    for (const double digit : {1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0}) {
      const double value = power * digit;
      if (value < frame.low || value > frame.high) continue;
      const float y = frame.y(value);
      if (last - y < 1.4f * em) continue;
      last = y;
      draw.AddLine({frame.at.x, y}, {frame.at.x + frame.size.x, y}, IM_COL32(255, 255, 255, 20));
      const std::string label =
          milliseconds ? fmt::format("{:.3g} ms", value) : fmt::format("{:.3g}x", value);
      draw.AddText({frame.at.x - em * 0.5f - ImGui::CalcTextSize(label.c_str()).x, y - em / 2},
                   ImGui::GetColorU32(ImGuiCol_TextDisabled), label.c_str());
    }
  }
}

void draw_pools(const Frame& frame, const std::vector<SweepPlot::Pool>& pools) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float em = ImGui::GetFontSize(), bottom = frame.at.y + frame.size.y;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const std::string size = pools[i].bytes ? bench::size_text(*pools[i].bytes) : "";
    float y = bottom + em * 0.3f;
    for (const std::string& text : {pools[i].text, size}) {
      draw.AddText({frame.x(i) - ImGui::CalcTextSize(text.c_str()).x / 2, y},
                   ImGui::GetColorU32(y < bottom + em ? ImGuiCol_Text : ImGuiCol_TextDisabled),
                   text.c_str());
      y += em * 1.2f;
    }
  }
}

std::string tell(const SweepPlot& plot, std::size_t line, std::size_t pool, bool milliseconds) {
  const SweepPlot::Point& point = plot.lines[line].points[pool];
  std::string text = fmt::format("{}, pool {}", plot.lines[line].label, plot.pools[pool].text);
  if (plot.pools[pool].bytes) text += ": " + bench::bytes_text(*plot.pools[pool].bytes);
  if (point.value) {
    return text + fmt::format("\n{}, middle half {} to {}", value_text(*point.value, milliseconds),
                              value_text(*point.lower_quartile, milliseconds),
                              value_text(*point.upper_quartile, milliseconds));
  }
  return point.result ? text + fmt::format("\n{}: {}", bench::name(point.result->status),
                                           point.result->reason)
                      : text;
}

struct Nearest {
  std::size_t line = 0, pool = 0;
  float distance = 1e9f;
};

// Dots with quartiles, joined; a cross above the plot for a pool without a complete tree.
void draw_lines(State& state, const SweepPlot& plot, const Frame& frame) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float em = ImGui::GetFontSize(), dot = em * 0.22f;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  Nearest nearest;
  const auto place_of = [&](std::size_t l, std::size_t p) {
    const SweepPlot::Point& point = plot.lines[l].points[p];
    // Crosses of several allocators stand beside each other, about the pool's place.
    float before = 0, all = 0;
    for (std::size_t other = 0; other < plot.lines.size(); ++other) {
      const bool cross = !plot.lines[other].points[p].value;
      before += cross && other < l ? 1.0f : 0.0f;
      all += cross ? 1.0f : 0.0f;
    }
    const float beside = em * 0.8f * (before - (all - 1) / 2);
    const float max_offset = frame.size.x * 0.45f / static_cast<float>(frame.pools);
    return point.value ? ImVec2{frame.x(p), frame.y(*point.value)}
                       : ImVec2{frame.x(p) + std::clamp(beside, -max_offset, max_offset),
                                frame.at.y - em * 0.8f};
  };
  for (std::size_t l = 0; l < plot.lines.size(); ++l) {
    for (std::size_t p = 0; p < plot.pools.size(); ++p) {
      const SweepPlot::Point& point = plot.lines[l].points[p];
      if (!point.result || (!point.value && is_waiting(*point.result))) continue;
      const ImVec2 place = place_of(l, p);
      const float distance = std::hypot(place.x - mouse.x, place.y - mouse.y);
      if (distance < nearest.distance) nearest = {l, p, distance};
    }
  }
  const bool over = ImGui::IsItemHovered() && nearest.distance < 1.5f * em;
  for (std::size_t l = 0; l < plot.lines.size(); ++l) {
    const SweepPlot::Line& line = plot.lines[l];
    const ImU32 shade = line_colour(state, line, l);
    const float thick = over && nearest.line == l ? 3.0f : 1.6f;
    for (std::size_t p = 0; p < plot.pools.size(); ++p) {
      const SweepPlot::Point& point = line.points[p];
      if (!point.result || (!point.value && is_waiting(*point.result))) continue;
      const ImVec2 here = place_of(l, p);
      if (!point.value) {
        draw.AddLine({here.x - dot, here.y - dot}, {here.x + dot, here.y + dot}, shade, 2);
        draw.AddLine({here.x - dot, here.y + dot}, {here.x + dot, here.y - dot}, shade, 2);
        continue;
      }
      draw.AddLine({here.x, frame.y(*point.lower_quartile)},
                   {here.x, frame.y(*point.upper_quartile)}, shade, thick);
      draw.AddCircleFilled(here, dot, shade);
      if (p > 0 && line.points[p - 1].value) draw.AddLine(place_of(l, p - 1), here, shade, thick);
    }
  }
  if (over)
    ImGui::SetTooltip("%s", tell(plot, nearest.line, nearest.pool, state.sweep_times).c_str());
}

void draw_plot(State& state) {
  const SweepPlot plot = sweep_plot(state.swept, state.sweep_times);
  const float em = ImGui::GetFontSize(), left = em * 4.2f, above = em * 1.6f, below = em * 2.8f;
  const float width = ImGui::GetContentRegionAvail().x, height = em * 15;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("sweep plot", {width, height});
  state.places.note("sweep plot");
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  Frame frame{{at.x + left, at.y + above},
              {std::max(width - left, 1.0f), height - above - below},
              plot.pools.size(),
              plot.low,
              plot.high};
  draw.AddRectFilled(frame.at, {frame.at.x + frame.size.x, frame.at.y + frame.size.y},
                     IM_COL32(255, 255, 255, 7), 4);
  draw_pools(frame, plot.pools);
  if (plot.any_without_tree)
    draw.AddText({at.x, at.y + em * 0.3f}, ImGui::GetColorU32(ImGuiCol_TextDisabled), "no tree");
  // Equal values need a scale, too.
  frame.low = plot.low > 0 ? plot.low / 1.1 : 0.9;
  frame.high = std::max(plot.high * 1.1, frame.low * 1.2);
  draw_scale(frame, state.sweep_times);
  draw_lines(state, plot, frame);
  std::string shown;
  for (std::size_t l = 0; l < plot.lines.size(); ++l) {
    const std::string name = plot.lines[l].label + (plot.lines[l].lower_bound ? " *" : "");
    if (l > 0) ui::flow(ImGui::CalcTextSize(name.c_str()).x);
    ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(line_colour(state, plot.lines[l], l)), "%s",
                       name.c_str());
    shown += name + "; ";
  }
  state.places.texts["sweep lines"] = shown;
}

}  // namespace

void draw_sweep_section(State& state) {
  if (!ui::section("Pool sweep")) return;
  const float em = ImGui::GetFontSize();
  ui::field("pools");
  ImGui::SetNextItemWidth(-em * 5.5f);
  const bool entered =
      ImGui::InputText("##pools", &state.choice.sweep_text, ImGuiInputTextFlags_EnterReturnsTrue);
  state.places.note("pools");
  ui::hint(
      "Sizes as for 'heapwood bench --pool': live:4 is four times the peak bytes in use, "
      "20x twenty times the root node's array, 64M a size, fast enough for every allocator.");
  ImGui::SameLine();
  const bool pressed = build_button(state, "Sweep", true, ImGui::GetContentRegionAvail().x,
                                    "Builds this scene in each of these pools");
  if (entered || pressed) start_sweep(state);
  ui::wrapped_text(state.choice.sweep_problem, colour::error);
  state.places.texts["sweep problem"] = state.choice.sweep_problem;
  ImGui::Checkbox("all allocators", &state.choice.sweep_all);
  state.places.note("all allocators");
  ui::hint("Otherwise A, B and AtomicMalloc");
  if (state.swept.empty()) {
    return ui::dim_text(
        "'Sweep' builds this scene in each of these pools and shows how much a small pool slows "
        "each allocator down.");
  }
  ImGui::SameLine();
  ImGui::Checkbox("times", &state.sweep_times);
  state.places.note("times");
  ui::hint("Milliseconds instead of slowdowns");
  const bool complete = !is_running(state, JobSpec::Kind::sweep);
  ImGui::SameLine();
  if (ui::button(state, "Copy sweep", false, complete))
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
