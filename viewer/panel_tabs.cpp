// SPDX-License-Identifier: MIT
// The bar at the top: tabs over one scene.
#include <fmt/format.h>

#include <algorithm>

#include "scenes/scene.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr struct {
  Tab tab;
  const char *label, *hint;
} tabs[] = {
    {Tab::live, "Live", "Two allocators rebuild the tree of this scene in every frame (F5)"},
    {Tab::learn, "Learn", "The tree, its nodes and rays, and the requests of one build (F6)"},
    {Tab::compare, "Compare", "All allocators on this scene (F7)"},
    {Tab::heap, "Heap",
     "The pool over time: a build, a dynamic graph, a program trace or a stress test (F8)"}};

void draw_tabs(State& state, const Area& area) {
  const float em = ImGui::GetFontSize(), gap = em * 0.4f;
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  ImGui::PushStyleColor(ImGuiCol_Button, {0, 0, 0, 0});
  for (const auto& one : tabs) {
    const bool chosen = state.tab == one.tab;
    ImGui::PushFont(fonts().bold);
    ImGui::PushStyleColor(ImGuiCol_Text, chosen ? colour::text : colour::dim);
    if (ImGui::Button(one.label, {em * 5.4f, area.height - 2 * gap})) show_tab(state, one.tab);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    state.places.note(fmt::format("tab {}", name(one.tab)));
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
    if (chosen)
      draw.AddRectFilled({low.x + em * 0.5f, high.y + gap - 3}, {high.x - em * 0.5f, high.y + gap},
                         ImGui::GetColorU32(colour::accent), 1.5f);
    ui::hint(one.hint);
    ImGui::SameLine(0, gap / 2);
  }
  ImGui::PopStyleColor();
}

}  // namespace

namespace {

// Drags one edge; returns the movement in pixels.
float drag_edge(State& state, const char* name, ImVec2 low, ImVec2 size, bool vertical) {
  ImGui::SetNextWindowPos(low);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  constexpr ImGuiWindowFlags flags =
      ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
      ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoFocusOnAppearing;
  float moved = 0;
  if (ImGui::Begin(name, nullptr, flags)) {
    ImGui::InvisibleButton("edge", size);
    state.places.note(name);
    if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
      ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
      ImGui::GetWindowDrawList()->AddRectFilled(low, {low.x + size.x, low.y + size.y},
                                                IM_COL32(255, 255, 255, 40));
    }
    if (ImGui::IsItemActive())
      moved = vertical ? ImGui::GetIO().MouseDelta.x : ImGui::GetIO().MouseDelta.y;
  }
  ImGui::End();
  ImGui::PopStyleVar(2);
  return moved;
}

}  // namespace

void draw_splitters(State& state, const Area& panel, const Area& below) {
  // Not in screenshots of the window, which have another size.
  if (!state.settings.panel || state.shots.panel) return;
  const float em = ImGui::GetFontSize(), scale = em / 15, thick = em * 0.4f;
  const auto tab = static_cast<std::size_t>(state.tab);
  Settings& s = state.settings;
  if (panel.width > 0) {
    const float by = drag_edge(state, "panel edge", {panel.x - thick / 2, panel.y},
                               {thick, std::max(panel.height, 1.0f)}, true);
    if (by != 0)
      s.panel_widths[tab] = std::clamp((panel.width - by) / scale, Settings::min_panel_width,
                                       Settings::max_panel_width);
  }
  if (below.height > 0) {
    const float by = drag_edge(state, "lower edge", {below.x, below.y - thick / 2},
                               {std::max(below.width, 1.0f), thick}, false);
    if (by != 0)
      s.below_heights[tab] = std::clamp((below.height - by) / scale, Settings::min_below_height,
                                        Settings::max_below_height);
  }
}

void draw_tab_bar(State& state, const Area& area) {
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration |
                                     ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoBringToFrontOnFocus;
  const float em = ImGui::GetFontSize();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {em * 0.4f, em * 0.4f});
  if (ImGui::Begin("tabs", nullptr, flags)) {
    draw_tabs(state, area);
    // As much of scene and device as fits.
    const float help = em * 2, scene = em * 11;
    const std::string device =
        state.choice.device.id.kind == simt::DeviceKind::cpu
            ? fmt::format("{} CPU threads", state.choice.device.multiprocessors)
            : state.choice.device.name;
    const float text = ImGui::CalcTextSize(device.c_str()).x + em;
    float left = ImGui::GetCursorPosX();
    const float top = (area.height - ImGui::GetFrameHeight()) / 2;
    float x = area.width - help - em * 0.5f;
    if (x > left) {
      ImGui::SetCursorPos({x, top});
      if (ImGui::Button("?", {help, 0})) state.help = !state.help;
      state.places.note("help");
      ui::hint("Keys and mouse (F1)");
    }
    x -= text;
    if (x > left) {
      ImGui::SetCursorPos({x, top});
      ImGui::AlignTextToFramePadding();
      ImGui::TextDisabled("%s", device.c_str());
      ui::hint(fmt::format("{}: {}", state.choice.device.key, state.choice.device.name).c_str());
    }
    x -= scene + em * 0.8f;
    if (x > left && state.tab != Tab::learn) {
      ImGui::SetCursorPos({x, top});
      ImGui::SetNextItemWidth(scene);
      scene_combo(state);
    }
  }
  ImGui::End();
  ImGui::PopStyleVar();
}

}  // namespace heapwood::viewer
