// SPDX-License-Identifier: MIT
// Plots next to the heap maps: memory and fragmentation over the build, and nodes by depth, built
// so far and in total.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

double number(std::uint64_t n) { return static_cast<double>(n); }

// Height in a plot, 0 to 1. Bytes have a logarithmic scale, down to a 256th of the maximum: live
// blocks are a small part of what a scattering allocator has touched.
double height_of_bytes(double bytes, double maximum) {
  constexpr double octaves = 8;
  return bytes > 0 ? 1 + std::log2(bytes / maximum) / octaves : 0;
}
double height_of_share(double share, double) { return share; }

std::string text_of_bytes(double v) { return bench::bytes_text(static_cast<std::uint64_t>(v)); }
std::string text_of_share(double v) { return fmt::format("{:.3g}", v); }

// Value at each point of the curves; NaN where it is unknown.
struct Curve {
  const char* name;
  gl::Rgba8 shade;
  double (*value)(const Recording::Point&);
};

// The hole is the one that the maps outline.
constexpr Curve memory_curves[] = {
    {"in use", {115, 199, 143, 255}, [](const auto& p) { return number(p.used_bytes); }},
    {"peak", {78, 140, 98, 255}, [](const auto& p) { return number(p.high_water_bytes); }},
    {"highest address",
     {130, 140, 148, 255},
     [](const auto& p) { return number(p.pool.mark_bytes); }},
    {"largest hole", {107, 173, 242, 255}, [](const auto& p) {
       return number(p.pool.largest_below_bytes);
     }}};
constexpr Curve whole_pool_curves[] = {
    memory_curves[0],
    memory_curves[1],
    memory_curves[2],
    {"largest hole of the pool", memory_curves[3].shade,
     [](const auto& p) { return number(p.pool.largest_gap_bytes); }}};
constexpr Curve share_curves[] = {
    {"fragmentation", {242, 189, 92, 255}, [](const auto& p) { return p.pool.external_below(); }},
    {"of the pool", {140, 112, 62, 255}, [](const auto& p) { return p.pool.external(); }},
    {"wasted inside blocks", {226, 121, 156, 255}, [](const auto& p) {
       return p.internal.value_or(std::nan(""));
     }}};

// What a plot shows, and its scale.
struct Figure {
  const char* id;
  std::span<const Curve> curves;
  std::string hint;
  double (*height)(double value, double maximum);
  double maximum;
  std::vector<double> ticks;
  std::string (*text)(double);
};

// Where it is drawn, and what it shows of the time.
struct Frame {
  const Figure& figure;
  const PlotRange& range;
  ImVec2 at, size;
  float x(double place) const { return at.x + static_cast<float>(range.share_of(place)) * size.x; }
  float y(double value) const {
    const double share = std::clamp(figure.height(value, figure.maximum), 0.0, 1.0);
    return at.y + size.y * (1 - 0.95f * static_cast<float>(share));
  }
};

// A line from left to right, in dashes that continue from one line to the next.
void add_dashes(ImVec2 from, ImVec2 to, float left, float right, float dash, ImU32 shade) {
  const float slope = to.x > from.x ? (to.y - from.y) / (to.x - from.x) : 0;
  const float begin = std::max(from.x, left), end = std::min(to.x, right);
  for (float x = begin; x <= end;) {
    const float start = left + dash * std::floor((x - left) / dash), next = start + dash;
    const float stop = std::min(start + 0.6f * dash, end);
    if (to.x <= from.x) {
      if (x <= stop) ui::line(from, to, shade, 1.4f);
      return;
    }
    if (x < stop)
      ui::line({x, from.y + slope * (x - from.x)}, {stop, from.y + slope * (stop - from.x)}, shade,
               1.4f);
    x = std::max(next, x + 0.01f * dash);  // rounding must not stop the loop
  }
}

// The second recording is dashed.
void draw_curve(const Recording& recording, const Frame& frame, const Curve& curve, bool dashed) {
  const float dash = ImGui::GetFontSize() * 0.5f, right = frame.at.x + frame.size.x;
  std::optional<ImVec2> last;
  for (const Recording::Point& point : recording.points) {
    const double value = curve.value(point);
    if (std::isnan(value)) {
      last.reset();
      continue;
    }
    if (recording.in_rounds() && point.time == 0) continue;  // the pool before the first round
    const ImVec2 here{frame.x(recording.place_of(point.time)), frame.y(value)};
    const bool visible = last && here.x >= frame.at.x && last->x <= right;
    if (visible && dashed) {
      add_dashes(*last, here, frame.at.x, right, dash, packed(curve.shade));
    } else if (visible) {
      ui::line(*last, here, packed(curve.shade), 1.4f);
    }
    last = here;
  }
}

