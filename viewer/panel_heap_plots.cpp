// SPDX-License-Identifier: MIT
// Plots next to the heap maps: memory and fragmentation over the build, and nodes by depth, built
// so far and in total.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

// Height in a plot, 0 to 1. Bytes have a logarithmic scale, down to a 256th of the maximum: live
// blocks are a small part of what a scattering allocator has touched.
double height_of_bytes(double bytes, double maximum) {
  constexpr double octaves = 8;
  return bytes > 0 ? 1 + std::log2(bytes / maximum) / octaves : 0;
}
double height_of_share(double share, double) { return share; }

// Value at each point of the curves; NaN where it is unknown.
struct Line {
  const char* name;
  gl::Rgba8 shade;
  double (*value)(const Recording::Point&);
};

double number(std::uint64_t n) { return static_cast<double>(n); }

constexpr Line memory_lines[] = {
    {"in use",
     {115, 199, 143, 255},
     [](const Recording::Point& p) { return number(p.used_bytes); }},
    {"peak",
     {78, 140, 98, 255},
     [](const Recording::Point& p) { return number(p.high_water_bytes); }},
    {"mark",
     {130, 140, 148, 255},
     [](const Recording::Point& p) { return number(p.pool.mark_bytes); }},
    {"gap", {107, 173, 242, 255}, [](const Recording::Point& p) {
       return number(p.pool.largest_below_bytes);
     }}};
constexpr const char* memory_hint =
    "Requested bytes in use; their peak so far; mark: the highest address reached; gap: the "
    "largest free region "
    "below the mark. Logarithmic, down to a 256th of the highest mark.";

constexpr Line share_lines[] = {{"external",
                                 {242, 189, 92, 255},
                                 [](const Recording::Point& p) { return p.pool.external_below(); }},
                                {"of the pool",
                                 {140, 112, 62, 255},
                                 [](const Recording::Point& p) { return p.pool.external(); }},
                                {"internal", {226, 121, 156, 255}, [](const Recording::Point& p) {
                                   return p.internal.value_or(std::nan(""));
                                 }}};
constexpr const char* share_hint =
    "External: 1 - largest gap / all gaps, below the mark, and of the whole pool. Internal: mean "
    "of (served - "
    "requested) / served over blocks in use; served is the smallest distance to the next block of "
    "any block of "
    "that size, so headers count. Internal is known after the build.";

using Height = double (*)(double value, double maximum);

// One curve. The second recording is dashed.
void plot(const Recording& recording, ImVec2 at, ImVec2 size, double maximum, Height height,
          const Line& line, bool dashed) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float dash = ImGui::GetFontSize() * 0.5f;
  ImVec2 last{};
  bool begun = false;
  for (const Recording::Point& point : recording.points) {
    const double value = line.value(point);
    if (std::isnan(value)) {
      begun = false;
      continue;
    }
    if (recording.in_rounds() && point.time == 0) continue;  // the pool before the first round
    const double x = recording.place_of(point.time);
    const ImVec2 here{at.x + static_cast<float>(x) * size.x,
                      at.y + size.y * (1 - 0.95f * static_cast<float>(std::clamp(
                                                       height(value, maximum), 0.0, 1.0)))};
    const bool gap = dashed && std::fmod(here.x - at.x, dash) > 0.6f * dash;
    if (begun && !gap) draw.AddLine(last, here, packed(line.shade), 1.4f);
    last = here;
    begun = true;
  }
}

// The legend: names of the lines in their colours.
void draw_names(std::span<const Line> lines, const char* hint) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i) ImGui::SameLine();
    const gl::Rgba8 c = lines[i].shade;
    ImGui::TextColored({c.r / 255.0f, c.g / 255.0f, c.b / 255.0f, 1}, "%s", lines[i].name);
    ui::hint(hint);
  }
}

template <class Text>
void tell_values(const HeapView& view, std::span<const Line> lines, double place, const char* hint,
                 Text text) {
  ImGui::BeginTooltip();
  for (const auto& recording : view.recordings) {
    const auto& point = recording->at(recording->time_at(place));
    ImGui::Text("%s, %s", recording->label.c_str(), recording->time_text(point.time).c_str());
    for (const Line& line : lines) {
      const double value = line.value(point);
      if (!std::isnan(value)) ImGui::TextDisabled("  %s %s", line.name, text(value).c_str());
    }
  }
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 24);
  ImGui::TextUnformatted(hint);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

// Dragging in a plot sets the time.
template <class Text>
void draw_curves(State& state, const char* id, ImVec2 size, double maximum, Height height,
                 std::span<const Line> lines, const char* hint, Text text) {
  HeapView& view = state.heap;
  draw_names(lines, hint);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + size.x, at.y + size.y}, IM_COL32(255, 255, 255, 7), 4);
  for (std::size_t i = 0; i < view.recordings.size(); ++i) {
    if (!view.recordings[i]->in_pool) continue;
    for (const Line& line : lines)
      plot(*view.recordings[i], at, size, maximum, height, line, i == 1);
  }
  const float x = at.x + static_cast<float>(view.place) * size.x;
  draw.AddLine({x, at.y}, {x, at.y + size.y}, IM_COL32(255, 255, 255, 110));
  ImGui::InvisibleButton(id, size);
  state.places.note(id);
  const double under = std::clamp((ImGui::GetIO().MousePos.x - at.x) / size.x, 0.0f, 1.0f);
  if (ImGui::IsItemActive()) {
    view.playing = view.watched && view.playing;
    view.place = under;
  }
  if (ImGui::IsItemHovered()) tell_values(view, lines, under, hint, text);
}

