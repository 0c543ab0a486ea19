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

constexpr Line in_use{
    "in use", {115, 199, 143, 255}, [](const Recording::Point&p) { return number(p.used_bytes); }},
    peak{"peak",
         {78, 140, 98, 255},
         [](const Recording::Point&p) { return number(p.high_water_bytes); }},
    highest{"highest address", {130, 140, 148, 255}, [](const Recording::Point&p) {
              return number(p.pool.mark_bytes);
            }};
constexpr gl::Rgba8 hole_shade{107, 173, 242, 255};
// The hole is the one that the maps outline.
constexpr Line memory_lines[] = {
    in_use, peak, highest, {"largest hole", hole_shade, [](const Recording::Point& p) {
                              return number(p.pool.largest_below_bytes);
                            }}};
constexpr Line whole_pool_lines[] = {
    in_use, peak, highest, {"largest hole of the pool", hole_shade, [](const Recording::Point& p) {
                              return number(p.pool.largest_gap_bytes);
                            }}};
constexpr const char* memory_hint =
    "Requested bytes in use; their peak so far; the highest address reached; the largest free "
    "region below it. Logarithmic.";
constexpr const char* whole_pool_hint =
    "Requested bytes in use; their peak so far; the highest address reached; the largest free "
    "region of the whole pool. Logarithmic.";

constexpr Line share_lines[] = {
    {"fragmentation",
     {242, 189, 92, 255},
     [](const Recording::Point& p) { return p.pool.external_below(); }},
    {"of the pool",
     {140, 112, 62, 255},
     [](const Recording::Point& p) { return p.pool.external(); }},
    {"wasted inside blocks", {226, 121, 156, 255}, [](const Recording::Point& p) {
       return p.internal.value_or(std::nan(""));
     }}};
constexpr const char* share_hint =
    "Fragmentation: 1 - largest hole / all holes, below the highest address, and of the whole "
    "pool. Wasted inside blocks: mean of (served - requested) / served over blocks in use; served "
    "is the smallest distance to the next block of any block of that size, so headers count. Known "
    "after the build.";

using Height = double (*)(double value, double maximum);

// Where a plot is, what it shows of the time, and its scale.
struct Frame {
  ImVec2 at, size;
  const PlotRange& range;
  double maximum;
  Height height;
  float x(double place) const { return at.x + static_cast<float>(range.share_of(place)) * size.x; }
  float y(double value) const {
    const double share = std::clamp(height(value, maximum), 0.0, 1.0);
    return at.y + size.y * (1 - 0.95f * static_cast<float>(share));
  }
};

// A line from left to right, in dashes that continue from one line to the next.
void add_dashes(ImVec2 from, ImVec2 to, float left, float right, float dash, ImU32 shade) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float slope = to.x > from.x ? (to.y - from.y) / (to.x - from.x) : 0;
  const float begin = std::max(from.x, left), end = std::min(to.x, right);
  for (float x = begin; x <= end;) {
    const float start = left + dash * std::floor((x - left) / dash), next = start + dash;
    const float stop = std::min(start + 0.6f * dash, end);
    if (to.x <= from.x) {
      if (x <= stop) draw.AddLine(from, to, shade, 1.4f);
      return;
    }
    if (x < stop) {
      draw.AddLine({x, from.y + slope * (x - from.x)}, {stop, from.y + slope * (stop - from.x)},
                   shade, 1.4f);
    }
    x = std::max(next, x + 0.01f * dash);  // rounding must not stop the loop
  }
}

// One curve. The second recording is dashed.
void plot(const Recording& recording, const Frame& frame, const Line& line, bool dashed) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float dash = ImGui::GetFontSize() * 0.5f, right = frame.at.x + frame.size.x;
  ImVec2 last{};
  bool begun = false;
  for (const Recording::Point& point : recording.points) {
    const double value = line.value(point);
    if (std::isnan(value)) {
      begun = false;
      continue;
    }
    if (recording.in_rounds() && point.time == 0) continue;  // the pool before the first round
    const ImVec2 here{frame.x(recording.place_of(point.time)), frame.y(value)};
    const bool visible = begun && here.x >= frame.at.x && last.x <= right;
    if (visible && dashed) {
      add_dashes(last, here, frame.at.x, right, dash, packed(line.shade));
    } else if (visible) {
      draw.AddLine(last, here, packed(line.shade), 1.4f);
    }
    last = here;
    begun = true;
  }
}