// The legend: names of the curves in their colours, in as many rows as they need. Returns that
// number; `hint`: nullptr draws nothing.
int draw_names(std::span<const Curve> curves, float width, const std::string* hint) {
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  float used = 0;
  int rows = 1;
  for (const Curve& curve : curves) {
    const float wide = ui::width_of(curve.name);
    const bool same_row = used > 0 && used + gap + wide <= width;
    if (used > 0 && !same_row) ++rows;
    used = same_row ? used + gap + wide : wide;
    if (!hint) continue;
    if (same_row) ImGui::SameLine();
    ui::text(curve.name, unpacked(curve.shade));
    ui::hint(*hint);
  }
  return rows;
}

void tell_values(const HeapView& view, const Figure& figure, double place) {
  ImGui::BeginTooltip();
  for (const auto& recording : view.recordings) {
    const auto& point = recording->at(recording->time_at(place));
    ui::text(fmt::format("{}, {}", recording->label, recording->time_text(point.time)));
    for (const Curve& curve : figure.curves) {
      const double value = curve.value(point);
      if (!std::isnan(value))
        ui::text(fmt::format("  {} {}", curve.name, figure.text(value)), colour::dim);
    }
  }
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 24);
  ui::text(figure.hint);
  ui::text("Click: set the time. Wheel: zoom. Drag: show a range. Double click: all.", colour::dim);
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
    ui::fill({std::min(a, b), frame.at.y}, {std::max(a, b), frame.at.y + frame.size.y},
             ui::white(36));
  }
  if (ImGui::IsItemDeactivated() && view.selected_from) {
    if (dragged) {
      view.range.select(*view.selected_from, under);
    } else {
      view.playing = view.watched && view.playing;
      view.place = under;
    }
    view.selected_from.reset();
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
void draw_scale(const Frame& frame) {
  const float em = ImGui::GetFontSize();
  for (const double value : frame.figure.ticks) {
    const float y = frame.y(value);
    ui::line({frame.at.x, y}, {frame.at.x + frame.size.x, y}, ui::white(18));
    const std::string label = frame.figure.text(value);
    const float low = frame.at.y - em * 0.2f, high = frame.at.y + frame.size.y - em * 0.9f;
    ui::text_at({frame.at.x - em * 0.4f - ui::width_of(label),
                 std::clamp(y - em / 2, low, std::max(low, high))},
                label, ImGui::GetColorU32(ImGuiCol_TextDisabled));
  }
}

constexpr float scale_ems = 4.4f;  // width of the scale to the left of the plots

void draw_figure(State& state, ImVec2 size, const Figure& figure) {
  HeapView& view = state.heap;
  draw_names(figure.curves, size.x, &figure.hint);
  const float scale = ImGui::GetFontSize() * scale_ems;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + scale);
  const ui::Plot plot(state, figure.id, {size.x - scale, size.y}, 7);
  const Frame frame{figure, view.range, plot.at, plot.size};
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw_scale(frame);
  draw.PushClipRect(plot.at, plot.end, true);
  for (std::size_t i = 0; i < view.recordings.size(); ++i) {
    if (!view.recordings[i]->in_pool) continue;
    for (const Curve& curve : figure.curves) draw_curve(*view.recordings[i], frame, curve, i == 1);
  }
  if (view.range.contains(view.place)) {
    const float x = frame.x(view.place);
    ui::line({x, plot.at.y}, {x, plot.end.y}, ui::white(110));
  }
  draw.PopClipRect();
  const double under = take_input(view, frame);
  if (plot.hovered) tell_values(view, figure, under);
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
  ui::text(from, colour::dim);
  ImGui::SameLine();
  ImGui::SetCursorPosX(left + width - ui::width_of(to));
  ui::text(to, colour::dim);
  state.places.texts["times"] = from + " to " + to;
}

