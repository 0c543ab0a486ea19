// SPDX-License-Identifier: MIT
// Over the picture of the Live tab: both sides with their times, and refused requests.
#include <fmt/format.h>

#include <algorithm>

#include "bench/results/format.hpp"
#include "viewer/panel_live.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

using namespace live_tab;

namespace {

// Over the picture of an exhausted side: the refused request beside the largest hole, to scale.
void draw_refusal(State& state, const LiveSide& side, const Area& area) {
  const std::uint64_t refused = side.times.samples().back().refused_bytes;
  struct Bar {
    const char* label;
    double bytes;
    ImU32 shade;
  };
  std::vector<Bar> bars{
      {"refused request", static_cast<double>(refused), ImGui::GetColorU32(colour::error)}};
  if (side.recording && side.recording->in_pool)
    bars.push_back({"largest hole of the pool", static_cast<double>(tightest_hole(*side.recording)),
                    ImGui::GetColorU32(colour::hole)});
  double maximum = 1;
  for (const Bar& bar : bars) maximum = std::max(maximum, bar.bytes);
  const float em = ImGui::GetFontSize(), width = std::min(em * 20, area.width - em * 2);
  if (width < em * 8) return;
  const float height = em * 2.6f * static_cast<float>(bars.size()) + em;
  const ImVec2 low{area.x + (area.width - width) / 2, area.y + area.height * 0.3f};
  ImDrawList& draw = *ImGui::GetBackgroundDrawList();
  draw.AddRectFilled(low, {low.x + width, low.y + height}, IM_COL32(16, 18, 21, 225), em * 0.5f);
  float y = low.y + em * 0.6f;
  std::string all;
  for (const Bar& bar : bars) {
    const std::string value = bench::bytes_text(static_cast<std::uint64_t>(bar.bytes));
    all += fmt::format("{} {}; ", bar.label, value);
    const float left = low.x + em * 0.75f, right = low.x + width - em * 0.75f;
    draw.AddText({left, y}, ImGui::GetColorU32(ImGuiCol_Text), bar.label);
    draw.AddText({right - ImGui::CalcTextSize(value.c_str()).x, y}, bar.shade, value.c_str());
    const float end =
        left + std::max(2.0f, (right - left) * static_cast<float>(bar.bytes / maximum));
    draw.AddRectFilled({left, y + em * 1.3f}, {end, y + em * 1.8f}, bar.shade, 3);
    y += em * 2.6f;
  }
  state.places.texts["refusal"] = all;
}

}  // namespace

void draw_live_overlay(State& state, const Area& area) {
  const LiveView& live = state.live;
  ImDrawList& draw = *ImGui::GetBackgroundDrawList();
  const float em = ImGui::GetFontSize(), middle = area.x + area.width / 2;
  draw.AddLine({middle, area.y}, {middle, area.y + area.height}, IM_COL32(255, 255, 255, 120),
               1.5f);
  for (std::size_t side = 0; side < 2; ++side) {
    const LiveTimes& times = live.sides[side].times;
    const float left = side == 0 ? area.x : middle;
    if (times.exhausted()) {
      draw.AddRectFilled({left, area.y}, {left + area.width / 2, area.y + area.height},
                         IM_COL32(30, 8, 8, 170));
      draw_refusal(state, live.sides[side], {left, area.y, area.width / 2, area.height});
    }
    const std::string text = fmt::format("{}  {}", names[side], live.sides[side].label());
    const std::string ms = times.exhausted()    ? "pool exhausted"
                           : times.median() > 0 ? bench::figure_text(times.median()) + " ms"
                                                : "";
    const float wide =
        std::max(ImGui::CalcTextSize(text.c_str()).x, ImGui::CalcTextSize(ms.c_str()).x * 1.4f) +
        em * 1.5f;
    const ImVec2 low{middle + (side == 0 ? -wide - em * 0.7f : em * 0.7f),
                     area.y + area.height - em * 3.9f};
    draw.AddRectFilled(low, {low.x + wide, low.y + em * 3.2f}, IM_COL32(16, 18, 21, 215),
                       em * 0.5f);
    draw.AddText(fonts().bold, em, {low.x + em * 0.75f, low.y + em * 0.35f},
                 ImGui::GetColorU32(shade(side)), text.c_str());
    draw.AddText(fonts().large, em * 1.35f, {low.x + em * 0.75f, low.y + em * 1.45f},
                 ImGui::GetColorU32(times.exhausted() ? colour::error : colour::text), ms.c_str());
  }
}

}  // namespace heapwood::viewer