// The legend: names of the lines in their colours, in as many rows as they need. Returns that
// number; draws nothing without a hint.
int draw_names(std::span<const Line> lines, float width, const char* hint) {
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  float used = 0;
  int rows = 1;
  for (const Line& line : lines) {
    const float wide = ImGui::CalcTextSize(line.name).x;
    const bool fits = used == 0 || used + gap + wide <= width;
    if (!fits) ++rows;
    if (hint && fits && used > 0) ImGui::SameLine();
    used = fits && used > 0 ? used + gap + wide : wide;
    if (!hint) continue;
    const gl::Rgba8 c = line.shade;
    ImGui::TextColored({c.r / 255.0f, c.g / 255.0f, c.b / 255.0f, 1}, "%s", line.name);
    ui::hint(hint);
  }
  return rows;
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
  ImGui::TextDisabled("Click: set the time. Wheel: zoom. Drag: show a range. Double click: all.");
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

// A click sets the time, the wheel zooms about the mouse, a drag selects a range, a double click
// shows everything again. Of the widget drawn last. Returns the place under the mouse.
double take_input(HeapView& view, const Frame& frame) {
  const ImGuiIO& io = ImGui::GetIO();
  const auto place_at = [&](float x) {
    return frame.range.place_at(std::clamp((x - frame.at.x) / frame.size.x, 0.0f, 1.0f));
  };
  const double under = place_at(io.MousePos.x);
  const bool dragged = std::abs(io.MousePos.x - io.MouseClickedPos[0].x) > 4;
  if (ImGui::IsItemActivated()) view.selected_from = place_at(io.MouseClickedPos[0].x);
  if (ImGui::IsItemActive() && view.selected_from && dragged) {
    const float a = frame.x(*view.selected_from), b = frame.x(under);
    ImGui::GetWindowDrawList()->AddRectFilled({std::min(a, b), frame.at.y},
                                              {std::max(a, b), frame.at.y + frame.size.y},
                                              IM_COL32(255, 255, 255, 36));
  }
  if (ImGui::IsItemDeactivated() && view.selected_from) {
    const double from = *view.selected_from;
    view.selected_from.reset();
    if (dragged) {
      view.range.select(from, under);
    } else {
      view.playing = view.watched && view.playing;
      view.place = under;
    }
  }
  if (!ImGui::IsItemHovered()) return under;
  if (io.MouseWheel != 0) view.range.zoom(under, std::pow(0.8, static_cast<double>(io.MouseWheel)));
  if (ImGui::IsMouseDoubleClicked(0)) {
    view.range.reset();
    view.selected_from.reset();
  }
  return under;
}

// Lines at some values, and the values to the left of the plot.
template <class Text>
void draw_scale(const Frame& frame, std::span<const double> values, Text text) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float em = ImGui::GetFontSize();
  for (const double value : values) {
    const float y = frame.y(value);
    draw.AddLine({frame.at.x, y}, {frame.at.x + frame.size.x, y}, IM_COL32(255, 255, 255, 18));
    const std::string label = text(value);
    const float low = frame.at.y - em * 0.2f, high = frame.at.y + frame.size.y - em * 0.9f;
    draw.AddText({frame.at.x - em * 0.4f - ImGui::CalcTextSize(label.c_str()).x,
                  std::clamp(y - em / 2, low, std::max(low, high))},
                 ImGui::GetColorU32(ImGuiCol_TextDisabled), label.c_str());
  }
}

constexpr float scale_ems = 4.4f;  // width of the scale to the left of the plots