void draw_levels(State& state, const Recording& recording, ImVec2 size) {
  const auto& now = recording.at(state.heap.time(recording)).levels;
  const auto& end = recording.points.back().levels;
  std::uint32_t maximum = 1;
  for (const Recording::Level& level : end) maximum = std::max(maximum, level.inner + level.leaves);
  const ui::Plot plot(state, "nodes by depth", size);
  const float bar = size.y / static_cast<float>(recording.depth + 1), left = plot.at.x;
  for (unsigned depth = 0; depth <= recording.depth; ++depth) {
    const float y = plot.at.y + bar * static_cast<float>(depth), low = y + std::max(1.0f, bar - 1);
    const auto length = [&](std::uint32_t n) {
      return size.x * static_cast<float>(n) / static_cast<float>(maximum);
    };
    const std::uint32_t all = end[depth].inner + end[depth].leaves;
    ui::fill({left, y}, {left + std::max(1.0f, length(all)), low}, ui::white(16));
    const float inner = left + length(now[depth].inner);
    ui::fill({left, y}, {inner, low}, IM_COL32(104, 196, 134, 255));
    ui::fill({inner, y}, {inner + length(now[depth].leaves), low}, IM_COL32(242, 189, 92, 255));
    if (plot.has_mouse_between_y(y, y + bar))
      ImGui::SetTooltip(
          "depth %u: %s inner nodes, %s leaves; %s %s", depth,
          bench::count_text(now[depth].inner).c_str(), bench::count_text(now[depth].leaves).c_str(),
          bench::count_text(all).c_str(), recording.finished ? "at the end" : "so far");
  }
}

// Blocks in use by size, one bar per power of two, of all maps.
void draw_sizes(State& state, ImVec2 size) {
  const HeapView& view = state.heap;
  std::size_t first = ~std::size_t{0}, last = 0;
  std::uint32_t maximum = 1;
  for (const HeapView::Drawn& one : view.drawn) {
    for (std::size_t k = 0; one.map && k < one.map->by_size.size(); ++k) {
      if (one.map->by_size[k] == 0) continue;
      first = std::min(first, k);
      last = std::max(last, k);
      maximum = std::max(maximum, one.map->by_size[k]);
    }
  }
  const ui::Plot plot(state, "blocks by size", size);
  if (first > last) return;
  const std::size_t maps = std::min<std::size_t>(view.recordings.size(), 2);
  const float band = size.y / static_cast<float>(last - first + 1),
              bar = (band - 1) / static_cast<float>(maps);
  for (std::size_t k = first; k <= last; ++k) {
    const float y = plot.at.y + band * static_cast<float>(k - first);
    std::string text = fmt::format("blocks of {}:", bench::bytes_text(std::uint64_t{1} << k));
    for (std::size_t i = 0; i < maps; ++i) {
      if (!view.drawn[i].map) continue;
      const std::uint32_t count = view.drawn[i].map->by_size[k];
      const float top = y + bar * static_cast<float>(i),
                  length = size.x * static_cast<float>(count) / static_cast<float>(maximum);
      ui::fill({plot.at.x, top}, {plot.at.x + length, top + std::max(1.0f, bar)},
               i == 0 ? packed(colour::used) : ImGui::GetColorU32(colour::second));
      text += fmt::format("\n  {} {}", view.recordings[i]->label, bench::count_text(count));
    }
    if (plot.has_mouse_between_y(y, y + band)) ImGui::SetTooltip("%s", text.c_str());
  }
}

}  // namespace

void draw_heap_plots(State& state, float width, float height) {
  const HeapView& view = state.heap;
  const float spacing = ImGui::GetStyle().ItemSpacing.y,
              text = ImGui::GetTextLineHeight() + spacing;
  const double maximum = std::max(1.0, number(view.shown_bytes()));
  const Figure memory{
      "memory curves",
      view.whole_pool ? std::span<const Curve>(whole_pool_curves) : memory_curves,
      std::string("Requested bytes in use; their peak so far; the highest address "
                  "reached; the largest free region ") +
          (view.whole_pool ? "of the whole pool. Logarithmic." : "below it. Logarithmic."),
      height_of_bytes,
      maximum,
      {maximum, maximum / 16, maximum / 256},
      text_of_bytes},
      shares{"share curves",
             share_curves,
             "Fragmentation: 1 - largest hole / all holes, below the highest address, and of the "
             "whole pool. Wasted inside blocks: mean of (served - requested) / served over blocks "
             "in use; served is the smallest distance to the next block of any block of that size, "
             "so headers count. Known after the build.",
             height_of_share,
             1,
             {0, 0.5, 1},
             text_of_share};
  const int names = draw_names(memory.curves, width, nullptr) +
                    draw_names(shares.curves, width, nullptr);  // rows
  const float room =
      std::max(height - static_cast<float>(names + 2) * text - 3 * spacing, ImGui::GetFontSize());
  draw_figure(state, {width, room * 0.35f}, memory);
  draw_figure(state, {width, room * 0.33f}, shares);
  draw_times(state, width);
  // Only builds have nodes.
  const Recording& first = *view.recordings.front();
  const bool blocks = first.in_rounds() || first.is_trace;
  ui::text(blocks ? "blocks by size" : "nodes by depth", colour::dim);
  if (blocks) return draw_sizes(state, {width, room * 0.32f});
  draw_levels(state, first, {width, room * 0.32f});
}

}  // namespace heapwood::viewer
