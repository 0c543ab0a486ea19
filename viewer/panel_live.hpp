// SPDX-License-Identifier: MIT
// Names and colours of the two sides in the Live tab.
#pragma once

#include <imgui.h>

#include <cstddef>

#include "viewer/theme.hpp"

namespace heapwood::viewer::live_tab {

inline constexpr ImGuiWindowFlags fixed =
    ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
    ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;
inline constexpr const char* names[] = {"A", "B"};

inline ImVec4 shade(std::size_t side) { return side == 0 ? colour::accent : colour::second; }
inline ImU32 faint(std::size_t side, float alpha) {
  ImVec4 c = shade(side);
  c.w = alpha;
  return ImGui::GetColorU32(c);
}

}  // namespace heapwood::viewer::live_tab