template <class Text>
void draw_curves(State& state, const char* id, ImVec2 size, double maximum, Height height,
                 std::span<const double> ticks, std::span<const Line> lines, const char* hint,
                 Text text) {
  HeapView& view = state.heap;
  draw_names(lines, size.x, hint);
  const float scale = ImGui::GetFontSize() * scale_ems;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + scale);
  const Frame frame{ImGui::GetCursorScreenPos(),
                    {std::max(size.x - scale, 1.0f), size.y},
                    view.range,
                    maximum,
                    height};
  const ImVec2 at = frame.at, end{at.x + frame.size.x, at.y + size.y};
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, end, IM_COL32(255, 255, 255, 7), 4);
  draw_scale(frame, ticks, text);
  draw.PushClipRect(at, end, true);
  for (std::size_t i = 0; i < view.recordings.size(); ++i) {
    if (!view.recordings[i]->in_pool) continue;
    for (const Line& line : lines) plot(*view.recordings[i], frame, line, i == 1);
  }
  if (view.range.contains(view.place)) {
    const float x = frame.x(view.place);
    draw.AddLine({x, at.y}, {x, end.y}, IM_COL32(255, 255, 255, 110));
  }
  draw.PopClipRect();
  ImGui::InvisibleButton(id, frame.size);
  state.places.note(id);
  const double under = take_input(view, frame);
  if (ImGui::IsItemHovered()) tell_values(view, lines, under, hint, text);
}

// The first and the last time that the plots show.
void draw_times(State& state, float width) {
  const HeapView& view = state.heap;
  const Recording& first = *view.recordings.front();
  const auto text = [&](double place) {
    const std::uint32_t time = first.time_at(place);
    return first.in_rounds() ? fmt::format("round {}", first.round_of(time))
                             : fmt::format("event {}", bench::count_text(time));
  };
  const std::string from = text(view.range.from), to = text(view.range.to);
  const float left = ImGui::GetCursorPosX();
  ImGui::SetCursorPosX(left + ImGui::GetFontSize() * scale_ems);
  ImGui::TextDisabled("%s", from.c_str());
  ImGui::SameLine();
  ImGui::SetCursorPosX(left + width - ImGui::CalcTextSize(to.c_str()).x);
  ImGui::TextDisabled("%s", to.c_str());
  state.places.texts["times"] = from + " to " + to;
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
  const float text = ImGui::GetTextLineHeight() + style.ItemSpacing.y;
  const bool whole = state.heap.whole_pool;
  const std::span<const Line> memory =
      whole ? std::span<const Line>(whole_pool_lines) : std::span<const Line>(memory_lines);
  const int names =
      draw_names(memory, width, nullptr) + draw_names(share_lines, width, nullptr);  // rows
  const float room =
      std::max(height - static_cast<float>(names + 2) * text - 3 * style.ItemSpacing.y,
               ImGui::GetFontSize());
  const double maximum = std::max(1.0, number(state.heap.shown_bytes()));
  const double bytes[] = {maximum, maximum / 16, maximum / 256}, shares[] = {0, 0.5, 1};
  draw_curves(state, "memory curves", {width, room * 0.35f}, maximum, height_of_bytes, bytes,
              memory, whole ? whole_pool_hint : memory_hint,
              [](double v) { return bench::bytes_text(static_cast<std::uint64_t>(v)); });
  draw_curves(state, "share curves", {width, room * 0.33f}, 1, height_of_share, shares, share_lines,
              share_hint, [](double v) { return fmt::format("{:.3g}", v); });
  draw_times(state, width);
  // Only builds have nodes.
  const bool blocks = recordings.front()->in_rounds() || recordings.front()->is_trace;
  ImGui::TextDisabled(blocks ? "blocks by size" : "nodes by depth");
  if (blocks) return draw_sizes(state.heap, {width, room * 0.32f});
  draw_levels(state, *recordings.front(), {width, room * 0.32f});
}

}  // namespace heapwood::viewer
