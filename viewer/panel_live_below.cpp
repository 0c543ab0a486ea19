// SPDX-License-Identifier: MIT
// Below the picture of the Live tab: times of the latest frames, the pools, and the allocators of
// the number keys.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

// The largest of 1, 2 and 5 times a power of ten that is at most `maximum`.
double round_number(double maximum) {
  const double power = std::pow(10, std::floor(std::log10(maximum)));
  return power * (maximum >= 5 * power ? 5 : maximum >= 2 * power ? 2 : 1);
}

std::string frame_text(const LiveView& live, std::uint64_t frame) {
  std::string text = fmt::format("frame {}", bench::count_text(frame));
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame != frame) continue;
      text +=
          fmt::format("\n{}  {} {}", "AB"[side], live.sides[side].label(),
                      sample.complete ? bench::figure_text(sample.ms) + " ms" : "incomplete tree");
    }
  }
  return text + (live.frozen ? "" : "\nclick to freeze");
}

// Times of the latest frames. A click freezes them.
void draw_strip(State& state, ImVec2 size) {
  LiveView& live = state.live;
  const float em = ImGui::GetFontSize();
  const ui::Plot plot(state, "frames", size, 7);
  const ImVec2 corner = plot.corner;
  double maximum = 1e-6;
  for (const LiveSide& side : live.sides) maximum = std::max(maximum, 1.25 * side.times.high());
  const auto y = [&](double ms) {
    return corner.y + size.y * (1 - static_cast<float>(std::min(1.0, ms / maximum)));
  };
  const std::uint64_t last = live.frames,
                      first = last > LiveTimes::window ? last - LiveTimes::window : 0;
  const float step = size.x / static_cast<float>(LiveTimes::window);
  const auto x = [&](std::uint64_t frame) {
    return corner.x + step * static_cast<float>(frame - first);
  };
  std::optional<std::uint64_t> under;
  if (plot.hovered) {
    const auto index =
        static_cast<std::uint64_t>(std::max(0.0f, (ImGui::GetIO().MousePos.x - corner.x) / step));
    if (first + index < last) under = first + index;
  }
  if (ImGui::IsItemClicked() && under) live.frozen = true;
  if (under) ui::fill({x(*under), corner.y}, {x(*under) + step, plot.end.y}, ui::white(28));
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame < first) continue;
      const float left = x(sample.frame) + step * (side == 0 ? 0.08f : 0.5f);
      const ImVec4 shade = sample.complete ? ui::shade_of(side, 0.85f) : colour::error;
      ui::fill({left, y(sample.ms)}, {left + std::max(1.0f, step * 0.4f), plot.end.y},
               ImGui::GetColorU32(shade));
    }
  }
  const bool usual = maximum > 16.7 * 1.02 && maximum < 16.7 * 8;
  const double ms = usual ? 16.7 : round_number(0.95 * maximum);
  if (usual || maximum > 0.001) {
    const std::string text = usual ? "16.7 ms: 60 frames/s" : fmt::format("{:g} ms", ms);
    ui::line({corner.x, y(ms)}, {plot.end.x, y(ms)}, ui::white(70));
    // Below the line, unless it is near the lower edge.
    const float top = std::min(y(ms) + 2, plot.end.y - em * 1.25f);
    ui::fill({corner.x + 4, top}, {corner.x + ui::width_of(text) + 10, top + em * 1.2f},
             IM_COL32(14, 16, 19, 190), 3);
    ui::text_at({corner.x + 7, top}, text);
  }
  if (under) ImGui::SetTooltip("%s", frame_text(live, *under).c_str());
}

// The number keys.
void draw_choices(State& state) {
  const auto choices = live_choices(state);
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ui::text("B (Shift: A)", colour::dim);
  ui::hint("The number keys choose allocator B, with Shift allocator A.");
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {em * 0.35f, ImGui::GetStyle().FramePadding.y});
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool a = choices[i] == state.choice.allocator, b = choices[i] == state.choice.other;
    const std::string text = fmt::format("{} {}", i + 1, choices[i]->traits->label);
    ImGui::SameLine(0, em * 0.35f);
    // All of them are in the lists.
    if (ImGui::GetContentRegionAvail().x < ui::width_of(text) + em * 0.7f) break;
    ImGui::PushStyleColor(ImGuiCol_Text, b ? colour::second : a ? colour::accent : colour::dim);
    if (ImGui::Button(text.c_str()))
      choose_live(state, ImGui::GetIO().KeyShift ? 0 : 1, *choices[i]);
    ImGui::PopStyleColor();
    state.places.note(fmt::format("choice {}", i + 1));
  }
  ImGui::PopStyleVar();
}

}  // namespace

void draw_live_below(State& state, const Area& area) {
  LiveView& live = state.live;
  if (ui::begin_area("live below", area)) {
    const float em = ImGui::GetFontSize(), gap = ImGui::GetStyle().ItemSpacing.x;
    const ImVec2 all = ImGui::GetContentRegionAvail();
    const float line = ImGui::GetTextLineHeightWithSpacing(),
                choices = ImGui::GetFrameHeightWithSpacing();
    const float strip = std::max(em * 3, (all.y - choices - 2 * line) * 0.34f);
    ui::text("Build times of the latest frames, A and B", colour::dim);
    draw_strip(state, {all.x, strip});
    draw_map_legend(state, live.heap, "The pool during one build");
    // The recorded builds are played over and over, in eight seconds.
    if (!live.frozen)
      live.heap.place = std::fmod(live.heap.place + ImGui::GetIO().DeltaTime / 8, 1.0);
    const float height = all.y - choices - strip - 2 * line - 2 * ImGui::GetStyle().ItemSpacing.y;
    const std::size_t count = live.heap.recordings.size();
    if (count == 0) {
      ui::dim_text("The pools are shown once a build of each side has been recorded.");
      ImGui::Dummy({0, std::max(0.0f, height - ImGui::GetTextLineHeightWithSpacing())});
    }
    for (std::size_t i = 0; i < count && i < 2; ++i) {
      if (i) ImGui::SameLine();
      draw_map(state, live.heap, i, (all.x - gap) / 2, height);
    }
    draw_choices(state);
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