void draw_levels(const State& state, const Recording& recording, ImVec2 size) {
  const auto& now = recording.at(state.heap.time(recording)).levels;
  const auto& end = recording.points.back().levels;
  std::uint32_t maximum = 1;
  for (const Recording::Level& level : end) maximum = std::max(maximum, level.inner + level.leaves);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float bar = size.y / static_cast<float>(recording.depth + 1);
  ImGui::InvisibleButton("levels", size);
  const bool hovered = ImGui::IsItemHovered();
  for (unsigned depth = 0; depth <= recording.depth; ++depth) {
    const float y = at.y + bar * static_cast<float>(depth), thick = std::max(1.0f, bar - 1);
    const auto length = [&](std::uint32_t n) {
      return size.x * static_cast<float>(n) / static_cast<float>(maximum);
    };
    const std::uint32_t all = end[depth].inner + end[depth].leaves;
    draw.AddRectFilled({at.x, y}, {at.x + std::max(1.0f, length(all)), y + thick},
                       IM_COL32(255, 255, 255, 16));
    const float inner = length(now[depth].inner), leaves = length(now[depth].leaves);
    draw.AddRectFilled({at.x, y}, {at.x + inner, y + thick}, IM_COL32(104, 196, 134, 255));
    draw.AddRectFilled({at.x + inner, y}, {at.x + inner + leaves, y + thick},
                       IM_COL32(242, 189, 92, 255));
    if (hovered && ImGui::GetIO().MousePos.y >= y && ImGui::GetIO().MousePos.y < y + bar) {
      ImGui::SetTooltip(
          "depth %u: %s inner nodes, %s leaves; %s %s", depth,
          bench::count_text(now[depth].inner).c_str(), bench::count_text(now[depth].leaves).c_str(),
          bench::count_text(all).c_str(), recording.finished ? "at the end" : "so far");
    }
  }
}

// Blocks in use by size, one bar per power of two, of all maps.
void draw_sizes(const HeapView& view, ImVec2 size) {
  std::size_t first = ~std::size_t{0}, last = 0;
  std::uint32_t maximum = 1;
  for (const HeapView::Drawn& one : view.drawn) {
    if (!one.map) continue;
    for (std::size_t k = 0; k < one.map->by_size.size(); ++k) {
      if (one.map->by_size[k] == 0) continue;
      first = std::min(first, k);
      last = std::max(last, k);
      maximum = std::max(maximum, one.map->by_size[k]);
    }
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("sizes", size);
  if (first > last) return;
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const auto maps = static_cast<float>(std::min<std::size_t>(view.recordings.size(), 2));
  const float band = size.y / static_cast<float>(last - first + 1), bar = (band - 1) / maps;
  for (std::size_t k = first; k <= last; ++k) {
    const float y = at.y + band * static_cast<float>(k - first);
    const bool under = ImGui::IsItemHovered() && ImGui::GetIO().MousePos.y >= y &&
                       ImGui::GetIO().MousePos.y < y + band;
    std::string text = fmt::format("blocks of {}:", bench::bytes_text(std::uint64_t{1} << k));
    for (std::size_t i = 0; i < view.recordings.size() && i < 2; ++i) {
      if (!view.drawn[i].map) continue;
      const std::uint32_t count = view.drawn[i].map->by_size[k];
      const float top = y + bar * static_cast<float>(i);
      draw.AddRectFilled({at.x, top},
                         {at.x + size.x * static_cast<float>(count) / static_cast<float>(maximum),
                          top + std::max(1.0f, bar)},
                         i == 0 ? packed(colour::used) : ImGui::GetColorU32(colour::second));
      text += fmt::format("\n  {} {}", view.recordings[i]->label, bench::count_text(count));
    }
    if (under) ImGui::SetTooltip("%s", text.c_str());
  }
}

}  // namespace

void draw_heap_plots(State& state, float width, float height) {
  const auto& recordings = state.heap.recordings;
  const ImGuiStyle& style = ImGui::GetStyle();
  const float text = ImGui::GetTextLineHeight() + 2 * style.ItemSpacing.y;
  const float room = std::max(height - 3 * text, ImGui::GetFontSize());
  double maximum = 1;
  for (const auto& recording : recordings) maximum = std::max(maximum, number(recording->reach));
  draw_curves(state, "memory curves", {width, room * 0.32f}, maximum, height_of_bytes, memory_lines,
              memory_hint,
              [](double v) { return bench::bytes_text(static_cast<std::uint64_t>(v)); });
  draw_curves(state, "share curves", {width, room * 0.30f}, 1, height_of_share, share_lines,
              share_hint, [](double v) { return fmt::format("{:.3f}", v); });
  // Only builds have nodes.
  const bool blocks = recordings.front()->in_rounds() || recordings.front()->is_trace;
  ImGui::TextDisabled(blocks ? "blocks by size" : "nodes by depth");
  if (blocks) return draw_sizes(state.heap, {width, room * 0.38f});
  draw_levels(state, *recordings.front(), {width, room * 0.38f});
}

}  // namespace heapwood::viewer
