// SPDX-License-Identifier: MIT
// Plots next to the heap maps: memory and fragmentation over the recording.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

// Value at each point of the curves; NaN where it is unknown.
struct Curve {
  const char* name;
  gl::Rgba8 shade;
  double (*value)(const Recording::Point&);
};

constexpr Curve memory_curves[] = {
    {"in use",
     {115, 199, 143, 255},
     [](const auto& p) { return static_cast<double>(p.used_bytes); }},
    {"peak",
     {78, 140, 98, 255},
     [](const auto& p) { return static_cast<double>(p.high_water_bytes); }},
    {"highest address",
     {130, 140, 148, 255},
     [](const auto& p) { return static_cast<double>(p.pool.mark_bytes); }},
    {"largest hole", {107, 173, 242, 255}, [](const auto& p) {
       return static_cast<double>(p.pool.largest_below_bytes);
     }}};
constexpr Curve share_curves[] = {
    {"fragmentation", {242, 189, 92, 255}, [](const auto& p) { return p.pool.external_below(); }},
    {"wasted inside blocks", {226, 121, 156, 255}, [](const auto& p) {
       return p.internal.value_or(std::nan(""));
     }}};

// What a plot shows, and its scale.
struct Figure {
  const char* id;
  std::span<const Curve> curves;
  const char* hint;
  double maximum;
  bool logarithmic;
  std::vector<double> ticks;
  std::string (*text)(double);

  // 0 to 1. Bytes are drawn down to a 256th of the maximum: live blocks are a small part of what a
  // scattering allocator has touched.
  double height(double value) const {
    constexpr double octaves = 8;
    const double share = value / maximum;
    return logarithmic ? (share > 0 ? 1 + std::log2(share) / octaves : 0) : share;
  }
};

// The second recording is drawn faintly.
void draw_curve(const Recording& recording, const Figure& figure, const Curve& curve,
                const ui::Plot& plot, bool second) {
  gl::Rgba8 shade = curve.shade;
  shade.a = second ? 110 : 255;
  std::optional<ImVec2> last;
  for (const Recording::Point& point : recording.points) {
    const double value = curve.value(point);
    if (std::isnan(value)) {
      last.reset();
      continue;
    }
    const ImVec2 here = plot.place(recording.place_of(point.time), figure.height(value));
    if (last) ui::line(*last, here, packed(shade), 1.4f);
    last = here;
  }
}

// The names of the curves in their colours.
void draw_names(const Figure& figure) {
  for (const Curve& curve : figure.curves) {
    if (&curve != figure.curves.data()) ui::flow(ui::width_of(curve.name));
    ui::text(curve.name, unpacked(curve.shade));
    ui::hint(figure.hint);
  }
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
  ui::text("Click: set the time.", colour::dim);
  ImGui::EndTooltip();
}

void draw_figure(State& state, ImVec2 size, const Figure& figure) {
  HeapView& view = state.heap;
  const float em = ImGui::GetFontSize(), scale = em * 4.4f;
  draw_names(figure);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + scale);
  const ui::Plot plot(state, figure.id, {size.x - scale, size.y}, 7);
  for (const double value : figure.ticks) {
    const float y = plot.place(0, figure.height(value)).y;
    ui::line({plot.corner.x, y}, {plot.end.x, y}, ui::white(18));
    const std::string label = figure.text(value);
    ui::text_at({plot.corner.x - em * 0.4f - ui::width_of(label),
                 std::clamp(y - em / 2, plot.corner.y, std::max(plot.corner.y, plot.end.y - em))},
                label, ImGui::GetColorU32(ImGuiCol_TextDisabled));
  }
  for (std::size_t i = 0; i < view.recordings.size(); ++i) {
    if (!view.recordings[i]->in_pool) continue;
    for (const Curve& curve : figure.curves)
      draw_curve(*view.recordings[i], figure, curve, plot, i == 1);
  }
  const float x = plot.place(view.place, 0).x;
  ui::line({x, plot.corner.y}, {x, plot.end.y}, ui::white(110));
  const float share = (ImGui::GetIO().MousePos.x - plot.corner.x) / plot.size.x;
  const double under = std::clamp(static_cast<double>(share), 0.0, 1.0);
  if (ImGui::IsItemActive()) {
    view.place = under;
    view.playing = false;
  }
  if (plot.hovered) tell_values(view, figure, under);
}

std::string text_of_bytes(double v) { return bench::bytes_text(static_cast<std::uint64_t>(v)); }
std::string text_of_share(double v) { return fmt::format("{:.3g}", v); }

}  // namespace

void draw_heap_plots(State& state, float width, float height) {
  const float text = 2 * ImGui::GetTextLineHeightWithSpacing();
  const double maximum = std::max(1.0, static_cast<double>(state.heap.shown_bytes()));
  const ImVec2 size{width, std::max(height / 2 - text, ImGui::GetFontSize())};
  draw_figure(state, size,
              {"memory curves",
               memory_curves,
               "Requested bytes in use; their peak so far; the highest address reached; the "
               "largest free region below it. Logarithmic.",
               maximum,
               true,
               {maximum, maximum / 16, maximum / 256},
               text_of_bytes});
  draw_figure(state, size,
              {"share curves",
               share_curves,
               "Fragmentation: 1 - largest hole / all holes, below the highest address. Wasted "
               "inside blocks: mean of (served - requested) / served over blocks in use; served is "
               "the smallest distance to the next block of any block of that size, so headers "
               "count.",
               1,
               false,
               {0, 0.5, 1},
               text_of_share});
}

}  // namespace heapwood::viewer
