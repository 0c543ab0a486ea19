// SPDX-License-Identifier: MIT
// The bar at the top: tabs over one scene.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

constexpr struct {
  const char *label, *hint;
} tabs[] = {
    {"Live", "Two allocators rebuild the tree of this scene in every frame (F5)"},
    {"Learn", "The tree, its nodes and rays, and the requests of one build (F6)"},
    {"Compare", "All allocators on this scene (F7)"},
    {"Heap",
     "The pool over time: a build, a dynamic graph, a program trace or a stress test (F8)"}};

void draw_tabs(State& state, const Area& area) {
  const float em = ImGui::GetFontSize(), gap = em * 0.4f;
  ImGui::PushStyleColor(ImGuiCol_Button, {0, 0, 0, 0});
  for (const Tab tab : all_tabs) {
    const auto& [label, hint] = tabs[static_cast<int>(tab)];
    const bool chosen = state.tab == tab;
    ImGui::PushFont(fonts().bold);
    ImGui::PushStyleColor(ImGuiCol_Text, chosen ? colour::text : colour::dim);
    if (ImGui::Button(label, {em * 5.4f, area.height - 2 * gap})) show_tab(state, tab);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    state.places.note(fmt::format("tab {}", name(tab)));
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
    if (chosen)
      ui::fill({low.x + em * 0.5f, high.y + gap - 3}, {high.x - em * 0.5f, high.y + gap},
               ImGui::GetColorU32(colour::accent), 1.5f);
    ui::hint(hint);
    ImGui::SameLine(0, gap / 2);
  }
  ImGui::PopStyleColor();
}

// Drags one edge; returns the movement in pixels.
float drag_edge(State& state, const char* name, ImVec2 low, ImVec2 size, bool vertical) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  // Not `fixed`: an edge is in front of the parts next to it.
  constexpr ImGuiWindowFlags flags =
      ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
      ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoFocusOnAppearing;
  float moved = 0;
  if (ui::begin_area(name, {low.x, low.y, size.x, size.y}, flags)) {
    const ui::Plot plot(state, name, size);
    if (plot.hovered || ImGui::IsItemActive()) {
      ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
      ui::fill(plot.at, plot.end, ui::white(40));
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
  const float em = ImGui::GetFontSize();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {em * 0.4f, em * 0.4f});
  if (ui::begin_area("tabs", area)) {
    draw_tabs(state, area);
    // From the right, as much of help, device and scene as fits.
    const simt::DeviceInfo& device = state.choice.device;
    const std::string text = device.id.kind == simt::DeviceKind::cpu
                                 ? fmt::format("{} CPU threads", device.multiprocessors)
                                 : device.name;
    const float left = ImGui::GetCursorPosX(), help = em * 2, scene = em * 11;
    float x = area.width - em * 0.5f;
    const auto fits = [&](float width) {
      x -= width;
      if (x > left) ImGui::SetCursorPos({x, (area.height - ImGui::GetFrameHeight()) / 2});
      return x > left;
    };
    if (fits(help)) {
      if (ImGui::Button("?", {help, 0})) state.help = !state.help;
      state.places.note("help");
      ui::hint("Keys and mouse (F1)");
    }
    if (fits(ui::width_of(text) + em)) {
      ImGui::AlignTextToFramePadding();
      ui::text(text, colour::dim);
      ui::hint(fmt::format("{}: {}", device.key, device.name));
    }
    if (fits(scene + em * 0.8f) && state.tab != Tab::learn) {
      ImGui::SetNextItemWidth(scene);
      scene_combo(state);
    }
  }
  ImGui::End();
  ImGui::PopStyleVar();
}

}  // namespace heapwood::viewer
